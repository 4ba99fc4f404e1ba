// For tests: a device manager whose plugins a test plays.
#ifndef PLIMSOLL_AGENT_PODS_ALLOCATION_FAKE_DEVICES_FOR_TEST_H_
#define PLIMSOLL_AGENT_PODS_ALLOCATION_FAKE_DEVICES_FOR_TEST_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/synchronization/mutex.h"
#include "agent/device_manager/device_manager.h"

namespace plimsoll::agent {

// Thread-safe. Prefers the last devices. Its answer to Allocate is a variable with the ids.
class FakeDevices : public DeviceManager {
 public:
  void SetStock(DeviceStock stock) {
    const absl::MutexLock lock(&mutex_);
    stock_ = std::move(stock);
  }
  // Sets the answer to "Prefer", "Allocate" or "PreStart", from now on.
  void Answer(const std::string& call, const absl::Status& status) {
    const absl::MutexLock lock(&mutex_);
    answers_[call] = status;
  }
  // "Allocate example.com/gpu a,b", in their order.
  std::vector<std::string> Calls() const {
    const absl::MutexLock lock(&mutex_);
    return calls_;
  }
  int Count(const std::string& call) const {
    const absl::MutexLock lock(&mutex_);
    int count = 0;
    for (const std::string& each : calls_) count += each.rfind(call, 0) == 0 ? 1 : 0;
    return count;
  }

  DeviceStock Stock() const override {
    const absl::MutexLock lock(&mutex_);
    return stock_;
  }
  resources::ResourceList Capacity() const override { return {}; }
  resources::ResourceList Allocatable() const override { return {}; }
  absl::StatusOr<std::vector<std::string>> Prefer(const std::string& resource,
                                                  const std::vector<std::string>& available,
                                                  const std::vector<std::string>& must_include,
                                                  int64_t count) const override {
    const absl::Status status =
        Enter("Prefer", absl::StrCat(resource, " ", absl::StrJoin(available, ",")));
    if (!status.ok()) return status;
    std::vector<std::string> wish = must_include;
    for (auto it = available.rbegin(); it != available.rend(); ++it) {
      if (static_cast<int64_t>(wish.size()) < count) wish.push_back(*it);
    }
    return wish;
  }
  absl::StatusOr<pod::GivenDevices> Allocate(const std::string& resource,
                                             const std::vector<std::string>& ids) const override {
    const std::string list = absl::StrJoin(ids, ",");
    const absl::Status status = Enter("Allocate", absl::StrCat(resource, " ", list));
    if (!status.ok()) return status;
    pod::GivenDevices given;
    given.env["DEVICES"] = list;
    for (const std::string& id : ids) {
      given.nodes.push_back({"/dev/" + id, "/dev/" + id, "rw"});
    }
    return given;
  }
  absl::Status PreStart(const std::string& resource,
                        const std::vector<std::string>& ids) const override {
    return Enter("PreStart", absl::StrCat(resource, " ", absl::StrJoin(ids, ",")));
  }

 private:
  absl::Status Enter(const std::string& call, const std::string& object) const {
    const absl::MutexLock lock(&mutex_);
    calls_.push_back(absl::StrCat(call, " ", object));
    const auto it = answers_.find(call);
    return it == answers_.end() ? absl::OkStatus() : it->second;
  }

  mutable absl::Mutex mutex_;
  mutable std::vector<std::string> calls_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, absl::Status> answers_ ABSL_GUARDED_BY(mutex_);
  DeviceStock stock_ ABSL_GUARDED_BY(mutex_);
};

// Healthy devices that no plugin prefers.
inline DeviceStock StockOf(const std::string& resource, const std::vector<std::string>& ids,
                           bool has_preference = false) {
  DeviceResource all;
  all.has_preference = has_preference;
  for (const std::string& id : ids) {
    Device device;
    device.id = id;
    all.devices.push_back(device);
  }
  DeviceStock stock;
  stock[resource] = all;
  return stock;
}

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_PODS_ALLOCATION_FAKE_DEVICES_FOR_TEST_H_
