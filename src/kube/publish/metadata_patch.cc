#include "kube/publish/metadata_patch.h"

#include <map>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "base/text/label_text.h"
#include "kube/apiserver/json_fields.h"

namespace plimsoll::kube {
namespace {

using nlohmann::json;

using FactMap = std::map<std::string, std::string>;

// An annotation of this size or more was not written by this program.
constexpr size_t kLargestList = 64 << 10;

std::set<std::string> ListedKeys(const json& published, const char* kind) {
  std::set<std::string> keys;
  for (const json& key : ElementsOf(published, {kind})) {
    if (!key.is_string()) continue;
    const std::string text = key.get<std::string>();
    if (absl::StartsWith(text, kFactPrefix) && IsLabelKey(text) && text != kPublished) {
      keys.insert(text);
    }
  }
  return keys;
}

json PatchOfKind(const json& present, const FactMap& wanted, const std::set<std::string>& listed) {
  json patch = json::object();
  for (const auto& [key, value] : wanted) {
    if (TextOf(present, key.c_str()) != value || !present.contains(key)) patch[key] = value;
  }
  for (const std::string& key : listed) {
    if (!wanted.contains(key) && present.is_object() && present.contains(key)) patch[key] = nullptr;
  }
  return patch;
}

// Listed facts of a topology that are there become wanted.
void KeepTopology(const json& present, const std::set<std::string>& listed, FactMap& wanted) {
  for (const std::string& key : listed) {
    if (!absl::StartsWith(key, kTopologyPrefix)) continue;
    std::string value = TextOf(present, key.c_str());
    if (!value.empty()) wanted.emplace(key, std::move(value));
  }
}

std::string ListOf(const FactMap& labels, const FactMap& annotations) {
  json list = {{"labels", json::array()}, {"annotations", json::array()}};
  for (const auto& [key, value] : labels) list["labels"].push_back(key);
  for (const auto& [key, value] : annotations) list["annotations"].push_back(key);
  return list.dump();
}

}  // namespace

json MetadataPatch(const json& node, const NodeFacts& wanted) {
  const json& labels = FieldOf(node, {"metadata", "labels"});
  const json& annotations = FieldOf(node, {"metadata", "annotations"});
  const std::string text = TextOf(annotations, kPublished);
  const json listed =
      text.size() < kLargestList ? json::parse(text, nullptr, /*allow_exceptions=*/false) : json();
  const std::set<std::string> listed_labels = ListedKeys(listed, "labels");
  std::set<std::string> listed_annotations = ListedKeys(listed, "annotations");
  FactMap wanted_labels = wanted.labels;
  FactMap wanted_annotations = wanted.annotations;
  if (wanted.topology_is_unknown) {
    KeepTopology(labels, listed_labels, wanted_labels);
    KeepTopology(annotations, listed_annotations, wanted_annotations);
  }
  if (wanted_labels.empty() && wanted_annotations.empty()) {
    listed_annotations.insert(kPublished);
  } else {
    wanted_annotations[kPublished] = ListOf(wanted_labels, wanted_annotations);
  }
  json patch;
  const json label_patch = PatchOfKind(labels, wanted_labels, listed_labels);
  const json annotation_patch = PatchOfKind(annotations, wanted_annotations, listed_annotations);
  if (!label_patch.empty()) patch["metadata"]["labels"] = label_patch;
  if (!annotation_patch.empty()) patch["metadata"]["annotations"] = annotation_patch;
  return patch;
}

}  // namespace plimsoll::kube
