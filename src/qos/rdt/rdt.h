// The class type "rdt" (container level): Intel RDT and its relatives through the kernel's resctrl.
//
// A class is a control group of resctrl, made at start or reload and kept when the daemon ends; a
// container is in it with every thread. Each container also has a monitoring group of its own in
// its class's ("plimsoll-<id>"), so that what it uses of caches and memory bandwidth is known. Only
// groups that are recorded as ours are ever written or removed.
#ifndef PLIMSOLL_QOS_RDT_RDT_H_
#define PLIMSOLL_QOS_RDT_RDT_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "base/fs_root.h"
#include "linux/cgroup/cgroup.h"
#include "qos/class_type.h"
#include "qos/container_freezer.h"
#include "qos/owned_objects.h"
#include "qos/rdt/config.h"

namespace plimsoll::qos {

struct RdtOptions {
  // The classes (config.h). Empty: none but the root's and adopted ones.
  std::string config_file;
  std::string default_class = kRdtRootClass;
  // In front of a class's name, in its directory's: "" makes "gold" of class gold.
  std::string group_prefix;
  // Groups that somebody else made are classes too, as they are: nothing is written to them, nor
  // are they removed. Without it, one that has the name of a class is an error.
  bool adopt = false;
  std::map<std::string, uint64_t> capacity;  // by class; others are unlimited
};

struct RdtEnvironment {
  FsRoot host;                              // has the configuration file and proc/
  FsRoot resctrl_root;                      // where resctrl is mounted; the same but for tests
  linux::CgroupManager* cgroups = nullptr;  // this and the others outlive the type
  OwnedObjects* owned = nullptr;            // kind "resctrl"
  ContainerFreezer* freezer = nullptr;
  // Gets each warning of the file's classes once all is known, before anything is written; may be
  // null. A reload's are PendingReload::warnings.
  std::function<void(const std::string& warning)> warn;
};

// Compiles the file for this machine and makes the groups. Errors are those of ParseRdtConfig and
// CompileRdt; FAILED_PRECONDITION only where this machine can't have the type, without resctrl or
// what the file requires of it; ALREADY_EXISTS for a group of somebody else;
// INVALID_ARGUMENT for a default class or a capacity of a class that there isn't. On error
// everything is as before.
absl::StatusOr<std::unique_ptr<ClassType>> MakeRdtType(const RdtOptions& options,
                                                       const RdtEnvironment& environment);

}  // namespace plimsoll::qos

#endif  // PLIMSOLL_QOS_RDT_RDT_H_
