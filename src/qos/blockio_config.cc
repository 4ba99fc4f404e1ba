#include "qos/blockio_config.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/fs_root.h"
#include "base/status.h"
#include "qos/class_file.h"
#include "qos/class_name.h"
#include "resources/quantity.h"
#include "yaml/reader.h"

namespace plimsoll::qos {
namespace {

// A quantity that is larger than 64 bits hold is read as the largest of them.
constexpr uint64_t kMaxBps = std::numeric_limits<int64_t>::max() - 1;
// blk-throttle keeps IOPS in 32 bits, of which the highest number means no limit. Version 1's files
// cut a larger number off without a word.
constexpr uint64_t kMaxIops = std::numeric_limits<uint32_t>::max() - 1;

void ReadQuantity(YamlReader& reader, YamlMapping& entry, const std::string& key, uint64_t min,
                  uint64_t max, std::optional<uint64_t>& out) {
  const auto node = entry.Get(key);
  if (!node) return;
  const auto text = reader.AsText(*node, entry.PathOf(key));
  if (!text) return;
  const auto quantity = resources::Quantity::Parse(*text);
  if (!quantity.ok()) {
    reader.Fail(*node, entry.PathOf(key), quantity.status().message());
    return;
  }
  const int64_t value = quantity->Value();
  if (value < 0 || static_cast<uint64_t>(value) < min || static_cast<uint64_t>(value) > max) {
    reader.Fail(*node, entry.PathOf(key),
                absl::StrCat("is ", *text, ", must be from ", min, " to ", max));
    return;
  }
  out = static_cast<uint64_t>(value);
}

void ReadThrottle(YamlReader& reader, YamlMapping& entry, const std::string& key, uint64_t max,
                  std::optional<uint64_t>& out) {
  ReadQuantity(reader, entry, key, 0, max, out);
  // io.max refuses it.
  if (out == 1u)
    reader.Fail(entry.node(), entry.PathOf(key), "must be 0 (unlimited) or at least 2");
}

void ReadDevices(YamlReader& reader, YamlMapping& mapping, BlockioEntry& entry) {
  const auto node = mapping.Get("Devices");
  if (!node) {
    if (entry.limits.HasThrottle()) {
      reader.Fail(mapping.node(), mapping.path(),
                  "throttles need \"Devices\"; only a weight goes without");
    }
    return;
  }
  const std::string path = mapping.PathOf("Devices");
  reader.Strings(*node, path, entry.devices);
  if (entry.devices.empty()) {
    reader.Fail(*node, path, "must not be empty; leave it out for the default weight");
  }
  for (const std::string& device : entry.devices) {
    if (device.empty() || device.front() != '/') {
      reader.Fail(*node, path,
                  absl::StrCat("\"", device,
                               "\" is no absolute path such as /dev/sda or /dev/disk/by-id/*"));
    }
  }
}

BlockioEntry ReadEntry(YamlReader& reader, const YAML::Node& node, const std::string& path) {
  BlockioEntry entry;
  YamlMapping mapping(reader, node, path);
  BlockioLimits& limits = entry.limits;
  ReadThrottle(reader, mapping, "ThrottleReadBps", kMaxBps, limits.read_bps);
  ReadThrottle(reader, mapping, "ThrottleWriteBps", kMaxBps, limits.write_bps);
  ReadThrottle(reader, mapping, "ThrottleReadIOPS", kMaxIops, limits.read_iops);
  ReadThrottle(reader, mapping, "ThrottleWriteIOPS", kMaxIops, limits.write_iops);
  ReadQuantity(reader, mapping, "Weight", 10, 1000, limits.weight);
  ReadDevices(reader, mapping, entry);
  mapping.Finish();
  if (reader.status().ok() && limits == BlockioLimits()) {
    reader.Fail(node, path, "sets nothing: a throttle or \"Weight\" is missing");
  }
  return entry;
}

void ReadClasses(YamlReader& reader, const YAML::Node& node, BlockioConfig& config) {
  YamlMapping classes(reader, node, "Classes");
  for (const auto& item : classes.node()) {
    if (!item.first.IsScalar()) break;  // Finish says so
    BlockioClass each{.name = item.first.Scalar(), .entries = {}};
    const absl::Status valid = ValidateName("class", each.name);
    if (!valid.ok()) reader.Fail(item.first, "Classes", valid.message());
    // null, as for a class without entries: "name:".
    if (const auto entries = classes.Get(each.name)) {
      reader.Each(*entries, classes.PathOf(each.name),
                  [&](const YAML::Node& entry, const std::string& path) {
                    each.entries.push_back(ReadEntry(reader, entry, path));
                  });
    }
    config.classes.push_back(std::move(each));
  }
  classes.Finish();
}

}  // namespace

const BlockioClass* BlockioConfig::Find(absl::string_view name) const {
  const auto at = std::find_if(classes.begin(), classes.end(),
                               [&](const BlockioClass& each) { return each.name == name; });
  return at == classes.end() ? nullptr : &*at;
}

absl::StatusOr<BlockioConfig> ParseBlockioConfig(absl::string_view text, absl::string_view file) {
  BlockioConfig config;
  PLIMSOLL_RETURN_IF_ERROR(
      ReadClassFile(text, file, [&config](YamlReader& reader, const YAML::Node& document) {
        YamlMapping mapping(reader, document, "");
        const auto classes = mapping.Get("Classes");
        if (classes) ReadClasses(reader, *classes, config);
        mapping.Finish();
        if (!classes) reader.Fail(document, "", "\"Classes\" is missing");
      }));
  return config;
}

absl::StatusOr<BlockioConfig> LoadBlockioConfig(const std::string& path) {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string text, LoadClassFile(path));
  return ParseBlockioConfig(text, path);
}

}  // namespace plimsoll::qos
