#include "kube/driver/pool_devices.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/text/printable.h"

namespace plimsoll::kube {
namespace {

using Json = nlohmann::json;

constexpr absl::string_view kCut = "...";

// One request of a claim counts as one holder, however it is written.
Json HoldersOf(uint64_t capacity) {
  return {{"value", absl::StrCat(capacity)},
          {"requestPolicy", {{"default", "1"}, {"validRange", {{"min", "1"}, {"max", "1"}}}}}};
}

PoolDevice DeviceOf(const NodeClassType& type, const NodeClass& each) {
  PoolDevice device;
  device.id = {type.level, type.name, each.name};
  device.name = qos::DeviceName(device.id);
  device.drift = absl::StrJoin(each.drift, "; ");
  Json attributes = {
      {"type", {{"string", AttributeText(type.name)}}},
      {"class", {{"string", AttributeText(each.name)}}},
      {"device", {{"string", device.name}}},
      {"level", {{"string", type.level == qos::Level::kPod ? "pod" : "container"}}},
      {"immutable", {{"bool", type.immutable}}},
      {"default", {{"bool", !each.name.empty() && each.name == type.default_class}}}};
  if (!each.meaning.empty()) attributes["meaning"] = {{"string", AttributeText(each.meaning)}};
  device.object = {{"name", device.name},
                   {"allowMultipleAllocations", true},
                   {"attributes", std::move(attributes)}};
  if (each.capacity > 0) device.object["capacity"] = {{"holders", HoldersOf(each.capacity)}};
  return device;
}

}  // namespace

std::string AttributeText(absl::string_view text) {
  const std::string line = Printable(text);
  if (line.size() <= kMaxAttributeBytes) return line;
  size_t end = kMaxAttributeBytes - kCut.size();
  while (end > 0 && (static_cast<unsigned char>(line[end]) & 0xc0) == 0x80) --end;
  return absl::StrCat(line.substr(0, end), kCut);
}

std::vector<PoolDevice> PoolDevicesOf(const NodeReport& report) {
  std::vector<PoolDevice> devices;
  for (const NodeClassType& type : report.types) {
    if (!type.unavailable.empty()) continue;
    for (const NodeClass& each : type.classes) devices.push_back(DeviceOf(type, each));
  }
  const auto by_name = [](const PoolDevice& a, const PoolDevice& b) { return a.name < b.name; };
  std::sort(devices.begin(), devices.end(), by_name);
  // A report that names a class twice is wrong; a slice with two devices of a name is refused.
  const auto same = [](const PoolDevice& a, const PoolDevice& b) { return a.name == b.name; };
  devices.erase(std::unique(devices.begin(), devices.end(), same), devices.end());
  return devices;
}

}  // namespace plimsoll::kube
