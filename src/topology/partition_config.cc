#include "topology/partition_config.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace plimsoll::topology {
namespace {

using resources::CpuSet;
using resources::Quantity;

void ReadCpuList(YamlReader& reader, YamlMapping& cpus, const std::string& key,
                 std::optional<CpuSet>& out) {
  const auto node = cpus.Get(key);
  if (!node) return;
  const auto text = reader.AsText(*node, cpus.PathOf(key));
  if (!text) return;
  auto set = CpuSet::Parse(*text);
  if (!set.ok()) return reader.Fail(*node, cpus.PathOf(key), set.status().message());
  if (set->Empty()) return reader.Fail(*node, cpus.PathOf(key), "expected CPUs, as in 2-7,10");
  out = *std::move(set);
}

void ReadCpus(YamlReader& reader, const YAML::Node& node, const std::string& path, CpuChoice* out) {
  YamlMapping cpus(reader, node, path);
  ReadCpuList(reader, cpus, "list", out->list);
  ReadCpuList(reader, cpus, "reserved", out->reserved);
  std::optional<int64_t> count;
  cpus.Int("count", count, 1, CpuSet::kMaxCpus);
  if (count) out->count = static_cast<uint32_t>(*count);
  cpus.Strings("zones", out->zones);
  cpus.Finish();
  const int ways = out->list.has_value() + out->count.has_value() + !out->zones.empty() +
                   out->reserved.has_value();
  if (ways > 1)
    reader.Fail(node, path, "expected one of list, count, zones and reserved, not more");
}

std::optional<Amount> ReadAmount(YamlReader& reader, const YAML::Node& node,
                                 const std::string& path) {
  const auto text = reader.AsText(node, path);
  if (!text) return std::nullopt;
  absl::string_view number = *text;
  Amount amount;
  if (absl::ConsumeSuffix(&number, "%")) {
    if (absl::SimpleAtod(number, &amount.percent) && amount.percent >= 0 && amount.percent <= 100) {
      return amount;
    }
    reader.Fail(node, path, "expected a percentage from 0% to 100%");
    return std::nullopt;
  }
  auto quantity = Quantity::Parse(*text);
  if (!quantity.ok() || quantity->Sign() < 0) {
    reader.Fail(
        node, path,
        absl::StrCat("\"", *text, "\": expected a quantity (16Gi) or a share of the node's (50%)"));
    return std::nullopt;
  }
  amount.quantity = *std::move(quantity);
  return amount;
}

void ReadAmounts(YamlReader& reader, const YAML::Node& node, const std::string& path,
                 std::map<std::string, Amount>* out) {
  reader.Entries(
      node, path,
      [&](const std::string& zone, const YAML::Node& value, const std::string& value_path) {
        if (auto amount = ReadAmount(reader, value, value_path)) (*out)[zone] = *amount;
      });
}

void ReadShow(YamlReader& reader, const YAML::Node& node, const std::string& path, Show* out) {
  YamlMapping show(reader, node, path);
  show.Each("hide", [&](const YAML::Node& type, const std::string& type_path) {
    const auto text = reader.AsString(type, type_path);
    if (!text) return;
    if (*text != kPackage && *text != kNumaNode && *text != kCacheGroup && *text != kCore) {
      return reader.Fail(
          type, type_path,
          absl::StrCat("\"", *text, "\": expected Package, NUMANode, CacheGroup or Core"));
    }
    out->hidden_types.insert(*text);
  });
  show.Bool("hideSiblings", out->hide_siblings);
  std::optional<int64_t> cores;
  show.Int("cores", cores, 1, CpuSet::kMaxCpus);
  if (cores) out->cores = static_cast<uint32_t>(*cores);
  if (const auto attributes = show.Get("attributes")) {
    reader.Entries(
        *attributes, show.PathOf("attributes"),
        [&](const std::string& zone, const YAML::Node& value, const std::string& zone_path) {
          reader.StringMap(value, zone_path, out->attributes[zone]);
          for (const char* ours : {kCpuIds, kMachineId, kBootId, kSystemUuid, kId}) {
            if (!out->attributes[zone].contains(ours)) continue;
            reader.Fail(value, zone_path,
                        absl::StrCat(ours, " can't be set: its value comes from the machine"));
          }
        });
  }
  show.Finish();
}

void ReadDuration(YamlReader& reader, YamlMapping& mapping, const std::string& key,
                  absl::Duration min, absl::Duration max, absl::Duration* out) {
  const auto node = mapping.Get(key);
  if (!node) return;
  const auto text = reader.AsText(*node, mapping.PathOf(key));
  if (!text) return;
  if (absl::ParseDuration(*text, out) && *out >= min && *out <= max) return;
  reader.Fail(*node, mapping.PathOf(key),
              absl::StrCat("expected a duration from ", absl::FormatDuration(min), " to ",
                           absl::FormatDuration(max), ", with its unit, as in ",
                           absl::FormatDuration(std::clamp(absl::Seconds(5), min, max))));
}

void ReadPath(YamlReader& reader, YamlMapping& mapping, const std::string& key, std::string* out) {
  const auto node = mapping.Get(key);
  if (!node) return;
  const auto text = reader.AsString(*node, mapping.PathOf(key));
  if (!text) return;
  if (!absl::StartsWith(*text, "/") || absl::EndsWith(*text, "/")) {
    reader.Fail(*node, mapping.PathOf(key), "expected the absolute path of a file");
  }
  *out = *text;
}

void ReadSource(YamlReader& reader, const YAML::Node& node, const std::string& path,
                SourceConfig* out) {
  if (node.IsScalar() && node.Scalar() == "kernel") return;
  if (!node.IsMap()) {
    return reader.Fail(node, path, "expected kernel, or a mapping with file or provider");
  }
  YamlMapping source(reader, node, path);
  ReadPath(reader, source, "file", &out->file);
  if (const auto provider = source.Get("provider")) {
    YamlMapping mapping(reader, *provider, source.PathOf("provider"));
    out->provider.emplace();
    ReadPath(reader, mapping, "socket", &out->provider->socket);
    mapping.String("group", out->provider->group);
    ReadDuration(reader, mapping, "hold", absl::ZeroDuration(), absl::Hours(1000),
                 &out->provider->hold);
    mapping.Finish();
  }
  std::string ids;
  source.OneOf("ids", ids, {"machine", "source"});
  out->own_ids = ids == "source";
  source.Finish();
  if (!out->file.empty() && out->provider) {
    reader.Fail(node, path, "expected one of file and provider, not both");
  }
}

}  // namespace

