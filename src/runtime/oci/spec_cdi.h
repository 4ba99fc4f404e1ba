// Changes that CDI devices and plugins make to a container's OCI spec. Used by spec_builder.cc.
#ifndef PLIMSOLL_RUNTIME_OCI_SPEC_CDI_H_
#define PLIMSOLL_RUNTIME_OCI_SPEC_CDI_H_

#include <nlohmann/json.hpp>

#include "absl/status/status.h"
#include "runtime/oci/spec_builder.h"

namespace plimsoll::runtime {

// Applies `input.request->edits` to a whole spec, then those of the spec's extras: variables,
// device nodes and mounts replace those of the same name, path or destination (a node with its
// cgroup rule); missing properties (type and numbers of a device) are read from the host. `built`:
// its user gets the groups, too, its warnings the edits that aren't done. FAILED_PRECONDITION names
// a path that the machine lacks, or has as another kind of file; INVALID_ARGUMENT a stage of hooks
// that OCI runtimes don't have.
absl::Status ApplyEdits(const SpecInput& input, nlohmann::json* config, BuiltSpec* built);

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_OCI_SPEC_CDI_H_
