// A node's facts as labels and annotations of its Node object.
#ifndef PLIMSOLL_KUBE_PUBLISH_NODE_FACTS_H_
#define PLIMSOLL_KUBE_PUBLISH_NODE_FACTS_H_

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "kube/link/runtime_link.h"
#include "kube/publish/publish_options.h"

namespace plimsoll::kube {

// Keys of labels and annotations begin with it.
inline constexpr char kFactPrefix[] = "plimsoll.dev/";
inline constexpr char kTopologyPrefix[] = "plimsoll.dev/topology";

// Bounds, so that the annotations of a Node stay far below the 256 KiB that all of its writers
// share.
inline constexpr size_t kMostClassLabels = 200;
inline constexpr size_t kLargestClasses = 32 << 10;
inline constexpr size_t kLargestTopologyText = 16 << 10;

struct NodeFacts {
  std::map<std::string, std::string> labels;
  std::map<std::string, std::string> annotations;
  std::vector<std::string> left_out;  // a sentence for each bound that was met
  // The report has no topology to be read: facts that were published of one stay.
  bool topology_is_unknown = false;
  bool operator==(const NodeFacts&) const = default;
};

// The facts that the options ask for and the report knows.
//
//   fact of a label   label
//   classes           plimsoll.dev/class.rdt.gold: "true"   (named as in DeviceClassName)
//   runtime-version   plimsoll.dev/runtime-version: "0.1.0"
//   core-types        plimsoll.dev/topology.core-type.performance: "16"   (CPUs)
//   others            plimsoll.dev/topology.numa-nodes: "2"   ("memory-nodes": those without CPUs)
//
// The annotations "plimsoll.dev/classes" and "plimsoll.dev/topology" are JSON. A class that the
// machine can't have is in neither. Counts of zero are not told.
NodeFacts FactsOf(const NodeReport& report, const PublishOptions& options);

}  // namespace plimsoll::kube

#endif  // PLIMSOLL_KUBE_PUBLISH_NODE_FACTS_H_
