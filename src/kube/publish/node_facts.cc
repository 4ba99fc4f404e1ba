#include "kube/publish/node_facts.h"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/text/label_text.h"
#include "base/text/printable.h"
#include "kube/publish/short_text.h"
#include "qos/class_devices.h"
#include "topology/zones/zone_tree.h"

namespace plimsoll::kube {
namespace {

using nlohmann::json;
using topology::ZoneTree;

constexpr size_t kLongestMeaning = 200;

// "class.rdt.gold": as the DeviceClass is named, without its domain. Of at most 48 characters.
std::string ClassLabel(const qos::ClassId& id) {
  const std::string name = qos::DeviceClassName(id);
  return absl::StrCat(kFactPrefix, "class.",
                      absl::StripSuffix(name, absl::StrCat(".", qos::kClassDriver)));
}

void AddClassLabels(const NodeReport& report, NodeFacts& facts) {
  size_t count = 0;
  for (const NodeClassType& type : report.types) {
    if (!type.unavailable.empty()) continue;
    for (const NodeClass& each : type.classes) {
      if (++count > kMostClassLabels) continue;
      facts.labels[ClassLabel({type.level, type.name, each.name})] = "true";
    }
  }
  if (count > kMostClassLabels) {
    facts.left_out.push_back(absl::StrCat(count - kMostClassLabels, " of ", count,
                                          " classes have no label: at most ", kMostClassLabels,
                                          " are published"));
  }
}

// The annotation's detail about classes; meanings make up most of it.
enum class ClassDetail { kMeanings, kNames, kTypes };

json ClassesText(const NodeReport& report, ClassDetail detail) {
  json types = json::array();
  for (const NodeClassType& type : report.types) {
    if (!type.unavailable.empty()) continue;
    json classes = json::array();
    for (const NodeClass& each : type.classes) {
      json one = {{"name", Printable(each.name)}};
      if (each.capacity > 0) one["capacity"] = each.capacity;
      if (detail == ClassDetail::kMeanings && !each.meaning.empty()) {
        one["meaning"] = ShortText(each.meaning, kLongestMeaning);
      }
      classes.push_back(std::move(one));
    }
    json object = {{"type", Printable(type.name)},
                   {"level", type.level == qos::Level::kPod ? "pod" : "container"}};
    if (type.immutable) object["immutable"] = true;
    if (!type.default_class.empty()) object["default"] = Printable(type.default_class);
    if (detail == ClassDetail::kTypes) {
      object["count"] = classes.size();
    } else {
      object["classes"] = std::move(classes);
    }
    types.push_back(std::move(object));
  }
  return types;
}

void AddClassAnnotation(const NodeReport& report, NodeFacts& facts) {
  const std::string key = absl::StrCat(kFactPrefix, "classes");
  for (const ClassDetail detail :
       {ClassDetail::kMeanings, ClassDetail::kNames, ClassDetail::kTypes}) {
    std::string text = ClassesText(report, detail).dump();
    if (text.size() > kLargestClasses) continue;
    facts.annotations[key] = std::move(text);
    if (detail != ClassDetail::kMeanings) {
      facts.left_out.push_back(absl::StrCat(
          "annotation ", key, " lacks ",
          detail == ClassDetail::kNames ? "meanings" : "the classes and has their numbers",
          ", which are more than ", kLargestClasses, " bytes"));
    }
    return;
  }
  facts.left_out.push_back(absl::StrCat("annotation ", key, " is left out: the types' names are ",
                                        "more than ", kLargestClasses, " bytes"));
}

// Zones of a type with their CPUs and own resources.
json ZonesOfType(const ZoneTree& tree, absl::string_view type) {
  json zones = json::array();
  for (size_t i = 0; i < tree.topology().zones.size(); ++i) {
    const topology::Zone& zone = tree.zone(i);
    if (!topology::IsOfType(zone, type)) continue;
    json object = {{"name", Printable(zone.name)}};
    const std::string cpus = tree.Cpus(i).ToString();
    if (!cpus.empty()) object["cpus"] = cpus;
    for (const topology::ZoneResource& each : zone.resources) {
      if (each.name != topology::kCpu) object[Printable(each.name)] = each.capacity.Canonical();
    }
    zones.push_back(std::move(object));
  }
  return zones;
}

void AddTopologyAnnotation(const ZoneTree& tree, NodeFacts& facts) {
  const std::string key = kTopologyPrefix;
  json text = {{"cpus", tree.Cpus().ToString()},
               {"packages", ZonesOfType(tree, topology::kPackage)},
               {"numaNodes", ZonesOfType(tree, topology::kNumaNode)},
               {"cacheGroups", ZonesOfType(tree, topology::kCacheGroup)}};
  // The innermost first.
  for (const char* part : {"cacheGroups", "packages", "numaNodes", "cpus"}) {
    if (text.dump().size() <= kLargestTopologyText) break;
    text.erase(part);
    facts.left_out.push_back(absl::StrCat("annotation ", key, " lacks ", part, ": with them it is ",
                                          "more than ", kLargestTopologyText, " bytes"));
  }
  for (const char* part : {"cacheGroups", "packages", "numaNodes"}) {
    if (text.contains(part) && text[part].empty()) text.erase(part);
  }
  facts.annotations[key] = text.dump();
}

// Counts by the names of their facts.
std::map<std::string, uint64_t> CountsOf(const ZoneTree& tree) {
  std::map<std::string, uint64_t> counts;
  counts["cpus"] = tree.Cpus().Size();
  for (size_t i = 0; i < tree.topology().zones.size(); ++i) {
    const topology::Zone& zone = tree.zone(i);
    counts["cores"] += topology::IsOfType(zone, topology::kCore) ? 1 : 0;
    counts["packages"] += topology::IsOfType(zone, topology::kPackage) ? 1 : 0;
    counts["cache-groups"] += topology::IsOfType(zone, topology::kCacheGroup) ? 1 : 0;
    if (!topology::IsOfType(zone, topology::kNumaNode)) continue;
    ++counts["numa-nodes"];
    counts["memory-nodes"] += tree.Cpus(i).Empty() ? 1 : 0;
  }
  return counts;
}

void AddCoreTypes(const ZoneTree& tree, NodeFacts& facts) {
  std::map<std::string, size_t> cpus;
  for (const topology::Zone& zone : tree.topology().zones) {
    const auto type = zone.attributes.find("core-type");
    if (type != zone.attributes.end()) cpus[type->second] += topology::CpuIdsOf(zone).Size();
  }
  for (const auto& [type, count] : cpus) {
    const std::string key = absl::StrCat(kTopologyPrefix, ".core-type.", type);
    if (IsLabelKey(key) && count > 0) facts.labels[key] = absl::StrCat(count);
  }
}

void AddTopologyLabels(const ZoneTree& tree, const std::vector<std::string>& wanted,
                       NodeFacts& facts) {
  for (const auto& [fact, count] : CountsOf(tree)) {
    if (count == 0 || !absl::c_linear_search(wanted, fact)) continue;
    facts.labels[absl::StrCat(kTopologyPrefix, ".", fact)] = absl::StrCat(count);
  }
  if (absl::c_linear_search(wanted, "core-types")) AddCoreTypes(tree, facts);
}

}  // namespace

NodeFacts FactsOf(const NodeReport& report, const PublishOptions& options) {
  NodeFacts facts;
  if (absl::c_linear_search(options.labels, "classes")) AddClassLabels(report, facts);
  if (absl::c_linear_search(options.annotations, "classes")) AddClassAnnotation(report, facts);
  const std::string version = LabelValueOf(report.runtime_version);
  if (absl::c_linear_search(options.labels, "runtime-version") && !version.empty()) {
    facts.labels[absl::StrCat(kFactPrefix, "runtime-version")] = version;
  }
  facts.topology_is_unknown = true;
  if (!report.topology) return facts;
  const absl::StatusOr<ZoneTree> tree = ZoneTree::Build(*report.topology);
  if (!tree.ok()) {
    facts.left_out.push_back(
        absl::StrCat("facts of the topology are left out: ", Printable(tree.status().message())));
    return facts;
  }
  facts.topology_is_unknown = false;
  AddTopologyLabels(*tree, options.labels, facts);
  if (absl::c_linear_search(options.annotations, "topology")) AddTopologyAnnotation(*tree, facts);
  return facts;
}

}  // namespace plimsoll::kube
