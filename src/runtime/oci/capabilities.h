// Linux capabilities by name, and a container's share of them.
#ifndef PLIMSOLL_RUNTIME_OCI_CAPABILITIES_H_
#define PLIMSOLL_RUNTIME_OCI_CAPABILITIES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/fs_root.h"
#include "linux/capabilities.h"
#include "runtime/spec/container_spec.h"

namespace plimsoll::runtime {

using linux::CapabilityMask;

// Bit of "CAP_NET_ADMIN" or "net_admin"; INVALID_ARGUMENT names an unknown capability.
absl::StatusOr<CapabilityMask> CapabilityBit(absl::string_view name);
// "CAP_CHOWN", "CAP_KILL", ... in order of their numbers.
std::vector<std::string> CapabilityNames(CapabilityMask mask);

// The capabilities of a container that asks for none: the fourteen that container runtimes agree
// on.
CapabilityMask DefaultCapabilities();

// Capabilities that this process may pass on: its bounding set without those it lacks itself.
// `host` holds proc/.
absl::StatusOr<CapabilityMask> OwnCapabilities(const FsRoot& host);

struct ContainerCapabilities {
  CapabilityMask granted = 0;  // bounding, effective and permitted set
  CapabilityMask ambient = 0;  // also inheritable
  CapabilityMask refused = 0;  // asked for, but this process lacks it
};

// The default set; then "ALL" in `add` gives and "ALL" in `drop` takes everything, then single
// names are added, then dropped. A privileged container gets all of `own` whatever it lists.
// Ambient ones are granted too. INVALID_ARGUMENT for an unknown name.
absl::StatusOr<ContainerCapabilities> ResolveCapabilities(const SecurityContext& security,
                                                          CapabilityMask own);

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_OCI_CAPABILITIES_H_
