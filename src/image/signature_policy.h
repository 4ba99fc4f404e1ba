// What containers-policy.json(5) of this machine says of signatures, as far as a pull has to know:
// skopeo, which holds images against it, does so when it copies one and not before.
#ifndef PLIMSOLL_IMAGE_SIGNATURE_POLICY_H_
#define PLIMSOLL_IMAGE_SIGNATURE_POLICY_H_

#include "absl/strings/string_view.h"

namespace plimsoll::image {

// In the host's root.
inline constexpr absl::string_view kPolicyFile = "etc/containers/policy.json";

// Whether this text of a policy takes whatever any registry gives. What it doesn't understand does
// not, and is skopeo's to refuse.
bool AcceptsAnything(absl::string_view policy);

// The same of the machine's policy, read now; one that isn't there takes everything.
bool MachineAcceptsAnything();

}  // namespace plimsoll::image

#endif  // PLIMSOLL_IMAGE_SIGNATURE_POLICY_H_
