#include "agent/node/zone_labels.h"

#include <optional>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/text/label_text.h"

namespace plimsoll::agent {
namespace {

constexpr char kLabelPrefix[] = "zone.plimsoll.dev/";

bool IsOfKubernetes(absl::string_view key) {
  const absl::string_view domain = key.substr(0, key.find('/'));
  for (const char* own : {"kubernetes.io", "k8s.io"}) {
    if (domain == own || absl::EndsWith(domain, absl::StrCat(".", own))) return true;
  }
  return false;
}

// Empty: no label.
std::string LabelKeyOf(const std::string& attribute) {
  static const std::set<std::string> kElsewhere = {topology::kCpuIds, topology::kId,
                                                   topology::kMachineId, topology::kBootId,
                                                   topology::kSystemUuid};
  if (kElsewhere.contains(attribute)) return "";
  std::string key =
      absl::StrContains(attribute, '/') ? attribute : absl::StrCat(kLabelPrefix, attribute);
  return IsLabelKey(key) && !IsOfKubernetes(key) ? key : "";
}

}  // namespace

std::map<std::string, std::string> LabelsOf(const topology::Topology& topology) {
  std::map<std::string, std::optional<std::string>> values;  // nullopt: zones differ
  for (const topology::Zone& zone : topology.zones) {
    for (const auto& [attribute, value] : zone.attributes) {
      const auto [at, is_new] = values.emplace(attribute, value);
      if (!is_new && at->second != value) at->second.reset();
    }
  }
  std::map<std::string, std::string> labels;
  for (const auto& [attribute, value] : values) {
    const std::string key = LabelKeyOf(attribute);
    std::string text = value ? LabelValueOf(*value) : "";
    if (!key.empty() && !text.empty()) labels.emplace(key, std::move(text));
  }
  return labels;
}

}  // namespace plimsoll::agent
