// The machine's actual state, read without the daemon.
#ifndef PLIMSOLL_TESTS_KILL_GROUND_TRUTH_H_
#define PLIMSOLL_TESTS_KILL_GROUND_TRUTH_H_

#include <sys/types.h>

#include <set>
#include <string>
#include <vector>

namespace plimsoll::testing {

// Objects that the daemon has a reason to keep.
struct Known {
  std::set<std::string> pods;        // ids
  std::set<std::string> ready_pods;  // ids
  std::set<std::string> containers;  // ids
  std::set<std::string> live_containers;
  std::set<std::string> cgroup_parents;  // of pods that name one
};

struct Places {
  std::string directory;      // the node's directory
  std::string cgroup_parent;  // of pods that name none
  std::string pods_parent;    // above all parents that pods name
  std::string foreign;        // another owner's group below cgroup_parent
};

// The monitor of a container; 0: none.
pid_t MonitorOf(const std::string& container_id);

// Processes, mounts, groups and files on the machine without a reason in `known`, one line each.
// Zombies don't count.
std::vector<std::string> Leftovers(const Places& places, const Known& known);

// Rows in the database of a stopped daemon, one line each; or the reason why it can't be read.
std::vector<std::string> Rows(const std::string& state_directory);

}  // namespace plimsoll::testing

#endif  // PLIMSOLL_TESTS_KILL_GROUND_TRUTH_H_
