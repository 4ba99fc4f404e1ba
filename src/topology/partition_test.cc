#include "topology/partition.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "pictures/topology.h"
#include "topology/machine/hwloc_reader.h"
#include "topology/machine/plain_tree_for_test.h"
#include "topology/make_zones.h"
#include "topology/normalise.h"
#include "topology/topology_file.h"

namespace plimsoll::topology {
namespace {

using resources::CpuSet;
using resources::Quantity;
using ::testing::HasSubstr;

// Two packages with a NUMA node each, of two cores with two threads.
class PartitionTest : public ::testing::Test {
 protected:
  static ZoneTree Tree(const std::string& synthetic) {
    Machine machine = *ReadHwlocSynthetic(synthetic);
    for (NumaNode& node : machine.nodes) node.hugepages[2 << 20] = 4;
    return *ZoneTree::Build(MakeZones(machine));
  }
  std::string Text() {
    const auto partition = MakePartition(config_, tree_);
    EXPECT_TRUE(partition.ok()) << partition.status();
    if (!partition.ok()) return "";
    partition_ = *partition;
    const auto again = ZoneTree::Build(partition_.shown);
    EXPECT_TRUE(again.ok()) << again.status();
    return "\n" + PlainTree(pictures::TopologyText(partition_.shown));
  }
  std::string Why() {
    const auto partition = MakePartition(config_, tree_);
    EXPECT_TRUE(absl::IsFailedPrecondition(partition.status())) << partition.status();
    return std::string(partition.status().message());
  }

