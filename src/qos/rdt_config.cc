#include "qos/rdt_config.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "qos/rdt_values.h"
#include "yaml/documents.h"
#include "yaml/reader.h"

namespace plimsoll::qos {
namespace {

class Parser {
 public:
  explicit Parser(const std::string& file) : reader_(file) {}

  absl::StatusOr<RdtConfig> Parse(const YAML::Node& document) {
    RdtConfig config;
    YamlMapping top(reader_, document, "");
    if (const auto options = top.Get("options")) ParseOptions(*options, config);
    if (const auto partitions = top.Get("partitions")) ParsePartitions(*partitions, config);
    top.Finish();
    PLIMSOLL_RETURN_IF_ERROR(reader_.status());
    return config;
  }

 private:
  // Calls `read(key node, key, value, path)` for each item of a mapping with free keys.
  template <typename Read>
  void EachItem(const YAML::Node& node, const std::string& path, Read read) {
    if (!node.IsMap()) {
      reader_.Fail(node, path, "must be a mapping (\"name: ...\")");
      return;
    }
    std::set<std::string> seen;
    for (const auto& item : node) {
      if (!item.first.IsScalar()) {
        reader_.Fail(item.first, path, "keys must be plain words");
        return;
      }
      const std::string& key = item.first.Scalar();
      if (!seen.insert(key).second) {
        reader_.Fail(item.first, path, absl::StrCat("\"", key, "\" is there twice"));
      }
      read(item.first, key, item.second, absl::StrCat(path, ".", key));
    }
  }

  void ParseOptions(const YAML::Node& node, RdtConfig& config) {
    YamlMapping options(reader_, node, "options");
    const auto optional = [&](const std::string& key, bool& out) {
      const auto value = options.Get(key);
      if (!value) return;
      YamlMapping one(reader_, *value, options.PathOf(key));
      one.Bool("optional", out);
      one.Finish();
    };
    optional("l2", config.l2_optional);
    optional("l3", config.l3_optional);
    optional("mb", config.mb_optional);
    options.Finish();
  }

  void ParsePartitions(const YAML::Node& node, RdtConfig& config) {
    EachItem(node, "partitions",
             [&](const YAML::Node& key_node, const std::string& name, const YAML::Node& value,
                 const std::string& path) {
               if (name.empty()) {
                 reader_.Fail(key_node, "partitions", "a partition needs a name");
               }
               config.partitions[name] = ParsePartition(value, path);
             });
  }

  RdtPartitionConfig ParsePartition(const YAML::Node& node, const std::string& path) {
    RdtPartitionConfig partition{.where = reader_.Where(node, path)};
    if (node.IsNull()) return partition;
    YamlMapping mapping(reader_, node, path);
    partition.allocations = ParseAllocations(mapping, /*of_class=*/false);
    if (const auto classes = mapping.Get("classes")) {
      EachItem(*classes, mapping.PathOf("classes"),
               [&](const YAML::Node& key_node, const std::string& key, const YAML::Node& value,
                   const std::string& class_path) {
                 const std::string name = key.empty() ? std::string(kRdtRootClass) : key;
                 CheckClassName(key_node, name, class_path);
                 partition.classes[name] = ParseClass(value, class_path);
               });
    }
    mapping.Finish();
    return partition;
  }

  void CheckClassName(const YAML::Node& node, const std::string& name, const std::string& path) {
    const std::string why = WhyNoRdtClassName(name);
    if (!why.empty()) reader_.Fail(node, path, why);
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
    YamlMapping mapping(reader_, node, path);
    parsed.allocations = ParseAllocations(mapping, /*of_class=*/true);
    if (const auto kubernetes = mapping.Get("kubernetes")) {
      YamlMapping flags(reader_, *kubernetes, mapping.PathOf("kubernetes"));
      flags.Bool("denyPodAnnotation", parsed.deny_pod_annotation);
      flags.Bool("denyContainerAnnotation", parsed.deny_container_annotation);
      flags.Finish();
    }
    mapping.Finish();
    return parsed;
  }

  RdtAllocations ParseAllocations(YamlMapping& mapping, bool of_class) {
    RdtAllocations parsed;
    const auto cache = [&](const std::string& key, std::optional<RdtCacheAllocations>& out) {
      if (const auto node = mapping.Get(key)) {
        out = ParseCache(*node, mapping.PathOf(key), of_class);
      }
    };
    cache("l2Allocation", parsed.l2);
    cache("l3Allocation", parsed.l3);
    if (const auto node = mapping.Get("mbAllocation")) {
      parsed.mb = ParseBandwidth(*node, mapping.PathOf("mbAllocation"));
    }
    return parsed;
  }

  // Puts `allocation` where its key ("all", "0", "0-1,4") says.
  template <typename Allocation>
  void Place(const YAML::Node& key_node, const std::string& key, const std::string& path,
             const Allocation& allocation, RdtByCacheId<Allocation>& out) {
    if (key == "all") {
      out.all = allocation;
      return;
    }
    const auto ids = ParseRdtCacheIds(key);
    if (!ids.ok()) {
      reader_.Fail(key_node, path, ids.status().message());
      return;
    }
    for (const uint64_t id : *ids) {
      if (!out.by_id.emplace(id, allocation).second) {
        reader_.Fail(
            key_node, path,
            absl::StrCat("cache id ", id, " is also named by another key of this mapping"));
      }
    }
  }

