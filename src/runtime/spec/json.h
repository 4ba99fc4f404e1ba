// Specs as JSON, for the database and for `plimsoll inspect`. Unknown keys are ignored and missing
// ones keep their default, so that a store of an older or newer build reads.
#ifndef PLIMSOLL_RUNTIME_SPEC_JSON_H_
#define PLIMSOLL_RUNTIME_SPEC_JSON_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "linux/cgroup/settings.h"
#include "qos/classes.h"
#include "runtime/spec/container_spec.h"
#include "runtime/spec/pod_resources.h"
#include "runtime/spec/sandbox_spec.h"

namespace plimsoll::runtime {

// Invalid UTF-8 is replaced (a client's text is never invalid: protobuf checks that). Variables may
// have any bytes: what isn't UTF-8 is in base64 as well.
std::string ToJson(const SandboxSpec& spec);
std::string ToJson(const ContainerSpec& spec);
std::string ToJson(const linux::CgroupSettings& settings);
std::string ToJson(const LastResources& resources);
std::string ToJson(const PodResources& resources);
std::string ToJson(const KubernetesResources& resources);
std::string ToJson(const ProcessUser& user);
std::string ToJson(const qos::HeldClasses& classes);
std::string ToJson(const std::vector<std::string>& list);
// INVALID_ARGUMENT for text that is not JSON of that shape names the member, the expected and the
// found type.
absl::StatusOr<SandboxSpec> SandboxSpecFromJson(absl::string_view text);
absl::StatusOr<ContainerSpec> ContainerSpecFromJson(absl::string_view text);
absl::StatusOr<linux::CgroupSettings> CgroupSettingsFromJson(absl::string_view text);
absl::StatusOr<LastResources> LastResourcesFromJson(absl::string_view text);
// Written by people: an unknown member is an error too.
absl::StatusOr<PodResources> PodResourcesFromJson(absl::string_view text);
absl::StatusOr<ProcessUser> ProcessUserFromJson(absl::string_view text);
absl::StatusOr<qos::HeldClasses> HeldClassesFromJson(absl::string_view text);
absl::StatusOr<std::vector<std::string>> StringListFromJson(absl::string_view text);

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_SPEC_JSON_H_
