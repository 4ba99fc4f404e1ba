#include "pod_runner/manifest/manifest_classes.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "pod_runner/manifest/classes.h"
#include "qos/class_type.h"

namespace plimsoll::pod {
namespace {

constexpr char kNameRule[] =
    "1 to 63 letters, digits, \"-\", \"_\" and \".\", with a letter or digit at both ends";

// The annotations that name a class of this container alone.
std::vector<std::string> KeysOf(const std::string& type, const std::string& container) {
  std::vector<std::string> keys = {absl::StrCat(type, ".class.plimsoll.dev/container.", container)};
  if (type != qos::kRdt && type != qos::kBlockio) return keys;
  for (const char* version : {"beta", "alpha"}) {
    keys.push_back(
        absl::StrCat(type, ".resources.", version, ".kubernetes.io/container.", container));
  }
  return keys;
}

void CheckOne(YamlReader& reader, const YAML::Node& annotations, const Manifest& pod,
              const std::string& key, const std::string& field, const std::string& class_name) {
  const auto found = pod.annotations.find(key);
  if (found == pod.annotations.end() || found->second == class_name) return;
  if (AsksForDefault(found->second) && AsksForDefault(class_name)) return;
  reader.Fail(annotations[key], absl::StrCat("metadata.annotations[", key, "]"),
              absl::StrCat("is \"", found->second, "\", but ", field, " is \"", class_name,
                           "\": leave the annotation out, or let both agree"));
}

}  // namespace

std::map<std::string, std::string> ReadClasses(YamlReader& reader, YamlMapping& resources) {
  std::map<std::string, std::string> classes;
  const auto node = resources.Get("classes");
  if (!node) return classes;
  reader.Entries(*node, resources.PathOf("classes"),
                 [&](const std::string& type, const YAML::Node& value, const std::string& path) {
                   if (!IsClassTypeName(type)) {
                     reader.Fail(value, path,
                                 absl::StrCat("class type \"", type, "\" must be ", kNameRule,
                                              "; a DNS name and \"/\" may stand before it"));
                   }
                   const auto name = reader.AsString(value, path);
                   if (!name) return;
                   if (!IsClassName(*name)) {
                     reader.Fail(value, path,
                                 absl::StrCat("class \"", *name, "\" must be ", kNameRule));
                   }
                   classes[type] = *name;
                 });
  return classes;
}

void CheckClassAnnotations(YamlReader& reader, const YAML::Node& metadata, const Manifest& pod) {
  const YAML::Node annotations =
      metadata.IsDefined() && metadata.IsMap() ? metadata["annotations"] : YAML::Node();
  if (!annotations.IsDefined() || !annotations.IsMap()) return;
  for (const auto& [type, name] : pod.classes) {
    CheckOne(reader, annotations, pod, absl::StrCat(type, ".class.plimsoll.dev/sandbox"),
             absl::StrCat("spec.resources.classes[", type, "]"), name);
  }
  for (const ContainerManifest& container : pod.containers) {
    for (const auto& [type, name] : container.classes) {
      const std::string field =
          absl::StrCat("resources.classes[", type, "] of container ", container.name);
      for (const std::string& key : KeysOf(type, container.name)) {
        CheckOne(reader, annotations, pod, key, field, name);
      }
    }
  }
}

}  // namespace plimsoll::pod
