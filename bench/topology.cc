// bench_topology: what it costs to read the topology of a machine of 512 CPUs, and to see that
// nothing of it has changed.
//
// The machine is a tree of files. hwloc reads one in a process of its own (plimsoll-hwloc), which
// costs a start and an exchange of XML that reading "/" does not: the goal holds all the same.
#include <cstdio>
#include <string>

#include "absl/time/clock.h"
#include "base/own_program.h"
#include "base/status.h"
#include "bench/series.h"
#include "topology/discover.h"
#include "topology/machine_files_for_test.h"
#include "topology/make_zones.h"
#include "topology/zone_tree.h"

namespace plimsoll::bench {
namespace {

constexpr int kDiscoveries = 20;
constexpr int kScans = 500;

template <typename Work>
absl::Status Run(const char* name, const char* goal, int rounds, const Work& work) {
  Series series{.name = name};
  for (int i = 0; i < rounds; ++i) {
    const absl::Time start = absl::Now();
    PLIMSOLL_RETURN_IF_ERROR(work());
    series.Add(absl::Now() - start);
  }
  std::printf("%-28s p50 %7.3f ms   least %7.3f ms   (the goal: below %s)\n", name,
              series.Quantile(0.5), series.Least(), goal);
  return absl::OkStatus();
}

absl::Status Measure() {
  topology::MachineFiles files;
  topology::AddMachineOf512Cpus(files);
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string hwloc, FindOwnProgram("plimsoll-hwloc"));
  const FsRoot root = files.root();
  PLIMSOLL_RETURN_IF_ERROR(Run("discovery, 512 CPUs", "80 ms", kDiscoveries, [&] {
    PLIMSOLL_ASSIGN_OR_RETURN(const topology::Machine machine, topology::Discover(root, hwloc));
    const auto tree = topology::ZoneTree::Build(topology::MakeZones(machine));
    if (tree.ok() && tree->Cpus().Size() == 512) return absl::OkStatus();
    return absl::InternalError("not all CPUs were found");
  }));
  return Run("a look that finds no change", "2 ms", kScans,
             [&] { return topology::Signature(root).status(); });
}

}  // namespace
}  // namespace plimsoll::bench

int main() {
  const absl::Status status = plimsoll::bench::Measure();
  if (status.ok()) return 0;
  std::fprintf(stderr, "bench_topology: %s\n", status.ToString().c_str());
  return 2;
}
