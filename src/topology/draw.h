// A topology as a tree of text.
#ifndef PLIMSOLL_TOPOLOGY_DRAW_H_
#define PLIMSOLL_TOPOLOGY_DRAW_H_

#include <string>

#include "topology/zone.h"

namespace plimsoll::topology {

// A line a zone, indented by its depth: name, type, resources, attributes; long values are cut.
//
//   root Machine
//   └─ package-0 Package  cpu-model=…
//      └─ numa-0 NUMANode  memory 16Gi
std::string TopologyText(const Topology& topology);

}  // namespace plimsoll::topology

#endif  // PLIMSOLL_TOPOLOGY_DRAW_H_
