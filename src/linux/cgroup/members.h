// Lists and kills the processes of a group, and removes the group once they are gone. The same for
// all layouts: a group is given by its path and the hierarchies in which it may exist.
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

// The processes of the group, sorted, each once, whichever hierarchies list it. NOT_FOUND when no
// hierarchy has the group.
absl::StatusOr<std::vector<pid_t>> ListProcesses(const CgroupTrees& trees, const std::string& group,
                                                 bool recursive);

// See CgroupManager::Threads. Lists those of every tree that has the group.
absl::StatusOr<std::vector<pid_t>> ListThreads(const CgroupTrees& trees, const std::string& group);

// See CgroupManager::KillAll. `freezer`: the tree of cgroup v1's freezer controller, or null.
// Uses cgroup.kill (Linux 5.14) where a tree is a v2 one that has it.
absl::Status KillProcesses(const CgroupTrees& trees, CgroupTree* freezer, const std::string& group,
                           absl::Time deadline);

// "processes 7, 8 are", or "3700 processes (1, 2, 3, 4, 5, ...) are": for messages, which stay
// short for a group of any size.
std::string InWords(const std::vector<pid_t>& pids);

// See CgroupManager::Remove. Removes nothing while there are processes, but gives those about to
// leave half a second.
absl::Status RemoveGroup(const CgroupTrees& trees, const std::string& group);
// See CgroupManager::RemoveIfUnused.
absl::Status RemoveUnusedGroup(const CgroupTrees& trees, const std::string& group);

}  // namespace plimsoll::linux

#endif  // PLIMSOLL_LINUX_CGROUP_MEMBERS_H_
