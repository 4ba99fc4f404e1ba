// The signature rules of this machine's containers-policy.json(5), as far as a pull needs them:
// skopeo checks an image against them only when it copies one.
#ifndef PLIMSOLL_IMAGE_REGISTRY_SIGNATURE_POLICY_H_
#define PLIMSOLL_IMAGE_REGISTRY_SIGNATURE_POLICY_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/fs_root.h"

namespace plimsoll::image {

// Relative to the host's root.
inline constexpr absl::string_view kPolicyFile = "etc/containers/policy.json";

// True when this policy accepts everything from any registry. False for a text with unknown or
// duplicate keys, which skopeo judges: it refuses all images for such a file.
bool AcceptsAnything(absl::string_view policy);

enum class MachinePolicy {
  kNone,             // skopeo must be told to do without
  kAcceptsAnything,  // see AcceptsAnything
  kRestricts,        // skopeo must decide
};

// Reads the file now. Only a missing file is kNone: after any other failure no image may be pulled,
// since it may be restricted. FAILED_PRECONDITION, or RESOURCE_EXHAUSTED (no descriptor is left).
absl::StatusOr<MachinePolicy> ReadMachinePolicy(const FsRoot& host);

}  // namespace plimsoll::image

#endif  // PLIMSOLL_IMAGE_REGISTRY_SIGNATURE_POLICY_H_
