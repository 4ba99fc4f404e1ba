// bench_topology: what it costs to read the topology of a machine of 512 CPUs, and to see that
// nothing of it has changed.
//
// The machine is a tree of files. hwloc is told where it is by this process's environment, which
// makes its way that of a daemon that reads "/"; a captured machine is read by plimsoll-hwloc,
// which costs the start of a process and an exchange of XML more.
#include <stdlib.h>

#include <cstdio>
#include <string>

#include "absl/time/clock.h"
#include "base/own_program.h"
#include "base/status.h"
#include "bench/series.h"
#include "topology/discover.h"
#include "topology/hwloc_reader.h"
#include "topology/identity.h"
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
  std::printf("%-28s p50 %7.3f ms   least %7.3f ms   %s\n", name, series.Quantile(0.5),
              series.Least(), goal);
  return absl::OkStatus();
}

absl::Status CheckZones(const topology::Machine& machine) {
  PLIMSOLL_ASSIGN_OR_RETURN(const auto tree,
                            topology::ZoneTree::Build(topology::MakeZones(machine)));
  if (tree.Cpus().Size() == 512) return absl::OkStatus();
  return absl::InternalError("not all CPUs were found");
}

absl::Status Measure() {
  topology::MachineFiles files;
  topology::AddMachineOf512Cpus(files);
  const FsRoot root = files.root();
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string hwloc, FindOwnProgram("plimsoll-hwloc"));
  const auto captured = [&]() -> absl::Status {
    PLIMSOLL_ASSIGN_OR_RETURN(const topology::Machine machine, topology::Discover(root, hwloc));
    return CheckZones(machine);
  };
  const auto whole = [&]() -> absl::Status {
    PLIMSOLL_ASSIGN_OR_RETURN(topology::Machine machine, topology::ReadWithHwloc());
    PLIMSOLL_RETURN_IF_ERROR(topology::ReadIdentity(root, machine));
    PLIMSOLL_RETURN_IF_ERROR(topology::ReadCpuFeatures(root, machine));
    PLIMSOLL_RETURN_IF_ERROR(topology::ReadHybridKinds(root, machine));
    PLIMSOLL_RETURN_IF_ERROR(topology::ReadSwap(root, machine));
    return CheckZones(machine);
  };
  const auto hwlocs_part = [] { return topology::ReadWithHwloc().status(); };
  PLIMSOLL_RETURN_IF_ERROR(Run("512 CPUs, captured", "", kDiscoveries, captured));
  setenv("HWLOC_FSROOT", root.path().c_str(), 1);
  setenv("HWLOC_COMPONENTS", "linux,stop", 1);
  PLIMSOLL_RETURN_IF_ERROR(Run("hwloc's part of 512 CPUs", "", kDiscoveries, hwlocs_part));
  PLIMSOLL_RETURN_IF_ERROR(Run("512 CPUs", "(the goal: below 80 ms)", kDiscoveries, whole));
  return Run("a look that finds no change", "(the goal: below 2 ms)", kScans,
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
