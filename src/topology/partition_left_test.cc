#include "topology/partition_left.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "topology/machine/hwloc_reader.h"
#include "topology/make_zones.h"

namespace plimsoll::topology {
namespace {

using resources::CpuSet;
using resources::Quantity;

// CPUs 0-3 in numa-0, 4-7 in numa-1, a gibibyte and four huge pages each.
class PartitionLeftTest : public ::testing::Test {
 protected:
  PartitionLeftTest() {
    Machine machine = *ReadHwlocSynthetic("pack:2 numa:1(memory=1073741824) core:2 pu:2");
    for (NumaNode& node : machine.nodes) node.hugepages[2 << 20] = 4;
    tree_ = *ZoneTree::Build(MakeZones(machine));
  }
  // Checks that it does not fit, and returns the usable rest.
  Partition Left() {
    EXPECT_TRUE(absl::IsFailedPrecondition(MakePartition(config_, *tree_).status()));
    const auto left = MakePartitionOfWhatIsLeft(config_, *tree_);
    EXPECT_TRUE(left.ok()) << left.status();
    return left.ok() ? *left : Partition();
  }
  std::string CpusLeft(CpuChoice choice) {
    config_.cpus = std::move(choice);
    return Left().cpus.ToString();
  }
  static std::string MemoryOf(const Partition& partition, const std::string& node,
                              const std::string& resource = kMemory) {
    for (const Zone& zone : partition.shown.zones) {
      if (zone.name == node) return FindResource(zone, resource)->Canonical();
    }
    return "none";
  }

  std::optional<ZoneTree> tree_;
  PartitionConfig config_;
};

TEST_F(PartitionLeftTest, CpusThatAreThere) {
  EXPECT_EQ(CpusLeft({.list = *CpuSet::Parse("6-9")}), "6-7");
  EXPECT_EQ(CpusLeft({.count = 9}), "0-7");
  EXPECT_EQ(CpusLeft({.zones = {"numa-2", "numa-1"}}), "4-7");
  EXPECT_EQ(CpusLeft({.reserved = *CpuSet::Parse("7-8")}), "0-6");
  EXPECT_EQ(CpusLeft({.reserved = *CpuSet::Parse("8")}), "0-7");
}

TEST_F(PartitionLeftTest, MemoryThatIsThere) {
  config_.memory["memory"] = {{"numa-0", {.quantity = *Quantity::Parse("2Gi")}},
                              {"numa-1", {.percent = 50}},
                              {"numa-9", {.percent = 50}}};
  config_.memory["hugepages-2Mi"] = {{"numa-0", {.quantity = *Quantity::Parse("3Mi")}},
                                     {"numa-1", {.quantity = *Quantity::Parse("1Gi")}}};
  config_.memory["hugepages-1Gi"] = {{"numa-0", {.quantity = *Quantity::Parse("1Gi")}}};
  const Partition left = Left();
  EXPECT_EQ(MemoryOf(left, "numa-0"), "1Gi");
  EXPECT_EQ(MemoryOf(left, "numa-1"), "512Mi") << "what fits stays as it is";
  EXPECT_EQ(MemoryOf(left, "numa-0", "hugepages-2Mi"), "2Mi");
  EXPECT_EQ(MemoryOf(left, "numa-1", "hugepages-2Mi"), "8Mi");
}

TEST_F(PartitionLeftTest, AttributesOfZonesThatAreShown) {
  config_.cpus.zones = {"numa-1"};
  config_.show.attributes = {{"numa-0", {{"a", "b"}}}, {"numa-1", {{"tier", "slow"}}}};
  for (const Zone& zone : Left().shown.zones) {
    EXPECT_EQ(zone.attributes.contains("tier"), zone.name == "numa-1") << zone.name;
  }
}

TEST_F(PartitionLeftTest, WhereNothingIsLeftThatIsSaid) {
  for (const CpuChoice& choice :
       {CpuChoice{.list = *CpuSet::Parse("4000")}, CpuChoice{.zones = {"numa-7"}},
        CpuChoice{.reserved = *CpuSet::Parse("0-7")}}) {
    config_.cpus = choice;
    EXPECT_TRUE(absl::IsFailedPrecondition(MakePartitionOfWhatIsLeft(config_, *tree_).status()));
  }
}

TEST_F(PartitionLeftTest, OfOneThatFitsAllIsLeft) {
  config_.cpus.count = 3;
  config_.memory["memory"] = {{"numa-1", {.quantity = *Quantity::Parse("1Gi")}}};
  const auto left = MakePartitionOfWhatIsLeft(config_, *tree_);
  const auto whole = MakePartition(config_, *tree_);
  ASSERT_TRUE(left.ok() && whole.ok()) << left.status();
  EXPECT_EQ(left->cpus, whole->cpus);
  EXPECT_EQ(left->shown, whole->shown);
}

}  // namespace
}  // namespace plimsoll::topology
