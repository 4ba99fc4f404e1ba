// Pod sandboxes: translates the CRI's messages to the runtime's types and back.
#ifndef PLIMSOLL_CRI_MESSAGES_TRANSLATE_SANDBOX_H_
#define PLIMSOLL_CRI_MESSAGES_TRANSLATE_SANDBOX_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "cri/runtime/v1/api.pb.h"
#include "runtime/spec/container_spec.h"
#include "runtime/spec/sandbox_spec.h"
#include "runtime/store/records.h"

namespace plimsoll::cri {

// The spec that RunPodSandbox requests. INVALID_ARGUMENT names field, value and valid values;
// UNIMPLEMENTED names a request that this build can't meet and must not ignore.
absl::StatusOr<runtime::SandboxSpec> SandboxSpecFrom(const ::runtime::v1::PodSandboxConfig& config);

// Namespaces of a sandbox or container. An absent message means a CONTAINER-private PID namespace,
// the pod's network and IPC, and the host's user namespace.
absl::StatusOr<runtime::NamespaceOptions> NamespaceOptionsFrom(
    bool present, const ::runtime::v1::NamespaceOption& options, absl::string_view field);
void FillNamespaceOptions(const runtime::NamespaceOptions& options,
                          ::runtime::v1::NamespaceOption* out);

// Unchecked: only a machine with SELinux looks at them.
linux::SelinuxOptions SelinuxOptionsFrom(const ::runtime::v1::SELinuxOption& message);

::runtime::v1::PodSandboxState ToCri(runtime::SandboxState state);

// `config` is the message the sandbox was made from.
void FillSandbox(const runtime::SandboxRecord& record,
                 const ::runtime::v1::PodSandboxConfig& config, ::runtime::v1::PodSandbox* out);
void FillSandboxStatus(const runtime::SandboxRecord& record,
                       const ::runtime::v1::PodSandboxConfig& config,
                       ::runtime::v1::PodSandboxStatus* out);
// The first address is the primary one.
void FillAddresses(const std::vector<std::string>& addresses, ::runtime::v1::PodSandboxStatus* out);

}  // namespace plimsoll::cri

#endif  // PLIMSOLL_CRI_MESSAGES_TRANSLATE_SANDBOX_H_
