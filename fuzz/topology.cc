// A file with a topology, and with a partition of it.
#include <string>

#include "absl/strings/match.h"
#include "check.h"
#include "topology/partition.h"
#include "topology/topology_file.h"
#include "topology/zones/maps.h"
#include "topology/zones/zone_tree.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace plimsoll::fuzz;
  namespace topology = plimsoll::topology;
  const auto read = topology::ParseTopology(Text(data, size), "input.yaml");
  if (!read.ok()) {
    CheckRefusal(read.status());
    FUZZ_CHECK(absl::StartsWith(read.status().message(), "input.yaml:"), read.status().ToString());
    return 0;
  }
  const auto again = topology::ParseTopology(topology::TopologyYaml(*read), "again.yaml");
  FUZZ_CHECK(again.ok(), again.status().ToString());
  FUZZ_CHECK(*again == *read, "is another after it was written and read");
  for (const topology::Zone& zone : read->zones) {
    for (const topology::ZoneResource& each : zone.resources) {
      FUZZ_CHECK(each.capacity.text() == each.capacity.Canonical(), each.capacity.text());
    }
  }
  const auto tree = topology::ZoneTree::Build(*read);
  if (!tree.ok()) {
    CheckRefusal(tree.status());
    return 0;
  }
  topology::PartitionConfig config;
  config.cpus.count = 1;
  config.show.hidden_types = {topology::kCore, topology::kNumaNode};
  config.show.hide_siblings = true;
  const auto partition = topology::MakePartition(config, *tree);
  if (!partition.ok()) {
    CheckRefusal(partition.status());
    return 0;
  }
  FUZZ_CHECK(partition->cpus.Size() == 1, partition->cpus.ToString());
  const auto shown = topology::ZoneTree::Build(partition->shown);
  FUZZ_CHECK(shown.ok(), shown.status().ToString());
  const auto maps = topology::MakeMaps(*shown);
  FUZZ_CHECK(maps.ok(), maps.status().ToString());
  return 0;
}
