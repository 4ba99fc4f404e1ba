// Makes a machine's tree of zones (DESIGN "Zone tree").
#ifndef PLIMSOLL_TOPOLOGY_MAKE_ZONES_H_
#define PLIMSOLL_TOPOLOGY_MAKE_ZONES_H_

#include <cstdint>
#include <string>

#include "topology/machine/machine.h"
#include "topology/zones/zone.h"

namespace plimsoll::topology {

// One root zone of type Machine; below it packages, NUMA nodes, cache groups and cores, nested as
// their CPUs are, in any order of these types; memory without CPUs is below the root.
//
// A cache group is a last-level cache of two or more cores which does not cover its NUMA node.
// Names use the kernel's numbers ("core-<package>-<core>"; without numbers, the first CPU's), not
// positions, and parents come before children in the order of those numbers: another CPU changes
// neither for the rest.
Topology MakeZones(const Machine& machine);

// "numa-0": MakeZones' name for a NUMA node.
std::string NumaNodeName(uint32_t id);
// "hugepages-2Mi", by the page's size.
std::string HugepagesName(uint64_t page_bytes);

}  // namespace plimsoll::topology

#endif  // PLIMSOLL_TOPOLOGY_MAKE_ZONES_H_
