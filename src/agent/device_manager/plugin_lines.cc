#include "agent/device_manager/plugin_lines.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/text/printable.h"

namespace plimsoll::agent {
namespace {

std::string CountText(const std::vector<Device>& devices) {
  const auto healthy = std::count_if(devices.begin(), devices.end(),
                                     [](const Device& device) { return device.healthy; });
  const std::string all =
      absl::StrCat(devices.size(), devices.size() == 1 ? " device" : " devices");
  if (static_cast<size_t>(healthy) == devices.size()) return all;
  return absl::StrCat(all, ", ", healthy, " of them healthy");
}

}  // namespace

std::optional<std::string> PluginLines::Registered(const std::string& resource,
                                                   const std::string& socket_path,
                                                   const std::vector<Device>& devices) {
  const SteadyTime now = now_();
  int64_t left_out = 0;
  {
    const absl::MutexLock lock(&mutex_);
    if (told_.size() >= kMostResources && !told_.contains(resource)) told_.clear();
    Told& told = told_[resource];
    if (told.lines == 0 || told.window_end <= now) {
      told.window_end = now + absl::ToChronoNanoseconds(kWindow);
      told.lines = 0;
    }
    if (told.lines == kMostLines) {
      ++told.left_out;
      return std::nullopt;
    }
    ++told.lines;
    left_out = std::exchange(told.left_out, 0);
  }
  return absl::StrCat(
      "the device plugin of ", resource, " at ", Printable(socket_path), " has registered, with ",
      CountText(devices),
      left_out == 0 ? ""
                    : absl::StrCat("; ", left_out, " registrations before it were not logged"));
}

}  // namespace plimsoll::agent
