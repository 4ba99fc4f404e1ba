// The only user of the hwloc library.
//
// hwloc 2.9 takes a root other than "/" from the environment only (HWLOC_FSROOT). So a separate
// program, plimsoll-hwloc, reads a captured machine in that environment and returns it as XML
// (discover.h).
#ifndef PLIMSOLL_TOPOLOGY_MACHINE_HWLOC_READER_H_
#define PLIMSOLL_TOPOLOGY_MACHINE_HWLOC_READER_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "topology/machine/machine.h"

namespace plimsoll::topology {

// In `missing` of a machine where hwloc finds no packages: it has one, of all CPUs.
inline constexpr absl::string_view kNoPackages =
    "the machine names no packages: all CPUs are shown as one";

// Reads packages, caches, cores, kinds of cores and NUMA nodes. Facts of other files (identity,
// swap) are not filled in. Thread-safe.

// The running kernel's machine: without offline CPUs, with CPUs outside of this process's cpuset.
// Takes about 40 ms for 512 CPUs.
absl::StatusOr<Machine> ReadWithHwloc();
// INVALID_ARGUMENT when the text is not hwloc's XML in format 1 to 3.
absl::StatusOr<Machine> ReadHwlocXml(absl::string_view xml);
// hwloc's synthetic notation, for tests: "pack:2 numa:2 core:4 pu:2".
absl::StatusOr<Machine> ReadHwlocSynthetic(const std::string& description);

// The running kernel's machine as XML.
absl::StatusOr<std::string> ExportHwlocXml();

}  // namespace plimsoll::topology

#endif  // PLIMSOLL_TOPOLOGY_MACHINE_HWLOC_READER_H_
