#include "kube/publish/metadata_patch.h"

#include <set>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "base/label_text.h"
#include "kube/apiserver/json_fields.h"

namespace plimsoll::kube {
namespace {

using nlohmann::json;

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

json PatchOfKind(const json& present, const std::map<std::string, std::string>& wanted,
                 const std::set<std::string>& listed) {
  json patch = json::object();
  for (const auto& [key, value] : wanted) {
    if (TextOf(present, key.c_str()) != value || !present.contains(key)) patch[key] = value;
  }
  for (const std::string& key : listed) {
    if (!wanted.contains(key) && present.is_object() && present.contains(key)) patch[key] = nullptr;
  }
  return patch;
}

json KeysOf(const std::map<std::string, std::string>& map) {
  json keys = json::array();
  for (const auto& [key, value] : map) keys.push_back(key);
  return keys;
}

}  // namespace

json MetadataPatch(const json& node, const NodeFacts& wanted) {
  const json& labels = FieldOf(node, {"metadata", "labels"});
  const json& annotations = FieldOf(node, {"metadata", "annotations"});
  const std::string listed_text = TextOf(annotations, kPublished);
  const json listed = listed_text.size() < kLargestList
                          ? json::parse(listed_text, nullptr, /*allow_exceptions=*/false)
                          : json();
  std::map<std::string, std::string> wanted_annotations = wanted.annotations;
  std::set<std::string> own_annotations = ListedKeys(listed, "annotations");
  if (wanted.labels.empty() && wanted.annotations.empty()) {
    own_annotations.insert(kPublished);
  } else {
    wanted_annotations[kPublished] =
        json({{"labels", KeysOf(wanted.labels)}, {"annotations", KeysOf(wanted.annotations)}})
            .dump();
  }
  json patch;
  const json label_patch = PatchOfKind(labels, wanted.labels, ListedKeys(listed, "labels"));
  const json annotation_patch = PatchOfKind(annotations, wanted_annotations, own_annotations);
  if (!label_patch.empty()) patch["metadata"]["labels"] = label_patch;
  if (!annotation_patch.empty()) patch["metadata"]["annotations"] = annotation_patch;
  return patch;
}

}  // namespace plimsoll::kube
