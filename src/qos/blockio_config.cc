#include "qos/blockio_config.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/fs_root.h"
#include "base/status.h"
#include "base/text/printable.h"
#include "qos/class_file.h"
#include "qos/class_name.h"
#include "qos/class_yaml.h"
#include "resources/quantity.h"
#include "yaml/reader.h"

namespace plimsoll::qos {
namespace {

constexpr uint64_t kMaxBps = std::numeric_limits<int64_t>::max() - 1;
// blk-throttle keeps IOPS in 32 bits, of which the highest number means no limit. Version 1's files
// truncate a larger number silently.
constexpr uint64_t kMaxIops = std::numeric_limits<uint32_t>::max() - 1;

// A value above `most` becomes `most`: the kernel can't tell the two apart.
void ReadQuantity(YamlReader& reader, ClassFields& entry, const std::string& key, uint64_t min,
                  uint64_t max, std::optional<uint64_t> most, std::optional<uint64_t>& out) {
  const auto node = entry.Get(key);
  if (!node) return;
  const std::string path = entry.PathOf(key);
  const auto text = TextOf(reader, *node, path);
  if (!text || text->empty()) return;
  const auto quantity = resources::Quantity::Parse(*text);
  if (!quantity.ok()) {
    reader.Fail(*node, path, quantity.status().message());
    return;
  }
  const int64_t value = quantity->Value();
  if (value < 0 || static_cast<uint64_t>(value) < min || static_cast<uint64_t>(value) > max) {
    reader.Fail(*node, path, absl::StrCat("is ", *text, ", must be from ", min, " to ", max));
    return;
  }
  if (*text != node->Scalar()) {
    reader.Note(*node, path, absl::StrCat(node->Scalar(), " without quotes is the number ", *text));
  }
  out = static_cast<uint64_t>(value);
  if (!most || *out <= *most) return;
  out = most;
  reader.Note(*node, path,
              absl::StrCat("is ", *text, ", more than the kernel counts: ", *most, " is set"));
}

void ReadThrottle(YamlReader& reader, ClassFields& entry, const std::string& key, uint64_t most,
                  bool v2, std::optional<uint64_t>& out) {
  ReadQuantity(reader, entry, key, 0, std::numeric_limits<int64_t>::max(), most, out);
  if (out != 1u || !v2) return;
  // io.max refuses 1; blkio.throttle.* of version 1 take it.
  reader.Fail(*entry.Get(key), entry.PathOf(key),
              "must be 0 (unlimited) or at least 2 with cgroup v2");
}

// nullopt: the entry has no key "Devices", which differs from an empty list.
std::optional<std::vector<std::string>> ReadDevices(YamlReader& reader, ClassFields& fields) {
  const auto node = fields.Get("Devices");
  if (!node) return std::nullopt;
  std::vector<std::string> devices;
  reader.Each(*node, fields.PathOf("Devices"),
              [&](const YAML::Node& item, const std::string& path) {
                if (auto text = TextOf(reader, item, path)) devices.push_back(*std::move(text));
              });
  return devices;
}

// nullopt for an entry without effect, and after Fail.
std::optional<BlockioEntry> ReadEntry(YamlReader& reader, const YAML::Node& node,
                                      const std::string& path, bool v2) {
  BlockioEntry entry;
  BlockioLimits& limits = entry.limits;
  const size_t errors = reader.errors().size();
  std::optional<std::vector<std::string>> devices;
  if (!node.IsNull()) {
    ClassFields fields(reader, node, path);
    ReadThrottle(reader, fields, "ThrottleReadBps", kMaxBps, v2, limits.read_bps);
    ReadThrottle(reader, fields, "ThrottleWriteBps", kMaxBps, v2, limits.write_bps);
    ReadThrottle(reader, fields, "ThrottleReadIOPS", kMaxIops, v2, limits.read_iops);
    ReadThrottle(reader, fields, "ThrottleWriteIOPS", kMaxIops, v2, limits.write_iops);
    ReadQuantity(reader, fields, "Weight", 10, 1000, std::nullopt, limits.weight);
    devices = ReadDevices(reader, fields);
    fields.Finish();
  }
  if (!devices && limits.HasThrottle()) {
    reader.Fail(node, path, "throttles need \"Devices\"; only a weight goes without");
  }
  if (reader.errors().size() > errors) return std::nullopt;
  if (limits == BlockioLimits()) {
    reader.Note(node, path, "sets nothing: a throttle or \"Weight\" is missing");
    return std::nullopt;
  }
  if (devices && devices->empty()) {
    reader.Note(node, path,
                "has no effect: \"Devices\" names none; leave it out for the default weight");
    return std::nullopt;
  }
  if (devices) entry.devices = *std::move(devices);
  return entry;
}

// False for a name that no class can have. The kernel never sees the name, so any will do that
// keeps to one line.
bool CheckName(YamlReader& reader, const ClassItem& item) {
  if (item.key.empty()) {
    reader.Note(item.key_node, "Classes", "a class without a name can't be asked for; left out");
    return false;
  }
  if (Printable(item.key) != item.key) {
    reader.Fail(item.key_node, "Classes",
                absl::StrCat("the class name \"", item.key, "\" has a control character"));
  } else if (const std::string odd = WhyOddClassName(item.key); !odd.empty()) {
    reader.Note(item.key_node, "Classes", odd);
  }
  return true;
}

// Each pattern is matched against the machine's devices, here and by every reader of the file.
void LimitPatterns(YamlReader& reader, const YAML::Node& node, const BlockioConfig& config) {
  constexpr size_t kMostPatterns = 1000;
  size_t patterns = 0;
  for (const BlockioClass& each : config.classes) {
    for (const BlockioEntry& entry : each.entries) patterns += entry.devices.size();
  }
  if (patterns <= kMostPatterns) return;
  reader.Fail(node, "Classes",
              absl::StrCat("has ", patterns, " device patterns; at most ", kMostPatterns,
                           " are looked for"));
}

void ReadClasses(YamlReader& reader, const YAML::Node& node, bool v2, BlockioConfig& config) {
  for (const ClassItem& item : ItemsOf(reader, node, "Classes", KeyReading::kName)) {
    if (!CheckName(reader, item)) continue;
    BlockioClass each{.name = item.key, .entries = {}};
    if (!item.value.IsNull()) {  // "name:" is a class without entries
      reader.Each(item.value, absl::StrCat("Classes.", item.key),
                  [&](const YAML::Node& entry, const std::string& path) {
                    auto read = ReadEntry(reader, entry, path, v2);
                    if (read) each.entries.push_back(*std::move(read));
                  });
    }
    config.classes.push_back(std::move(each));
  }
  LimitPatterns(reader, node, config);
}

}  // namespace

const BlockioClass* BlockioConfig::Find(absl::string_view name) const {
  const auto at = std::find_if(classes.begin(), classes.end(),
                               [&](const BlockioClass& each) { return each.name == name; });
  return at == classes.end() ? nullptr : &*at;
}

absl::StatusOr<BlockioConfig> ParseBlockioConfig(absl::string_view text, absl::string_view file,
                                                 bool v2) {
  BlockioConfig config;
  PLIMSOLL_RETURN_IF_ERROR(ReadClassFile(
      text, file,
      [&config, v2](YamlReader& reader, const YAML::Node& document) {
        ClassFields fields(reader, document, "");
        const auto classes = fields.Get("Classes");
        if (classes) ReadClasses(reader, *classes, v2, config);
        fields.Finish();
        if (config.classes.empty()) reader.Note(document, "", "there are no classes in it");
      },
      &config.warnings));
  return config;
}

absl::StatusOr<BlockioConfig> LoadBlockioConfig(const FsRoot& host, const std::string& path,
                                                bool v2) {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string text, LoadClassFile(host, path));
  return ParseBlockioConfig(text, path, v2);
}

}  // namespace plimsoll::qos
