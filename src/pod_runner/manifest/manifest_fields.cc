#include "pod_runner/manifest/manifest_fields.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"

namespace plimsoll::pod {
namespace {

constexpr char kLabel[] = "metadata.labels['";
constexpr char kAnnotation[] = "metadata.annotations['";

std::vector<std::string> FieldsOf(bool in_volume) {
  if (in_volume) {
    return {"metadata.name", "metadata.namespace", "metadata.uid", "metadata.labels",
            "metadata.annotations"};
  }
  return {"metadata.name",
          "metadata.namespace",
          "metadata.uid",
          "spec.nodeName",
          "spec.serviceAccountName",
          "status.hostIP",
          "status.hostIPs",
          "status.podIP",
          "status.podIPs"};
}

bool IsKnownField(const std::string& field, const std::vector<std::string>& fields) {
  if (std::find(fields.begin(), fields.end(), field) != fields.end()) return true;
  return (absl::StartsWith(field, kLabel) || absl::StartsWith(field, kAnnotation)) &&
         absl::EndsWith(field, "']");
}

bool IsKnownResource(absl::string_view resource) {
  if (!absl::ConsumePrefix(&resource, "limits.") && !absl::ConsumePrefix(&resource, "requests.")) {
    return false;
  }
  return resource == "cpu" || resource == "memory" || resource == "ephemeral-storage" ||
         absl::StartsWith(resource, "hugepages-");
}

void ReadDivisor(YamlReader& reader, YamlMapping& mapping, ResourceField& field) {
  const auto node = mapping.Get("divisor");
  if (!node) return;
  const auto text = reader.AsText(*node, mapping.PathOf("divisor"));
  if (!text) return;
  const auto divisor = resources::Quantity::Parse(*text);
  if (!divisor.ok()) {
    reader.Fail(*node, mapping.PathOf("divisor"), divisor.status().message());
  } else if (divisor->Sign() < 0) {
    reader.Fail(*node, mapping.PathOf("divisor"), "must not be negative");
  } else if (!divisor->IsZero()) {
    field.divisor = *divisor;
  }
}

std::optional<int64_t> ParseMode(absl::string_view text) {
  int64_t mode = 0;
  const bool octal = absl::StartsWith(text, "0") && text.size() > 1;
  absl::ConsumePrefix(&text, "0o");
  if (!octal) return absl::SimpleAtoi(text, &mode) ? std::optional(mode) : std::nullopt;
  for (const char c : text) {
    if (c < '0' || c > '7' || mode > 0777) return std::nullopt;
    mode = mode * 8 + (c - '0');
  }
  return mode;
}

}  // namespace

std::string ReadFieldRef(YamlReader& reader, const YAML::Node& node, const std::string& path,
                         bool in_volume) {
  YamlMapping mapping(reader, node, path);
  std::string version, field;
  mapping.OneOf("apiVersion", version, {"v1"});
  mapping.Required("fieldPath", field);
  const std::vector<std::string> known = FieldsOf(in_volume);
  if (!field.empty() && !IsKnownField(field, known)) {
    reader.Fail(node, mapping.PathOf("fieldPath"),
                absl::StrCat("\"", field, "\" is not supported, only ", absl::StrJoin(known, ", "),
                             ", metadata.labels['KEY'] and metadata.annotations['KEY']"));
  }
  mapping.Finish();
  return field;
}

ResourceField ReadResourceField(YamlReader& reader, const YAML::Node& node, const std::string& path,
                                bool in_volume) {
  ResourceField field;
  YamlMapping mapping(reader, node, path);
  if (in_volume) {
    mapping.Required("containerName", field.container);
  } else {
    mapping.String("containerName", field.container);
  }
  mapping.Required("resource", field.resource);
  if (!field.resource.empty() && !IsKnownResource(field.resource)) {
    reader.Fail(node, mapping.PathOf("resource"),
                absl::StrCat("\"", field.resource,
                             "\" must be limits or requests, a dot, and one of cpu, memory, "
                             "ephemeral-storage, hugepages-<size>"));
  }
  ReadDivisor(reader, mapping, field);
  mapping.Finish();
  return field;
}

void ReadMode(YamlReader& reader, YamlMapping& mapping, const std::string& key,
              std::optional<int64_t>& mode) {
  const auto node = mapping.Get(key);
  if (!node) return;
  const auto text = reader.AsText(*node, mapping.PathOf(key));
  if (!text) return;
  const std::optional<int64_t> read = ParseMode(*text);
  if (!read || *read < 0 || *read > 0777) {
    reader.Fail(*node, mapping.PathOf(key), "must be permission bits from 0 to 0777");
    return;
  }
  mode = read;
}

void ReadInt(YamlMapping& mapping, const std::string& key, int64_t& out, int64_t min, int64_t max) {
  std::optional<int64_t> value;
  mapping.Int(key, value, min, max);
  out = value.value_or(out);
}

void CheckFilePath(YamlReader& reader, const YAML::Node& node, const std::string& path,
                   absl::string_view value) {
  if (value.empty()) return;  // Required has told
  if (!IsBelow(value) || absl::StartsWith(value, "..")) {
    reader.Fail(node, path, absl::StrCat("\"", value, "\" must be relative and without \"..\""));
  }
}

bool StepsBack(absl::string_view path) {
  return absl::StrContains(absl::StrCat("/", path, "/"), "/../");
}

bool IsBelow(absl::string_view path) {
  return !absl::StartsWith(path, "/") && !StepsBack(path);
}

}  // namespace plimsoll::pod
