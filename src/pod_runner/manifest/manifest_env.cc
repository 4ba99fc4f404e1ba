#include "pod_runner/manifest/manifest_env.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "pod_runner/manifest/manifest_fields.h"

namespace plimsoll::pod {
namespace {

ObjectKey ReadObjectKey(YamlReader& reader, const YAML::Node& node, const std::string& path,
                        ObjectKind kind) {
  ObjectKey key{.kind = kind};
  YamlMapping mapping(reader, node, path);
  mapping.Required("name", key.object);
  mapping.Required("key", key.key);
  mapping.Bool("optional", key.optional);
  mapping.Finish();
  return key;
}

void ReadValueFrom(YamlReader& reader, const YAML::Node& node, const std::string& path,
                   EnvVar& env) {
  YamlMapping from(reader, node, path);
  int sources = 0;
  if (const auto ref = from.Get("fieldRef")) {
    env.field_path = ReadFieldRef(reader, *ref, from.PathOf("fieldRef"), /*in_volume=*/false);
    ++sources;
  }
  if (const auto ref = from.Get("resourceFieldRef")) {
    env.resource =
        ReadResourceField(reader, *ref, from.PathOf("resourceFieldRef"), /*in_volume=*/false);
    ++sources;
  }
  if (const auto ref = from.Get("configMapKeyRef")) {
    env.key = ReadObjectKey(reader, *ref, from.PathOf("configMapKeyRef"), ObjectKind::kConfigMap);
    ++sources;
  }
  if (const auto ref = from.Get("secretKeyRef")) {
    env.key = ReadObjectKey(reader, *ref, from.PathOf("secretKeyRef"), ObjectKind::kSecret);
    ++sources;
  }
  from.Refuse("fileKeyRef", "variables from files of a volume are to come");
  const bool has_file = from.Get("fileKeyRef").has_value();
  from.Finish();
  if (sources != 1 && !has_file) {
    reader.Fail(node, path,
                "needs exactly one of fieldRef, resourceFieldRef, configMapKeyRef, secretKeyRef");
  }
}

}  // namespace

EnvVar ReadEnv(YamlReader& reader, const YAML::Node& node, const std::string& path) {
  EnvVar env;
  YamlMapping mapping(reader, node, path);
  mapping.Required("name", env.name);
  if (absl::StrContains(env.name, '=')) {
    reader.Fail(node, path, absl::StrCat("name \"", env.name, "\" must not contain \"=\""));
  }
  mapping.String("value", env.value);
  if (const auto from = mapping.Get("valueFrom")) {
    if (!env.value.empty()) reader.Fail(*from, path, "has both value and valueFrom");
    ReadValueFrom(reader, *from, mapping.PathOf("valueFrom"), env);
  }
  mapping.Finish();
  return env;
}

EnvFrom ReadEnvFrom(YamlReader& reader, const YAML::Node& node, const std::string& path) {
  EnvFrom from;
  YamlMapping mapping(reader, node, path);
  mapping.String("prefix", from.prefix);
  if (absl::StrContains(from.prefix, '=')) {
    reader.Fail(node, mapping.PathOf("prefix"), "must not contain \"=\"");
  }
  const auto config_map = mapping.Get("configMapRef");
  const auto secret = mapping.Get("secretRef");
  if (config_map.has_value() == secret.has_value()) {
    reader.Fail(node, path, "needs exactly one of configMapRef and secretRef");
  }
  from.kind = secret ? ObjectKind::kSecret : ObjectKind::kConfigMap;
  if (config_map || secret) {
    YamlMapping ref(reader, secret ? *secret : *config_map,
                    mapping.PathOf(secret ? "secretRef" : "configMapRef"));
    ref.Required("name", from.object);
    ref.Bool("optional", from.optional);
    ref.Finish();
  }
  mapping.Finish();
  return from;
}

}  // namespace plimsoll::pod
