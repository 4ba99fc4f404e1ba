#include "kube/publish/topology_object.h"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/text/printable.h"
#include "kube/apiserver/json_fields.h"
#include "kube/publish/zone_amounts.h"
#include "topology/zones/zone_tree.h"

namespace plimsoll::kube {
namespace {

using nlohmann::json;
using topology::Zone;
using topology::ZoneTree;

// The plugins' own type and names; beyond 63 they have no place (an index out of range ends them).
constexpr char kPluginType[] = "Node";
constexpr uint32_t kPluginNodes = 64;
// Longer values (cpu-features) are for people, not for schedulers.
constexpr size_t kLongestValue = 256;

struct ZoneTitle {
  std::string name;
  std::string type;
};

json NameAndValue(absl::string_view name, json value) {
  return {{"name", std::string(name)}, {"value", std::move(value)}};
}

// Titles of all zones; names stay unique.
std::vector<ZoneTitle> TitlesOf(const ZoneTree& tree) {
  const std::vector<Zone>& zones = tree.topology().zones;
  std::vector<ZoneTitle> titles(zones.size());
  std::set<std::string> given;
  for (size_t i = 0; i < zones.size(); ++i) {
    if (!topology::IsOfType(zones[i], topology::kNumaNode)) continue;
    const std::optional<uint32_t> number = topology::NumberOf(zones[i]);
    if (!number || *number >= kPluginNodes) continue;
    std::string name = absl::StrCat("node-", *number);
    if (given.insert(name).second) titles[i] = {std::move(name), kPluginType};
  }
  for (size_t i = 0; i < zones.size(); ++i) {
    if (!titles[i].name.empty()) continue;
    titles[i] = {zones[i].name, zones[i].type};
    // A foreign topology may differ: another zone is called as the plugins call a NUMA node, or a
    // NUMA node is of their type without such a name, which they would take for a fault.
    if (titles[i].type == kPluginType) titles[i].type = topology::kNumaNode;
    while (!given.insert(titles[i].name).second) titles[i].name += "'";
  }
  return titles;
}

// Left out of the object: innermost zones first.
enum class Brevity { kWhole, kNoCores, kNoCaches, kNodesOnly, kBare };
constexpr Brevity kBrevities[] = {Brevity::kWhole, Brevity::kNoCores, Brevity::kNoCaches,
                                  Brevity::kNodesOnly, Brevity::kBare};

absl::string_view LeftOutBy(Brevity brevity) {
  switch (brevity) {
    case Brevity::kWhole:
      return "";
    case Brevity::kNoCores:
      return "Core";
    case Brevity::kNoCaches:
      return "Core,CacheGroup";
    case Brevity::kNodesOnly:
      return "all but NUMA nodes";
    case Brevity::kBare:
      return "all but NUMA nodes' resources";
  }
  return "";
}

bool IsLeftOut(const Zone& zone, Brevity brevity) {
  if (brevity >= Brevity::kNodesOnly) return !topology::IsOfType(zone, topology::kNumaNode);
  if (brevity >= Brevity::kNoCores && topology::IsOfType(zone, topology::kCore)) return true;
  return brevity >= Brevity::kNoCaches && topology::IsOfType(zone, topology::kCacheGroup);
}

class ZoneWriter {
 public:
  ZoneWriter(const ZoneTree& tree, const Exclusive* exclusive)
      : tree_(tree), titles_(TitlesOf(tree)), amounts_(AmountsOf(tree, exclusive)) {}

  bool has_plugin_zones() const {
    for (const ZoneTitle& title : titles_) {
      if (title.type == kPluginType) return true;
    }
    return false;
  }

  json Zones(Brevity brevity) const {
    json zones = json::array();
    for (size_t i = 0; i < titles_.size(); ++i) {
      if (!IsLeftOut(tree_.zone(i), brevity)) zones.push_back(ZoneAt(i, brevity));
    }
    return zones;
  }

 private:
  json ZoneAt(size_t index, Brevity brevity) const {
    const Zone& zone = tree_.zone(index);
    json object = {{"name", Printable(titles_[index].name)},
                   {"type", Printable(titles_[index].type)}};
    const std::optional<size_t> parent = tree_.Parent(index);
    if (parent && !IsLeftOut(tree_.zone(*parent), brevity)) {
      object["parent"] = Printable(titles_[*parent].name);
    }
    if (brevity < Brevity::kBare) {
      SetUnlessEmpty(object, "attributes", AttributesOf(zone, titles_[index]));
      SetUnlessEmpty(object, "costs", CostsOf(zone));
    }
    json resources = json::array();
    for (const auto& [name, amount] : amounts_[index]) {
      const std::string capacity = amount.capacity.Canonical();
      resources.push_back({{"name", Printable(name)},
                           {"capacity", capacity},
                           {"allocatable", capacity},
                           {"available", amount.available.Canonical()}});
    }
    SetUnlessEmpty(object, "resources", std::move(resources));
    return object;
  }

