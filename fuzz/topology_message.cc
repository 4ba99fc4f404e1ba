// A topology provider's message.
#include <string>

#include "absl/strings/str_cat.h"
#include "check.h"
#include "plimsoll/v1/topology.pb.h"
#include "topology/make_zones.h"
#include "topology/source.h"
#include "topology/topology_file.h"
#include "topology/wire/translate_topology.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace plimsoll::fuzz;
  namespace topology = plimsoll::topology;
  plimsoll::v1::ProvideRequest request;
  if (!request.ParseFromArray(data, static_cast<int>(size))) return 0;
  const auto read = plimsoll::topology::TopologyFrom(request.topology());
  if (!read.ok()) {
    CheckRefusal(read.status());
    return 0;
  }
  topology::Machine machine;
  machine.cpus = *plimsoll::resources::CpuSet::Parse("0-7");
  machine.nodes = {{.id = 0, .cpus = machine.cpus, .memory_bytes = 1 << 30}};
  const absl::Status status = topology::CheckAgainst(*read, machine);
  if (!status.ok()) {
    CheckRefusal(status);
    return 0;
  }
  const auto tree = topology::ZoneTree::Build(*read);
  FUZZ_CHECK(tree.ok(), tree.status().ToString());
  const auto partition = topology::MakePartition({}, *tree);
  if (!partition.ok()) {
    CheckRefusal(partition.status());
    return 0;
  }
  const auto fitted = topology::FitToMachine(*partition, *tree, machine);
  FUZZ_CHECK(fitted.cpus.IsSubsetOf(machine.cpus), fitted.cpus.ToString());
  ::runtime::v1::ResourceTopology told;
  plimsoll::topology::FillTopology(fitted.shown, &told);
  FUZZ_CHECK(told.ByteSizeLong() > 0, "nothing is reported");
  return 0;
}
