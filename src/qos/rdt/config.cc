#include "qos/rdt/config.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "qos/class_file.h"
#include "qos/class_name.h"
#include "qos/class_yaml.h"
#include "qos/rdt/config_allocations.h"
#include "yaml/reader.h"

namespace plimsoll::qos {
namespace {

class Parser {
 public:
  explicit Parser(YamlReader& reader) : reader_(reader) {}

  void Parse(const YAML::Node& document, RdtConfig& config) {
    ClassFields top(reader_, document, "");
    if (const auto options = top.Get("options")) ParseOptions(*options, config);
    if (const auto partitions = top.Get("partitions")) ParsePartitions(*partitions, config);
    top.Finish();
  }

 private:
  void ParseOptions(const YAML::Node& node, RdtConfig& config) {
    ClassFields options(reader_, node, "options");
    const auto optional = [&](const std::string& key, bool& out) {
      const auto value = options.Get(key);
      if (!value) return;
      ClassFields one(reader_, *value, options.PathOf(key));
      one.Bool("optional", out);
      one.Finish();
    };
    optional("l2", config.l2_optional);
    optional("l3", config.l3_optional);
    optional("mb", config.mb_optional);
    options.Finish();
  }

  void ParsePartitions(const YAML::Node& node, RdtConfig& config) {
    for (const ClassItem& item : ItemsOf(reader_, node, "partitions", KeyReading::kName)) {
      if (item.key.empty()) {
        reader_.Note(item.key_node, "partitions", "a partition should have a name");
      }
      config.partitions[item.key] =
          ParsePartition(item.value, absl::StrCat("partitions.", item.key));
    }
  }

  RdtPartitionConfig ParsePartition(const YAML::Node& node, const std::string& path) {
    RdtPartitionConfig partition{.where = reader_.Where(node, path)};
    if (node.IsNull()) return partition;
    ClassFields fields(reader_, node, path);
    partition.allocations = ReadRdtAllocations(reader_, fields, RdtOwner::kPartition);
    if (const auto classes = fields.Get("classes")) {
      const std::string classes_path = fields.PathOf("classes");
      for (const ClassItem& item : ItemsOf(reader_, *classes, classes_path, KeyReading::kName)) {
        const std::string name = item.key.empty() ? std::string(kRdtRootClass) : item.key;
        const std::string class_path = absl::StrCat(classes_path, ".", item.key);
        CheckClassName(item.key_node, name, class_path);
        partition.classes[name] = ParseClass(item.value, class_path);
      }
    }
    fields.Finish();
    return partition;
  }

  void CheckClassName(const YAML::Node& node, const std::string& name, const std::string& path) {
    if (const std::string why = WhyNoRdtClassName(name); !why.empty()) {
      reader_.Fail(node, path, why);
    } else if (const std::string odd = WhyOddClassName(name); !odd.empty()) {
      reader_.Note(node, path, odd);
    }
    const auto [it, added] = class_places_.emplace(name, reader_.Where(node, path));
    if (!added) {
      reader_.Fail(node, path,
                   absl::StrCat("class \"", name,
                                "\" is there twice; names are unique in the file, whatever the "
                                "partition. The first: ",
                                it->second.substr(0, it->second.size() - 2)));
    }
  }

  RdtClassConfig ParseClass(const YAML::Node& node, const std::string& path) {
    RdtClassConfig parsed{.where = reader_.Where(node, path)};
    if (node.IsNull()) return parsed;  // "gold:" alone has all of its partition
    ClassFields fields(reader_, node, path);
    parsed.allocations = ReadRdtAllocations(reader_, fields, RdtOwner::kClass);
    if (const auto kubernetes = fields.Get("kubernetes")) {
      ClassFields flags(reader_, *kubernetes, fields.PathOf("kubernetes"));
      flags.Bool("denyPodAnnotation", parsed.deny_pod_annotation);
      flags.Bool("denyContainerAnnotation", parsed.deny_container_annotation);
      flags.Finish();
    }
    fields.Finish();
    return parsed;
  }

  YamlReader& reader_;
  std::map<std::string, std::string> class_places_;
};

}  // namespace

std::string WhyNoRdtClassName(absl::string_view name) {
  constexpr std::array<absl::string_view, 5> kOfTheKernel = {".", "..", "info", "mon_data",
                                                             "mon_groups"};
  constexpr std::array<absl::string_view, 9> kFiles = {"cpus",      "cpus_list",  "mode",
                                                       "schemata",  "size",       "tasks",
                                                       "mon_hw_id", "ctrl_hw_id", "mba_MBps_event"};
  if (name == kRdtRootClass) return "";
  if (name.empty() || name.size() > 255) return "a class name has 1 to 255 characters";
  const auto bad = [](char c) {
    return c == '/' || absl::ascii_iscntrl(static_cast<unsigned char>(c));
  };
  if (std::any_of(name.begin(), name.end(), bad)) {
    return absl::StrCat(
        "class names become directories: no \"/\" and no control characters (the "
        "only exception is the root's name, \"",
        kRdtRootClass, "\")");
  }
  if (std::find(kOfTheKernel.begin(), kOfTheKernel.end(), name) != kOfTheKernel.end() ||
      std::find(kFiles.begin(), kFiles.end(), name) != kFiles.end()) {
    return absl::StrCat("\"", name, "\" is a name of the kernel's own in resctrl");
  }
  return "";
}

absl::StatusOr<RdtConfig> ParseRdtConfig(const std::string& file, const std::string& text) {
  RdtConfig config;
  std::vector<std::string> warnings;
  PLIMSOLL_RETURN_IF_ERROR(ReadClassFile(
      text, file,
      [&config](YamlReader& reader, const YAML::Node& document) {
        Parser(reader).Parse(document, config);
      },
      &warnings));
  config.warnings = std::move(warnings);
  return config;
}

}  // namespace plimsoll::qos
