// What a container's CDI devices change about its OCI spec. Used by spec_builder.cc.
#ifndef PLIMSOLL_RUNTIME_OCI_SPEC_CDI_H_
#define PLIMSOLL_RUNTIME_OCI_SPEC_CDI_H_

#include <nlohmann/json.hpp>

#include "absl/status/status.h"
#include "runtime/oci/spec_builder.h"

namespace plimsoll::runtime {

// Applies `input.request->edits` to a whole spec: variables, device nodes and mounts in place of
// those of the same name, path or destination (a node's with its cgroup rule); what a file says
// nothing of (type and numbers of a device) is read from the host. `built`: its user gets the
// groups, too, its warnings what is asked for and not done. FAILED_PRECONDITION names the path that
// the machine hasn't got, or has as something else.
absl::Status ApplyCdiEdits(const SpecInput& input, nlohmann::json* config, BuiltSpec* built);

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_OCI_SPEC_CDI_H_
