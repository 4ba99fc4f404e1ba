#include "topology/zone.h"

namespace plimsoll::topology {

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
