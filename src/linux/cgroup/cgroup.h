// Control groups of every layout behind one interface.
//
//   PLIMSOLL_ASSIGN_OR_RETURN(auto cgroups, CgroupManager::Detect(root));
//   PLIMSOLL_RETURN_IF_ERROR(cgroups->Create("/plimsoll/pod1"));
//   PLIMSOLL_RETURN_IF_ERROR(cgroups->Apply("/plimsoll/pod1", {.memory_limit_bytes = 64 << 20}));
//
// A group is named by its path below the hierarchy's mount point ("/kubepods/pod1/abc"); on cgroup
// v1 the same path is used in every hierarchy. Paths are normalised and must not hold "..".
#ifndef PLIMSOLL_LINUX_CGROUP_CGROUP_H_
#define PLIMSOLL_LINUX_CGROUP_CGROUP_H_

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/fs_root.h"
#include "linux/cgroup/settings.h"

namespace plimsoll::linux {

enum class CgroupLayout {
  kV1,      // one hierarchy per controller, or several controllers co-mounted
  kHybrid,  // v1 controllers, and a v2 hierarchy mounted at unified/
  kV2,      // one unified hierarchy
};

// Time that tasks waited for lack of a resource (Documentation/accounting/psi.rst).
struct PressureLine {
  double avg10 = 0;  // percent of the last ten seconds
  double avg60 = 0;
  double avg300 = 0;
  uint64_t total_us = 0;  // since the group was made
  bool operator==(const PressureLine&) const = default;
};
struct Pressure {
  PressureLine some;  // at least one task waited
  PressureLine full;  // all tasks waited; zero where the kernel has no such line
  bool operator==(const Pressure&) const = default;
};

struct CgroupStats {
  uint64_t cpu_usage_ns = 0;
  uint64_t memory_usage_bytes = 0;
  uint64_t memory_working_set_bytes = 0;  // usage less inactive file pages, as kubelet computes it
  uint64_t memory_rss_bytes = 0;
  uint64_t page_faults = 0;
  uint64_t major_page_faults = 0;
  std::optional<uint64_t> swap_usage_bytes;
  uint64_t process_count = 0;  // pids.current, which counts threads
  uint64_t cpu_periods = 0;    // periods in which it ran under a quota; 0 without one
  uint64_t cpu_throttled_periods = 0;
  uint64_t cpu_throttled_ns = 0;  // summed over CPUs
  // Absent where the kernel has no PSI. On a hybrid machine these come from the v2 group of the
  // same name, if its processes are there.
  std::optional<Pressure> cpu_pressure;
  std::optional<Pressure> memory_pressure;
  std::optional<Pressure> io_pressure;
};

// Thread-safe; holds no state but open directories. A vanished group is NOT_FOUND.
class CgroupManager {
 public:
  virtual ~CgroupManager() = default;

  // Finds the layout below <root>/sys/fs/cgroup. FAILED_PRECONDITION where nothing is mounted.
  static absl::StatusOr<std::unique_ptr<CgroupManager>> Detect(const FsRoot& root);

  virtual CgroupLayout layout() const = 0;
  // The controllers that can set limits, sorted: "cpu", "cpuset", "memory", "pids", ...
  virtual std::vector<std::string> Controllers() const = 0;
  // The controllers that a hybrid machine's v2 hierarchy holds; crun 1.8 refuses to run when there
  // are any (README.md).
  virtual std::vector<std::string> UnifiedControllersOnHybrid() const = 0;

  // Makes the group and its parents in every hierarchy; enables controllers on the way (v2) and
  // inherits the cpuset (v1). Returns the paths it made, outermost first: the caller owns and
  // removes these. Undone on failure, except that v2 controllers stay enabled. A group that existed
  // in one v1 hierarchy only is completed but not returned.
  virtual absl::StatusOr<std::vector<std::string>> Create(absl::string_view path) = 0;
  // v2: makes an empty group that uses all controllers of its parent. While it exists, these can't
  // be taken from the parent's other groups, and their limits with them. systemd does that to
  // groups it doesn't know in a slice of its own, e.g. at each daemon-reload. v1 needs no keeper:
  // nothing is made. Returns the paths it made, as Create does.
  virtual absl::StatusOr<std::vector<std::string>> MakeKeeper(absl::string_view path) = 0;
  // An error means that the group may exist or not.
  virtual absl::StatusOr<bool> Exists(absl::string_view path) const = 0;
  // Removes the group and the groups below it in every hierarchy, including those that others made
  // (crun, in named hierarchies and in `unified`). FAILED_PRECONDITION names the processes still in
  // it, after half a second for those about to leave. OK when the group doesn't exist.
  virtual absl::Status Remove(absl::string_view path) = 0;
  // Removes the group in each hierarchy where it has neither groups below nor processes; staying
  // elsewhere is no error. For a parent that several users share.
  virtual absl::Status RemoveIfUnused(absl::string_view path) = 0;

  // All or nothing: validates everything, writes in an order that is always legal (memory before
  // swap when raising, after when lowering), and undoes all if a step fails. The error names file
  // and value. FAILED_PRECONDITION for a value whose controller the machine lacks, and for a memory
  // limit below the memory that the group uses and can't give back (a v2 kernel would kill for it).
  // The caller makes one update of a group at a time, and orders those of several groups (parents
  // are raised first).
  virtual absl::Status Apply(absl::string_view path, const CgroupSettings& settings) = 0;
  // The kernel's values now.
  virtual absl::StatusOr<CgroupSettings> Read(absl::string_view path) const = 0;

