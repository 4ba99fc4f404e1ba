#include "kubelet/config/node_share.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kubelet/config/machines_for_test.h"

namespace plimsoll::kubelet {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

TEST(NodeShareTest, OneNode) {
  const KubeletShare share = SmallShare();
  EXPECT_EQ(share.LeftOut().ToString(), "0-1");
  EXPECT_EQ(share.told_cpu_count, 6u);
  EXPECT_EQ(share.PlainMemory(), 16 * kGi);
  EXPECT_EQ(share.ToldPlainMemory(), 12 * kGi);
  EXPECT_THAT(share.left_hugepages, IsEmpty());
}

TEST(NodeShareTest, HugePagesAreNoPlainMemory) {
  const KubeletShare share = TwoNodesShare();
  EXPECT_EQ(share.LeftOut().ToString(), "0");
  EXPECT_EQ(share.PlainMemory(), 14 * kGi);
  EXPECT_EQ(share.ToldPlainMemory(), 13 * kGi);
  EXPECT_THAT(share.left_hugepages, ElementsAre(Pair("hugepages-2Mi", kGi)));
}

// On a machine whose containers are kept from some CPUs, kubelet counts those too.
TEST(NodeShareTest, CpusOutsideOfCpusetsAreLeftOut) {
  const auto share = ShareOf({{ZoneOf(0, "2-3", {{"memory", "1Gi"}})}},
                             MachineOf({NodeOf(0, "2-3", kGi)}), Cpus("0-3"));
  ASSERT_TRUE(share.ok()) << share.status();
  EXPECT_EQ(share->LeftOut().ToString(), "0-1");
}

TEST(NodeShareTest, ANodeThatIsNotToldIsLeftOut) {
  const KubeletShare share =
      ShareOfZones({ZoneOf(1, "4-7", {{"memory", "8Gi"}})},
                   MachineOf({NodeOf(0, "0-3", 8 * kGi), NodeOf(1, "4-7", 8 * kGi)}));
  EXPECT_EQ(share.LeftOut().ToString(), "0-3");
  EXPECT_EQ(share.nodes.at(0).told_memory, 0u);
}

TEST(NodeShareTest, WithoutNumbersCpusAreCounted) {
  topology::Zone zone = ZoneOf(0, "0-2", {{"memory", "1Gi"}});
  zone.attributes.clear();
  const KubeletShare share = ShareOfZones({zone}, MachineOf({NodeOf(0, "0-3", kGi)}));
  EXPECT_FALSE(share.has_numbers);
  EXPECT_EQ(share.told_cpu_count, 3u);
  EXPECT_TRUE(share.LeftOut().Empty());
}

TEST(NodeShareTest, MemoryOfAHiddenLevelIsOfNoNode) {
  topology::Zone zone = ZoneOf(0, "0-3", {{"memory", "1Gi"}});
  zone.type = topology::kPackage;
  const KubeletShare share = ShareOfZones({zone}, MachineOf({NodeOf(0, "0-3", 2 * kGi)}));
  EXPECT_TRUE(share.has_hidden_nodes);
  EXPECT_EQ(share.ToldPlainMemory(), kGi);
}

TEST(NodeShareTest, AnotherMachinesTopologyIsRefused) {
  const topology::Machine machine = MachineOf({NodeOf(0, "0-3", 2 * kGi)});
  const std::pair<topology::Zone, const char*> others[] = {
      {ZoneOf(0, "0-7", {}), "CPUs 4-7"},
      {ZoneOf(1, "0-3", {}), "NUMA node \"numa-1\""},
      {ZoneOf(0, "0-3", {{"memory", "3Gi"}}), "3221225472 bytes of NUMA node 0"},
  };
  for (const auto& [zone, reason] : others) {
    const auto status = ShareOf({{zone}}, machine, machine.cpus).status();
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
    EXPECT_THAT(status.message(), HasSubstr(reason));
  }
  EXPECT_TRUE(absl::IsInvalidArgument(
      ShareOf({{ZoneOf(0, "0", {}), ZoneOf(0, "1", {})}}, machine, machine.cpus).status()));
}

}  // namespace
}  // namespace plimsoll::kubelet
