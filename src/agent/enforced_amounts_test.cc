#include "agent/enforced_amounts.h"

#include "base/dir_for_test.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plimsoll::agent {
namespace {

using resources::Quantity;
using resources::ResourceList;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

ResourceList Amounts(const std::map<std::string, std::string>& texts) {
  ResourceList list;
  for (const auto& [resource, text] : texts) list[resource] = *Quantity::Parse(text);
  return list;
}

TEST(EnforcedAmountsTest, PodsHaveTheCapacityWithoutTheReserved) {
  const ResourceList capacity = Amounts({{"cpu", "4"},
                                         {"memory", "8Gi"},
                                         {"hugepages-2Mi", "64Mi"},
                                         {"pods", "110"},
                                         {"example.com/gpu", "1"}});
  const Allocatable amounts = KubepodsAmounts(
      capacity,
      Amounts({{"cpu", "500m"}, {"memory", "1Gi"}, {"hugepages-2Mi", "4Mi"}, {"pid", "100"}}),
      4096);
  EXPECT_EQ(amounts.cpu_milli, 3500);
  EXPECT_EQ(amounts.memory_bytes, int64_t{7} << 30) << "huge pages are part of it";
  EXPECT_EQ(amounts.pids, 3996);
  EXPECT_THAT(amounts.hugepages, ElementsAre(Pair("2MB", uint64_t{60} << 20)));
}

TEST(EnforcedAmountsTest, AnUnknownNumberOfPidsIsNoLimitAndNothingGoesBelowZero) {
  const Allocatable amounts =
      KubepodsAmounts(Amounts({{"cpu", "1"}}), Amounts({{"cpu", "2"}, {"pid", "5"}}), 0);
  EXPECT_EQ(amounts.cpu_milli, 0);
  EXPECT_EQ(amounts.pids, 0);
}

TEST(EnforcedAmountsTest, WithoutPodsTheWholeCapacityIsTheirs) {
  AgentConfig config;
  config.system_reserved = Amounts({{"cpu", "1"}});
  EXPECT_EQ(EnforcedReservation(config).size(), 1u);
  config.enforce_node_allocatable = {"none"};
  EXPECT_THAT(EnforcedReservation(config), IsEmpty());
}

TEST(EnforcedAmountsTest, ReservedGroupsHaveTheirOwnAmounts) {
  AgentConfig config;
  config.system_reserved = Amounts({{"cpu", "1"}, {"memory", "1Gi"}});
  config.kube_reserved = Amounts({{"cpu", "200m"}, {"pid", "7"}});
  config.system_reserved_cgroup = "/system";
  config.kube_reserved_cgroup = "/kube";
  EXPECT_THAT(ReservedGroupsOf(config), IsEmpty());
  config.enforce_node_allocatable = {"pods", "system-reserved-compressible", "kube-reserved"};
  const auto groups = ReservedGroupsOf(config);
  ASSERT_EQ(groups.size(), 2u);
  EXPECT_EQ(groups[0].path, "/system");
  EXPECT_TRUE(groups[0].only_cpu);
  EXPECT_EQ(groups[0].amounts.cpu_milli, 1000);
  EXPECT_EQ(groups[1].path, "/kube");
  EXPECT_FALSE(groups[1].only_cpu);
  EXPECT_EQ(groups[1].amounts.pids, 7);
}

TEST(EnforcedAmountsTest, TheMostProcessesAreTheLesserOfTwoFiles) {
  const TestDir dir;
  EXPECT_EQ(MaxPids(dir.root()), 0);
  ASSERT_TRUE(dir.root().MakeDirs("proc/sys/kernel").ok());
  ASSERT_TRUE(dir.root().ReplaceFile("proc/sys/kernel/pid_max", "4194304\n").ok());
  EXPECT_EQ(MaxPids(dir.root()), 4194304);
  ASSERT_TRUE(dir.root().ReplaceFile("proc/sys/kernel/threads-max", "1000\n").ok());
  EXPECT_EQ(MaxPids(dir.root()), 1000);
}

}  // namespace
}  // namespace plimsoll::agent
