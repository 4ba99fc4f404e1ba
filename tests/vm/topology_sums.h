// Sums over a topology.
#ifndef PLIMSOLL_TESTS_VM_TOPOLOGY_SUMS_H_
#define PLIMSOLL_TESTS_VM_TOPOLOGY_SUMS_H_

#include <cstdint>
#include <map>
#include <string>

#include "harness/node.h"
#include "resources/quantity.h"

namespace plimsoll::testing {

// The sum over all zones.
inline int64_t Sum(const cri::ResourceTopology& topology, const std::string& resource) {
  int64_t sum = 0;
  for (const auto& zone : topology.zones()) {
    for (const auto& each : zone.resources()) {
      if (each.name() != resource) continue;
      sum += resources::Quantity::Parse(each.capacity().string())->Value();
    }
  }
  return sum;
}

// The number of zones by type.
inline std::map<std::string, int> CountTypes(const cri::ResourceTopology& topology) {
  std::map<std::string, int> types;
  for (const auto& zone : topology.zones()) ++types[zone.type()];
  return types;
}

}  // namespace plimsoll::testing

#endif  // PLIMSOLL_TESTS_VM_TOPOLOGY_SUMS_H_
