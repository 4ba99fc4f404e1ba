#include "agent/device_manager/device_table.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace plimsoll::agent {
namespace {

int64_t HealthyOf(const DeviceResource& resource) {
  return std::count_if(resource.devices.begin(), resource.devices.end(),
                       [](const Device& device) { return device.healthy; });
}

resources::Quantity CountOf(int64_t count) {
  return resources::Quantity::FromInt(count);
}

absl::Status NoPlugin(const std::string& resource) {
  return absl::UnavailableError(absl::StrCat("no device plugin of ", resource, " has registered"));
}

}  // namespace

DeviceTable::DeviceTable(DeviceStock configured, const std::set<std::string>& expected,
                         std::function<SteadyTime()> now)
    : now_(std::move(now)), configured_(std::move(configured)) {
  const absl::MutexLock lock(&mutex_);
  for (const std::string& resource : expected) {
    if (configured_.contains(resource) || entries_.size() == kMaxPlugins) continue;
    Entry& entry = entries_[resource];
    entry.resource.is_served = false;
    entry.is_shown = true;
    entry.leave = LeaveTime();
  }
}

SteadyTime DeviceTable::LeaveTime() const {
  return now_() + absl::ToChronoNanoseconds(kStay);
}

absl::Status DeviceTable::CheckPutLocked(const std::string& resource) const {
  if (configured_.contains(resource)) {
    return absl::FailedPreconditionError(
        absl::StrCat(resource,
                     " has devices of the agent's configuration; a resource is either a "
                     "plugin's or the configuration's"));
  }
  const bool has_room = entries_.contains(resource) || entries_.size() < kMaxPlugins ||
                        std::any_of(entries_.begin(), entries_.end(),
                                    [](const auto& each) { return EndOf(each.second) != kNever; });
  if (!has_room) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "there are ", kMaxPlugins, " resources of device plugins that serve; at most so many"));
  }
  return absl::OkStatus();
}

absl::Status DeviceTable::CheckPut(const std::string& resource) const {
  const absl::MutexLock lock(&mutex_);
  return CheckPutLocked(resource);
}

absl::StatusOr<std::shared_ptr<Plugin>> DeviceTable::Put(const std::string& resource,
                                                         std::shared_ptr<Plugin> plugin) {
  const absl::MutexLock lock(&mutex_);
  PLIMSOLL_RETURN_IF_ERROR(CheckPutLocked(resource));
  if (!entries_.contains(resource) && entries_.size() == kMaxPlugins) DropNextToLeave();
  Entry& entry = entries_[resource];
  entry.resource.has_preference = plugin->has_preference();
  entry.resource.is_served = true;
  entry.leave.reset();
  return std::exchange(entry.plugin, std::move(plugin));
}

void DeviceTable::DropNextToLeave() {
  const auto next = std::min_element(
      entries_.begin(), entries_.end(),
      [](const auto& a, const auto& b) { return EndOf(a.second) < EndOf(b.second); });
  if (next != entries_.end() && EndOf(next->second) != kNever) entries_.erase(next);
}

SteadyTime DeviceTable::EndOf(const Entry& entry) {
  return entry.plugin == nullptr ? kNever : entry.leave.value_or(kNever);
}

DeviceTable::Entry* DeviceTable::FindOf(const std::string& resource, const Plugin* plugin) {
  const auto it = entries_.find(resource);
  return it == entries_.end() || it->second.plugin.get() != plugin ? nullptr : &it->second;
}

bool DeviceTable::SetDevices(const std::string& resource, const Plugin* from,
                             std::vector<Device> devices) {
  const absl::MutexLock lock(&mutex_);
  Entry* const entry = FindOf(resource, from);
  if (entry == nullptr || entry->leave) return false;
  if (entry->is_shown && entry->resource.devices == devices) return false;
  entry->resource.devices = std::move(devices);
  entry->is_shown = true;
  return true;
}

bool DeviceTable::SetGone(const std::string& resource, const Plugin* from) {
  const absl::MutexLock lock(&mutex_);
  Entry* const entry = FindOf(resource, from);
  if (entry == nullptr || entry->leave) return false;
  entry->resource.is_served = false;
  for (Device& device : entry->resource.devices) device.healthy = false;
  entry->leave = LeaveTime();
  return true;
}

bool DeviceTable::DropExpired() {
  const SteadyTime now = now_();
  const absl::MutexLock lock(&mutex_);
  return std::erase_if(entries_, [&](const auto& each) {
           return each.second.leave && *each.second.leave <= now;
         }) > 0;
}

SteadyTime DeviceTable::NextExpiry() const {
  const absl::MutexLock lock(&mutex_);
  SteadyTime next = kNever;
  for (const auto& [resource, entry] : entries_) {
    if (entry.leave) next = std::min(next, *entry.leave);
  }
  return next;
}

DeviceStock DeviceTable::Stock() const {
  DeviceStock stock = configured_;
  const absl::MutexLock lock(&mutex_);
  for (const auto& [resource, entry] : entries_) {
    if (entry.is_shown) stock[resource] = entry.resource;
  }
  return stock;
}

resources::ResourceList DeviceTable::Capacity() const {
  resources::ResourceList counts;
  for (const auto& [name, resource] : configured_) {
    counts[name] = CountOf(static_cast<int64_t>(resource.devices.size()));
  }
  const absl::MutexLock lock(&mutex_);
  for (const auto& [name, entry] : entries_) {
    if (!entry.is_shown) continue;
    counts[name] = CountOf(static_cast<int64_t>(entry.resource.devices.size()));
  }
  return counts;
}

resources::ResourceList DeviceTable::Allocatable() const {
  resources::ResourceList counts;
  for (const auto& [name, resource] : configured_) counts[name] = CountOf(HealthyOf(resource));
  const absl::MutexLock lock(&mutex_);
  for (const auto& [name, entry] : entries_) {
    if (entry.is_shown) counts[name] = CountOf(HealthyOf(entry.resource));
  }
  return counts;
}

bool DeviceTable::IsConfigured(const std::string& resource) const {
  return configured_.contains(resource);
}

absl::StatusOr<std::shared_ptr<Plugin>> DeviceTable::Find(const std::string& resource) const {
  const absl::MutexLock lock(&mutex_);
  const auto it = entries_.find(resource);
  if (it == entries_.end()) return NoPlugin(resource);
  if (it->second.plugin != nullptr && it->second.leave) {
    return absl::UnavailableError(
        absl::StrCat("the device plugin of ", resource, " has ended; it has to register again"));
  }
  return it->second.plugin;
}

absl::StatusOr<bool> DeviceTable::WantsPreStart(const std::string& resource) const {
  const absl::MutexLock lock(&mutex_);
  const auto it = entries_.find(resource);
  if (it == entries_.end()) return NoPlugin(resource);
  return it->second.plugin != nullptr && it->second.plugin->wants_pre_start();
}

}  // namespace plimsoll::agent
