#include "kube/publish/node_news.h"

#include "kube/publish/topology_news.h"

namespace plimsoll::kube {

void NodeNews::Begin(const std::vector<NodeCondition>& known) {
  for (const NodeCondition& condition : known) {
    if (condition.status != "Unknown") known_[condition.type] = condition;
  }
  has_begun_ = true;
}

std::vector<NodeEvent> NodeNews::Compare(const std::shared_ptr<const NodeReport>& report,
                                         const std::vector<NodeCondition>& conditions) {
  std::vector<NodeEvent> events;
  for (const NodeCondition& condition : conditions) {
    if (condition.status == "Unknown") continue;
    const auto old = known_.find(condition.type);
    const bool was_true = old != known_.end() && old->second.status == "True";
    const bool is_true = condition.status == "True";
    const bool is_news = is_true ? !was_true || old->second.message != condition.message : was_true;
    if (is_news) {
      events.push_back(
          {.reason = condition.reason, .is_warning = is_true, .note = condition.message});
    }
    known_[condition.type] = condition;
  }
  if (report == nullptr || !report->topology || report == topology_) return events;
  if (topology_ != nullptr) {
    const std::string note = TopologyNews(*topology_->topology, *report->topology);
    if (!note.empty()) events.push_back({.reason = "TopologyChanged", .note = note});
  }
  topology_ = report;
  return events;
}

}  // namespace plimsoll::kube
