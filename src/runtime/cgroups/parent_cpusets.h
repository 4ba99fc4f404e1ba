// Cpusets of the groups above pods that others made, on cgroup v1: an agent's, kubelet's.
//
// When a CPU goes offline, v1 takes it from every group but the root, and its return gives it to
// the root alone (Documentation/admin-guide/cgroup-v1/cpusets.rst). No group below one without the
// CPU can have it, so a container would never get its CPU back. Nobody else gives it to these
// groups: so this does, as far as they had it. An administrator can't have taken it away: v1
// refuses that as long as a group below has it.
#ifndef PLIMSOLL_RUNTIME_CGROUPS_PARENT_CPUSETS_H_
#define PLIMSOLL_RUNTIME_CGROUPS_PARENT_CPUSETS_H_

#include <map>
#include <set>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "linux/cgroup/cgroup.h"
#include "resources/cpu_set.h"

namespace plimsoll::runtime {

// Thread-safe. Its lock is held while control files are read and written, and stands after all
// others.
class ParentCpusets {
 public:
  // Outlived by `cgroups`.
  explicit ParentCpusets(linux::CgroupManager* cgroups) : cgroups_(*cgroups) {}

  // Remembers what the group has, unless it is known. A group with all that its parent has is taken
  // to have no restriction of its own: v1 has no other way to say so.
  void Remember(const std::string& group);
  // Gives the group what it had and its parent has. Parents come before their children. OK where
  // the group is not known, or gone.
  absl::Status GiveBack(const std::string& group);
  void ForgetAllBut(const std::set<std::string>& groups);

 private:
  struct List {
    resources::CpuSet had;
    bool is_parents = false;
  };
  struct Cpuset {
    List cpus;
    List memory_nodes;
  };

  linux::CgroupManager& cgroups_;
  absl::Mutex mutex_;
  std::map<std::string, Cpuset> known_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_CGROUPS_PARENT_CPUSETS_H_
