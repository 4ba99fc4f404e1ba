// Swap of a container with a memory limit, where nobody has said how much.
#ifndef PLIMSOLL_RUNTIME_CGROUPS_SWAP_DEFAULT_H_
#define PLIMSOLL_RUNTIME_CGROUPS_SWAP_DEFAULT_H_

#include "linux/cgroup/cgroup.h"
#include "linux/cgroup/settings.h"

namespace plimsoll::runtime {

// Sets memory and swap in `change` to its memory limit, so that the container swaps nothing, as
// containerd and CRI-O do. Changes nothing if
//   - `change` has no memory limit, or lifts it;
//   - `change` or `present` says how much may be swapped, by the member or on v2 by the raw file;
//   - `present` limits memory alone, as earlier builds did, on v1, which refuses a sum below what
//   is
//     in use.
// `present` has the container's settings before an update, and is empty for a creation. A container
// that may swap nothing has said so for every later limit: on v1, where the kernel would keep the
// sum of an update that lowers memory alone, the sum is lowered too. Pure.
void LimitSwapByDefault(const linux::CgroupSettings& present, linux::CgroupLayout layout,
                        linux::CgroupSettings* change);

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_CGROUPS_SWAP_DEFAULT_H_
