// Two ways to make an overlay that is attached nowhere, one per range of kernels; mounts.h chooses.
#ifndef PLIMSOLL_LINUX_NAMESPACES_DETACHED_OVERLAY_H_
#define PLIMSOLL_LINUX_NAMESPACES_DETACHED_OVERLAY_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/unique_fd.h"

namespace plimsoll::linux {

// Uses fsopen(2) with one "lowerdir+" per layer. UNIMPLEMENTED before Linux 6.5, which knows only
// one "lowerdir" string, and fsconfig(2) cuts a string at 256 bytes. Two or more directories, top
// first.
absl::StatusOr<UniqueFd> OverlayByFsopen(const std::vector<std::string>& lower);

// Uses mount(2) in a mount namespace that ends with the call; the descriptor keeps the overlay
// alive.
absl::StatusOr<UniqueFd> OverlayByNamespace(const std::vector<std::string>& lower);

}  // namespace plimsoll::linux

#endif  // PLIMSOLL_LINUX_NAMESPACES_DETACHED_OVERLAY_H_
