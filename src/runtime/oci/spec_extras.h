// The parts of the OCI spec that plugins of the Node Resource Interface set (OciExtras). Used by
// spec_builder.cc. Errors begin with the field as the protocol names it ("linux.namespaces").
#ifndef PLIMSOLL_RUNTIME_OCI_SPEC_EXTRAS_H_
#define PLIMSOLL_RUNTIME_OCI_SPEC_EXTRAS_H_

#include <nlohmann/json.hpp>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/oci/spec_builder.h"

namespace plimsoll::runtime {

// "process.rlimits": the plugins', and the descriptor limit unless they set that one too; may be
// empty. FAILED_PRECONDITION for a limit that this process may not give.
absl::StatusOr<nlohmann::json> BuildRlimits(const SpecInput& input);

// Puts the changes into "linux.namespaces". A namespace takes the place of the container's one of
// its type; one of the host's leaves none. UNIMPLEMENTED for a user namespace, which owns the
// others, for a mount namespace of another process, which has no root filesystem for this
// container, and for time namespaces.
absl::Status ChangeNamespaces(const OciExtras& extras, nlohmann::json* namespaces);

// Adds memory and realtime settings to "linux.resources". FAILED_PRECONDITION or UNIMPLEMENTED for
// those that this machine's control groups, or crun, don't have.
absl::Status AddMoreResources(const SpecInput& input, nlohmann::json* resources);

// Checks the settings that are made later, by what is known before the container is there.
absl::Status CheckExtras(const SpecInput& input);

// For plimsoll-launch; empty: none.
absl::StatusOr<std::string> MemoryPolicyOf(const SpecInput& input);

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_OCI_SPEC_EXTRAS_H_
