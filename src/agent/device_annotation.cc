#include "agent/device_annotation.h"

#include <functional>
#include <map>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "agent/pods/allocation/node_room.h"

namespace plimsoll::agent {

std::optional<PodVerdict> CountedDeviceRejection(const pod::Manifest& pod,
                                                 const NodeDevices& devices) {
  std::map<std::string, std::string, std::less<>> resources;  // by CDI name
  for (const auto& [resource, of_resource] : devices) {
    for (const NodeDevice& device : of_resource) {
      if (!device.cdi_name.empty()) resources.emplace(device.cdi_name, resource);
    }
  }
  if (resources.empty()) return std::nullopt;
  for (const auto& [key, value] : pod.annotations) {
    const bool is_of_all = key == pod::kCdiAnnotation;
    if (!is_of_all && !absl::StartsWith(key, absl::StrCat(pod::kCdiAnnotation, "."))) continue;
    for (const absl::string_view word : absl::StrSplit(value, ',')) {
      const auto counted = resources.find(absl::StripAsciiWhitespace(word));
      if (counted == resources.end()) continue;
      return PodVerdict{"CountedDevice",
                        absl::StrCat(kRejected, "annotation ", key, " names ", counted->first,
                                     ", which is a device of ", counted->second,
                                     " in the agent's configuration and may be another pod's; a "
                                     "request of ",
                                     counted->second, " gives the pod such a device")};
    }
  }
  return std::nullopt;
}

}  // namespace plimsoll::agent