  // Registers with the manager of the machine's groups a group that somebody else (an OCI runtime)
  // made for `pid` with `settings`, so that it keeps its values. For a known group, checks that the
  // manager holds them. Does nothing where groups are plain directories.
  virtual absl::Status Register(absl::string_view, pid_t, const CgroupSettings&) {
    return absl::OkStatus();
  }
  // True when a group with registered processes goes by itself as the last of them ends.
  virtual bool EndsWithProcesses() const { return false; }

  // Adds it in every hierarchy. NOT_FOUND when the group or the process doesn't exist.
  virtual absl::Status AddProcess(absl::string_view path, pid_t pid) = 0;
  // Moves processes back that lost their cpuset. When the last CPU or memory node of a v1 group
  // goes, the kernel moves its processes, for good and in the cpuset hierarchy alone, to the
  // nearest group above that has some (Documentation/admin-guide/cgroup-v1/cpusets.rst). Once the
  // group has some again, this returns every process that is above it there but in it or below in
  // each other hierarchy that has the group. OK when the group doesn't exist. v2 moves nobody.
  virtual absl::Status ReturnToCpuset(absl::string_view path) = 0;
  // Makes the kernel ready to move processes: moves the calling thread to its own group, which
  // changes nothing. The first move after some idle milliseconds waits for an RCU grace period (5
  // to 30 ms; cgroup_threadgroup_rwsem), this one like any other; moves that follow within about as
  // long don't wait. For CgroupReadier. `host`: for /proc.
  virtual absl::Status MoveInPlace(const FsRoot& host) = 0;
  // The processes of the group and, if `recursive`, of groups below.
  virtual absl::StatusOr<std::vector<pid_t>> Processes(absl::string_view path,
                                                       bool recursive) const = 0;
  // Sends SIGKILL to every process in the group and below, until none is left (cgroup.kill on v2;
  // freezer and a loop on v1). Thaws frozen groups. DEADLINE_EXCEEDED names those that remain,
  // FAILED_PRECONDITION if this process is among them. OK when the group is gone.
  virtual absl::Status KillAll(absl::string_view path, absl::Time deadline) = 0;

  // Every thread of the group and of groups below, sorted. NOT_FOUND.
  virtual absl::StatusOr<std::vector<pid_t>> Threads(absl::string_view path) const = 0;
  // Freezes the group and those below, forks in flight included: until Thaw no thread of theirs
  // runs and none is born. False: somebody else has frozen it already, so it is not ours to thaw.
  // DEADLINE_EXCEEDED when freezing takes longer (a task in an uninterruptible sleep, v1); the
  // group then runs again. ABORTED when thawing failed too and the group stays frozen: try again.
  // FAILED_PRECONDITION without the v1 freezer. On v1 it may run for moments before that.
  virtual absl::StatusOr<bool> Freeze(absl::string_view path, absl::Time deadline) = 0;
  virtual absl::Status Thaw(absl::string_view path) = 0;

  // One raw control file, for values that CgroupSettings lacks. `controller` picks the hierarchy on
  // v1 ("blkio"). NOT_FOUND without group, file or hierarchy. The kernel's refusal of a value names
  // file and value.
  virtual absl::StatusOr<std::string> ReadFile(absl::string_view path, absl::string_view controller,
                                               absl::string_view file) const = 0;
  virtual absl::Status WriteFile(absl::string_view path, absl::string_view controller,
                                 absl::string_view file, absl::string_view value) = 0;
  virtual bool HasFile(absl::string_view path, absl::string_view controller,
                       absl::string_view file) const = 0;

  virtual absl::StatusOr<CgroupStats> Stats(absl::string_view path) const = 0;
  // The number of processes of the group and of groups below that the OOM killer has killed so far.
  virtual absl::StatusOr<uint64_t> OomKills(absl::string_view path) const = 0;
};

// "/a/b" from "a/b/", "a//b". INVALID_ARGUMENT for "..", control characters, over 4096 bytes.
absl::StatusOr<std::string> NormalizeCgroupPath(absl::string_view path);

// The path of a pod's `cgroup_parent`. A bare systemd slice name ("kubepods-burstable-pod1.slice")
// expands to its place in the tree ("/kubepods.slice/kubepods-burstable.slice/kubepods-...");
// anything else is a cgroupfs path.
absl::StatusOr<std::string> ExpandCgroupParent(absl::string_view cgroup_parent);

// The group of that name below `parent`: "/plimsoll/1", or below a slice, by systemd's rule,
// "/plimsoll.slice/plimsoll-1.slice". `parent` comes from ExpandCgroupParent.
std::string ChildCgroup(absl::string_view parent, absl::string_view name);
// The reverse of ChildCgroup: the name for a directory below `parent`; empty if it isn't such a
// group.
absl::string_view NameOfChildCgroup(absl::string_view parent, absl::string_view directory);

// cpu.shares (2..262144) to cpu.weight (1..10000) and back, by CpuWeightFormula::kLinear, as Apply
// and Read go by it on v2. Values outside are clamped. The way back gives the least shares of that
// weight, so that weight -> shares -> weight changes nothing.
uint64_t CpuSharesToWeight(uint64_t shares);
uint64_t CpuWeightToShares(uint64_t weight);

}  // namespace plimsoll::linux

#endif  // PLIMSOLL_LINUX_CGROUP_CGROUP_H_
