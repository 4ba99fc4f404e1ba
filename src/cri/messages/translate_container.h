// Containers: translates the CRI's messages to the runtime's types and back.
#ifndef PLIMSOLL_CRI_MESSAGES_TRANSLATE_CONTAINER_H_
#define PLIMSOLL_CRI_MESSAGES_TRANSLATE_CONTAINER_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "cri/runtime/v1/api.pb.h"
#include "runtime/spec/container_spec.h"
#include "runtime/spec/sandbox_spec.h"
#include "runtime/store/records.h"

namespace plimsoll::cri {

// The container annotations that may enter its OCI spec: names, or prefixes that end in "*".
// "run.oci.*" never do, whatever the list says: crun takes them as commands to run as root.
using AnnotationAllowList = std::vector<std::string>;

// The spec that CreateContainer requests, in a sandbox made from `sandbox`. Errors as in
// SandboxSpecFrom.
absl::StatusOr<runtime::ContainerSpec> ContainerSpecFrom(
    const ::runtime::v1::ContainerConfig& config, const runtime::SandboxSpec& sandbox,
    const AnnotationAllowList& allowed_annotations);

// The container's security part (translate_security.cc).
absl::StatusOr<runtime::SecurityContext> SecurityContextFrom(
    const ::runtime::v1::LinuxContainerSecurityContext& security,
    const runtime::SandboxSpec& sandbox);

// "SIGTERM", "SIGRTMIN+3"; "" for SIGNAL_RUNTIME_DEFAULT. And back, from a number: one without a
// name in the CRI is SIGNAL_RUNTIME_DEFAULT.
std::string SignalName(::runtime::v1::Signal signal);
::runtime::v1::Signal SignalFromNumber(int number);

::runtime::v1::ContainerState ToCri(runtime::ContainerState state);

// `config` is the message the container was made from.
void FillContainer(const runtime::ContainerRecord& record,
                   const ::runtime::v1::ContainerConfig& config, ::runtime::v1::Container* out);
// Fills all but `resources`.
void FillContainerStatus(const runtime::ContainerRecord& record,
                         const ::runtime::v1::ContainerConfig& config,
                         ::runtime::v1::ContainerStatus* out);

}  // namespace plimsoll::cri

#endif  // PLIMSOLL_CRI_MESSAGES_TRANSLATE_CONTAINER_H_
