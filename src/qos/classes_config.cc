#include "qos/classes_config.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace plimsoll::qos {
namespace {

constexpr int64_t kMostCapacity = 1000000;
// Most of a directory's name (NAME_MAX) is left to the class's.
constexpr size_t kLongestPrefix = 63;
constexpr char kPrefixCharacters[] =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";

void ReadPlaces(YamlReader& reader, YamlMapping& type, TypeConfig* out) {
  type.String("default", out->default_class);
  if (const auto capacity = type.Get("capacity"); capacity.has_value()) {
    reader.Entries(*capacity, type.PathOf("capacity"),
                   [&](const std::string& name, const YAML::Node& node, const std::string& path) {
                     const std::optional<int64_t> places = reader.AsInt(node, path);
                     if (!places.has_value()) return;
                     if (*places < 0 || *places > kMostCapacity) {
                       reader.Fail(node, path,
                                   absl::StrCat("expected 0 (any number) to ", kMostCapacity));
                     }
                     out->capacity[name] = static_cast<uint64_t>(*places);
                   });
  }
}

void ReadCommon(YamlReader& reader, YamlMapping& type, TypeConfig* out) {
  ReadPlaces(reader, type, out);
  type.Each("annotations", [&](const YAML::Node& node, const std::string& path) {
    const std::optional<std::string> word = reader.AsString(node, path);
    if (!word.has_value()) return;
    if (*word != "container" && *word != "default" && *word != "sandbox") {
      reader.Fail(node, path, "expected container, default or sandbox");
    }
    out->annotations.insert(*word);
  });
}

void ReadFile(YamlReader& reader, YamlMapping& type, std::string* out) {
  type.Required("config_file", *out);
  if (!out->empty() && !absl::StartsWith(*out, "/")) {
    reader.Fail(*type.Get("config_file"), type.PathOf("config_file"), "expected an absolute path");
  }
}

RdtTypeConfig ReadRdt(YamlReader& reader, const YAML::Node& node, const std::string& path) {
  RdtTypeConfig config;
  YamlMapping type(reader, node, path);
  ReadFile(reader, type, &config.config_file);
  type.Bool("adopt", config.adopt);
  type.String("group_prefix", config.group_prefix);
  if (const auto wrong = config.group_prefix.find_first_not_of(kPrefixCharacters);
      wrong != std::string::npos || config.group_prefix.size() > kLongestPrefix) {
    reader.Fail(*type.Get("group_prefix"), type.PathOf("group_prefix"),
                absl::StrCat("expected up to ", kLongestPrefix, " of ", kPrefixCharacters));
  }
  type.String("resctrl_root", config.resctrl_root);
  if (!absl::StartsWith(config.resctrl_root, "/")) {
    reader.Fail(*type.Get("resctrl_root"), type.PathOf("resctrl_root"),
                "expected an absolute path");
  }
  ReadCommon(reader, type, &config.common);
  type.Finish();
  return config;
}

BlockioTypeConfig ReadBlockio(YamlReader& reader, const YAML::Node& node, const std::string& path) {
  BlockioTypeConfig config;
  YamlMapping type(reader, node, path);
  ReadFile(reader, type, &config.config_file);
  if (const auto pods = type.Get("pods"); pods.has_value() && pods->IsMap()) {
    config.pods = true;
    YamlMapping of_pods(reader, *pods, type.PathOf("pods"));
    ReadPlaces(reader, of_pods, &config.of_pods);
    of_pods.Finish();
  } else {
    type.Bool("pods", config.pods);
  }
  ReadCommon(reader, type, &config.common);
  type.Finish();
  return config;
}

OomTypeConfig ReadOom(YamlReader& reader, const YAML::Node& node, const std::string& path) {
  OomTypeConfig config;
  YamlMapping type(reader, node, path);
  const auto classes = type.Get("classes");
  if (!classes.has_value()) reader.Fail(node, path, "\"classes\" is missing or has no value");
  if (classes.has_value()) {
    reader.Entries(*classes, type.PathOf("classes"),
                   [&](const std::string& name, const YAML::Node& value, const std::string& where) {
                     const std::optional<int64_t> adj = reader.AsInt(value, where);
                     if (!adj.has_value()) return;
                     if (*adj < -1000 || *adj > 1000) {
                       reader.Fail(value, where, "expected an oom_score_adj, -1000 to 1000");
                     }
                     config.classes[name] = static_cast<int>(*adj);
                   });
  }
  ReadCommon(reader, type, &config.common);
  type.Finish();
  return config;
}

CgroupTypeConfig ReadCgroup(YamlReader& reader, const YAML::Node& node, const std::string& path) {
  CgroupTypeConfig config;
  YamlMapping type(reader, node, path);
  type.Required("name", config.name);
  std::string level = "container";
  type.OneOf("level", level, {"container", "pod"});
  config.level = level == "pod" ? Level::kPod : Level::kContainer;
  type.Bool("immutable", config.immutable);
  const auto classes = type.Get("classes");
  if (!classes.has_value()) reader.Fail(node, path, "\"classes\" is missing or has no value");
  if (classes.has_value()) {
    reader.Entries(*classes, type.PathOf("classes"),
                   [&](const std::string& name, const YAML::Node& files, const std::string& where) {
                     auto& values = config.classes[name];
                     reader.Entries(files, where,
                                    [&](const std::string& file, const YAML::Node& value,
                                        const std::string& value_path) {
                                      const auto text = reader.AsText(value, value_path);
                                      if (text.has_value()) values[file] = *text;
                                    });
                   });
  }
  ReadCommon(reader, type, &config.common);
  type.Finish();
  return config;
}

}  // namespace

