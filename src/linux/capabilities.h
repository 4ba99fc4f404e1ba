// This process's capabilities (capabilities(7)).
#ifndef PLIMSOLL_LINUX_CAPABILITIES_H_
#define PLIMSOLL_LINUX_CAPABILITIES_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "base/fs_root.h"

namespace plimsoll::linux {

// A set of capabilities: bit n is the capability with number n in <linux/capability.h>.
using CapabilityMask = uint64_t;

struct OwnCapabilitySets {
  CapabilityMask effective = 0;
  CapabilityMask bounding = 0;  // no program that it executes gets more
};
// From proc/self/status below `host`. DATA_LOSS without these lines.
absl::StatusOr<OwnCapabilitySets> ReadOwnCapabilities(const FsRoot& host);

// Whether a capability is in the effective set, e.g. 24 (CAP_SYS_RESOURCE). INVALID_ARGUMENT
// outside of 0 to 63.
absl::StatusOr<bool> HasCapability(const FsRoot& host, int capability);

}  // namespace plimsoll::linux

#endif  // PLIMSOLL_LINUX_CAPABILITIES_H_
