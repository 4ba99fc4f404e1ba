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
  kV1,      // every controller in a hierarchy of its own (or co-mounted)
  kHybrid,  // v1 controllers, and a v2 hierarchy mounted at unified/
  kV2,      // one unified hierarchy
};

// How long tasks have waited for want of a resource (Documentation/accounting/psi.rst).
struct PressureLine {
  double avg10 = 0;  // percent of the last ten seconds
  double avg60 = 0;
  double avg300 = 0;
  uint64_t total_us = 0;  // since the group was made
  bool operator==(const PressureLine&) const = default;
};
struct Pressure {
  PressureLine some;  // at least one task waited
  PressureLine full;  // all did; zero where the kernel has no such line
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
  uint64_t cpu_periods = 0;    // in which it ran with a quota set; 0 without one
  uint64_t cpu_throttled_periods = 0;
  uint64_t cpu_throttled_ns = 0;  // summed over CPUs
  // Absent where the kernel has no PSI. On a hybrid machine, of the group of that name in the v2
  // hierarchy, if its processes are there.
  std::optional<Pressure> cpu_pressure;
  std::optional<Pressure> memory_pressure;
  std::optional<Pressure> io_pressure;
};

// Thread-safe; holds no state but open directories. That a group has vanished is NOT_FOUND.
class CgroupManager {
 public:
  virtual ~CgroupManager() = default;

  // Finds the layout below <root>/sys/fs/cgroup. FAILED_PRECONDITION where nothing is mounted.
  static absl::StatusOr<std::unique_ptr<CgroupManager>> Detect(const FsRoot& root);

  virtual CgroupLayout layout() const = 0;
  // Controllers that limits can be set with, sorted: "cpu", "cpuset", "memory", "pids", ...
  virtual std::vector<std::string> Controllers() const = 0;
  // Controllers that a v2 hierarchy holds on a hybrid machine; crun 1.8 refuses to run when this
  // is not empty (see docs/decisions.md).
  virtual std::vector<std::string> UnifiedControllersOnHybrid() const = 0;

  // Makes the group and its parents in every hierarchy, with controllers enabled on the way (v2)
  // and cpuset inherited (v1). Returns the paths it made, outermost first: what the caller owns and
  // has to remove. Undone on failure, except that v2 controllers stay enabled. A group that
  // somebody had in one v1 hierarchy only is completed but not returned.
  virtual absl::StatusOr<std::vector<std::string>> Create(absl::string_view path) = 0;
  // v2: makes an empty group that uses all controllers of its parent, so that they can't be taken
  // from the parent's other groups, limits and all, while it is there. That is what systemd does to
  // groups that it knows nothing of in a slice of its own, at each daemon-reload for one. v1 has no
  // such thing: nothing is made. Returns what it made, as Create does.
  virtual absl::StatusOr<std::vector<std::string>> MakeKeeper(absl::string_view path) = 0;
  // An error: it could not be looked at, and may exist or not.
  virtual absl::StatusOr<bool> Exists(absl::string_view path) const = 0;
  // Removes the group and groups below it, everywhere, also those that others made there (crun, in
  // named hierarchies and in `unified`). No process may be left in it: FAILED_PRECONDITION names
  // them, after half a second for those that are leaving. OK when it is not there.
  virtual absl::Status Remove(absl::string_view path) = 0;
  // Removes the group, in each hierarchy where it has neither groups below nor processes; elsewhere
  // it stays, and that is no error. For a parent that several users share.
  virtual absl::Status RemoveIfUnused(absl::string_view path) = 0;

  // All or nothing: validated whole, written in an order that is always legal (memory before swap
  // when raising, after when lowering), undone if a step fails. The error names file and value. A
  // value for a controller that the machine lacks is FAILED_PRECONDITION, as is a memory limit
  // below what the group uses and can't give back (a v2 kernel would kill for it). One update of a
  // group at a time is the caller's to see to, and the order between groups (parents are raised
  // first).
  virtual absl::Status Apply(absl::string_view path, const CgroupSettings& settings) = 0;
  // What the kernel holds now.
  virtual absl::StatusOr<CgroupSettings> Read(absl::string_view path) const = 0;

  // Of a group that somebody else has made, for `pid` and with `settings` (an OCI runtime): makes
  // it known to whoever manages the machine's groups, so that it keeps its values. Again for one
  // that is known: looks whether it holds them. Nothing where groups are plain directories.
  virtual absl::Status Register(absl::string_view, pid_t, const CgroupSettings&) {
    return absl::OkStatus();
  }
  // Whether groups with registered processes go by themselves when the last of these ends.
  virtual bool EndsWithProcesses() const { return false; }

