#include "agent/cpu_manager/distributed_taker.h"

#include "agent/cpu_manager/machine_for_test.h"
#include "gtest/gtest.h"

namespace plimsoll::agent {
namespace {

class DistributedTakerTest : public ::testing::Test {
 protected:
  std::string Take(const MachineShape& shape, int64_t count, absl::string_view taken = "",
                   int64_t group_size = 1) {
    const CpuLayout layout(*MakeMachine(shape));
    const auto cpus =
        TakeDistributed(layout, layout.cpus().Difference(Cpus(taken)), count, group_size);
    if (cpus.ok()) return cpus->ToString();
    EXPECT_TRUE(absl::IsFailedPrecondition(cpus.status()));
    return std::string(cpus.status().message());
  }

  // 0-3, 4-7, 8-11, 12-15.
  const MachineShape four_nodes_{.packages = 4, .cores_per_cache = 4};
  // Node 0 has cores 0,4 and 1,5, node 1 has 2,6 and 3,7.
  const MachineShape threads_{.packages = 2, .cores_per_cache = 2, .threads = 2};
};

TEST_F(DistributedTakerTest, WhatFitsIntoOneNodeIsThere) {
  EXPECT_EQ(Take(four_nodes_, 3), "0-2");
  EXPECT_EQ(Take(four_nodes_, 4, "0"), "4-7");
  EXPECT_EQ(Take(four_nodes_, 0), "");
}

TEST_F(DistributedTakerTest, MoreIsEvenOverAsFewNodesAsHoldIt) {
  EXPECT_EQ(Take(four_nodes_, 6), "0-2,4-6");
  EXPECT_EQ(Take(four_nodes_, 8), "0-7");
  EXPECT_EQ(Take(four_nodes_, 9), "0-2,4-6,8-10");
  EXPECT_EQ(Take(four_nodes_, 16), "0-15");
}

TEST_F(DistributedTakerTest, WhatCannotBeDividedComesFromSomeOfThem) {
  EXPECT_EQ(Take(four_nodes_, 7), "0-6");
  EXPECT_EQ(Take(four_nodes_, 10), "0-6,8-10");
}

TEST_F(DistributedTakerTest, FullNodesAreAvoided) {
  EXPECT_EQ(Take(four_nodes_, 8, "0-2"), "4-11");
  EXPECT_EQ(Take(four_nodes_, 6, "8"), "0-2,4-6") << "leaves the nodes most alike";
}

TEST_F(DistributedTakerTest, UsesMoreNodesIfFewerAreNotEven) {
  // Free: 1, 2, 2, 2. No three nodes have 2, 2 and 2 beside a fourth that is needed for 7.
  EXPECT_EQ(Take(four_nodes_, 6, "0-2,4-5,8-9,12-13"), "6-7,10-11,14-15");
  EXPECT_EQ(Take(four_nodes_, 7, "0-2,4-5,8-9,12-13"), "3,6-7,10-11,14-15");
}

TEST_F(DistributedTakerTest, WithoutAnEvenChoiceItPacks) {
  // Free: 1 and 4 of two nodes; 5 needs both, 2 each.
  EXPECT_EQ(Take({.packages = 2, .cores_per_cache = 4}, 5, "0-2"), "3-7");
}

TEST_F(DistributedTakerTest, GivesWholeGroups) {
  EXPECT_EQ(Take(threads_, 6, "", 2), "0-2,4-6");
  EXPECT_EQ(Take(threads_, 2, "0", 2), "2,6") << "leaves the nodes more alike than 1,5";
  EXPECT_EQ(Take(threads_, 3, "", 2), "0-1,4") << "no multiple of 2: packs";
}

TEST_F(DistributedTakerTest, TooFewIsAnErrorInKubeletsWords) {
  EXPECT_EQ(Take(threads_, 9),
            "not enough cpus available to satisfy request: requested=9, available=8");
  EXPECT_EQ(Take(threads_, 3, "0-5", 2),
            "not enough cpus available to satisfy request: requested=3, available=2");
}

// Choices found in a kubelet (see NotedPrefix).
TEST_F(DistributedTakerTest, EightNodes) {
  const MachineShape shape{.packages = 8, .cores_per_cache = 2};
  EXPECT_EQ(Take(shape, 6), "0-5");
  EXPECT_EQ(Take(shape, 8), "0-5,14-15");
  EXPECT_EQ(Take(shape, 10), "0-9");
  EXPECT_EQ(Take(shape, 12), "0-9,14-15");
}

}  // namespace
}  // namespace plimsoll::agent
