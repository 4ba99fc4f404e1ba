// Answers of two plugins to the making of a container. The first byte says how many 256ths of the
// rest are the first one's; the other's is also read as an answer to an update.
#include <nlohmann/json.hpp>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "check.h"
#include "nri/adjust/adjust.h"

namespace {

using namespace plimsoll::nri;
namespace runtime = plimsoll::runtime;
using plimsoll::fuzz::CheckRefusal;

void CheckAnswerRefusal(const absl::Status& status) {
  if (!absl::IsAlreadyExists(status)) return CheckRefusal(status);
  FUZZ_CHECK(!status.message().empty(), status.ToString());
}

void CheckExtras(const runtime::OciExtras& extras) {
  for (const auto& mount : extras.edits.mounts) {
    FUZZ_CHECK(absl::StartsWith(mount.container_path, "/"), mount.container_path);
    FUZZ_CHECK(mount.container_path != "/", mount.container_path);
  }
  for (const auto& node : extras.edits.device_nodes) {
    FUZZ_CHECK(absl::StartsWith(node.path, "/"), node.path);
    FUZZ_CHECK(node.permissions.find_first_not_of("rwm") == std::string::npos, node.permissions);
  }
  for (const auto& hook : extras.edits.hooks) {
    FUZZ_CHECK(absl::StartsWith(hook.path, "/") && !hook.name.empty(), hook.path);
  }
  for (const runtime::Rlimit& limit : extras.rlimits) {
    FUZZ_CHECK(limit.soft <= limit.hard && absl::StartsWith(limit.type, "RLIMIT_"), limit.type);
  }
  for (const auto& [device, name] : extras.net_devices) {
    FUZZ_CHECK(!device.empty() && !name.empty() && name.size() <= 15, device);
  }
  for (const runtime::NamespaceChange& change : extras.namespaces) {
    FUZZ_CHECK(change.path.empty() || change.path[0] == '/', change.path);
  }
  if (extras.seccomp_policy.empty()) return;
  const auto policy = nlohmann::json::parse(extras.seccomp_policy, nullptr, false);
  FUZZ_CHECK(policy.is_object() && policy.contains("defaultAction"), extras.seccomp_policy);
}

void CheckSpec(const Creation& creation) {
  const auto spec = creation.Adjusted({});
  if (!spec.ok()) return CheckAnswerRefusal(spec.status());
  CheckExtras(spec->extras);
  FUZZ_CHECK(spec->command.empty() || !spec->command[0].empty(), "a command without a program");
  for (const auto& [name, value] : spec->environment) {
    FUZZ_CHECK(!name.empty() && name.find('=') == std::string::npos, name);
  }
  for (const runtime::PluginChange& change : spec->changed_by) {
    FUZZ_CHECK(change.plugin == "10-a" || change.plugin == "20-b", change.plugin);
    FUZZ_CHECK(!change.field.empty(), change.key);
  }
  const auto again = creation.Adjusted({});
  FUZZ_CHECK(again.ok() && *again == *spec, "another spec at the second time");
}

void Take(const std::string& plugin, absl::string_view bytes, Creation* creation) {
  plimsoll::nri::api::CreateContainerResponse answer;
  if (!answer.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return;
  const size_t before = creation->ForValidators({}).ByteSizeLong();
  const absl::Status taken = creation->Take(plugin, answer);
  if (!taken.ok()) {
    CheckAnswerRefusal(taken);
    FUZZ_CHECK(absl::StrContains(taken.message(), plugin), taken.ToString());
    FUZZ_CHECK(creation->ForValidators({}).ByteSizeLong() == before, taken.ToString());
  }
  CheckSpec(*creation);
}

void TakeUpdate(absl::string_view bytes) {
  plimsoll::nri::api::UpdateContainerResponse answer;
  if (!answer.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return;
  Updates updates("c1");
  const absl::Status taken = updates.Take("10-a", answer.update(), answer.evict());
  if (!taken.ok()) return CheckAnswerRefusal(taken);
  FUZZ_CHECK(ToUpdate(updates.own()).ok(), updates.own().DebugString());
  for (const AskedUpdate& asked : updates.updates()) {
    FUZZ_CHECK(asked.update.container_id() != "c1", "its own");
    FUZZ_CHECK(ToUpdate(asked.update.linux().resources()).ok(), asked.update.DebugString());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const absl::string_view rest = plimsoll::fuzz::Text(data + 1, size - 1);
  const absl::string_view first = rest.substr(0, rest.size() * data[0] / 256);
  const absl::string_view second = rest.substr(first.size());
  plimsoll::nri::api::PodSandbox pod;
  (*pod.mutable_annotations())[kRequiredPluginsAnnotation] = std::string(second);
  plimsoll::nri::api::Container container;
  container.set_id("c1");
  container.add_env("FOO=bar");
  Creation creation(pod, container);
  Take("10-a", first, &creation);
  Take("20-b", second, &creation);
  ValidatorConfig config;
  config.reject_oci_hooks = config.reject_namespaces = config.reject_sysctls = true;
  config.reject_unconfined_seccomp = true;
  const absl::Status valid = Validate(config, creation.ForValidators({"10-a", "20-b"}));
  if (!valid.ok() && !absl::IsPermissionDenied(valid)) CheckRefusal(valid);
  TakeUpdate(second);
  return 0;
}
