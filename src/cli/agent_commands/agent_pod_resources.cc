#include "cli/agent_commands/agent_pod_resources.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "cli/terminal/object_fields.h"
#include "cli/terminal/text.h"
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

// The resize can never be done on this node.
bool IsResizeInfeasible(const KubeObject& pod) {
  for (const KubeObject& condition : ItemsOf(pod, {"status", "conditions"})) {
    if (TextOf(condition, {"type"}) == "PodResizePending") {
      return TextOf(condition, {"reason"}) == "Infeasible";
    }
  }
  return false;
}

Amounts MostOf(Amounts most, const Amounts& others) {
  for (const auto& [name, amount] : others) {
    const auto [it, is_new] = most.try_emplace(name, amount);
    if (!is_new) it->second = std::max(it->second, amount);
  }
  return most;
}

// Resources that count of a container or a pod, by its status (allocatedResources and resources).
resources::Requirements Counted(const resources::Requirements& asked, const KubeObject& status,
                                bool is_infeasible) {
  const Amounts allocated = ReadAmounts(FieldOf(status, {"allocatedResources"}));
  const KubeObject& in_force = FieldOf(status, {"resources"});
  if (allocated.empty() && !in_force.is_object()) return asked;
  const resources::Requirements actuated = RequirementsOf(in_force);
  Amounts requests = MostOf(allocated, actuated.requests);
  if (!is_infeasible) requests = MostOf(std::move(requests), asked.requests);
  // No status has allocated limits.
  if (!in_force.is_object()) return {std::move(requests), asked.limits};
  return {std::move(requests),
          is_infeasible ? actuated.limits : MostOf(actuated.limits, asked.limits)};
}

// Counts the names that the pod asks for.
resources::Requirements CountedOfPod(const KubeObject& pod, bool is_infeasible) {
  const resources::Requirements asked = RequirementsOf(FieldOf(pod, {"spec", "resources"}));
  resources::Requirements counted = Counted(asked, FieldOf(pod, {"status"}), is_infeasible);
  std::erase_if(counted.requests,
                [&](const auto& each) { return !asked.requests.contains(each.first); });
  std::erase_if(counted.limits,
                [&](const auto& each) { return !asked.limits.contains(each.first); });
  return counted;
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
  const bool is_infeasible = IsResizeInfeasible(pod);
  const auto add = [&](const KubeObject& container, Role role) {
    const resources::Requirements asked =
        resources::WithDefaults(RequirementsOf(FieldOf(container, {"resources"})));
    const char* const list =
        role == Role::kContainer ? "containerStatuses" : "initContainerStatuses";
    containers.push_back(
        {role, role == Role::kInit
                   ? asked
                   : Counted(asked, ContainerStatusOf(pod, list, TextOf(container, {"name"})),
                             is_infeasible)});
  };
  for (const KubeObject& each : ItemsOf(pod, {"spec", "initContainers"})) {
    add(each, TextOf(each, {"restartPolicy"}) == "Always" ? Role::kSidecar : Role::kInit);
  }
  for (const KubeObject& each : ItemsOf(pod, {"spec", "containers"})) add(each, Role::kContainer);
  resources::Requirements total =
      resources::PodTotal(containers, CountedOfPod(pod, is_infeasible),
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
