// The part of a client's resources that this machine can hold. One function for each of create and
// update, of containers and of pods: a value tolerated at a creation is tolerated at an update.
// kubelet sends every member in every update (huge page limits of 0, -997 for Guaranteed pods), so
// a stricter update would resize nothing on a machine without `hugetlb` or CAP_SYS_RESOURCE. The
// row keeps the request. Pure functions.
#ifndef PLIMSOLL_RUNTIME_OCI_FIT_H_
#define PLIMSOLL_RUNTIME_OCI_FIT_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "linux/cgroup/settings.h"
#include "runtime/oci/machine.h"

namespace plimsoll::runtime {

// Each takes the machine as ContainerRuntime::machine gives it. If that is unknown (null), all is
// taken as asked.

// `asked` without values that no file of this machine can hold: those of a controller that it lacks
// (or leaves to v2 on a hybrid machine), limits of huge pages in sizes that its kernel doesn't
// have, swap limits without swap accounting (memory.swap.* among the raw files too), raw files of
// cgroup v2 where limits are in v1. Each lost limit adds a sentence to `warnings`. A limit that
// holds anyway is not lost: no huge pages of a size that doesn't exist, no swap or unlimited swap
// where swap isn't counted.
linux::CgroupSettings FitSettings(const linux::CgroupSettings& asked, const HostFeatures* machine,
                                  std::vector<std::string>* warnings);

// INVALID_ARGUMENT for a limit above 0 of huge pages in a size that the kernel doesn't have, naming
// the sizes that it has: with a hugetlb controller or without. Nobody can have such pages, so the
// limit is a mistake, and a container that started without them would fail later and say less;
// kubelet never sends one. A limit of 0 holds anyway. Of limits that no controller enforces,
// FitSettings warns.
absl::Status CheckSettings(const linux::CgroupSettings& asked, const HostFeatures* machine);

// `wanted` clamped to -1000 to 1000. Where the machine doesn't let it be lowered, also to this
// process's own at least, with a warning.
int FitOomScoreAdj(int wanted, const HostFeatures* machine, std::vector<std::string>* warnings);

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_OCI_FIT_H_