  ZoneTree tree_ = Tree("pack:2 numa:1(memory=1073741824) core:2 pu:2");
  PartitionConfig config_;
  Partition partition_;
};

TEST_F(PartitionTest, NothingSaidIsTheWholeMachine) {
  Text();
  EXPECT_EQ(partition_.shown, tree_.topology());
  EXPECT_TRUE(partition_.is_whole);
  EXPECT_EQ(partition_.cpus.ToString(), "0-7");
  EXPECT_EQ(partition_.memory_nodes.ToString(), "0-1");
}

TEST_F(PartitionTest, CpusByList) {
  config_.cpus.list = *CpuSet::Parse("1-3");
  EXPECT_EQ(Text(), R"(
root Machine
└─ package-0 Package
   └─ numa-0 NUMANode  memory 1 GiB  hugepages-2Mi 8 MiB
      ├─ core-0-0 Core  cpu 1  cpu-ids=1
      └─ core-0-1 Core  cpu 2  cpu-ids=2-3
)");
  EXPECT_FALSE(partition_.is_whole);
  EXPECT_EQ(partition_.cpus.ToString(), "1-3");
  EXPECT_EQ(partition_.memory_nodes.ToString(), "0");
}

TEST_F(PartitionTest, CpusByCountZoneAndReserve) {
  const auto cpus = [&](CpuChoice choice) {
    config_.cpus = std::move(choice);
    Text();
    return partition_.cpus.ToString();
  };
  EXPECT_EQ(cpus({.count = 4}), "4-7");
  EXPECT_EQ(cpus({.count = 3}), "5-7") << "a whole core, then a part of the next";
  EXPECT_EQ(cpus({.count = 8}), "0-7");
  EXPECT_EQ(cpus({.zones = {"numa-1"}}), "4-7");
  EXPECT_EQ(cpus({.zones = {"package-0", "core-1-2"}}), "0-5");
  EXPECT_EQ(cpus({.reserved = *CpuSet::Parse("0,4")}), "1-3,5-7");
}

// A foreign topology may have CPUs beside zones, not only in zones without inner ones.
TEST_F(PartitionTest, CpusByCountFromZonesWithOthersInThem) {
  const auto zone = [](const std::string& name, const std::string& parent,
                       const std::string& cpus) {
    return Zone{.name = name, .type = "socket", .parent = parent, .attributes = {{kCpuIds, cpus}}};
  };
  tree_ = *ZoneTree::Build({{zone("a", "", "0-3"), zone("b", "a", "2-3"), zone("c", "b", "3")}});
  for (uint32_t count = 1; count <= 4; ++count) {
    config_.cpus.count = count;
    const auto partition = MakePartition(config_, tree_);
    ASSERT_TRUE(partition.ok()) << partition.status();
    EXPECT_EQ(partition->cpus.ToString(), (std::vector{"3", "2-3", "1-3", "0-3"})[count - 1]);
  }
}

TEST_F(PartitionTest, HugePagesAloneMakeAMemoryNode) {
  config_.memory["memory"] = {{"numa-1", {.percent = 0}}};
  config_.memory["hugepages-2Mi"] = {{"numa-1", {.percent = 50}}};
  EXPECT_THAT(Text(), HasSubstr("numa-1 NUMANode  memory 0  hugepages-2Mi 4 MiB"));
  EXPECT_EQ(partition_.memory_nodes.ToString(), "0-1");
  EXPECT_TRUE(partition_.is_whole) << "both nodes may be used";
}

TEST_F(PartitionTest, MemoryByAmountAndShare) {
  config_.memory["memory"] = {{"numa-0", {.percent = 25}},
                              {"numa-1", {.quantity = *Quantity::Parse("0.5Gi")}}};
  config_.memory["hugepages-2Mi"] = {{"numa-0", {.percent = 40}}};
  EXPECT_EQ(Text(), R"(
root Machine
├─ package-0 Package
│  └─ numa-0 NUMANode  memory 256 MiB  hugepages-2Mi 2 MiB
│     ├─ core-0-0 Core  cpu 2  cpu-ids=0-1
│     └─ core-0-1 Core  cpu 2  cpu-ids=2-3
└─ package-1 Package
   └─ numa-1 NUMANode  memory 512 MiB  hugepages-2Mi 8 MiB
      ├─ core-1-2 Core  cpu 2  cpu-ids=4-5
      └─ core-1-3 Core  cpu 2  cpu-ids=6-7
)");
  EXPECT_TRUE(partition_.is_whole) << "amounts are reported and not enforced";
}

TEST_F(PartitionTest, ANodeWithoutAShareIsLeftToOthers) {
  config_.memory["memory"] = {{"numa-0", {.percent = 0}}};
  EXPECT_THAT(Text(), HasSubstr("numa-0 NUMANode  memory 0  hugepages-2Mi 0"));
  EXPECT_EQ(partition_.memory_nodes.ToString(), "1");
  EXPECT_FALSE(partition_.is_whole);
}

TEST_F(PartitionTest, MemoryOfANodeWithoutCpusInThePartition) {
  config_.cpus.zones = {"package-0"};
  config_.memory["memory"] = {{"numa-1", {.percent = 50}}};
  EXPECT_EQ(Text(), R"(
root Machine
├─ package-0 Package
│  └─ numa-0 NUMANode  memory 1 GiB  hugepages-2Mi 8 MiB
│     ├─ core-0-0 Core  cpu 2  cpu-ids=0-1
│     └─ core-0-1 Core  cpu 2  cpu-ids=2-3
└─ package-1 Package
   └─ numa-1 NUMANode  memory 512 MiB  hugepages-2Mi 0
)");
  EXPECT_EQ(partition_.memory_nodes.ToString(), "0-1");
}

TEST_F(PartitionTest, LevelsAreHidden) {
  config_.show.hidden_types = {kCore, kPackage};
  EXPECT_EQ(Text(), R"(
root Machine
├─ numa-0 NUMANode  memory 1 GiB  hugepages-2Mi 8 MiB  cpu 4  cpu-ids=0-3
└─ numa-1 NUMANode  memory 1 GiB  hugepages-2Mi 8 MiB  cpu 4  cpu-ids=4-7
)");
  EXPECT_TRUE(partition_.is_whole) << "what is hidden stays usable";
}

TEST_F(PartitionTest, HiddenNodesGiveTheirMemoryToThePackage) {
  config_.show.hidden_types = {kNumaNode};
  config_.show.hide_siblings = true;
  EXPECT_EQ(Text(), R"(
root Machine
├─ package-0 Package  memory 1 GiB  hugepages-2Mi 8 MiB
│  ├─ core-0-0 Core  cpu 1  cpu-ids=0
│  └─ core-0-1 Core  cpu 1  cpu-ids=2
└─ package-1 Package  memory 1 GiB  hugepages-2Mi 8 MiB
   ├─ core-1-2 Core  cpu 1  cpu-ids=4
   └─ core-1-3 Core  cpu 1  cpu-ids=6
)");
}

TEST_F(PartitionTest, FewerCoresAndMoreAttributes) {
  config_.show.cores = 3;
  config_.show.attributes = {{"numa-1", {{"tier", "slow"}}}};
  EXPECT_EQ(Text(), R"(
root Machine
├─ package-0 Package
│  └─ numa-0 NUMANode  memory 1 GiB  hugepages-2Mi 8 MiB
│     ├─ core-0-0 Core  cpu 2  cpu-ids=0-1
│     └─ core-0-1 Core  cpu 2  cpu-ids=2-3
└─ package-1 Package
   └─ numa-1 NUMANode  memory 1 GiB  hugepages-2Mi 8 MiB  tier=slow
      └─ core-1-2 Core  cpu 2  cpu-ids=4-5
)");
  EXPECT_EQ(partition_.cpus.ToString(), "0-7");
}

ZoneTree TreeOf(absl::string_view yaml) {
  return *ZoneTree::Build(*ParseTopology(yaml, "t.yaml"));
}

// Nodes beside their cores, and every type in another spelling.
constexpr char kOthers[] = R"(
zones:
- {name: root, type: Machine}
- {name: n0, type: numa, parent: root, attributes: {cpu-ids: 0-1}, resources: [{name: memory, capacity: 1Gi}]}
- {name: n1, type: numa, parent: root, attributes: {cpu-ids: 2-3}, resources: [{name: memory, capacity: 1Gi}]}
- {name: a, type: core, parent: root, attributes: {cpu-ids: 0-1}, resources: [{name: cpu, capacity: 2}]}
- {name: b, type: CORE, parent: root, attributes: {cpu-ids: 2-3}, resources: [{name: cpu, capacity: 2}]}
)";

TEST_F(PartitionTest, ANodeBesideItsCoresGoesWithThem) {
  tree_ = TreeOf(kOthers);
  config_.cpus.zones = {"n1"};
  EXPECT_EQ(Text(), R"(
root Machine
├─ n1 numa  memory 1 GiB  cpu-ids=2-3
└─ b CORE  cpu 2  cpu-ids=2-3
)");
  EXPECT_EQ(partition_.cpus.ToString(), "2-3");
  EXPECT_EQ(partition_.memory_nodes.ToString(), "1");
}

TEST_F(PartitionTest, TypesAreHiddenWhateverTheirSpelling) {
  tree_ = TreeOf(kOthers);
  config_.show.hidden_types = {kCore};
  config_.show.hide_siblings = true;
  EXPECT_EQ(Text(), R"(
root Machine  cpu 2  cpu-ids=0,2
├─ n0 numa  memory 1 GiB  cpu-ids=0-1
└─ n1 numa  memory 1 GiB  cpu-ids=2-3
)");
  config_.show = {.cores = 1};
  EXPECT_THAT(Text(), ::testing::Not(HasSubstr("b CORE")));
}

// CPUs near to the outer zone are not its own.
TEST_F(PartitionTest, CpusThatMoveToAnOuterZoneAreTheOnlyOnesItHas) {
  tree_ = TreeOf(
      "zones:\n- {name: n0, type: NUMANode, attributes: {cpu-ids: 0-7}}\n- {name: a, type: Core, "
      "parent: n0, attributes: {cpu-ids: 0-1}, resources: [{name: cpu, capacity: 2}]}\n- {name: b, "
      "type: Core, parent: n0, attributes: {cpu-ids: 4}, resources: [{name: cpu, capacity: 1}]}\n");
  config_.show.hidden_types = {kCore};
  EXPECT_THAT(Text(), HasSubstr("n0 NUMANode  cpu 3  cpu-ids=0-1,4\n"));
}

// A zone that counts fewer CPUs than it names, all of which are in its cores: nobody knows how many
// of them a cut leaves.
TEST_F(PartitionTest, ACapacityNeverGrowsByACut) {
  tree_ = TreeOf(
      "zones:\n- {name: c, type: Package, attributes: {cpu-ids: 0-7}, resources: [{name: cpu, "
      "capacity: 4}]}\n- {name: d, type: Core, parent: c, attributes: {cpu-ids: 0-7}}\n");
  config_.cpus.reserved = *CpuSet::Parse("0");
  EXPECT_THAT(Text(), HasSubstr("c Package  cpu 4  cpu-ids=1-7\n"));
  config_.cpus.reserved = *CpuSet::Parse("0-4");
  EXPECT_THAT(Text(), HasSubstr("c Package  cpu 3  cpu-ids=5-7\n"));
}

TEST_F(PartitionTest, ACoreThatDoesNotCountItsCpusIsCountedWhereItIsHidden) {
  tree_ = TreeOf(
      "zones:\n- {name: root, type: Machine}\n- {name: a, type: Core, parent: root, attributes: "
      "{cpu-ids: 0-1}}\n- {name: b, type: Core, parent: root, attributes: {cpu-ids: 2}, resources: "
      "[{name: cpu, capacity: 1}]}\n");
  config_.show.hidden_types = {kCore};
  EXPECT_EQ(Text(), "\nroot Machine  cpu 3  cpu-ids=0-2\n");
}

// The same holds for the administrator's additions.
TEST_F(PartitionTest, WhatClientsCouldNotReadIsNotShown) {
  config_.show.attributes = {{"numa-1", {{"id", "0"}}}};
  EXPECT_THAT(Why(), HasSubstr("zone \"numa-1\" has the same number as NUMA node \"numa-0\": 0"));
  config_.show.attributes = {{"core-0-0", {{"cpu-ids", "0"}}}};
  EXPECT_THAT(Why(), HasSubstr("nodeResources: clients could not read what is shown: zone "
                               "\"core-0-0\" has 2 of resource \"cpu\""));
  tree_ = TreeOf(
      "zones: [{name: c, type: Core, attributes: {cpu-ids: 0-7}, resources: [{name: cpu, capacity: "
      "4}]}]");
  config_.show.attributes = {};
  EXPECT_THAT(Why(), HasSubstr("zone \"c\" has 4 of resource \"cpu\" and CPUs 0-7"));
}

TEST_F(PartitionTest, NothingOfAHiddenZoneIsLostInSilence) {
  tree_ = TreeOf(
      "zones:\n- {name: c, type: Core, resources: [{name: cpu, capacity: 4}]}\n- {name: n0, type: "
      "NUMANode}\n");
  config_.show.hidden_types = {kCore};
  EXPECT_THAT(Why(), HasSubstr("zone \"c\" is a Core, and no shown zone around it"));
  // Normalised topologies always have a root.
  tree_ = *ZoneTree::Build(*Normalise(tree_.topology(), nullptr));
  EXPECT_THAT(Text(), HasSubstr("root Machine  cpu 4\n"));
}

TEST_F(PartitionTest, SaysWhatDoesNotFit) {
  config_.cpus = {.list = *CpuSet::Parse("6-9")};
  EXPECT_EQ(Why(),
            "nodeResources: cpus.list: CPUs 8-9 are not there or offline; the topology has 0-7");
  config_.cpus = {.count = 9};
  EXPECT_EQ(Why(), "nodeResources: cpus.count: 9 of 8 CPUs");
  config_.cpus = {.zones = {"numa-2"}};
  EXPECT_EQ(Why(), "nodeResources: cpus.zones: the topology has no zone \"numa-2\"");
  config_.cpus = {.reserved = *CpuSet::Parse("0-7")};
  EXPECT_EQ(Why(), "nodeResources: cpus: no CPU is left for Kubernetes");
  config_.cpus = {.reserved = *CpuSet::Parse("8")};
  EXPECT_THAT(Why(), HasSubstr("cpus.reserved: CPUs 8 are not there"));
  config_.cpus = {};
  config_.memory["memory"] = {{"numa-0", {.quantity = *Quantity::Parse("2Gi")}}};
  EXPECT_EQ(Why(), "nodeResources: memory: 2Gi of zone \"numa-0\", but the zone has 1Gi");
  config_.memory = {{"hugepages-2Mi", {{"numa-0", {.quantity = *Quantity::Parse("3Mi")}}}}};
  EXPECT_THAT(Why(), HasSubstr("3Mi of zone \"numa-0\" is no whole number of pages"));
  config_.memory = {{"hugepages-1Gi", {{"numa-0", {}}}}};
  EXPECT_THAT(Why(), HasSubstr("hugepages-1Gi: there is no NUMA node \"numa-0\" with such memory"));
  config_.memory = {};
  config_.show.attributes = {{"core-9-9", {{"a", "b"}}}};
  EXPECT_THAT(Why(), HasSubstr("no zone \"core-9-9\" is shown"));
  // A foreign topology, without a zone for the machine.
  tree_ = *ZoneTree::Build({{Zone{.name = "c", .type = kCore, .attributes = {{kCpuIds, "0"}}}}});
  config_.show = {.hidden_types = {kCore}};
  EXPECT_EQ(Why(), "nodeResources: show: all zones are hidden");
}

}  // namespace
}  // namespace plimsoll::topology
