// Monitoring groups of containers: one below the control group of a container's class.
#ifndef PLIMSOLL_QOS_RDT_MONITORS_H_
#define PLIMSOLL_QOS_RDT_MONITORS_H_

#include <map>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "linux/resctrl.h"
#include "qos/class_type.h"
#include "qos/rdt/mover.h"
#include "qos/rdt/ownership.h"

namespace plimsoll::qos {

// The name of a container's monitoring group.
std::string RdtMonitorName(absl::string_view id);

// Makes and opens the groups, and keeps a sentence for each container that has none though the
// machine monitors. Thread-safe; one call about a container at a time.
class RdtMonitors {
 public:
  // All pointers must outlive it. `is_possible`: the machine monitors.
  RdtMonitors(const linux::Resctrl* resctrl, RdtOwnership* ownership, bool is_possible)
      : resctrl_(*resctrl), ownership_(*ownership), is_possible_(is_possible) {}

  bool is_possible() const { return is_possible_; }
  // Opens the container's group in the place's control group. The place has none if it isn't ours.
  void Open(const std::string& id, RdtPlace& place) const;
  // The same, but makes the group if need be. On error the place has none.
  absl::Status Make(const std::string& id, RdtPlace& place);

  void NoteMonitored(const Target& target) { Forget(target.id); }
  void NoteUnmonitored(const Target& target, absl::string_view why);
  void Forget(const std::string& id);
  // A sentence for each container that isn't monitored on its own.
  std::vector<std::string> Unmonitored() const;

 private:
  const linux::Resctrl& resctrl_;
  RdtOwnership& ownership_;
  const bool is_possible_;
  mutable absl::Mutex mutex_;
  std::map<std::string, std::string> unmonitored_ ABSL_GUARDED_BY(mutex_);  // id -> sentence
};

}  // namespace plimsoll::qos

#endif  // PLIMSOLL_QOS_RDT_MONITORS_H_
