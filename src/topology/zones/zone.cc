#include "topology/zones/zone.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"

namespace plimsoll::topology {

bool IsOfType(const Zone& zone, absl::string_view type) {
  if (absl::EqualsIgnoreCase(zone.type, type)) return true;
  for (const auto& [alias, meant] :
       {std::pair("socket", kPackage), std::pair("numa", kNumaNode), std::pair("node", kNumaNode),
        std::pair("cache", kCacheGroup)}) {
    if (type == meant && absl::EqualsIgnoreCase(zone.type, alias)) return true;
  }
  return false;
}

std::optional<uint32_t> NumberAtEnd(absl::string_view name) {
  size_t begin = name.size();
  while (begin > 0 && absl::ascii_isdigit(static_cast<unsigned char>(name[begin - 1]))) --begin;
  uint32_t number = 0;
  if (!absl::SimpleAtoi(name.substr(begin), &number)) return std::nullopt;
  return number;
}

std::optional<uint32_t> NumberOf(const Zone& zone) {
  const auto id = zone.attributes.find(kId);
  uint32_t number = 0;
  if (id != zone.attributes.end() && absl::SimpleAtoi(id->second, &number)) return number;
  return NumberAtEnd(zone.name);
}

const resources::Quantity* FindResource(const Zone& zone, const std::string& name) {
  for (const ZoneResource& resource : zone.resources) {
    if (resource.name == name) return &resource.capacity;
  }
  return nullptr;
}

std::map<std::string, resources::Quantity> Capacity(const Topology& topology) {
  std::map<std::string, resources::Quantity> sums;
  for (const Zone& zone : topology.zones) {
    for (const ZoneResource& resource : zone.resources) {
      resources::Quantity& sum = sums[resource.name];
      sum = sum + resource.capacity;
    }
  }
  return sums;
}

}  // namespace plimsoll::topology
