// Moves of all threads of a container into a resctrl group, those forked meanwhile included.
//
// A new thread copies its group from the forking thread early in fork(2) and becomes visible only
// at its end, so a move in between misses it. Therefore the container's cgroup is frozen during the
// move, within about 20 ms. Where it can't be frozen, threads are looked for until none is left
// behind, and later once more (rechecks.h).
#ifndef PLIMSOLL_QOS_RDT_MOVER_H_
#define PLIMSOLL_QOS_RDT_MOVER_H_

#include <sys/types.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/fs_root.h"
#include "linux/cgroup/cgroup.h"
#include "linux/resctrl.h"
#include "qos/class_type.h"
#include "qos/container_freezer.h"

namespace plimsoll::qos {

// A class's control group and the container's monitoring group in it, if there is one.
struct RdtPlace {
  std::string control_path;
  std::shared_ptr<const linux::Resctrl::TasksFile> control;
  std::string monitor_path;
  std::shared_ptr<const linux::Resctrl::TasksFile> monitor;  // null: none
};

struct RdtMove {
  std::vector<pid_t> threads;  // threads moved
  bool certain = false;        // no thread can have been missed
  // Why monitoring misses some threads; the class is in force all the same. Empty: it misses none.
  std::string monitor_trouble;
};

// Thread-safe; one call about a container at a time.
class RdtMover {
 public:
  // All pointers must outlive it. `host` has proc/.
  RdtMover(const linux::Resctrl* resctrl, linux::CgroupManager* cgroups, ContainerFreezer* freezer,
           FsRoot host)
      : resctrl_(*resctrl), cgroups_(*cgroups), freezer_(*freezer), host_(std::move(host)) {}

  // Moves the container to `to`. On error all threads are in `back` again. A container without
  // threads is OK. `first`: it had no class, so most likely it is an init asleep, for which a
  // freeze would only cost time.
  absl::StatusOr<RdtMove> Move(const Target& target, const RdtPlace& to, const RdtPlace& back,
                               bool first);
  // Moves the present threads, without freezing: for later looks.
  absl::Status Again(const Target& target, const RdtPlace& to) const;
  // Adds threads to the monitoring group only; those of other classes stay where they are.
  absl::Status Monitor(const Target& target, const RdtPlace& to) const;

  // The container's threads, sorted; empty when it is gone.
  absl::StatusOr<std::vector<pid_t>> ThreadsOf(const Target& target) const;
  bool IsAlive(pid_t thread) const;
  const ContainerFreezer& freezer() const { return freezer_; }

 private:
  std::vector<pid_t> EnteringThreads(const Target& target) const;
  absl::Status Add(const std::vector<pid_t>& threads, const RdtPlace& to, RdtMove& move) const;
  // Moves threads that the first pass missed, until none of the container is outside the class.
  absl::Status MoveMissed(const Target& target, const RdtPlace& to, RdtMove& move) const;

  const linux::Resctrl& resctrl_;
  linux::CgroupManager& cgroups_;
  ContainerFreezer& freezer_;
  const FsRoot host_;
};

}  // namespace plimsoll::qos

#endif  // PLIMSOLL_QOS_RDT_MOVER_H_
