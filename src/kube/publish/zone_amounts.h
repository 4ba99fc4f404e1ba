// Amounts of each zone for a NodeResourceTopology: all of it, and the free part.
#ifndef PLIMSOLL_KUBE_PUBLISH_ZONE_AMOUNTS_H_
#define PLIMSOLL_KUBE_PUBLISH_ZONE_AMOUNTS_H_

#include <map>
#include <string>
#include <vector>

#include "kube/link/runtime_link.h"
#include "resources/quantity.h"
#include "topology/zones/zone_tree.h"

namespace plimsoll::kube {

struct ZoneAmount {
  resources::Quantity capacity;   // pods' part of it: allocatable is the same
  resources::Quantity available;  // less the parts that containers hold alone; never below zero
  bool operator==(const ZoneAmount&) const = default;
};
using ZoneAmounts = std::map<std::string, ZoneAmount>;  // by resource

// One for each zone of the tree, by its index.
//
// - CPUs of zones within a NUMA node are counted at the NUMA node, where scheduler plugins look for
//   them. The sum over all zones stays the node's.
// - Memory that is pinned to several NUMA nodes together is taken from them in ascending order,
// from
//   each as much as it has left: kubelet's memory manager fills them so.
// - A device near to several NUMA nodes counts at each of them, taken or not, since it can be used
//   from each.
// - Memory pinned to a NUMA node without a zone of its own is taken from the other zones that have
//   the resource, in their order: a hidden zone's memory is shown with an outer one.
std::vector<ZoneAmounts> AmountsOf(const topology::ZoneTree& tree, const Exclusive* exclusive);

}  // namespace plimsoll::kube

#endif  // PLIMSOLL_KUBE_PUBLISH_ZONE_AMOUNTS_H_
