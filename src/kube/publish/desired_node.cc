#include "kube/publish/desired_node.h"

#include <utility>

namespace plimsoll::kube {

void DesiredNode::Take(std::shared_ptr<const NodeReport> report, SteadyTime now) {
  if (report != nullptr) {
    report_ = std::move(report);
    silent_from_ = kNever;
  } else if (silent_from_ == kNever) {
    silent_from_ = now + absl::ToChronoNanoseconds(kSilence);
  }
}

std::vector<NodeCondition> DesiredNode::Conditions(SteadyTime now) const {
  if (IsSilent(now)) return ConditionsWithoutRuntime();
  return report_ == nullptr ? std::vector<NodeCondition>() : ConditionsOf(*report_);
}

}  // namespace plimsoll::kube
