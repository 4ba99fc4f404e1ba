#include "topology/topology_file.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "topology/machine/hwloc_reader.h"
#include "topology/make_zones.h"
#include "topology/zones/zone_tree.h"

namespace plimsoll::topology {
namespace {

using resources::CpuSet;
using ::testing::HasSubstr;

std::string WhyNoFile(absl::string_view text) {
  const auto topology = ParseTopology(text, "t.yaml");
  EXPECT_TRUE(absl::IsInvalidArgument(topology.status())) << topology.status();
  return std::string(topology.status().message());
}

TEST(TopologyFileTest, CapacitiesAreCanonical) {
  const auto topology = ParseTopology(
      "zones: [{name: numa-0, resources: [{name: memory, capacity: 2048Mi}, {name: cpu, capacity: "
      "{string: 2000m}}, {name: disks, capacity: '+1000'}, {name: part, capacity: 0.50}]}]",
      "t.yaml");
  ASSERT_TRUE(topology.ok()) << topology.status();
  std::vector<std::string> texts;
  for (const ZoneResource& each : topology->zones[0].resources)
    texts.push_back(each.capacity.text());
  EXPECT_THAT(texts, ::testing::ElementsAre("2Gi", "2", "1k", "500m"));
}

// The proposal's example with its exact keys: no zone "root", a bare number.
TEST(TopologyFileTest, ReadsTheProposalsExample) {
  const auto topology = ParseTopology(R"(
zones:
  - name: "socket-1"
    type: "socket"
    parent: "root"
  - name: "core-1"
    type: "core"
    parent: "socket-1"
    resources:
      - name: "cpu"
        capacity: 1
)",
                                      "t.yaml");
  ASSERT_TRUE(topology.ok()) << topology.status();
  EXPECT_TRUE(ZoneTree::Build(*topology).ok());
  EXPECT_EQ(topology->zones[1].resources[0].capacity.text(), "1");
}

TEST(TopologyFileTest, WhatIsWrittenIsReadAgain) {
  for (const char* machine : {"pack:2 numa:2(memory=1073741824) l3:2 core:2 pu:2", "pu:1"}) {
    Topology topology = MakeZones(*ReadHwlocSynthetic(machine));
    topology.zones[0].attributes["odd"] = "yes: \"no\"\n";
    const auto again = ParseTopology(TopologyYaml(topology), "t.yaml");
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ(*again, topology);
  }
}

// The JSON that protobuf prints for the CRI's messages.
TEST(TopologyFileTest, ReadsWhatTheCommandPrints) {
  const auto topology = ParseTopology(R"({"zones": [{"name": "a", "type": "Core", "parent": "",
    "costs": [], "attributes": {"cpu-ids": "0"},
    "resources": [{"name": "cpu", "capacity": {"string": "1"}}]}]})",
                                      "t.json");
  ASSERT_TRUE(topology.ok()) << topology.status();
  EXPECT_EQ(topology->zones[0].resources[0].capacity.text(), "1");
  EXPECT_THAT(WhyNoFile("zones: [{name: a, resources: [{name: cpu, capacity: {text: 1}}]}]"),
              HasSubstr("resources[0].capacity"));
  EXPECT_THAT(WhyNoFile("zones: [{name: a, resources: [{name: cpu, capacity: {}}]}]"),
              HasSubstr("string: is missing"));
}