  static void SetUnlessEmpty(json& object, const char* key, json list) {
    if (!list.empty()) object[key] = std::move(list);
  }

  static json AttributesOf(const Zone& zone, const ZoneTitle& title) {
    json attributes = json::array();
    for (const auto& [name, value] : zone.attributes) {
      if (value.size() > kLongestValue) continue;
      attributes.push_back(NameAndValue(Printable(name), Printable(value)));
    }
    if (title.name != zone.name) {
      attributes.push_back(NameAndValue(kOwnName, Printable(zone.name)));
    }
    return attributes;
  }

  json CostsOf(const Zone& zone) const {
    json costs = json::array();
    for (const topology::Cost& cost : zone.costs) {
      const std::optional<size_t> other = tree_.Find(cost.name);
      if (other) costs.push_back(NameAndValue(Printable(titles_[*other].name), cost.value));
    }
    return costs;
  }

  const ZoneTree& tree_;
  const std::vector<ZoneTitle> titles_;
  const std::vector<ZoneAmounts> amounts_;
};

json NodeAttributes(const PublishOptions& options, bool has_plugin_zones, Brevity brevity) {
  json attributes = json::array();
  if (has_plugin_zones && !options.topology_manager_policy.empty()) {
    attributes.push_back(NameAndValue("topologyManagerPolicy", options.topology_manager_policy));
  }
  if (has_plugin_zones && !options.topology_manager_scope.empty()) {
    attributes.push_back(NameAndValue("topologyManagerScope", options.topology_manager_scope));
  }
  if (brevity != Brevity::kWhole) {
    attributes.push_back(NameAndValue(kLeftOut, std::string(LeftOutBy(brevity))));
  }
  return attributes;
}

}  // namespace

absl::StatusOr<json> TopologyObjectOf(const NodeReport& report, const NodeIdentity& node,
                                      const PublishOptions& options) {
  if (!report.topology) return absl::NotFoundError("plimsolld reports no topology");
  PLIMSOLL_ASSIGN_OR_RETURN(const ZoneTree tree, ZoneTree::Build(*report.topology));
  const ZoneWriter writer(tree, report.exclusive ? &*report.exclusive : nullptr);
  const bool has_plugin_zones = writer.has_plugin_zones();
  json object = {{"apiVersion", "topology.node.k8s.io/v1alpha2"},
                 {"kind", "NodeResourceTopology"},
                 // Required by early versions of the CRD, and told by the attributes.
                 {"topologyPolicies", json::array()}};
  object["metadata"] = {{"name", node.name}, {"labels", {{kManagedBy, kManager}}}};
  // Kubernetes deletes the object with its Node.
  object["metadata"]["ownerReferences"] = json::array(
      {{{"apiVersion", "v1"}, {"kind", "Node"}, {"name", node.name}, {"uid", node.uid}}});
  size_t size = 0;
  for (const Brevity brevity : kBrevities) {
    object["zones"] = writer.Zones(brevity);
    object["attributes"] = NodeAttributes(options, has_plugin_zones, brevity);
    size = object.dump().size();
    if (size <= kLargestTopology) return object;
  }
  return absl::ResourceExhaustedError(
      absl::StrCat("the NUMA nodes of the topology alone make an object of ", size,
                   " bytes; at most ", kLargestTopology, " are written"));
}

json TopologyPatch(const json& present, const json& wanted) {
  json patch = json::object();
  for (const char* key : {"zones", "attributes", "topologyPolicies"}) {
    // An API server leaves empty lists where they are; another writer may have left them out.
    if (FieldOf(present, {key}) != wanted.at(key)) patch[key] = wanted.at(key);
  }
  const json& owners = wanted.at("metadata").at("ownerReferences");
  if (FieldOf(present, {"metadata", "ownerReferences"}) != owners) {
    patch["metadata"]["ownerReferences"] = owners;
  }
  if (!IsOwnTopology(present)) patch["metadata"]["labels"][kManagedBy] = kManager;
  if (patch.empty()) return json();
  patch["metadata"]["resourceVersion"] = TextOf(present, {"metadata", "resourceVersion"});
  return patch;
}

bool IsOwnTopology(const json& object) {
  return TextOf(object, {"metadata", "labels", kManagedBy}) == kManager;
}

}  // namespace plimsoll::kube
