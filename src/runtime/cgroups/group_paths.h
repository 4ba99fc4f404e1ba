// Paths of the control groups below a pod's group, and the maker of the pod's group. Pure
// functions; paths are those of linux::CgroupManager.
#ifndef PLIMSOLL_RUNTIME_CGROUPS_GROUP_PATHS_H_
#define PLIMSOLL_RUNTIME_CGROUPS_GROUP_PATHS_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "runtime/store/records.h"

namespace plimsoll::runtime {

// A container's group. A systemd slice holds scopes, a cgroupfs pod group plain directories.
std::string ContainerGroupOf(const SandboxRecord& sandbox, const std::string& container_id);

// The group that a plugin wants for a container: directly below the pod's group, as a path or in
// systemd's form, "slice:prefix:name". INVALID_ARGUMENT if it is another place, or a name that is
// Plimsoll's own.
absl::StatusOr<std::string> GroupByPlugin(const SandboxRecord& sandbox, absl::string_view wanted);

// The group of the init of a pod's own PID namespace.
std::string PauseCgroupOf(const SandboxRecord& sandbox);

// The group of the pod's keeper (linux::CgroupManager::MakeKeeper); empty if the pod needs no
// keeper.
std::string KeeperOf(const SandboxRecord& sandbox);

// Whether Plimsoll made the pod's group. A group that another made (an existing cgroup_parent) is
// its maker's to write.
bool OwnsItsGroup(const SandboxRecord& sandbox);

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_CGROUPS_GROUP_PATHS_H_
