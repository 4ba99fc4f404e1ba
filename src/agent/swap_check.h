// The machine's swap and its groups' memory at the agent's start, as kubelet looks at them.
#ifndef PLIMSOLL_AGENT_SWAP_CHECK_H_
#define PLIMSOLL_AGENT_SWAP_CHECK_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "agent/config.h"
#include "base/fs_root.h"

namespace plimsoll::agent {

// The reason of the node's event where memory-backed volumes may be swapped out.
inline constexpr char kVolumesMayBeSwapped[] = "PossibleMemoryBackedVolumesOnDisk";

// `host` is "/". A kernel without swap has none.
absl::StatusOr<bool> IsSwapOn(const FsRoot& host);
// FAILED_PRECONDITION: swap is on and failSwapOn forbids it, or LimitedSwap without cgroup v2.
absl::Status CheckSwap(const AgentConfig& config, const FsRoot& host);
// FAILED_PRECONDITION: singleProcessOOMKill: false without cgroup v2, as for kubelet.
absl::Status CheckOomKill(const AgentConfig& config, const FsRoot& host);
// Whether a kernel of this release ("6.1.0-13-amd64") has the mount option noswap for a tmpfs.
bool HasTmpfsNoswap(absl::string_view release);

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_SWAP_CHECK_H_
