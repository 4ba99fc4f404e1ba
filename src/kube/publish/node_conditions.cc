#include "kube/publish/node_conditions.h"

#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "kube/apiserver/json_fields.h"
#include "kube/publish/short_text.h"

namespace plimsoll::kube {
namespace {

using nlohmann::json;

constexpr size_t kLongestMessage = 1000;
constexpr size_t kMostSentences = 5;
constexpr size_t kLongestReason = 128;

struct ConditionKind {
  const char* type;
  const char* trouble;  // of a report, its reason with this type
  const char* bad;      // reasons
  const char* good;
  const char* good_message;
};

constexpr ConditionKind kKinds[] = {
    {kUnavailable, "", "RuntimeUnavailable", "RuntimeAvailable", "plimsolld answers"},
    {kClassesDrifted, "ClassDrift", "ClassesDrifted", "ClassesInForce",
     "the kernel has each class as it was asked"},
    {kPartitionLost, "PartitionLost", "PartitionLost", "PartitionInForce",
     "pods are kept to the configured part of the node"},
    {kTopologyUnknown, "TopologyUnknown", "TopologyUnknown", "TopologyKnown",
     "plimsolld reports the node's topology"},
    {kDegraded, nullptr, "Degraded", "NoTrouble", "plimsolld reports no other trouble"},
};

bool IsOwnType(const std::string& type) {
  return absl::c_any_of(kKinds, [&](const ConditionKind& kind) { return type == kind.type; });
}

// A reason of plimsolld's, fit for a condition and an event.
std::string ReasonOf(const std::string& text, absl::string_view otherwise) {
  const bool is_word = !text.empty() && text.size() <= kLongestReason &&
                       absl::ascii_isalpha(static_cast<unsigned char>(text[0])) &&
                       absl::c_all_of(text, [](unsigned char c) { return absl::ascii_isalnum(c); });
  return is_word ? text : std::string(otherwise);
}

// "rdt=gold: thread 4711 is in resctrl group /silver".
std::vector<std::string> DriftOf(const NodeReport& report) {
  std::vector<std::string> sentences;
  for (const NodeClassType& type : report.types) {
    for (const NodeClass& each : type.classes) {
      for (const std::string& drift : each.drift) {
        sentences.push_back(absl::StrCat(type.name, "=", each.name, ": ", drift));
      }
    }
  }
  return sentences;
}

// The sentences of a report that make a condition True.
std::vector<std::string> SentencesFor(const ConditionKind& kind, const NodeReport& report) {
  std::vector<std::string> sentences;
  if (kind.type == absl::string_view(kClassesDrifted)) sentences = DriftOf(report);
  // The trouble of a drift repeats the first sentence of its class.
  if (!sentences.empty()) return sentences;
  for (const Trouble& trouble : report.troubles) {
    if (trouble.reason == absl::NullSafeStringView(kind.trouble))
      sentences.push_back(trouble.message);
  }
  return sentences;
}

NodeCondition Good(const ConditionKind& kind) {
  return {kind.type, "False", kind.good, kind.good_message};
}

NodeCondition ConditionOf(const ConditionKind& kind, const std::vector<std::string>& sentences,
                          std::string reason) {
  if (sentences.empty()) return Good(kind);
  return {kind.type, "True", std::move(reason),
          ShortText(FirstFew(sentences, kMostSentences), kLongestMessage)};
}

// Troubles that no other condition shows.
NodeCondition Degraded(const ConditionKind& kind, const NodeReport& report) {
  std::vector<std::string> sentences;
  std::string reason;
  for (const Trouble& trouble : report.troubles) {
    const bool is_told = absl::c_any_of(kKinds, [&](const ConditionKind& other) {
      return other.trouble != nullptr && trouble.reason == other.trouble && trouble.reason != "";
    });
    if (is_told) continue;
    if (sentences.empty()) reason = ReasonOf(trouble.reason, kind.bad);
    sentences.push_back(absl::StrCat(trouble.reason, ": ", trouble.message));
  }
  return ConditionOf(kind, sentences, std::move(reason));
}

std::string ConditionTime(absl::Time time) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", time, absl::UTCTimeZone());
}

}  // namespace

std::vector<NodeCondition> ConditionsOf(const NodeReport& report) {
  std::vector<NodeCondition> conditions;
  for (const ConditionKind& kind : kKinds) {
    if (kind.trouble == nullptr) {
      conditions.push_back(Degraded(kind, report));
    } else if (*kind.trouble == '\0') {
      conditions.push_back(Good(kind));
    } else {
      conditions.push_back(ConditionOf(kind, SentencesFor(kind, report), kind.bad));
    }
  }
  return conditions;
}

std::vector<NodeCondition> ConditionsWithoutRuntime() {
  std::vector<NodeCondition> conditions;
  for (const ConditionKind& kind : kKinds) {
    if (kind.type == absl::string_view(kUnavailable)) {
      conditions.push_back({kind.type, "True", kind.bad,
                            "plimsolld doesn't answer at its cluster socket; containers go on"});
    } else {
      conditions.push_back(
          {kind.type, "Unknown", "RuntimeUnavailable", "plimsolld doesn't answer"});
    }
  }
  return conditions;
}

std::vector<NodeCondition> OwnConditionsOf(const json& node) {
  std::vector<NodeCondition> conditions;
  for (const json& each : ElementsOf(node, {"status", "conditions"})) {
    NodeCondition condition{.type = TextOf(each, "type"),
                            .status = TextOf(each, "status"),
                            .reason = TextOf(each, "reason"),
                            .message = TextOf(each, "message")};
    if (IsOwnType(condition.type)) conditions.push_back(std::move(condition));
  }
  return conditions;
}

json ConditionsPatch(const json& node, const std::vector<NodeCondition>& wanted, absl::Time now) {
  const std::vector<NodeCondition> present = OwnConditionsOf(node);
  json list = json::array();
  for (const NodeCondition& condition : wanted) {
    if (absl::c_linear_search(present, condition)) continue;
    const bool same_status = absl::c_any_of(present, [&](const NodeCondition& old) {
      return old.type == condition.type && old.status == condition.status;
    });
    json object = {{"type", condition.type},
                   {"status", condition.status},
                   {"reason", condition.reason},
                   {"message", condition.message},
                   {"lastHeartbeatTime", ConditionTime(now)}};
    if (!same_status) object["lastTransitionTime"] = ConditionTime(now);
    list.push_back(std::move(object));
  }
  for (const NodeCondition& old : present) {
    const bool is_wanted =
        absl::c_any_of(wanted, [&](const NodeCondition& each) { return each.type == old.type; });
    if (!is_wanted) list.push_back({{"type", old.type}, {"$patch", "delete"}});
  }
  if (list.empty()) return json();
  return {{"status", {{"conditions", std::move(list)}}}};
}

}  // namespace plimsoll::kube