  // Into every hierarchy. NOT_FOUND when the group or the process is not there.
  virtual absl::Status AddProcess(absl::string_view path, pid_t pid) = 0;
  // On v1 the kernel moves the processes of a group whose last CPU or memory node goes to the
  // nearest group above that has some, in the cpuset hierarchy alone and for good
  // (Documentation/admin-guide/cgroup-v1/cpusets.rst). Moves them back, when the group has some
  // again: whoever is above it there, and in it or below in each other hierarchy that has it. OK
  // when it is not there. v2 moves nobody.
  virtual absl::Status ReturnToCpuset(absl::string_view path) = 0;
  // Makes the kernel ready to move processes: moves the calling thread to the group that it is in,
  // which changes nothing. The first move after some milliseconds without any waits for an RCU
  // grace period (5 to 30 ms; cgroup_threadgroup_rwsem), this one like any other; those that follow
  // within about as long don't. For CgroupReadier. `host`: for /proc.
  virtual absl::Status MoveInPlace(const FsRoot& host) = 0;
  // Processes of the group and, if asked, of groups below.
  virtual absl::StatusOr<std::vector<pid_t>> Processes(absl::string_view path,
                                                       bool recursive) const = 0;
  // SIGKILL to every process in the group and below, until none is left (cgroup.kill on v2; freezer
  // and a loop on v1). Thaws what was frozen. DEADLINE_EXCEEDED names those that remain,
  // FAILED_PRECONDITION if this process is among them. OK when the group is gone.
  virtual absl::Status KillAll(absl::string_view path, absl::Time deadline) = 0;

  // Every thread of the group and of groups below, sorted. NOT_FOUND.
  virtual absl::StatusOr<std::vector<pid_t>> Threads(absl::string_view path) const = 0;
  // Stops the group and groups below where they are, forks in flight included: until Thaw no thread
  // of theirs runs and none is born. False: somebody else has it frozen already, and it is not ours
  // to thaw. DEADLINE_EXCEEDED when that takes longer (a task in an uninterruptible sleep, v1): it
  // runs again then. ABORTED when it doesn't, because thawing it failed too: that is to be tried
  // again. FAILED_PRECONDITION without the v1 freezer.
  virtual absl::StatusOr<bool> Freeze(absl::string_view path, absl::Time deadline) = 0;
  virtual absl::Status Thaw(absl::string_view path) = 0;

  // One control file as it is, for what no CgroupSettings says. `controller` picks the hierarchy on
  // v1 ("blkio"). NOT_FOUND without group, file or hierarchy. The kernel's refusal of a value names
  // file and value.
  virtual absl::StatusOr<std::string> ReadFile(absl::string_view path, absl::string_view controller,
                                               absl::string_view file) const = 0;
  virtual absl::Status WriteFile(absl::string_view path, absl::string_view controller,
                                 absl::string_view file, absl::string_view value) = 0;
  virtual bool HasFile(absl::string_view path, absl::string_view controller,
                       absl::string_view file) const = 0;

  virtual absl::StatusOr<CgroupStats> Stats(absl::string_view path) const = 0;
  // How many processes of the group and of groups below the OOM killer has killed so far.
  virtual absl::StatusOr<uint64_t> OomKills(absl::string_view path) const = 0;
};

// "/a/b" from "a/b/", "a//b". INVALID_ARGUMENT for "..", control characters, over 4096 bytes.
absl::StatusOr<std::string> NormalizeCgroupPath(absl::string_view path);

// The path for a pod's `cgroup_parent`. A systemd slice name alone
// ("kubepods-burstable-pod1.slice") is expanded to its place in the tree
// ("/kubepods.slice/kubepods-burstable.slice/kubepods-..."), everything else is a cgroupfs path.
absl::StatusOr<std::string> ExpandCgroupParent(absl::string_view cgroup_parent);

// The group of that name below `parent`: "/plimsoll/1", or where that is a slice, as systemd wants
// it, "/plimsoll.slice/plimsoll-1.slice". `parent` is normalised, and as ExpandCgroupParent has it.
std::string ChildCgroup(absl::string_view parent, absl::string_view name);
// The name of what ChildCgroup has put below `parent`, from its directory's name; else empty.
absl::string_view NameOfChildCgroup(absl::string_view parent, absl::string_view directory);

// cpu.shares (2..262144) to cpu.weight (1..10000) and back, as the KEP-2254 formula has it. Values
// outside are clamped. The way back gives the least shares of that weight, so that weight -> shares
// -> weight changes nothing.
uint64_t CpuSharesToWeight(uint64_t shares);
uint64_t CpuWeightToShares(uint64_t weight);

}  // namespace plimsoll::linux

#endif  // PLIMSOLL_LINUX_CGROUP_CGROUP_H_
