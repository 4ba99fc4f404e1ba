// hwloc: the only place that knows the library.
//
// hwloc 2.9 takes another root than "/" from the process's environment only (HWLOC_FSROOT): a
// captured machine is read by plimsoll-hwloc, a program of its own that is given that environment,
// and comes back as XML (discover.h).
#ifndef PLIMSOLL_TOPOLOGY_HWLOC_READER_H_
#define PLIMSOLL_TOPOLOGY_HWLOC_READER_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "topology/machine.h"

namespace plimsoll::topology {

// Packages, caches, cores, kinds of cores and NUMA nodes. What only other files tell (identity,
// swap) is not filled in. Thread-safe.

// The running kernel's; without CPUs that are offline, with those outside of this process's cpuset.
// Takes about 40 ms on a machine of 512 CPUs.
absl::StatusOr<Machine> ReadWithHwloc();
// INVALID_ARGUMENT when it is not XML of hwloc, of the formats 1 to 3.
absl::StatusOr<Machine> ReadHwlocXml(absl::string_view xml);
// hwloc's synthetic notation, for tests: "pack:2 numa:2 core:4 pu:2".
absl::StatusOr<Machine> ReadHwlocSynthetic(const std::string& description);

// The running kernel's as XML.
absl::StatusOr<std::string> ExportHwlocXml();

}  // namespace plimsoll::topology

#endif  // PLIMSOLL_TOPOLOGY_HWLOC_READER_H_
