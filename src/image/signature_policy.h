// What containers-policy.json(5) of this machine says of signatures, as far as a pull has to know:
// skopeo, which holds images against it, does so when it copies one and not before.
#ifndef PLIMSOLL_IMAGE_SIGNATURE_POLICY_H_
#define PLIMSOLL_IMAGE_SIGNATURE_POLICY_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace plimsoll::image {

// In the host's root.
inline constexpr absl::string_view kPolicyFile = "etc/containers/policy.json";

// Whether this text of a policy takes whatever any registry gives. What has a key that isn't known
// here, or has one twice, does not, and is skopeo's to judge: it refuses all images for such a
// file.
bool AcceptsAnything(absl::string_view policy);

enum class MachinePolicy {
  kNone,             // skopeo wants to be told that it is to do without
  kAcceptsAnything,  // see AcceptsAnything
  kRestricts,        // skopeo has to be asked
};

// Reads the file now. Only one that isn't there is none: for any other failure no image may come,
// since it may be restricted. FAILED_PRECONDITION, or RESOURCE_EXHAUSTED (no descriptor is left).
absl::StatusOr<MachinePolicy> ReadMachinePolicy();

}  // namespace plimsoll::image

#endif  // PLIMSOLL_IMAGE_SIGNATURE_POLICY_H_
