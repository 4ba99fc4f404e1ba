#include "agent/memory_manager/reused_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/memory_manager/machines_for_test.h"

namespace plimsoll::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

template <typename T>
std::vector<T> Joined(std::vector<T> a, const std::vector<T>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

TEST(ReusedMemoryTest, OnlyTheSameNodesAndResource) {
  const std::vector<MemoryBlock> reusable = {MemoryOf({{0, 3}}), MemoryOf({{0, 4}, {1, 5}}),
                                             MemoryOf({{0, 7}}),
                                             BlockOf("hugepages-2Mi", {{0, 100}})};
  EXPECT_EQ(ReusableBytes(reusable, "memory", Nodes({0})), 10);
  EXPECT_EQ(ReusableBytes(reusable, "memory", Nodes({0, 1})), 9);
  EXPECT_EQ(ReusableBytes(reusable, "memory", Nodes({1})), 0);
  EXPECT_EQ(ReusableBytes(reusable, "hugepages-1Gi", Nodes({0})), 0);
  EXPECT_THAT(ReusedShares(reusable, MemoryOf({{0, 5}, {1, 1}})),
              ElementsAre(Pair(0, 4), Pair(1, 2)));
  EXPECT_THAT(ReusedShares(reusable, MemoryOf({{1, 5}})), IsEmpty());
}

// The sum stays what it was: blocks shrink, the first ones first, those of 0 bytes stay.
TEST(ReusedMemoryTest, BlocksThatAreTakenOverShrink) {
  std::vector<MemoryBlock> first = {MemoryOf({{0, 2}, {1, 2}}), BlockOf("hugepages-2Mi", {{0, 8}})};
  std::vector<MemoryBlock> second = {MemoryOf({{0, 0}, {1, 6}}), MemoryOf({{1, 9}})};
  const std::vector<MemoryBlock*> earlier = Joined(PointersTo(first), PointersTo(second));
  TakeOver({MemoryOf({{0, 2}, {1, 5}})}, earlier);
  EXPECT_THAT(first, ElementsAre(MemoryOf({{0, 0}, {1, 0}}), BlockOf("hugepages-2Mi", {{0, 8}})));
  EXPECT_THAT(second, ElementsAre(MemoryOf({{0, 0}, {1, 3}}), MemoryOf({{1, 9}})));
  TakeOver({MemoryOf({{0, 20}, {1, 20}})}, earlier);
  EXPECT_THAT(second, ElementsAre(MemoryOf({{0, 0}, {1, 0}}), MemoryOf({{1, 9}})));
}

class ReuseTest : public testing::Test {
 protected:
  const StaticMemoryPolicy policy_ =
      PolicyOf(MachineOf({{0, 5 * kGi}, {1, 4 * kGi}}), {{0, {{"memory", kGi}}}});
};

TEST_F(ReuseTest, AContainerHasTheMemoryOfItsInitContainer) {
  std::vector<MemoryBlock> init = {MemoryOf({{0, 3 * kGi}})};
  const std::vector<MemoryBlock> other = {MemoryOf({{1, 2 * kGi}})};
  const std::vector<MemoryBlock> used = Joined(init, other);
  // Node 1 has less than 4Gi, node 0 too but for the init container.
  const ResourceHints hints = policy_.Hints({{"memory", 4 * kGi}}, used, init);
  EXPECT_THAT(*hints.at("memory"), ElementsAre(Hint{Nodes({0}), true}));
  EXPECT_THAT(policy_.Hints({{"memory", 4 * kGi}}, used, {}), IsEmpty());

  const auto given = policy_.Allocate({{"memory", 4 * kGi}}, {Nodes({0}), true}, used, init);
  ASSERT_TRUE(given.ok()) << given.status();
  EXPECT_THAT(*given, ElementsAre(MemoryOf({{0, 4 * kGi}})));
  TakeOver(*given, PointersTo(init));
  EXPECT_THAT(init, ElementsAre(MemoryOf({{0, 0}})));
}

TEST_F(ReuseTest, WhatTheContainerDoesNotNeedStaysWithTheInitContainer) {
  std::vector<MemoryBlock> init = {MemoryOf({{0, 3 * kGi}})};
  const auto given = policy_.Allocate({{"memory", kGi}}, {Nodes({0}), true}, init, init);
  ASSERT_TRUE(given.ok()) << given.status();
  TakeOver(*given, PointersTo(init));
  EXPECT_THAT(init, ElementsAre(MemoryOf({{0, 2 * kGi}})));
}

TEST_F(ReuseTest, OtherNodesAreNoReuse) {
  std::vector<MemoryBlock> init = {MemoryOf({{0, 3 * kGi}})};
  const auto given = policy_.Allocate({{"memory", 2 * kGi}}, {Nodes({1}), true}, init, init);
  ASSERT_TRUE(given.ok()) << given.status();
  EXPECT_THAT(*given, ElementsAre(MemoryOf({{1, 2 * kGi}})));
  TakeOver(*given, PointersTo(init));
  EXPECT_THAT(init, ElementsAre(MemoryOf({{0, 3 * kGi}})));
}

// In a group, what is taken over keeps its nodes; the rest comes from the lowest free ones.
TEST_F(ReuseTest, SharesAreTakenOverWhereTheyAre) {
  std::vector<MemoryBlock> init = {MemoryOf({{0, 2 * kGi}, {1, 3 * kGi}})};
  const std::vector<MemoryBlock> used = Joined(init, std::vector{MemoryOf({{0, kGi}, {1, 0}})});
  const auto given = policy_.Allocate({{"memory", 6 * kGi}}, {Nodes({0, 1}), true}, used, init);
  ASSERT_TRUE(given.ok()) << given.status();
  EXPECT_THAT(*given, ElementsAre(MemoryOf({{0, 3 * kGi}, {1, 3 * kGi}})));
}

}  // namespace
}  // namespace plimsoll::agent
