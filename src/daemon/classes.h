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

// What class types work with; all of it outlives them.
struct ClassEnvironment {
  FsRoot host;
  linux::CgroupManager* cgroups = nullptr;
  qos::OwnedObjects* owned = nullptr;
  qos::ContainerFreezer* freezer = nullptr;  // the daemon's only one
  // Nothing may go below this process's own oom_score_adj (see OciOptions).
  std::string restrict_oom_score_adj = "auto";
  // Gets what the administrator should know of a type that writes as it is made, before it does;
  // may be null.
  std::function<void(const std::string& type, const std::string& warning)> warn;
};

// INVALID_ARGUMENT for a class file that is wrong: the daemon must not start then. A type that this
// machine lacks the hardware or the kernel for is left out, and requests for it say why.
absl::StatusOr<std::unique_ptr<qos::Registry>> MakeClasses(const qos::ClassesConfig& config,
                                                           const ClassEnvironment& environment);

// What of it can be told without changing anything, on this machine: for --check-config. On success
// `warnings` get what the log of a start and `plimsoll classes explain` say of the class files,
// each sentence once.
absl::Status CheckClasses(const qos::ClassesConfig& config, std::vector<std::string>* warnings);

qos::AnnotationPolicy AnnotationPolicyFrom(const qos::ClassesConfig& config);

}  // namespace plimsoll::daemon

#endif  // PLIMSOLL_DAEMON_CLASSES_H_
