// Notifies plimsolld that the cluster's scheduler gives out classes, once kubelet has registered
// the driver.
#ifndef PLIMSOLL_KUBE_DRIVER_SCHEDULING_H_
#define PLIMSOLL_KUBE_DRIVER_SCHEDULING_H_

#include <atomic>

#include "absl/status/status.h"
#include "kube/driver/device_board.h"
#include "kube/link/runtime_link.h"

namespace plimsoll::kube {

// Thread-safe. plimsolld remembers what it was told. A driver that is started again beside a
// kubelet that knows it notifies plimsolld at kubelet's first call.
class Scheduling {
 public:
  // Both outlive this.
  Scheduling(RuntimeLink& link, const DeviceBoard& board) : link_(link), board_(board) {}

  void Registered() {
    registered_ = true;
    must_tell_ = true;
  }
  // plimsolld answers again, and may have lost its state directory.
  void RuntimeIsBack() {
    if (registered_) must_tell_ = true;
  }
  bool registered() const { return registered_; }
  bool has_news() const { return must_tell_; }

  // Notifies plimsolld if there is news and it answers; its next report is the time for
  // another try.
  absl::Status Tell() {
    if (!must_tell_ || !board_.has_devices() || board_.is_lost()) return absl::OkStatus();
    must_tell_ = false;
    absl::Status told = link_.SetScheduled(true);
    if (!told.ok()) must_tell_ = true;
    return told;
  }

 private:
  RuntimeLink& link_;
  const DeviceBoard& board_;
  std::atomic<bool> registered_ = false;
  std::atomic<bool> must_tell_ = false;
};

}  // namespace plimsoll::kube

#endif  // PLIMSOLL_KUBE_DRIVER_SCHEDULING_H_
