// The devices of now and their health, for all parts of the driver.
#ifndef PLIMSOLL_KUBE_DRIVER_DEVICE_BOARD_H_
#define PLIMSOLL_KUBE_DRIVER_DEVICE_BOARD_H_

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "kube/driver/pool_devices.h"

namespace plimsoll::kube {

struct DeviceState {
  enum class Health { kUnknown, kHealthy, kUnhealthy };
  std::string name;
  Health health = Health::kUnknown;
  std::string message;
  bool operator==(const DeviceState&) const = default;
};

// Thread-safe.
class DeviceBoard {
 public:
  using Listener = std::function<void()>;

  // False, and nothing told: all is as before. The runtime answers.
  bool Set(std::vector<PoolDevice> devices);
  // The runtime doesn't answer. The devices stay, their health is unknown.
  void Lose();

  bool has_devices() const;  // Set was called once
  bool is_lost() const;
  // The class of a device. NOT_FOUND names those that there are; UNAVAILABLE: none were set within
  // `patience`.
  absl::StatusOr<qos::ClassId> Find(const std::string& device, absl::Duration patience) const;
  std::vector<DeviceState> States() const;

  // Called after each change, and by Remind, in the thread that makes it, without a lock of
  // this object's held. Not called any more once Unlisten has returned.
  int Listen(Listener listener);
  void Unlisten(int handle);
  void Remind() const { Tell(); }

 private:
  void Tell() const;

  mutable absl::Mutex mutex_;
  bool has_devices_ ABSL_GUARDED_BY(mutex_) = false;
  bool is_lost_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<PoolDevice> devices_ ABSL_GUARDED_BY(mutex_);
  // Taken before mutex_, if both are.
  mutable absl::Mutex listeners_mutex_ ABSL_ACQUIRED_BEFORE(mutex_);
  int last_handle_ ABSL_GUARDED_BY(listeners_mutex_) = 0;
  std::map<int, Listener> listeners_ ABSL_GUARDED_BY(listeners_mutex_);
};

}  // namespace plimsoll::kube

#endif  // PLIMSOLL_KUBE_DRIVER_DEVICE_BOARD_H_
