#include "cli/agent_commands/agent_tables.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/agent_commands/agent_pod_resources.h"
#include "cli/agent_commands/agent_pod_summary.h"
#include "cli/terminal/object_fields.h"
#include "cli/terminal/table.h"

namespace plimsoll::cli {
namespace {

std::string OrDash(std::string text) {
  return text.empty() ? "-" : text;
}

std::string RestartText(const PodSummary& summary, absl::Time now) {
  if (summary.restarts == 0 || summary.last_restart == absl::InfinitePast()) {
    return absl::StrCat(summary.restarts);
  }
  return absl::StrCat(summary.restarts, " (", AgeOf(summary.last_restart, now), " ago)");
}

std::string NodeState(const KubeObject& node) {
  const std::string ready = ConditionOf(node, "Ready");
  return ready == "True" ? "Ready" : ready.empty() ? "Unknown" : "NotReady";
}

// "1500m/3800m": requested by pods, of what they may have.
std::string ShareText(const std::string& resource, const Amounts& requested,
                      const Amounts& allocatable) {
  return absl::StrCat(AmountText(requested, resource), "/", AmountText(allocatable, resource));
}

Amounts StatusAmounts(const KubeObject& node, const char* field) {
  return AmountsOf({{"limits", FieldOf(node, {"status", field})}}, AmountKind::kLimits);
}

std::string InternalAddress(const KubeObject& node) {
  for (const KubeObject& address : ItemsOf(node, {"status", "addresses"})) {
    if (TextOf(address, {"type"}) == "InternalIP") return TextOf(address, {"address"});
  }
  return "";
}

// "blockio, rdt; of pods: pod-qos": the types of QoS classes.
std::string ClassTypesText(const KubeObject& node) {
  std::vector<std::string> levels;
  for (const auto& [field, word] :
       {std::pair("containerClassResources", ""), std::pair("podClassResources", "of pods: ")}) {
    std::vector<std::string> names;
    for (const KubeObject& type : ItemsOf(node, {"status", field})) {
      names.push_back(TextOf(type, {"name"}));
    }
    if (!names.empty()) levels.push_back(absl::StrCat(word, absl::StrJoin(names, ", ")));
  }
  return absl::StrJoin(levels, "; ");
}

size_t CountLivingPods(const std::vector<KubeObject>& pods) {
  return static_cast<size_t>(std::count_if(pods.begin(), pods.end(), [](const KubeObject& pod) {
    const std::string phase = TextOf(pod, {"status", "phase"});
    return phase != "Succeeded" && phase != "Failed";
  }));
}

absl::Time LastSeen(const KubeObject& event) {
  absl::Time last = TimeOf(event, {"lastTimestamp"});
  if (last == absl::InfinitePast()) last = TimeOf(event, {"eventTime"});
  return last == absl::InfinitePast() ? TimeOf(event, {"metadata", "creationTimestamp"}) : last;
}

}  // namespace

std::vector<std::string> AgentPodTable::Header() const {
  std::vector<std::string> header = {"NAME", "READY", "STATUS", "RESTARTS", "AGE"};
  if (shape_.namespaces) header.insert(header.begin(), "NAMESPACE");
  if (shape_.wide) header.insert(header.end(), {"IP", "NODE", "QOS"});
  return header;
}

std::vector<std::string> AgentPodTable::Cells(const KubeObject& pod, absl::Time now) const {
  const PodSummary summary = Summarize(pod);
  std::vector<std::string> cells = {TextOf(pod, {"metadata", "name"}),
                                    absl::StrCat(summary.ready, "/", summary.containers),
                                    summary.status, RestartText(summary, now),
                                    AgeOf(TimeOf(pod, {"metadata", "creationTimestamp"}), now)};
  if (shape_.namespaces) cells.insert(cells.begin(), TextOf(pod, {"metadata", "namespace"}));
  if (shape_.wide) {
    cells.insert(cells.end(), {OrDash(TextOf(pod, {"status", "podIP"})),
                               OrDash(TextOf(pod, {"spec", "nodeName"})),
                               OrDash(TextOf(pod, {"status", "qosClass"}))});
  }
  return cells;
}

void AgentPodTable::Widen(const std::vector<std::string>& cells) {
  widest_.resize(cells.size());
  for (size_t i = 0; i < cells.size(); ++i) {
    if (cells[i].size() > widest_[i].size()) widest_[i] = cells[i];
  }
}

std::string AgentPodTable::Whole(const std::vector<KubeObject>& pods, absl::Time now) {
  Table table(Header());
  for (const KubeObject& pod : pods) {
    const std::vector<std::string> cells = Cells(pod, now);
    Widen(cells);
    table.AddRow(cells);
  }
  return table.ToString();
}

std::string AgentPodTable::Row(const KubeObject& pod, absl::Time now) {
  const std::vector<std::string> cells = Cells(pod, now);
  Widen(cells);
  Table table(Header());
  table.AddRow(widest_);
  table.AddRow(cells);
  const std::string text = table.ToString();
  return text.substr(text.rfind('\n', text.size() - 2) + 1);
}

std::string AgentNodeTable(const KubeObject& node, const std::vector<KubeObject>& pods, bool wide,
                           absl::Time now) {
  std::vector<std::string> header = {"NAME", "STATUS", "PODS", "CPU", "MEMORY", "AGE", "RUNTIME"};
  if (wide)
    header.insert(header.end(), {"CAPACITY", "INTERNAL-IP", "OS-IMAGE", "KERNEL", "CLASSES"});
  Table table(std::move(header));
  const Amounts requested = SumOfPods(pods, AmountKind::kRequests);
  const Amounts allocatable = StatusAmounts(node, "allocatable");
  const Amounts capacity = StatusAmounts(node, "capacity");
  table.AddRow(
      {TextOf(node, {"metadata", "name"}), NodeState(node),
       absl::StrCat(CountLivingPods(pods), "/", AmountText(allocatable, "pods")),
       ShareText("cpu", requested, allocatable), ShareText("memory", requested, allocatable),
       AgeOf(TimeOf(node, {"metadata", "creationTimestamp"}), now),
       OrDash(TextOf(node, {"status", "nodeInfo", "containerRuntimeVersion"})),
       absl::StrCat(AmountText(capacity, "cpu"), ", ", AmountText(capacity, "memory")),
       OrDash(InternalAddress(node)), OrDash(TextOf(node, {"status", "nodeInfo", "osImage"})),
       OrDash(TextOf(node, {"status", "nodeInfo", "kernelVersion"})),
       OrDash(ClassTypesText(node))});
  return table.ToString();
}

std::string AgentEventTable(const std::vector<KubeObject>& events, TableShape shape,
                            absl::Time now) {
  std::vector<std::string> header = {"LAST SEEN", "TYPE", "REASON", "OBJECT", "MESSAGE"};
  if (shape.namespaces) header.insert(header.begin(), "NAMESPACE");
  Table table(std::move(header));
  for (const KubeObject& event : events) {
    const int64_t count = NumberOf(event, {"count"});
    const std::string seen = AgeOf(LastSeen(event), now);
    std::vector<std::string> cells = {
        count > 1 ? absl::StrCat(seen, " (x", count, ")") : seen, TextOf(event, {"type"}),
        TextOf(event, {"reason"}),
        absl::StrCat(absl::AsciiStrToLower(TextOf(event, {"involvedObject", "kind"})), "/",
                     TextOf(event, {"involvedObject", "name"})),
        TextOf(event, {"message"})};
    if (shape.namespaces) {
      cells.insert(cells.begin(), OrDash(TextOf(event, {"involvedObject", "namespace"})));
    }
    table.AddRow(std::move(cells));
  }
  return table.ToString();
}

std::string AgentQuotaTable(const std::vector<KubeObject>& quotas, bool namespaces) {
  std::vector<std::string> header = {"NAME", "OF", "TYPE", "CLASS", "USED", "HARD"};
  if (namespaces) header.insert(header.begin(), "NAMESPACE");
  Table table(std::move(header));
  const auto add = [&](const KubeObject& quota, const std::vector<std::string>& cells) {
    std::vector<std::string> row = {TextOf(quota, {"metadata", "name"})};
    if (namespaces) row.insert(row.begin(), TextOf(quota, {"metadata", "namespace"}));
    row.insert(row.end(), cells.begin(), cells.end());
    table.AddRow(std::move(row));
  };
  for (const KubeObject& quota : quotas) {
    for (const auto& [field, of] : {std::pair("containerClassResources", "containers"),
                                    std::pair("podClassResources", "pods")}) {
      if (FieldOf(quota, {"status", field}).is_null()) continue;
      bool any = false;
      for (const KubeObject& type : ItemsOf(quota, {"status", field})) {
        for (const KubeObject& each : ItemsOf(type, {"classes"})) {
          const std::string capacity = TextOf(each, {"capacity"});
          add(quota, {of, TextOf(type, {"name"}), TextOf(each, {"name"}), TextOf(each, {"used"}),
                      capacity.empty() ? "any" : capacity});
          any = true;
        }
      }
      if (!any) add(quota, {of, "-", "none allowed", "", ""});
    }
  }
  return table.ToString();
}

}  // namespace plimsoll::cli
