#include "agent/class_access.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "agent/pods/classes/class_change.h"
#include "agent/pods/classes/class_quota.h"
#include "agent/pods/records/pod_key.h"
#include "base/status.h"
#include "pod_runner/manifest/classes.h"

namespace plimsoll::agent {
namespace {

constexpr char kClassGate[] = "ClassResources";

absl::StatusOr<std::vector<ClassQuota>> QuotasOf(const AgentConfig& config, const FsRoot& root) {
  if (config.objects_path.empty()) return std::vector<ClassQuota>();
  absl::StatusOr<std::vector<ClassQuota>> quotas = ReadClassQuotas(root, config.objects_path);
  if (quotas.ok()) return quotas;
  return absl::UnavailableError(absl::StrCat("quotas can't be read: ", quotas.status().message()));
}

std::string ClassFieldOf(const pod::Manifest& pod) {
  for (const pod::ContainerManifest& each : pod.containers) {
    if (!each.classes.empty()) return absl::StrCat("resources.classes of container ", each.name);
  }
  return "spec.resources.classes";
}

bool AsksForClasses(const ClassRequests& requests) {
  NodeClassUse use;
  use.Add(requests);
  return !use.pod.empty() || !use.container.empty();
}

absl::Status CheckLiving(const pod::Manifest* before, const pod::Manifest& pod,
                         const ClassRequests& requests, const NodeClassUse& used,
                         absl::FunctionRef<absl::StatusOr<NodeClasses>()> node) {
  if (before == nullptr) return absl::OkStatus();
  PLIMSOLL_ASSIGN_OR_RETURN(const NodeClasses has, node());
  const std::string who = PodName({pod.pod_namespace, pod.name});
  PLIMSOLL_RETURN_IF_ERROR(Annotate(CheckClassChange(*before, pod, has), who));
  const std::optional<PodVerdict> rejection = ClassRejection(requests, used, has);
  if (!rejection) return absl::OkStatus();
  absl::string_view why = rejection->message;
  absl::ConsumePrefix(&why, "Pod was rejected: ");
  return absl::FailedPreconditionError(
      absl::StrCat(who, " keeps its classes: ", rejection->reason, ": ", why));
}

}  // namespace

absl::Status CheckClassAccess(const AgentConfig& config, const FsRoot& root,
                              absl::FunctionRef<absl::StatusOr<NodeClasses>()> node,
                              const pod::Manifest* before, const pod::Manifest& pod,
                              const std::vector<const pod::Manifest*>& others) {
  if (before != nullptr && !ClassFieldsDiffer(*before, pod)) return absl::OkStatus();
  if (!config.feature_gates.enabled(kClassGate)) {
    if (before == nullptr && !pod::HasClassFields(pod)) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(
        "Pod \"", pod.name, "\" is invalid: ", ClassFieldOf(pod), ": Forbidden: may not be ",
        before == nullptr ? "set" : "changed", " while the feature gate ", kClassGate, " is off"));
  }
  const ClassRequests requests = RequestedClasses(pod);
  if (!AsksForClasses(requests)) return CheckLiving(before, pod, requests, {}, node);
  NodeClassUse in_namespace, in_all;
  for (const pod::Manifest* each : others) {
    const ClassRequests theirs = RequestedClasses(*each);
    in_all.Add(theirs);
    if (each->pod_namespace == pod.pod_namespace) in_namespace.Add(theirs);
  }
  PLIMSOLL_ASSIGN_OR_RETURN(const std::vector<ClassQuota> quotas, QuotasOf(config, root));
  const PodKey key{pod.pod_namespace, pod.name};
  if (const absl::Status named = CheckClassQuotas(quotas, key, requests, in_namespace);
      !named.ok()) {
    const absl::StatusOr<NodeClasses> classes = node();
    if (!classes.ok()) return named;
    PLIMSOLL_RETURN_IF_ERROR(
        CheckClassQuotas(quotas, key, WithoutDefaults(requests, *classes), in_namespace));
  }
  return CheckLiving(before, pod, requests, in_all, node);
}

absl::StatusOr<std::vector<nlohmann::json>> QuotaObjects(
    const AgentConfig& config, const FsRoot& root, const std::string& pod_namespace,
    absl::FunctionRef<NodeClassUse(const std::string& pod_namespace)> used) {
  PLIMSOLL_ASSIGN_OR_RETURN(std::vector<ClassQuota> quotas, QuotasOf(config, root));
  std::sort(quotas.begin(), quotas.end(),
            [](const ClassQuota& one, const ClassQuota& other) { return one.key < other.key; });
  std::vector<nlohmann::json> objects;
  for (const ClassQuota& each : quotas) {
    if (!pod_namespace.empty() && each.key.pod_namespace != pod_namespace) continue;
    objects.push_back(QuotaObject(each, used(each.key.pod_namespace)));
  }
  return objects;
}

}  // namespace plimsoll::agent