TEST(TopologyFileTest, TellsAllThatIsWrong) {
  using ::testing::ElementsAre;
  using ::testing::IsEmpty;
  const MachineNumbers machine = {*CpuSet::Parse("0-1"), *CpuSet::Parse("0")};
  EXPECT_THAT(FaultsOf("zones:\n- {type: a}\n- {name: b, size: 1}\n", "t.yaml", &machine),
              ElementsAre(HasSubstr("t.yaml:2:3: zones[0]"), HasSubstr("size")));
  EXPECT_THAT(FaultsOf("zones: [{name: a, parent: b}, {name: c, parent: d}]", "t.yaml", &machine),
              ElementsAre(HasSubstr("t.yaml: zone \"a\""), HasSubstr("zone \"c\"")));
  EXPECT_THAT(FaultsOf("zones:\n- {type: x}\n- {name: b, resources: [{name: cpu, capacity: 1Q}]}\n"
                       "- {name: c, parent: d}\n- {name: c}\n",
                       "t.yaml", &machine),
              ElementsAre(HasSubstr("zones[0]"), HasSubstr("1Q"), HasSubstr("\"c\" is there twice"),
                          HasSubstr("parent \"d\"")));
  const char* foreign = "zones: [{name: a, attributes: {cpu-ids: 2}}]";
  EXPECT_THAT(FaultsOf(foreign, "t.yaml", &machine), ElementsAre(HasSubstr("has CPUs 2")));
  EXPECT_THAT(FaultsOf(foreign, "t.yaml", nullptr), IsEmpty());
  // Checks CPUs and NUMA nodes, as the daemon does.
  EXPECT_THAT(FaultsOf("zones: [{name: n1, type: numa, attributes: {cpu-ids: 2}}, {name: n2, type: "
                       "NUMANode}, {name: east, type: NUMANode, attributes: {id: 0}}]",
                       "t.yaml", &machine),
              ElementsAre(HasSubstr("\"n1\" has CPUs 2"), HasSubstr("\"n1\" is NUMA node 1"),
                          HasSubstr("\"n2\" is NUMA node 2")));
  // Contents that no client could read, the machine's CPUs among them.
  EXPECT_THAT(FaultsOf("zones: [{name: a, type: Core, attributes: {cpu-ids: 0-2}, resources: "
                       "[{name: cpu, capacity: 2}, {name: hugepages-2Mi, capacity: 1Mi}]}]",
                       "t.yaml", &machine),
              ElementsAre(HasSubstr("2 of resource \"cpu\" and CPUs 0-2"),
                          HasSubstr("no whole number of pages"), HasSubstr("has CPUs 2")));
  EXPECT_THAT(FaultsOf("zones: [{name: a, type: numa}, {name: b, type: numa}]", "t.yaml", nullptr),
              ElementsAre(HasSubstr("\"a\" is a NUMA"), HasSubstr("\"b\" is a NUMA")));
  EXPECT_THAT(FaultsOf("a: [", "t.yaml", nullptr), ElementsAre(HasSubstr("not valid YAML")));
  EXPECT_THAT(FaultsOf("zones: []", "t.yaml", nullptr), ElementsAre(HasSubstr("without zones")));
}

TEST(TopologyFileTest, SaysWhereAndWhat) {
  EXPECT_THAT(WhyNoFile("zones:\n- type: Core\n"),
              HasSubstr("t.yaml:2:3: zones[0]: \"name\" is missing"));
  EXPECT_THAT(WhyNoFile("zones:\n- name: a\n  resources: [{name: cpu, capacity: many}]\n"),
              HasSubstr("t.yaml:3:"));
  EXPECT_THAT(WhyNoFile("zones:\n- name: a\n  resources: [{name: cpu}]\n"),
              HasSubstr("capacity: is missing"));
  EXPECT_THAT(WhyNoFile("zones:\n- name: a\n  costs: [{name: b, value: -1}]\n"),
              HasSubstr("value"));
  EXPECT_THAT(WhyNoFile("zones:\n- name: a\n  attributes: {cpu-ids: 1, cpu-ids: 2}\n"),
              HasSubstr("twice"));
  EXPECT_THAT(WhyNoFile("zones:\n- {name: a, color: red}\n"), HasSubstr("color"));
  EXPECT_THAT(WhyNoFile("{}"), HasSubstr("zones: is missing"));
  EXPECT_THAT(WhyNoFile(""), HasSubstr("t.yaml"));
  EXPECT_THAT(WhyNoFile("a: ["), HasSubstr("not valid YAML"));
  EXPECT_THAT(WhyNoFile("zones: []\n---\nzones: []\n"),
              HasSubstr("expected one document, found 2"));
}

}  // namespace
}  // namespace plimsoll::topology
