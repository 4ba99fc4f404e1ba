#include "agent/cpu_manager/cpu_layout.h"

#include "agent/cpu_manager/machine_for_test.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plimsoll::agent {
namespace {

using ::testing::ElementsAre;

TEST(CpuLayoutTest, NumbersCpusAndGroupsInOrder) {
  const CpuLayout layout(*MakeMachine({.packages = 2,
                                       .cores_per_cache = 2,
                                       .threads = 2,
                                       .numbering = MachineShape::Numbering::kPackagesInTurn,
                                       .offline = Cpus("1")}));
  // Package 0 has cores 0,4 and 2,6; package 1 has what is left of 1,5, and 3,7.
  EXPECT_EQ(layout.cpus(), Cpus("0,2-7"));
  EXPECT_EQ(layout.cpu_count(), 7u);
  EXPECT_EQ(layout.IndexOf(2), 1u);
  EXPECT_EQ(layout.IndexOf(1), std::nullopt);
  EXPECT_EQ(layout.IndexOf(8), std::nullopt);
  EXPECT_EQ(layout.NumberOf(6), 7u);
  EXPECT_THAT(layout.Members(CpuLevel::kPackage, 1), ElementsAre(2, 4, 6));
  EXPECT_THAT(layout.Members(CpuLevel::kCore, 0), ElementsAre(0, 3));
  EXPECT_EQ(layout.GroupOf(CpuLevel::kCore, 4), 3u);  // CPU 5 is alone: the last of the cores
  EXPECT_EQ(layout.GroupCount(CpuLevel::kCore), 4u);
  EXPECT_EQ(layout.CpusPer(CpuLevel::kCore), 1u) << "an average, rounded down";
  EXPECT_EQ(layout.CpusPer(CpuLevel::kPackage), 3u);
}

TEST(CpuLayoutTest, NodesAreAbovePackagesUnlessThereAreMoreOfThem) {
  EXPECT_TRUE(CpuLayout(*MakeMachine({.packages = 2})).nodes_above_packages());
  EXPECT_TRUE(
      CpuLayout(*MakeMachine({.packages = 4, .packages_per_node = 2})).nodes_above_packages());
  EXPECT_FALSE(
      CpuLayout(*MakeMachine({.packages = 2, .nodes_per_package = 2})).nodes_above_packages());
}

TEST(CpuLayoutTest, OnlyNodesWithCpusCount) {
  topology::MachineMaps maps = *MakeMachine({.packages = 2});
  maps.nodes[7].memory_bytes = 1 << 30;
  const CpuLayout layout(maps);
  EXPECT_EQ(layout.GroupCount(CpuLevel::kNode), 2u);
  EXPECT_EQ(layout.NodeNumber(1), 1u);
  EXPECT_EQ(CpuLayout(topology::MachineMaps()).CpusPer(CpuLevel::kCore), 0u);
}

TEST(CpuLayoutTest, CachesOfPartsOfANodeCount) {
  const CpuLayout layout(*MakeMachine({.caches_per_node = 2, .cores_per_cache = 2, .threads = 2}));
  EXPECT_EQ(layout.GroupCount(CpuLevel::kCache), 2u);
  EXPECT_THAT(layout.Members(CpuLevel::kCache, 1), ElementsAre(2, 3, 6, 7));
}

TEST(CpuLayoutTest, ACacheThatIsAWholeNodeGivesWayToThePackage) {
  const CpuLayout clusters(
      *MakeMachine({.packages = 2, .nodes_per_package = 2, .cores_per_cache = 2, .threads = 2}));
  EXPECT_EQ(clusters.GroupCount(CpuLevel::kCache), 2u);
  EXPECT_EQ(clusters.GroupOf(CpuLevel::kCache, 0), clusters.GroupOf(CpuLevel::kCache, 3));
  // cAdvisor takes a node's size for its cores times the threads of the core that it looks at, so
  // that a thread less makes a difference.
  const CpuLayout less(*MakeMachine({.packages = 2,
                                     .nodes_per_package = 2,
                                     .cores_per_cache = 2,
                                     .threads = 2,
                                     .offline = Cpus("8")}));
  EXPECT_EQ(less.GroupCount(CpuLevel::kCache), 3u);
}

TEST(CpuLayoutTest, ACacheOverSeveralNodesIsOne) {
  topology::MachineMaps maps =
      *MakeMachine({.packages = 2, .nodes_per_package = 2, .cores_per_cache = 2});
  for (auto& [cpu, place] : maps.cpus) place.cache_group = place.package * 4;
  const CpuLayout layout(maps);
  EXPECT_EQ(layout.GroupCount(CpuLevel::kCache), 2u);
  EXPECT_THAT(layout.Members(CpuLevel::kCache, 1), ElementsAre(4, 5, 6, 7));
}

}  // namespace
}  // namespace plimsoll::agent
