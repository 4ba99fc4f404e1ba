#include "kube/publish/topology_object.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "kube/publish/reports_for_test.h"

namespace plimsoll::kube {
namespace {

using nlohmann::json;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using topology::Topology;

const NodeIdentity kNode{.name = "n1", .uid = "uid-1"};

json ObjectOf(const NodeReport& report, const PublishOptions& options = {}) {
  const auto object = TopologyObjectOf(report, kNode, options);
  EXPECT_TRUE(object.ok()) << object.status();
  return object.value_or(json());
}

// "node-0 Node < package-0" of each zone.
std::vector<std::string> ZoneTexts(const json& object) {
  std::vector<std::string> texts;
  for (const json& zone : object["zones"]) {
    texts.push_back(absl::StrCat(zone["name"].get<std::string>(), " ",
                                 zone["type"].get<std::string>(),
                                 zone.contains("parent") ? " < " : "", zone.value("parent", "")));
  }
  return texts;
}

json ZoneNamed(const json& object, const std::string& name) {
  for (const json& zone : object["zones"]) {
    if (zone["name"] == name) return zone;
  }
  ADD_FAILURE() << "no zone " << name;
  return {};
}

TEST(TopologyObject, OfAHybridMachineWithMemoryWithoutCpus) {
  NodeReport report = ReportOf(HybridWithCxl());
  report.exclusive = Exclusive{
      .cpus = "2", .memory = {{"memory", {1}, 1u << 30}}, .devices = {}, .device_totals = {}};
  EXPECT_EQ(ObjectOf(report), json::parse(R"({
    "apiVersion": "topology.node.k8s.io/v1alpha2",
    "kind": "NodeResourceTopology",
    "metadata": {
      "name": "n1",
      "labels": {"app.kubernetes.io/managed-by": "plimsoll-kube"},
      "ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": "n1", "uid": "uid-1"}]
    },
    "topologyPolicies": [],
    "attributes": [],
    "zones": [
      {"name": "root", "type": "Machine"},
      {"name": "package-0", "type": "Package", "parent": "root"},
      {"name": "node-0", "type": "Node", "parent": "package-0",
       "attributes": [{"name": "plimsoll.dev/zone", "value": "numa-0"}],
       "costs": [{"name": "node-0", "value": 10}, {"name": "node-1", "value": 17}],
       "resources": [
         {"name": "cpu", "capacity": "4", "allocatable": "4", "available": "3"},
         {"name": "memory", "capacity": "16Gi", "allocatable": "16Gi", "available": "16Gi"}]},
      {"name": "core-0-0", "type": "Core", "parent": "node-0",
       "attributes": [{"name": "core-type", "value": "performance"},
                      {"name": "cpu-ids", "value": "0-1"}]},
      {"name": "core-0-1", "type": "Core", "parent": "node-0",
       "attributes": [{"name": "core-type", "value": "efficiency"},
                      {"name": "cpu-ids", "value": "2"}]},
      {"name": "core-0-2", "type": "Core", "parent": "node-0",
       "attributes": [{"name": "core-type", "value": "efficiency"},
                      {"name": "cpu-ids", "value": "3"}]},
      {"name": "node-1", "type": "Node", "parent": "root",
       "attributes": [{"name": "plimsoll.dev/zone", "value": "numa-1"}],
       "costs": [{"name": "node-0", "value": 17}, {"name": "node-1", "value": 10}],
       "resources": [
         {"name": "memory", "capacity": "32Gi", "allocatable": "32Gi", "available": "31Gi"}]}
    ]
  })"));
}

TEST(TopologyObject, NestsAsTheMachineDoes) {
  EXPECT_THAT(ZoneTexts(ObjectOf(ReportOf(TopologyOf(kCcx)))),
              ElementsAre("root Machine", "package-0 Package < root", "node-0 Node < package-0",
                          "cache-3-cpu0 CacheGroup < node-0", "core-0-0 Core < cache-3-cpu0",
                          "core-0-1 Core < cache-3-cpu0", "cache-3-cpu2 CacheGroup < node-0",
                          "core-0-2 Core < cache-3-cpu2", "core-0-3 Core < cache-3-cpu2"));
  EXPECT_THAT(
      ZoneTexts(ObjectOf(ReportOf(TopologyOf("pack:2 numa:2 core:1 pu:1")))),
      ElementsAre("root Machine", "package-0 Package < root", "node-0 Node < package-0",
                  "core-0-0 Core < node-0", "node-1 Node < package-0", "core-0-1 Core < node-1",
                  "package-1 Package < root", "node-2 Node < package-1", "core-1-2 Core < node-2",
                  "node-3 Node < package-1", "core-1-3 Core < node-3"));
}

TEST(TopologyObject, TellsKubeletsPolicyWhereThereAreNodes) {
  PublishOptions options;
  options.topology_manager_policy = "single-numa-node";
  options.topology_manager_scope = "pod";
  EXPECT_EQ(ObjectOf(ReportOf(HybridWithCxl()), options)["attributes"], json::parse(R"([
    {"name": "topologyManagerPolicy", "value": "single-numa-node"},
    {"name": "topologyManagerScope", "value": "pod"}])"));
  // Plugins would find no place for any pod on a node whose NUMA nodes are hidden.
  Topology hidden;
  hidden.zones = {ZoneOf("root", topology::kMachine, "", "0-3", "8Gi")};
  EXPECT_EQ(ObjectOf(ReportOf(hidden), options)["attributes"], json::array());
}

