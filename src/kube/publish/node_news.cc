#include "kube/publish/node_news.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "kube/publish/short_text.h"
#include "kube/publish/topology_news.h"

namespace plimsoll::kube {
namespace {

constexpr size_t kMostClasses = 10;

// "rdt=gold" to why it isn't to be had; empty: it is.
std::map<std::string, std::string> ClassesIn(const NodeReport& report) {
  std::map<std::string, std::string> classes;
  for (const NodeClassType& type : report.types) {
    for (const NodeClass& each : type.classes) {
      classes[absl::StrCat(type.name, "=", each.name)] = type.unavailable;
    }
  }
  return classes;
}

std::string WhyUnavailable(const std::string& name, const NodeReport& report) {
  for (const NodeClassType& type : report.types) {
    if (absl::StartsWith(name, absl::StrCat(type.name, "="))) return type.unavailable;
  }
  return "";
}

// "class rdt=gold went: no resctrl file system; class rdt=silver came".
std::string ClassNews(const NodeReport& before, const NodeReport& after) {
  std::vector<std::string> news;
  const auto is_there = [](const std::map<std::string, std::string>& classes,
                           const std::string& name) {
    const auto at = classes.find(name);
    return at != classes.end() && at->second.empty();
  };
  const std::map<std::string, std::string> old_classes = ClassesIn(before);
  const std::map<std::string, std::string> new_classes = ClassesIn(after);
  for (const auto& [name, unavailable] : old_classes) {
    if (!unavailable.empty() || is_there(new_classes, name)) continue;
    const std::string why = WhyUnavailable(name, after);
    news.push_back(absl::StrCat("class ", name, " went", why.empty() ? "" : ": ", why));
  }
  for (const auto& [name, unavailable] : new_classes) {
    if (!unavailable.empty() || is_there(old_classes, name)) continue;
    news.push_back(absl::StrCat("class ", name, " came"));
  }
  return FirstFew(news, kMostClasses);
}

}  // namespace

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
  if (report == nullptr || report == last_) return events;
  if (last_ != nullptr) {
    const std::string note = ClassNews(*last_, *report);
    if (!note.empty()) events.push_back({.reason = "ClassesChanged", .note = note});
  }
  last_ = report;
  if (!report->topology) return events;
  if (topology_ != nullptr) {
    const std::string note = TopologyNews(*topology_->topology, *report->topology);
    if (!note.empty()) events.push_back({.reason = "TopologyChanged", .note = note});
  }
  topology_ = report;
  return events;
}

}  // namespace plimsoll::kube
