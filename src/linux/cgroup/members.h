// The processes of a group: found, killed, and the group removed once they are gone. The same for
// all layouts; a group is given by its path and the hierarchies in which it may exist.
#ifndef PLIMSOLL_LINUX_CGROUP_MEMBERS_H_
#define PLIMSOLL_LINUX_CGROUP_MEMBERS_H_

#include <sys/types.h>

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "linux/cgroup/tree.h"

namespace plimsoll::linux {

using CgroupTrees = std::vector<CgroupTree*>;

// Sorted, each once, whichever hierarchy lists it. NOT_FOUND when no hierarchy has the group.
absl::StatusOr<std::vector<pid_t>> ListProcesses(const CgroupTrees& trees, const std::string& group,
                                                 bool recursive);

// See CgroupManager::Threads. Whichever tree has the group lists them.
absl::StatusOr<std::vector<pid_t>> ListThreads(const CgroupTrees& trees, const std::string& group);

// See CgroupManager::KillAll. `freezer`: the tree of cgroup v1's freezer controller, or null.
// Uses cgroup.kill (Linux 5.14) where a tree is a v2 one that has it.
absl::Status KillProcesses(const CgroupTrees& trees, CgroupTree* freezer, const std::string& group,
                           absl::Time deadline);

// See CgroupManager::Remove. Nothing is removed while there are processes; half a second is given
// to those that are leaving.
absl::Status RemoveGroup(const CgroupTrees& trees, const std::string& group);
// See CgroupManager::RemoveIfUnused.
absl::Status RemoveUnusedGroup(const CgroupTrees& trees, const std::string& group);

}  // namespace plimsoll::linux

#endif  // PLIMSOLL_LINUX_CGROUP_MEMBERS_H_