  RdtCacheAllocations ParseCache(const YAML::Node& node, const std::string& path, bool of_class) {
    RdtCacheAllocations parsed{.where = reader_.Where(node, path)};
    if (node.IsScalar()) {
      parsed.all = ParseOneCache(node, path, of_class);
      return parsed;
    }
    EachItem(node, path,
             [&](const YAML::Node& key_node, const std::string& key, const YAML::Node& value,
                 const std::string& item_path) {
               Place(key_node, key, item_path, ParseOneCache(value, item_path, of_class), parsed);
             });
    return parsed;
  }

  // "60%", or {unified, code, data}.
  RdtCacheAllocation ParseOneCache(const YAML::Node& node, const std::string& path, bool of_class) {
    RdtCacheAllocation parsed;
    if (node.IsScalar()) {
      parsed.unified = ParseShare(node, path, of_class);
      return parsed;
    }
    YamlMapping mapping(reader_, node, path);
    const auto unified = mapping.Get("unified");
    const auto code = mapping.Get("code");
    const auto data = mapping.Get("data");
    if (unified) {
      parsed.unified = ParseShare(*unified, mapping.PathOf("unified"), of_class);
    } else {
      reader_.Fail(node, path,
                   "\"unified\" is missing: it counts wherever code and data are not told apart");
    }
    if (code) parsed.code = ParseShare(*code, mapping.PathOf("code"), of_class);
    if (data) parsed.data = ParseShare(*data, mapping.PathOf("data"), of_class);
    if (code.has_value() != data.has_value()) {
      reader_.Fail(node, path,
                   absl::StrCat("\"", code ? "data" : "code",
                                "\" is missing: \"code\" and "
                                "\"data\" come together or not at all"));
    }
    mapping.Finish();
    return parsed;
  }

  RdtCacheShare ParseShare(const YAML::Node& node, const std::string& path, bool of_class) {
    const auto text = reader_.AsText(node, path);
    if (!text) return {};
    auto share = ParseRdtCacheShare(*text);
    if (!share.ok()) {
      reader_.Fail(node, path, share.status().message());
      return {};
    }
    if (!of_class && share->kind == RdtCacheShare::Kind::kPercentRange) {
      reader_.Fail(node, path,
                   absl::StrCat("\"", *text,
                                "\": a partition can't have a range of percentages, "
                                "only its classes can; write \"60%\" or a mask"));
    }
    share->where = reader_.Where(node, path);
    return *std::move(share);
  }

  RdtBandwidthAllocations ParseBandwidth(const YAML::Node& node, const std::string& path) {
    RdtBandwidthAllocations parsed{.where = reader_.Where(node, path)};
    if (!node.IsMap()) {
      parsed.all = ParseOneBandwidth(node, path);
      return parsed;
    }
    EachItem(node, path,
             [&](const YAML::Node& key_node, const std::string& key, const YAML::Node& value,
                 const std::string& item_path) {
               Place(key_node, key, item_path, ParseOneBandwidth(value, item_path), parsed);
             });
    return parsed;
  }

  // [50%, 1000MBps], or one of them.
  RdtBandwidthAllocation ParseOneBandwidth(const YAML::Node& node, const std::string& path) {
    RdtBandwidthAllocation parsed{.where = reader_.Where(node, path)};
    const auto read = [&](const YAML::Node& item, const std::string& item_path) {
      const auto text = reader_.AsText(item, item_path);
      if (!text) return;
      const absl::Status status = ParseRdtBandwidth(*text, parsed);
      if (!status.ok()) reader_.Fail(item, item_path, status.message());
    };
    if (node.IsScalar()) {
      read(node, path);
    } else {
      reader_.Each(node, path, read);
      if (node.size() == 0) reader_.Fail(node, path, "is empty; write [50%] or [50%, 1000MBps]");
    }
    return parsed;
  }

  YamlReader reader_;
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
  try {
    const std::vector<YAML::Node> documents = LoadYamlDocuments(text);
    if (documents.empty()) return RdtConfig();
    if (documents.size() > 1) {
      const YAML::Mark mark = documents[1].Mark();
      return absl::InvalidArgumentError(absl::StrCat(file, ":", mark.line + 1, ":", mark.column + 1,
                                                     ": a second document; one file holds one "
                                                     "configuration"));
    }
    if (documents[0].IsNull()) return RdtConfig();
    return Parser(file).Parse(documents[0]);
  } catch (const YAML::Exception& error) {
    return absl::InvalidArgumentError(absl::StrCat(file, ":", error.mark.line + 1, ":",
                                                   error.mark.column + 1,
                                                   ": not valid YAML: ", error.msg));
  }
}

}  // namespace plimsoll::qos
