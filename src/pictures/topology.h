// A topology as a picture: a tree of text, or an SVG of nested boxes. Only the command line draws,
// so this room is apart from topology and qos/rdt: plimsolld isn't linked to it.
#ifndef PLIMSOLL_PICTURES_TOPOLOGY_H_
#define PLIMSOLL_PICTURES_TOPOLOGY_H_

#include <string>
#include <vector>

#include "resources/cpu_set.h"
#include "topology/zones/zone.h"

namespace plimsoll::pictures {

// A workload and its CPUs.
struct Workload {
  std::string name;
  resources::CpuSet cpus;
  std::string memory;  // its limit, for people; empty: none
};

// One line per zone, indented by its depth: name, type, resources, attributes. Long values are cut,
// and lines break at 100 columns. Below a zone comes a line for each workload with CPUs of that
// zone, but not of one smaller zone alone; workloads that may use all CPUs are at the end.
//
//   root Machine
//   └─ package-0 Package  cpu-model=…
//      └─ numa-0 NUMANode  memory 16 GiB
//         │  ● web/nginx  cpus 0-1  memory 512 MiB
std::string TopologyText(const topology::Topology& topology,
                         const std::vector<Workload>& workloads = {});

// "1.5 GiB" for memory, swap and huge pages; anything else unchanged.
std::string AmountText(const topology::ZoneResource& resource);

// Zones as nested boxes below a summary line, with CPUs as cells: coloured by the workloads that
// have them, grey when not in `theirs`, the CPUs for pods. The legend lists each workload; one that
// may use all of `theirs` has no colour.
std::string TopologySvg(const topology::Topology& topology, const resources::CpuSet& theirs,
                        const std::vector<Workload>& workloads);

}  // namespace plimsoll::pictures

#endif  // PLIMSOLL_PICTURES_TOPOLOGY_H_
