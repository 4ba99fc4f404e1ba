#include "agent/pods/classes/class_quota.h"

#include <yaml-cpp/yaml.h>

#include <limits>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status.h"
#include "base/text/problems.h"
#include "pod_runner/manifest/classes.h"
#include "pod_runner/manifest/object_metadata.h"
#include "pod_runner/manifest/objects.h"
#include "yaml/documents.h"
#include "yaml/reader.h"

namespace plimsoll::agent {
namespace {

using Json = nlohmann::json;
using Capacities = std::map<std::string, std::optional<uint64_t>>;

void ReadQuotaClass(YamlReader& reader, const YAML::Node& node, const std::string& path,
                    Capacities& out) {
  std::string name;
  std::optional<int64_t> capacity;
  if (node.IsScalar()) {
    name = reader.AsString(node, path).value_or("");
  } else {
    YamlMapping mapping(reader, node, path);
    mapping.Required("name", name);
    mapping.Int("capacity", capacity, 0, std::numeric_limits<int64_t>::max());
    mapping.Finish();
  }
  if (name.empty()) return;
  if (!pod::IsClassName(name)) {
    reader.Fail(node, path, absl::StrCat("\"", name, "\" is no name of a class"));
  }
  std::optional<uint64_t> places;
  if (capacity) places = static_cast<uint64_t>(*capacity);
  if (!out.emplace(name, places).second) {
    reader.Fail(node, path, absl::StrCat("class \"", name, "\" is there already"));
  }
}

void ReadAllowed(YamlReader& reader, YamlMapping& spec, const std::string& key,
                 std::optional<AllowedClasses>& out) {
  if (!spec.Get(key)) return;
  out.emplace();
  spec.Each(key, [&](const YAML::Node& item, const std::string& path) {
    YamlMapping mapping(reader, item, path);
    std::string type;
    Capacities classes;
    mapping.Required("name", type);
    mapping.Each("classes", [&](const YAML::Node& node, const std::string& where) {
      ReadQuotaClass(reader, node, where, classes);
    });
    mapping.Finish();
    if (type.empty()) return;
    if (!pod::IsClassTypeName(type)) {
      reader.Fail(item, path, absl::StrCat("\"", type, "\" is no name of a class type"));
    }
    if (!out->emplace(type, std::move(classes)).second) {
      reader.Fail(item, path, absl::StrCat("class type \"", type, "\" is there already"));
    }
  });
}

absl::StatusOr<ClassQuota> ReadQuota(const YAML::Node& node, const std::string& file) {
  YamlReader reader(file);
  ClassQuota quota{.key = {"default", ""}, .pod = {}, .container = {}};
  YamlMapping top(reader, node, "");
  for (const char* key : {"apiVersion", "kind", "status"}) top.Get(key);
  pod::ReadObjectMetadata(reader, top, quota.key.pod_namespace, quota.key.name);
  if (const auto spec_node = top.Get("spec")) {
    YamlMapping spec(reader, *spec_node, "spec");
    ReadAllowed(reader, spec, "podClassResources", quota.pod);
    ReadAllowed(reader, spec, "containerClassResources", quota.container);
    spec.Refuse("hard", "an agent's quota is of QoS classes alone, not of amounts");
    spec.Refuse("scopes", "an agent's quota is for all pods of its namespace");
    spec.Refuse("scopeSelector", "an agent's quota is for all pods of its namespace");
    spec.Finish();
  }
  top.Finish();
  if (reader.errors().empty()) return quota;
  return absl::InvalidArgumentError(absl::StrJoin(reader.errors(), "\n"));
}

bool IsQuota(const YAML::Node& node) {
  const auto is = [&node](const char* key, const char* word) {
    return node[key] && node[key].IsScalar() && node[key].Scalar() == word;
  };
  return node.IsMap() && is("kind", "ResourceQuota") && is("apiVersion", "v1");
}

uint64_t HeldOf(const ClassCounts& used, const std::string& type, const std::string& name) {
  const auto by_class = used.find(type);
  if (by_class == used.end()) return 0;
  const auto held = by_class->second.find(name);
  return held == by_class->second.end() ? 0 : held->second;
}

// nullopt: any number.
std::optional<uint64_t> PlacesOf(const AllowedClasses& allowed, const std::string& type,
                                 const std::string& name) {
  const auto by_class = allowed.find(type);
  if (by_class == allowed.end()) return 0;
  const auto places = by_class->second.find(name);
  return places == by_class->second.end() ? 0 : places->second;
}

std::string AllowedText(const AllowedClasses& allowed) {
  std::vector<std::string> words;
  for (const auto& [type, classes] : allowed) {
    for (const auto& [name, unused] : classes) words.push_back(absl::StrCat(type, "/", name));
  }
  return words.empty() ? "none" : absl::StrJoin(words, ", ");
}

// `level` is "pods" or "containers".
absl::Status CheckLevel(const ClassQuota& quota, const std::optional<AllowedClasses>& allowed,
                        const char* level, const PodKey& pod, const ClassCounts& requested,
                        const ClassCounts& used) {
  if (!allowed) return absl::OkStatus();
  for (const auto& [type, classes] : requested) {
    for (const auto& [name, count] : classes) {
      const std::optional<uint64_t> places = PlacesOf(*allowed, type, name);
      const uint64_t held = HeldOf(used, type, name);
      if (!places || (held <= *places && count <= *places - held)) continue;
      const std::string what = absl::StrCat(level, ".", type, "/", name, "=");
      return absl::PermissionDeniedError(absl::StrCat(
          "pods \"", pod.name, "\" is forbidden: exceeded quota: ", quota.key.name,
          ", requested: ", what, count, ", used: ", what, held, ", limited: ", what, *places,
          "; namespace ", pod.pod_namespace, " may have of ", level, ": ", AllowedText(*allowed)));
    }
  }
  return absl::OkStatus();
}

Json AllowedJson(const AllowedClasses& allowed) {
  Json list = Json::array();
  for (const auto& [type, classes] : allowed) {
    Json item = {{"name", type}, {"classes", Json::array()}};
    for (const auto& [name, places] : classes) {
      Json one = {{"name", name}};
      if (places) one["capacity"] = *places;
      item["classes"].push_back(std::move(one));
    }
    list.push_back(std::move(item));
  }
  return list;
}

Json ListWithUse(AllowedClasses allowed, const ClassCounts& used) {
  for (const auto& [type, classes] : used) {
    for (const auto& [name, count] : classes) allowed[type].emplace(name, 0);
  }
  Json list = AllowedJson(allowed);
  for (Json& type : list) {
    for (Json& one : type["classes"]) one["used"] = HeldOf(used, type["name"], one["name"]);
  }
  return list;
}

}  // namespace

absl::StatusOr<std::vector<ClassQuota>> ParseClassQuotas(absl::string_view text,
                                                         const std::string& file) {
  std::vector<ClassQuota> quotas;
  absl::Status problems;
  try {
    for (const YAML::Node& document : LoadYamlDocuments(std::string(text))) {
      if (!IsQuota(document)) continue;
      absl::StatusOr<ClassQuota> quota = ReadQuota(document, file);
      problems = AlsoTell(problems, quota.status());
      if (quota.ok()) quotas.push_back(*std::move(quota));
    }
  } catch (const YAML::Exception& error) {
    // The file may hold a Secret: yaml-cpp's words would show its text.
    const std::string where = error.mark.is_null() ? file
                                                   : absl::StrCat(file, ":", error.mark.line + 1,
                                                                  ":", error.mark.column + 1);
    return absl::InvalidArgumentError(
        absl::StrCat(where, ": ", YamlFault(error, /*quotes=*/false)));
  }
  PLIMSOLL_RETURN_IF_ERROR(problems);
  return quotas;
}

absl::StatusOr<std::vector<ClassQuota>> ReadClassQuotas(const FsRoot& root,
                                                        const std::string& directory) {
  std::vector<ClassQuota> all;
  std::set<PodKey> keys;
  PLIMSOLL_RETURN_IF_ERROR(pod::ReadObjectFiles(
      root, directory, [&](absl::string_view text, const std::string& path) -> absl::Status {
        PLIMSOLL_ASSIGN_OR_RETURN(std::vector<ClassQuota> quotas, ParseClassQuotas(text, path));
        for (ClassQuota& quota : quotas) {
          if (!keys.insert(quota.key).second) {
            return absl::AlreadyExistsError(absl::StrCat(path, ": ResourceQuota ",
                                                         quota.key.pod_namespace, "/",
                                                         quota.key.name, " is there already"));
          }
          all.push_back(std::move(quota));
        }
        return absl::OkStatus();
      }));
  return all;
}

absl::Status CheckClassQuotas(const std::vector<ClassQuota>& quotas, const PodKey& pod,
                              const ClassRequests& requests, const NodeClassUse& used) {
  NodeClassUse requested;
  requested.Add(requests);
  for (const ClassQuota& quota : quotas) {
    if (quota.key.pod_namespace != pod.pod_namespace) continue;
    PLIMSOLL_RETURN_IF_ERROR(CheckLevel(quota, quota.pod, "pods", pod, requested.pod, used.pod));
    PLIMSOLL_RETURN_IF_ERROR(
        CheckLevel(quota, quota.container, "containers", pod, requested.container, used.container));
  }
  return absl::OkStatus();
}

Json QuotaObject(const ClassQuota& quota, const NodeClassUse& used) {
  Json object = {{"apiVersion", "v1"},
                 {"kind", "ResourceQuota"},
                 {"metadata", {{"namespace", quota.key.pod_namespace}, {"name", quota.key.name}}},
                 {"spec", Json::object()},
                 {"status", Json::object()}};
  if (quota.pod) {
    object["spec"]["podClassResources"] = AllowedJson(*quota.pod);
    object["status"]["podClassResources"] = ListWithUse(*quota.pod, used.pod);
  }
  if (quota.container) {
    object["spec"]["containerClassResources"] = AllowedJson(*quota.container);
    object["status"]["containerClassResources"] = ListWithUse(*quota.container, used.container);
  }
  return object;
}

}  // namespace plimsoll::agent