namespace {

void ReadFrom(YamlMapping& section, ClassesConfig* out) {
  std::string from = "auto";
  section.OneOf("from", from, {"auto", "any", "scheduler"});
  if (from == "any") out->from = ClassesFrom::kAny;
  if (from == "scheduler") out->from = ClassesFrom::kScheduler;
  section.Bool("staticPods", out->static_pods);
}

// A key without a value would leave its type off while its author believes it on.
void RefuseNull(YamlReader& reader, const YAML::Node& node, const YamlMapping& section) {
  if (!node.IsMap()) return;
  for (const auto& item : node) {
    if (!item.first.IsScalar() || !item.second.IsNull()) continue;
    const std::string& key = item.first.Scalar();
    if (key == "from" || key == "staticPods") continue;  // no types
    reader.Fail(item.first, section.PathOf(key),
                key == "pod-qos" ? "has no value; write {}, or leave the key out"
                                 : "has no value; give the type's settings, or leave the key out");
  }
}

}  // namespace

void ReadClassesConfig(YamlReader& reader, const YAML::Node& node, const std::string& path,
                       ClassesConfig* out) {
  YamlMapping section(reader, node, path);
  RefuseNull(reader, node, section);
  ReadFrom(section, out);
  if (const auto rdt = section.Get("rdt")) out->rdt = ReadRdt(reader, *rdt, section.PathOf("rdt"));
  if (const auto blockio = section.Get("blockio")) {
    out->blockio = ReadBlockio(reader, *blockio, section.PathOf("blockio"));
  }
  if (const auto oom = section.Get("oom")) out->oom = ReadOom(reader, *oom, section.PathOf("oom"));
  if (const auto pod_qos = section.Get("pod-qos")) {
    YamlMapping type(reader, *pod_qos, section.PathOf("pod-qos"));
    type.Finish();
    out->pod_qos = true;
  }
  section.Each("cgroup", [&](const YAML::Node& type, const std::string& type_path) {
    out->cgroup.push_back(ReadCgroup(reader, type, type_path));
  });
  section.Finish();
}

}  // namespace plimsoll::qos
