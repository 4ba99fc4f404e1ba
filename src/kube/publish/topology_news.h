// Changes of the topology, told for people: parts that came and parts that went.
#ifndef PLIMSOLL_KUBE_PUBLISH_TOPOLOGY_NEWS_H_
#define PLIMSOLL_KUBE_PUBLISH_TOPOLOGY_NEWS_H_

#include <string>

#include "topology/zones/zone.h"

namespace plimsoll::kube {

// "CPUs 4-7 came; memory of numa-0: 16Gi instead of 32Gi; zones package-1, numa-1 went". Zones that
// are cores are told by their CPUs alone. Empty: CPUs, amounts and zones are the same.
std::string TopologyNews(const topology::Topology& before, const topology::Topology& after);

}  // namespace plimsoll::kube

#endif  // PLIMSOLL_KUBE_PUBLISH_TOPOLOGY_NEWS_H_
