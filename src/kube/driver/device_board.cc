#include "kube/driver/device_board.h"

#include <algorithm>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace plimsoll::kube {
namespace {

constexpr char kLost[] = "plimsolld doesn't answer";
// The number of devices in a message.
constexpr size_t kMostNamed = 20;

std::string NamesOf(const std::vector<PoolDevice>& devices) {
  if (devices.empty()) return "none at all";
  std::vector<std::string> names;
  for (const PoolDevice& each : devices) {
    if (names.size() == kMostNamed) break;
    names.push_back(each.name);
  }
  if (devices.size() > kMostNamed) {
    names.push_back(absl::StrCat(devices.size() - kMostNamed, " more"));
  }
  return absl::StrJoin(names, ", ");
}

DeviceState StateOf(const PoolDevice& device, bool is_lost) {
  using Health = DeviceState::Health;
  if (is_lost) return {device.name, Health::kUnknown, kLost};
  if (device.drift.empty()) return {device.name, Health::kHealthy, ""};
  return {device.name, Health::kUnhealthy, device.drift};
}

}  // namespace

bool DeviceBoard::Set(std::vector<PoolDevice> devices) {
  {
    const absl::MutexLock lock(&mutex_);
    if (has_devices_ && !is_lost_ && devices == devices_) return false;
    has_devices_ = true;
    is_lost_ = false;
    devices_ = std::move(devices);
  }
  Tell();
  return true;
}

void DeviceBoard::Lose() {
  {
    const absl::MutexLock lock(&mutex_);
    if (is_lost_) return;
    is_lost_ = true;
  }
  Tell();
}

bool DeviceBoard::has_devices() const {
  const absl::MutexLock lock(&mutex_);
  return has_devices_;
}

bool DeviceBoard::is_lost() const {
  const absl::MutexLock lock(&mutex_);
  return is_lost_;
}

absl::StatusOr<qos::ClassId> DeviceBoard::Find(const std::string& device,
                                               absl::Duration patience) const {
  const absl::MutexLock lock(&mutex_);
  if (!mutex_.AwaitWithTimeout(absl::Condition(&has_devices_), patience)) {
    return absl::UnavailableError(
        "plimsolld has not told this node's classes yet: does it run, and is its cluster socket "
        "the one of the configuration?");
  }
  const auto found =
      std::lower_bound(devices_.begin(), devices_.end(), device,
                       [](const PoolDevice& a, const std::string& b) { return a.name < b; });
  if (found != devices_.end() && found->name == device) return found->id;
  return absl::NotFoundError(absl::StrCat("device \"", absl::CHexEscape(device.substr(0, 64)),
                                          "\" is no class of this node now; it has ",
                                          NamesOf(devices_)));
}

std::vector<DeviceState> DeviceBoard::States() const {
  const absl::MutexLock lock(&mutex_);
  std::vector<DeviceState> states;
  for (const PoolDevice& each : devices_) states.push_back(StateOf(each, is_lost_));
  return states;
}

int DeviceBoard::Listen(Listener listener) {
  const absl::MutexLock lock(&listeners_mutex_);
  listeners_[++last_handle_] = std::move(listener);
  return last_handle_;
}

void DeviceBoard::Unlisten(int handle) {
  const absl::MutexLock lock(&listeners_mutex_);
  listeners_.erase(handle);
}

void DeviceBoard::Tell() const {
  const absl::MutexLock lock(&listeners_mutex_);
  for (const auto& [handle, listener] : listeners_) listener();
}

}  // namespace plimsoll::kube