void ReadNodeResources(YamlReader& reader, const YAML::Node& node, const std::string& path,
                       NodeResourcesConfig* out) {
  YamlMapping section(reader, node, path);
  if (const auto cpus = section.Get("cpus")) {
    ReadCpus(reader, *cpus, section.PathOf("cpus"), &out->partition.cpus);
  }
  // Huge pages come in any of the machine's sizes.
  std::vector<std::string> resources = {kMemory};
  if (node.IsMap()) {
    for (const auto& entry : node) {
      if (entry.first.IsScalar() && absl::StartsWith(entry.first.Scalar(), kHugepagesPrefix)) {
        resources.push_back(entry.first.Scalar());
      }
    }
  }
  for (const std::string& resource : resources) {
    if (const auto amounts = section.Get(resource)) {
      ReadAmounts(reader, *amounts, section.PathOf(resource), &out->partition.memory[resource]);
    }
  }
  if (const auto swap = section.Get(kSwap)) {
    reader.Fail(
        *swap, section.PathOf(kSwap),
        "swap can't be divided: the kernel has one pool of it for all; kubelet's memorySwap "
        "limits pods");
  }
  if (const auto show = section.Get("show")) {
    ReadShow(reader, *show, section.PathOf("show"), &out->partition.show);
  }
  std::string outside;
  section.OneOf("outsidePartition", outside, {"refuse", "clip"});
  if (outside == "refuse") out->outside = OutsidePartition::kRefuse;
  if (outside == "clip") out->outside = OutsidePartition::kClip;
  ReadDuration(reader, section, "pollInterval", absl::Milliseconds(100), absl::Hours(1),
               &out->poll_interval);
  if (const auto source = section.Get("source")) {
    ReadSource(reader, *source, section.PathOf("source"), &out->source);
  }
  section.Finish();
}

}  // namespace plimsoll::topology
