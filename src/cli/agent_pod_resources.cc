#include "cli/agent_pod_resources.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "cli/object_fields.h"
#include "cli/text.h"

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

void RaiseTo(Amounts& least, const Amounts& other) {
  for (const auto& [name, amount] : other) {
    if (least[name] < amount) least[name] = amount;
  }
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
  Amounts sidecars;
  Amounts start;  // the most that init containers have at once
  for (const KubeObject& container : ItemsOf(pod, {"spec", "initContainers"})) {
    Amounts own = AmountsOf(FieldOf(container, {"resources"}), kind);
    if (TextOf(container, {"restartPolicy"}) == "Always") {
      AddTo(sidecars, own);
      RaiseTo(start, sidecars);
    } else {
      AddTo(own, sidecars);
      RaiseTo(start, own);
    }
  }
  Amounts sum = std::move(sidecars);
  for (const KubeObject& container : ItemsOf(pod, {"spec", "containers"})) {
    AddTo(sum, AmountsOf(FieldOf(container, {"resources"}), kind));
  }
  RaiseTo(sum, start);
  for (const auto& [name, amount] : AmountsOf(FieldOf(pod, {"spec", "resources"}), kind)) {
    sum[name] = amount;
  }
  AddTo(sum, ReadAmounts(FieldOf(pod, {"spec", "overhead"})));
  return sum;
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
