// A topology as a picture: a tree of text, or an SVG of nested boxes.
#ifndef PLIMSOLL_PICTURES_TOPOLOGY_H_
#define PLIMSOLL_PICTURES_TOPOLOGY_H_

#include <string>
#include <vector>

#include "resources/cpu_set.h"
#include "topology/zone.h"

namespace plimsoll::pictures {

// Who runs on which CPUs.
struct Workload {
  std::string name;
  resources::CpuSet cpus;
  std::string memory;  // its limit, for people; empty: none
};

// A line a zone, indented by its depth: name, type, resources, attributes; long values are cut, and
// what goes beyond 100 columns is on further lines.
// Below it a line for each workload that has CPUs of it and of no smaller zone alone; one that may
// use all CPUs is named at the end.
//
//   root Machine
//   └─ package-0 Package  cpu-model=…
//      └─ numa-0 NUMANode  memory 16 GiB
//         │  ● web/nginx  cpus 0-1  memory 512 MiB
std::string TopologyText(const topology::Topology& topology,
                         const std::vector<Workload>& workloads = {});

// "1.5 GiB" of memory, swap and huge pages, anything else as it is told.
std::string AmountText(const topology::ZoneResource& resource);

// Zones as boxes in one another below a line that sums them up, CPUs as cells in them: coloured by
// the workloads that have them, grey where they are not among `theirs`, what of the machine is
// pods'. Each workload is in the legend, one that may use all of `theirs` without a colour.
std::string TopologySvg(const topology::Topology& topology, const resources::CpuSet& theirs,
                        const std::vector<Workload>& workloads);

}  // namespace plimsoll::pictures

#endif  // PLIMSOLL_PICTURES_TOPOLOGY_H_
