// The class type "rdt" (container level): Intel RDT and its relatives through the kernel's resctrl.
//
// A class is a control group of resctrl, made at start or reload and kept when the daemon ends; a
// container is in it with every thread. Each container also has a monitoring group of its own in
// its class's ("plimsoll-<id>"), which measures its use of caches and memory bandwidth. Only groups
// that are recorded as ours are ever written or removed.
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
  // The file of classes (config.h). Empty: none but the root's and adopted ones.
  std::string config_file;
  std::string default_class = kRdtRootClass;
  // Begins the name of a class's directory: "" makes "gold" of class gold.
  std::string group_prefix;
  // Makes classes of groups that somebody else made, as they are: they are neither written nor
  // removed. Without it, such a group with the name of a class is an error.
  bool adopt = false;
  std::map<std::string, uint64_t> capacity;  // by class; others are unlimited
};

struct RdtEnvironment {
  FsRoot host;                              // holds the configuration file and proc/
  FsRoot resctrl_root;                      // where resctrl is mounted; equals host except in tests
  linux::CgroupManager* cgroups = nullptr;  // these pointers outlive the type
  OwnedObjects* owned = nullptr;            // kind "resctrl"
  ContainerFreezer* freezer = nullptr;
  // Called for each warning of the file's classes once all are known, before anything is written;
  // may be null. A reload's warnings are PendingReload::warnings.
  std::function<void(const std::string& warning)> warn;
};

// Compiles the file for this machine and makes the groups. Errors are those of ParseRdtConfig and
// CompileRdt; FAILED_PRECONDITION only where this machine can't have the type, without resctrl or a
// resource that the file requires; ALREADY_EXISTS for a group of somebody else; INVALID_ARGUMENT
// for a default class or a capacity of an unknown class. On error everything is as before.
absl::StatusOr<std::unique_ptr<ClassType>> MakeRdtType(const RdtOptions& options,
                                                       const RdtEnvironment& environment);

}  // namespace plimsoll::qos

#endif  // PLIMSOLL_QOS_RDT_RDT_H_
