#include "topology/zones/maps.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "topology/machine/hwloc_reader.h"
#include "topology/make_zones.h"
#include "topology/partition.h"
#include "topology/topology_file.h"

namespace plimsoll::topology {
namespace {

using resources::CpuSet;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

absl::StatusOr<MachineMaps> MapsOf(const std::string& yaml) {
  const auto topology = ParseTopology(yaml, "t.yaml");
  EXPECT_TRUE(topology.ok()) << topology.status();
  const auto tree = ZoneTree::Build(*topology);
  EXPECT_TRUE(tree.ok()) << tree.status();
  return MakeMaps(*tree);
}
std::string WhyNoMap(const std::string& yaml) {
  const auto maps = MapsOf(yaml);
  EXPECT_TRUE(absl::IsInvalidArgument(maps.status())) << maps.status();
  return std::string(maps.status().message());
}

// Two packages with a node each, two caches per node, two cores per cache, two threads per core.
class MapsTest : public ::testing::Test {
 protected:
  MapsTest() {
    machine_ = *ReadHwlocSynthetic("pack:2 numa:1(memory=1073741824) l3:2(size=16MB) core:2 pu:2");
    machine_.nodes[0].distances = {{0, 10}, {1, 21}};
    machine_.nodes[1].distances = {{0, 21}, {1, 10}};
    machine_.nodes[1].hugepages = {{2 << 20, 3}};
    machine_.swap_bytes = 4096;
    machine_.attributes = {{"machine-id", "m"}, {"boot-id", "b"}, {"system-uuid", "s"}};
  }
  MachineMaps Maps(const PartitionConfig& config = {}) {
    const auto partition = MakePartition(config, *ZoneTree::Build(MakeZones(machine_)));
    EXPECT_TRUE(partition.ok()) << partition.status();
    const auto maps = MakeMaps(*ZoneTree::Build(partition->shown));
    EXPECT_TRUE(maps.ok()) << maps.status();
    return maps.ok() ? *maps : MachineMaps();
  }
  Machine machine_;
};

// Foreign zones may have parts of CPUs.
TEST(PartsOfCpusTest, AreAddedBeforeTheyAreCutOff) {
  const auto maps = MapsOf(
      "zones: [{name: a, type: Core, resources: [{name: cpu, capacity: 500m}]}, {name: b, type: "
      "Core, resources: [{name: cpu, capacity: 500m}]}, {name: c, resources: [{name: cpu, "
      "capacity: 1900m}]}]");
  ASSERT_TRUE(maps.ok()) << maps.status();
  EXPECT_EQ(maps->cpu_count, 2);
  EXPECT_EQ(maps->core_count, 3);
}

TEST_F(MapsTest, SayWhereEachCpuIs) {
  const MachineMaps maps = Maps();
  for (uint32_t cpu = 0; cpu < 16; ++cpu) {
    EXPECT_EQ(maps.cpus.at(cpu), (CpuPlace{.core = cpu / 2 * 2,
                                           .package = cpu / 8,
                                           .numa_node = cpu / 8,
                                           .cache_group = cpu / 4 * 4}))
        << cpu;
  }
  EXPECT_EQ(maps.cpu_count, 16);
  EXPECT_EQ(maps.core_count, 8);
  EXPECT_EQ(maps.package_count, 2);
  EXPECT_EQ(maps.cache_group_count, 4);
  EXPECT_TRUE(CheckCpuIds(maps).ok());
  EXPECT_EQ(CpusWith(maps, &CpuPlace::package, 1).ToString(), "8-15");
  EXPECT_EQ(CpusWith(maps, &CpuPlace::core, 6).ToString(), "6-7");
  EXPECT_EQ(CpusWith(maps, &CpuPlace::cache_group, 12).ToString(), "12-15");
}

TEST_F(MapsTest, SayWhatEachNodeHas) {
  const MachineMaps maps = Maps();
  ASSERT_EQ(maps.nodes.size(), 2u);
  const NumaNodeMap& node = maps.nodes.at(1);
  EXPECT_EQ(node.zone, "numa-1");
  EXPECT_EQ(node.cpus.ToString(), "8-15");
  EXPECT_EQ(node.memory_bytes, 1 << 30);
  EXPECT_THAT(node.hugepages, ElementsAre(Pair(2 << 20, 3)));
  EXPECT_THAT(node.distances, ElementsAre(Pair(0, 21), Pair(1, 10)));
  EXPECT_EQ(maps.memory_bytes, 2LL << 30);
  EXPECT_THAT(maps.hugepages, ElementsAre(Pair(2 << 20, 3)));
  EXPECT_EQ(maps.swap_bytes, 4096);
  EXPECT_EQ(maps.machine_id + maps.boot_id + maps.system_uuid, "mbs");
}

// Kubernetes need not see every level.
TEST_F(MapsTest, LevelsMayBeMissing) {
  PartitionConfig config;
  config.show.hidden_types = {kCore, kCacheGroup, kPackage};
  MachineMaps maps = Maps(config);
  EXPECT_EQ(maps.cpus.at(9), (CpuPlace{.core = 9, .package = 0, .numa_node = 1, .cache_group = 8}));
  EXPECT_EQ(maps.core_count, 16);
  EXPECT_EQ(maps.package_count, 1);
  EXPECT_EQ(maps.cache_group_count, 2);
  config.show.hidden_types = {kNumaNode};
  config.cpus.list = *CpuSet::Parse("4-5,8");
  maps = Maps(config);
  EXPECT_EQ(maps.cpus.at(8), (CpuPlace{.core = 8, .package = 1, .numa_node = 0, .cache_group = 8}));
  ASSERT_EQ(maps.nodes.size(), 1u);
  EXPECT_EQ(maps.nodes.at(0).zone, "");
  EXPECT_EQ(maps.nodes.at(0).cpus.ToString(), "4-5,8");
  EXPECT_EQ(maps.nodes.at(0).memory_bytes, 2LL << 30);
  EXPECT_THAT(maps.nodes.at(0).distances, ElementsAre(Pair(0, 10)));
}

TEST(OthersMapsTest, TheProposalsExample) {
  const auto maps = MapsOf(R"(
zones:
- {name: socket-1, type: socket, parent: root}
- {name: core-1, type: core, parent: socket-1, resources: [{name: cpu, capacity: 1}]}
- {name: core-2, type: core, parent: socket-1, resources: [{name: cpu, capacity: 1}]}
- {name: socket-2, type: socket, parent: root}
)");
  ASSERT_TRUE(maps.ok()) << maps.status();
  EXPECT_THAT(maps->cpus, IsEmpty());
  EXPECT_EQ(maps->cpu_count, 2);
  EXPECT_EQ(maps->core_count, 2);
  EXPECT_EQ(maps->package_count, 2);
  const absl::Status lacking = CheckCpuIds(*maps);
  EXPECT_TRUE(absl::IsFailedPrecondition(lacking));
  EXPECT_THAT(lacking.message(),
              HasSubstr("zone \"core-1\" has CPUs and no attribute \"cpu-ids\""));
}

// NUMA nodes beside the cores, attributes anywhere, foreign names.
TEST(OthersMapsTest, NodesBesideTheirCores) {
  const auto maps = MapsOf(R"(
zones:
- {name: left, type: SOCKET}
- {name: mem0, type: numa, parent: left, resources: [{name: memory, capacity: 1Gi}], costs: [{name: mem1, value: 30}, {name: moon, value: 1}]}
- {name: a, type: CORE, parent: left, attributes: {cpu-ids: 0-1, machine-id: x}}
- {name: right, type: socket}
- {name: mem1, type: Node, parent: right, resources: [{name: hugepages-1Gi, capacity: 2Gi}]}
- {name: b, type: core, parent: right, attributes: {cpu-ids: 4}, resources: [{name: cpu, capacity: "1"}]}
)");
  ASSERT_TRUE(maps.ok()) << maps.status();
  EXPECT_EQ(maps->cpus.at(1), (CpuPlace{.core = 0, .package = 0, .numa_node = 0}));
  EXPECT_EQ(maps->cpus.at(4),
            (CpuPlace{.core = 4, .package = 1, .numa_node = 1, .cache_group = 4}));
  EXPECT_EQ(maps->nodes.at(0).memory_bytes, 1 << 30);
  EXPECT_THAT(maps->nodes.at(0).distances, ElementsAre(Pair(0, 10), Pair(1, 30)));
  EXPECT_THAT(maps->nodes.at(1).hugepages, ElementsAre(Pair(1 << 30, 2)));
  EXPECT_EQ(maps->machine_id, "x");
}

// The form of CRI-O's own discovery: nodes and packages beside one another, numbers as attributes.
TEST(OthersMapsTest, ANodesCpuIdsSayWhichCoresBesideItAreIts) {
  const auto maps = MapsOf(R"(
zones:
- {name: root}
- {name: left, type: Package, parent: root, attributes: {id: 4}}
- {name: core-a, type: Core, parent: left, attributes: {cpu-ids: "0,2"}, resources: [{name: cpu, capacity: 2}]}
- {name: core-b, type: Core, parent: left, attributes: {cpu-ids: "1,3"}, resources: [{name: cpu, capacity: 2}]}
- {name: east, type: NUMANode, parent: root, attributes: {id: 7, cpu-ids: "0,2"}, resources: [{name: memory, capacity: 1Gi}]}
- {name: west, type: NUMANode, parent: root, attributes: {id: 9, cpu-ids: "1,3"}, costs: [{name: east, value: 21}]}
)");
  ASSERT_TRUE(maps.ok()) << maps.status();
  EXPECT_EQ(maps->cpus.at(2), (CpuPlace{.core = 0, .package = 4, .numa_node = 7}));
  EXPECT_EQ(maps->cpus.at(3),
            (CpuPlace{.core = 1, .package = 4, .numa_node = 9, .cache_group = 1}));
  EXPECT_EQ(maps->cpu_count, 4);
  EXPECT_EQ(maps->nodes.at(7).cpus.ToString(), "0,2");
  EXPECT_EQ(maps->nodes.at(7).memory_bytes, 1 << 30);
  EXPECT_THAT(maps->nodes.at(9).distances, ElementsAre(Pair(7, 21), Pair(9, 10)));
}

// DRAM and HBM of a package, in either order.
TEST(OthersMapsTest, OfNodesThatNameTheSameCpusTheNearestAndThenTheLowestHasThem) {
  const std::string core = "- {name: c, type: Core, attributes: {cpu-ids: 0-1}}\n";
  const std::string dram = "- {name: numa-0, type: NUMANode, attributes: {cpu-ids: 0-1}}\n";
  const std::string hbm = "- {name: numa-2, type: NUMANode, attributes: {cpu-ids: 0-1}}\n";
  for (const std::string& nodes : {dram + hbm, hbm + dram}) {
    const auto maps = MapsOf("zones:\n" + nodes + core);
    ASSERT_TRUE(maps.ok()) << maps.status();
    EXPECT_EQ(maps->nodes.at(0).cpus.ToString(), "0-1") << nodes;
    EXPECT_TRUE(maps->nodes.at(2).cpus.Empty());
  }
  const std::string near = "- {name: numa-3, type: NUMANode, attributes: {cpu-ids: 1}}\n";
  const auto maps = MapsOf("zones:\n" + dram + hbm + near + core);
  ASSERT_TRUE(maps.ok()) << maps.status();
  EXPECT_EQ(maps->nodes.at(0).cpus.ToString(), "0");
  EXPECT_EQ(maps->nodes.at(3).cpus.ToString(), "1");
}

TEST(OthersMapsTest, ErrorsNameTheZone) {
  EXPECT_THAT(WhyNoMap("zones: [{name: east, type: NUMANode}]"),
              HasSubstr("zone \"east\" is a NUMA"));
  EXPECT_THAT(WhyNoMap("zones: [{name: a1, type: NUMANode}, {name: b1, type: NUMANode}]"),
              HasSubstr("zone \"b1\" has the same number as NUMA node \"a1\": 1"));
  EXPECT_THAT(WhyNoMap("zones: [{name: c, type: Core, attributes: {cpu-ids: 0-2}, "
                       "resources: [{name: cpu, capacity: 2}]}]"),
              HasSubstr("zone \"c\" has 2 of resource \"cpu\" and CPUs 0-2"));
  EXPECT_THAT(WhyNoMap("zones: [{name: n0, type: NUMANode}, {name: n1, type: NUMANode}, "
                       "{name: c, type: Core, attributes: {cpu-ids: 0}}]"),
              HasSubstr("zone \"c\" has CPUs, but lies in none of the several NUMANode zone"));
  EXPECT_THAT(WhyNoMap("zones: [{name: z, resources: [{name: hugepages-big, capacity: 1}]}]"),
              HasSubstr("zone \"z\" has resource \"hugepages-big\""));
  EXPECT_THAT(WhyNoMap("zones: [{name: z, resources: [{name: hugepages-2Mi, capacity: 3Mi}]}]"),
              HasSubstr("zone \"z\" has 3Mi of resource \"hugepages-2Mi\""));
}

}  // namespace
}  // namespace plimsoll::topology
