#include "cli/agent_pod_resources.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "cli/object_fields.h"
#include "cli/text.h"
#include "resources/pod_total.h"

namespace plimsoll::cli {
namespace {

using resources::Quantity;

Amounts ReadAmounts(const KubeObject& list) {
  Amounts amounts;
  if (!list.is_object()) return amounts;
  for (const auto& [name, value] : list.items()) {
    const auto amount =
        Quantity::Parse(value.is_string() ? value.get<std::string>() : value.dump());
    if (amount.ok()) amounts[name] = *amount;
  }
  return amounts;
}

void AddTo(Amounts& sum, const Amounts& more) {
  for (const auto& [name, amount] : more) sum[name] = sum[name] + amount;
}

resources::Requirements RequirementsOf(const KubeObject& resources) {
  return {ReadAmounts(FieldOf(resources, {"requests"})),
          ReadAmounts(FieldOf(resources, {"limits"}))};
}

bool HasEnded(const KubeObject& pod) {
  const std::string phase = TextOf(pod, {"status", "phase"});
  return phase == "Succeeded" || phase == "Failed";
}

bool IsBytes(const std::string& resource) {
  return resource == "memory" || absl::EndsWith(resource, "storage") ||
         absl::StartsWith(resource, "hugepages-");
}

}  // namespace

Amounts AmountsOf(const KubeObject& resources, AmountKind kind) {
  Amounts amounts = ReadAmounts(FieldOf(resources, {"limits"}));
  if (kind == AmountKind::kLimits) return amounts;
  for (const auto& [name, amount] : ReadAmounts(FieldOf(resources, {"requests"}))) {
    amounts[name] = amount;
  }
  return amounts;
}

Amounts PodAmounts(const KubeObject& pod, AmountKind kind) {
  using Role = resources::ContainerRequirements::Role;
  std::vector<resources::ContainerRequirements> containers;
  const auto add = [&](const KubeObject& container, Role role) {
    containers.push_back(
        {role, resources::WithDefaults(RequirementsOf(FieldOf(container, {"resources"})))});
  };
  for (const KubeObject& each : ItemsOf(pod, {"spec", "initContainers"})) {
    add(each, TextOf(each, {"restartPolicy"}) == "Always" ? Role::kSidecar : Role::kInit);
  }
  for (const KubeObject& each : ItemsOf(pod, {"spec", "containers"})) add(each, Role::kContainer);
  resources::Requirements total =
      resources::PodTotal(containers, RequirementsOf(FieldOf(pod, {"spec", "resources"})),
                          ReadAmounts(FieldOf(pod, {"spec", "overhead"})));
  return kind == AmountKind::kRequests ? total.requests : total.limits;
}

Amounts SumOfPods(const std::vector<KubeObject>& pods, AmountKind kind) {
  Amounts sum;
  for (const KubeObject& pod : pods) {
    if (!HasEnded(pod)) AddTo(sum, PodAmounts(pod, kind));
  }
  return sum;
}

std::string AmountText(const std::string& resource, const Quantity& amount) {
  if (!IsBytes(resource)) return amount.Canonical();
  return HumanBytes(static_cast<uint64_t>(std::max<int64_t>(amount.Value(), 0)));
}

std::string AmountText(const Amounts& amounts, const std::string& resource) {
  const auto at = amounts.find(resource);
  return AmountText(resource, at == amounts.end() ? Quantity() : at->second);
}

}  // namespace plimsoll::cli
