// docs/manifests.md names the fields that the code reads: all of them, and no others.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/fs_root.h"
#include "harness/node.h"
#include "pod_runner/manifest/manifest.h"

namespace plimsoll::testing {
namespace {

using Json = nlohmann::json;

// A mapping of every kind that the tables describe. What contradicts is an error of its own and
// hides no unknown field.
Json EveryMapping() {
  const Json files = {{"name", "o"}, {"items", {{{"key", "k"}, {"path", "p"}}}}};
  const Json downward = {{"items",
                          {{{"path", "p"},
                            {"fieldRef", {{"fieldPath", "metadata.name"}}},
                            {"resourceFieldRef", {{"resource", "limits.cpu"}}}}}}};
  const Json action = {{"exec", {{"command", {"a"}}}},
                       {"httpGet", {{"port", 1}, {"httpHeaders", {{{"name", "a"}}}}}},
                       {"tcpSocket", {{"port", 1}}},
                       {"grpc", {{"port", 1}}}};
  Json hook = action;
  hook.erase("tcpSocket");
  hook.erase("grpc");  // unknown there: its error would have the list of known fields
  hook["sleep"] = {{"seconds", 1}};
  Json probe = action;
  const Json key = {{"name", "o"}, {"key", "k"}};
  const Json container = {
      {"name", "c"},
      {"image", "i"},
      {"env",
       {{{"name", "A"},
         {"valueFrom",
          {{"fieldRef", {{"fieldPath", "metadata.name"}}},
           {"resourceFieldRef", {{"resource", "limits.cpu"}}},
           {"configMapKeyRef", key},
           {"secretKeyRef", key}}}}}},
      {"envFrom", {{{"configMapRef", {{"name", "o"}}}, {"secretRef", {{"name", "o"}}}}}},
      {"volumeMounts", {{{"name", "v"}, {"mountPath", "/v"}}}},
      {"ports", {{{"containerPort", 1}}}},
      {"resources", {{"limits", {{"cpu", 1}}}}},
      {"resizePolicy", {{{"resourceName", "cpu"}, {"restartPolicy", "NotRequired"}}}},
      {"livenessProbe", probe},
      {"lifecycle", {{"postStart", hook}, {"preStop", hook}}},
      {"securityContext", {{"capabilities", {{"add", {"A"}}}}}}};
  const Json volume = {{"name", "v"},
                       {"emptyDir", {{"sizeLimit", 1}}},
                       {"hostPath", {{"path", "/"}}},
                       {"configMap", files},
                       {"secret", {{"secretName", "o"}}},
                       {"downwardAPI", downward},
                       {"projected", {{"sources", {{{"configMap", files}}}}}},
                       {"image", {{"reference", "i"}}}};
  const Json profile = {{"type", "Unconfined"}};
  const Json spec = {{"containers", {container}},
                     {"volumes", {volume}},
                     {"hostAliases", {{{"ip", "1.1.1.1"}}}},
                     {"imagePullSecrets", {{{"name", "s"}}}},
                     {"dnsConfig", {{"options", {{{"name", "a"}}}}}},
                     {"securityContext",
                      {{"seccompProfile", profile},
                       {"appArmorProfile", profile},
                       {"seLinuxOptions", {{"user", "u"}}},
                       {"sysctls", {{{"name", "a"}, {"value", "1"}}}}}}};
  return {{"apiVersion", "v1"}, {"kind", "Pod"}, {"metadata", {{"name", "p"}}}, {"spec", spec}};
}

// "spec.containers[].env[]" in the pod.
Json& At(Json& pod, const std::string& place) {
  if (place == "Pod") return pod;
  return pod[Json::json_pointer(
      absl::StrCat("/", absl::StrReplaceAll(place, {{"[]", "/0"}, {".", "/"}})))];
}

std::string ErrorsOf(const Json& pod) {
  const auto read = pod::ParseManifests(pod.dump(), "f");
  return std::string(read.status().message());
}

// The fields that the reader knows at a place, from its answer to a field that it doesn't.
std::set<std::string> KnownAt(const std::string& place) {
  Json pod = EveryMapping();
  At(pod, place)["qqqqqqqqqq"] = 1;
  const std::string errors = ErrorsOf(pod);
  const size_t at = errors.find("unknown field \"qqqqqqqqqq\"; known here: ");
  if (at == std::string::npos) return {};
  const std::string line = errors.substr(at, errors.find('\n', at) - at);
  return absl::StrSplit(line.substr(line.find("known here: ") + 12), ", ");
}

bool IsRefusedAt(const std::string& place, const std::string& field) {
  Json pod = EveryMapping();
  At(pod, place)[field] = {{"a", "b"}};
  return absl::StrContains(ErrorsOf(pod), "not supported: ");
}

struct Row {
  std::string place, field, support;
};

// Rows of the tables below headings "### `spec.containers[]`".
std::vector<Row> RowsOf(const std::string& text) {
  std::vector<Row> rows;
  std::string place;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    if (absl::StartsWith(line, "#")) {
      const std::vector<std::string> parts = absl::StrSplit(line, '`');
      place = absl::StartsWith(line, "### `") && parts.size() == 3 ? parts[1] : "";
    }
    if (place.empty() || !absl::ConsumePrefix(&line, "| `")) continue;
    const std::vector<std::string> cells = absl::StrSplit(line, absl::MaxSplits("` | ", 1));
    if (cells.size() == 2) rows.push_back({place, cells[0], cells[1]});
  }
  return rows;
}

TEST(ManifestDocs, TheTablesHaveTheFieldsThatTheCodeReads) {
  const auto root = FsRoot::Open(SourcePath("."));
  ASSERT_TRUE(root.ok());
  const auto text = root->Read("docs/manifests.md");
  ASSERT_TRUE(text.ok()) << text.status();
  std::map<std::string, std::set<std::string>> documented;
  for (const Row& row : RowsOf(*text)) {
    EXPECT_TRUE(documented[row.place].insert(row.field).second) << row.place << " " << row.field;
    EXPECT_EQ(absl::StartsWith(row.support, "refused"), IsRefusedAt(row.place, row.field))
        << row.place << "." << row.field;
  }
  EXPECT_GT(documented.size(), 20u);
  for (const auto& [place, fields] : documented) EXPECT_EQ(fields, KnownAt(place)) << place;
}

}  // namespace
}  // namespace plimsoll::testing
