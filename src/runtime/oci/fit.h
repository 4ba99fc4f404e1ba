// What of a client's resources this machine can hold. One function for each of create and update,
// of containers and of pods: what is tolerated at a creation is tolerated at an update. Pure
// functions.
#ifndef PLIMSOLL_RUNTIME_OCI_FIT_H_
#define PLIMSOLL_RUNTIME_OCI_FIT_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "linux/cgroup/settings.h"
#include "runtime/oci/container_runtime.h"
#include "runtime/oci/machine.h"

namespace plimsoll::runtime {

// `asked` without what no file of this machine can hold: values of a controller that it lacks (or
// leaves to v2 on a hybrid machine), limits of huge pages in sizes that its kernel doesn't have,
// swap limits without swap accounting (memory.swap.* among the raw files too), raw files of cgroup
// v2 where limits are in v1. A limit that is lost is said in `warnings`, one sentence each. What
// holds by itself is no loss: no huge pages where there are none to be had, swap that is not to be
// used or not to be limited where it isn't counted.
linux::CgroupSettings FitSettings(const linux::CgroupSettings& asked, const Machine& machine,
                                  std::vector<std::string>* warnings);

// INVALID_ARGUMENT for a limit above 0 of huge pages in a size that the kernel doesn't have; the
// error names the sizes that there are. Such pages can't be had by anybody, so the limit is a
// mistake; one of 0 holds by itself. Without a hugetlb controller nothing is refused: no limit is
// enforced there, and FitSettings says so.
absl::Status CheckSettings(const linux::CgroupSettings& asked, const Machine& machine);

// `wanted` within -1000 to 1000; and not below this process's own, with a warning, where the
// machine doesn't let it be lowered.
int FitOomScoreAdj(int wanted, const Machine& machine, std::vector<std::string>* warnings);

// The same for whatever else writes what a ContainerRuntime has made, by the machine that it knows.
// Where it knows none, all is taken as asked.
linux::CgroupSettings FitSettings(const linux::CgroupSettings& asked,
                                  const ContainerRuntime& runtime,
                                  std::vector<std::string>* warnings);
absl::Status CheckSettings(const linux::CgroupSettings& asked, const ContainerRuntime& runtime);
int FitOomScoreAdj(int wanted, const ContainerRuntime& runtime, std::vector<std::string>* warnings);

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_OCI_FIT_H_