// Names and types that plugins take for a fault, or index an array with.
TEST(TopologyObject, OnlyNodesThatPluginsUnderstandAreOfTheirType) {
  Topology topology;
  topology.zones = {ZoneOf("node-1", topology::kPackage, ""),
                    ZoneOf("mem", "Node", "", "", "1Gi"),
                    ZoneOf("numa-64", topology::kNumaNode, ""),
                    ZoneOf("numa-63", topology::kNumaNode, ""),
                    ZoneOf("numa-1", "numa", ""),
                    ZoneOf("other-1", "node", "")};
  EXPECT_THAT(ZoneTexts(ObjectOf(ReportOf(topology))),
              ElementsAre("node-1' Package", "mem NUMANode", "numa-64 NUMANode", "node-63 Node",
                          "node-1 Node", "other-1 node"));
}

TEST(TopologyObject, LeavesOutLongValuesAndControlCharacters) {
  Topology topology = HybridWithCxl();
  topology.zones[1].attributes["cpu-features"] = std::string(257, 'x');
  topology.zones[1].attributes["cpu-model"] = "A\nB";
  EXPECT_EQ(ZoneNamed(ObjectOf(ReportOf(topology)), "package-0")["attributes"],
            json::parse(R"([{"name": "cpu-model", "value": "A\\nB"}])"));
}

json LargeObject(const char* shape) {
  const json object = ObjectOf(ReportOf(TopologyOf(shape)));
  EXPECT_LE(object.dump().size(), kLargestTopology);
  return object;
}

std::set<std::string> TypesIn(const json& object) {
  std::set<std::string> types;
  for (const json& zone : object["zones"]) types.insert(zone["type"].get<std::string>());
  return types;
}

TEST(TopologyObject, LargeMachinesGoWithoutTheirInnermostZones) {
  EXPECT_THAT(TypesIn(LargeObject("pack:2 numa:1 l3:8 core:8 pu:2")),
              ElementsAre("CacheGroup", "Core", "Machine", "Node", "Package"));
  const json cores = LargeObject("pack:4 numa:2 l3:8 core:16 pu:2");
  EXPECT_THAT(TypesIn(cores), ElementsAre("CacheGroup", "Machine", "Node", "Package"));
  EXPECT_EQ(cores["attributes"][0],
            json::parse(R"({"name": "plimsoll.dev/left-out", "value": "Core"})"));
  EXPECT_EQ(ZoneNamed(cores, "node-7")["resources"][0]["capacity"], "256");
}

TEST(TopologyObject, HugeMachinesKeepTheirNodes) {
  Topology topology;
  topology.zones = {ZoneOf("root", topology::kMachine, "")};
  for (int i = 0; i < 60; ++i) {
    const std::string node = absl::StrCat("numa-", i);
    topology.zones.push_back(ZoneOf(node, topology::kNumaNode, "root", "", "1Gi"));
    for (int j = 0; j < 60; ++j) topology.zones.back().costs.push_back({absl::StrCat("numa-", j)});
    topology.zones.push_back(
        ZoneOf(absl::StrCat("cache-", i), topology::kCacheGroup, node, absl::StrCat(i)));
  }
  const json object = ObjectOf(ReportOf(topology));
  EXPECT_LE(object.dump().size(), kLargestTopology);
  EXPECT_EQ(object["zones"].size(), 60u);
  EXPECT_FALSE(object["zones"][0].contains("costs"));
  EXPECT_EQ(object["attributes"][0]["value"], "all but NUMA nodes' resources");
  EXPECT_EQ(object["zones"][59]["resources"][0]["capacity"], "1");
}

TEST(TopologyObject, RefusesWhatIsNoTopologyOrTooMuch) {
  NodeReport none;
  EXPECT_TRUE(absl::IsNotFound(TopologyObjectOf(none, kNode, {}).status()));
  Topology broken = HybridWithCxl();
  broken.zones[1].parent = "nowhere";
  EXPECT_TRUE(absl::IsInvalidArgument(TopologyObjectOf(ReportOf(broken), kNode, {}).status()));
  Topology large;
  for (int i = 0; i < 2000; ++i) {
    large.zones.push_back(ZoneOf(absl::StrCat("numa-", i), topology::kNumaNode, "", "", "1Gi"));
  }
  const absl::Status status = TopologyObjectOf(ReportOf(large), kNode, {}).status();
  EXPECT_TRUE(absl::IsResourceExhausted(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("at most 65536"));
}

TEST(TopologyObject, PatchHasOnlyWhatDiffers) {
  const json wanted = ObjectOf(ReportOf(HybridWithCxl()));
  json present = wanted;
  present["metadata"]["resourceVersion"] = "7";
  present["metadata"]["labels"]["team"] = "a";
  EXPECT_TRUE(TopologyPatch(present, wanted).is_null());
  present["zones"].erase(0);
  EXPECT_EQ(TopologyPatch(present, wanted),
            json({{"metadata", {{"resourceVersion", "7"}}}, {"zones", wanted["zones"]}}));
  // A Node that was made again has another uid.
  present = wanted;
  present["metadata"]["ownerReferences"][0]["uid"] = "another";
  EXPECT_EQ(TopologyPatch(present, wanted)["metadata"]["ownerReferences"],
            wanted["metadata"]["ownerReferences"]);
}

TEST(TopologyObject, AnObjectIsOwnByItsLabel) {
  EXPECT_TRUE(IsOwnTopology(ObjectOf(ReportOf(HybridWithCxl()))));
  EXPECT_FALSE(IsOwnTopology(json()));
  EXPECT_FALSE(IsOwnTopology(json::parse(R"({"metadata": {"labels": ["a"]}})")));
  EXPECT_FALSE(IsOwnTopology(
      json::parse(R"({"metadata": {"labels": {"app.kubernetes.io/managed-by": "another"}}})")));
}

}  // namespace
}  // namespace plimsoll::kube
