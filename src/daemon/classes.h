// The class types that the configuration asks for.
#ifndef PLIMSOLL_DAEMON_CLASSES_H_
#define PLIMSOLL_DAEMON_CLASSES_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/fs_root.h"
#include "linux/cgroup/cgroup.h"
#include "qos/annotations.h"
#include "qos/classes_config.h"
#include "qos/container_freezer.h"
#include "qos/owned_objects.h"
#include "qos/registry.h"

namespace plimsoll::daemon {

// The surroundings of class types; all of it outlives them.
struct ClassEnvironment {
  FsRoot host;
  linux::CgroupManager* cgroups = nullptr;
  qos::OwnedObjects* owned = nullptr;
  qos::ContainerFreezer* freezer = nullptr;  // the daemon's only one
  // No lower score than this process's own oom_score_adj (see OciOptions).
  std::string restrict_oom_score_adj = "auto";
  // Gets a type's warnings before it writes, if it writes while being made; may be null.
  std::function<void(const std::string& type, const std::string& warning)> warn;
};

// INVALID_ARGUMENT for a wrong class file: the daemon must not start then. A type that this
// machine's hardware or kernel doesn't support is left out, and requests for it get the reason.
absl::StatusOr<std::unique_ptr<qos::Registry>> MakeClasses(const qos::ClassesConfig& config,
                                                           const ClassEnvironment& environment);

// The checks of MakeClasses that change nothing, on this machine: for --check-config. On success
// `warnings` receives each sentence about the class files that a start's log and `plimsoll classes
// explain` would have, once.
absl::Status CheckClasses(const qos::ClassesConfig& config, std::vector<std::string>* warnings);

qos::AnnotationPolicy AnnotationPolicyFrom(const qos::ClassesConfig& config);

}  // namespace plimsoll::daemon

#endif  // PLIMSOLL_DAEMON_CLASSES_H_
