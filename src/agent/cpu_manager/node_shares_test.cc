#include "agent/cpu_manager/node_shares.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plimsoll::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

using Turns = std::vector<NodeShares::Turn>;

std::vector<Combination> All(size_t n, size_t k) {
  std::vector<Combination> all;
  ForEachCombination(n, k, [&](const Combination& combination) {
    all.push_back(combination);
    return true;
  });
  return all;
}

TEST(CombinationsTest, ComeInLexicographicOrder) {
  EXPECT_THAT(All(4, 2), ElementsAre(ElementsAre(0, 1), ElementsAre(0, 2), ElementsAre(0, 3),
                                     ElementsAre(1, 2), ElementsAre(1, 3), ElementsAre(2, 3)));
  EXPECT_THAT(All(3, 3), ElementsAre(ElementsAre(0, 1, 2)));
  EXPECT_THAT(All(3, 0), IsEmpty());
  EXPECT_THAT(All(3, 4), IsEmpty());
  EXPECT_EQ(All(10, 5).size(), 252u);
}

TEST(CombinationsTest, StopWhenTold) {
  size_t calls = 0;
  ForEachCombination(5, 2, [&](const Combination&) { return ++calls < 3; });
  EXPECT_EQ(calls, 3u);
}

// The room of Go's arrays: 1, 2, 4, 8, 16.
TEST(CombinationsTest, WhatKubeletNotesIsSafeUpToTheLastCopy) {
  const size_t safe[] = {0, 1, 2, 3, 3, 5, 5, 5, 5, 9, 9, 9, 9, 9, 9, 9, 9, 17};
  for (size_t k = 0; k < std::size(safe); ++k) EXPECT_EQ(NotedPrefix(k), safe[k]) << k;
}

TEST(NodeSharesTest, TakesTheSameFromEach) {
  NodeShares shares({.free = {4, 4, 4, 4}, .count = 6});
  EXPECT_THAT(shares.Best(2), testing::Optional(Turns{{0, 3}, {1, 3}}));
  EXPECT_THAT(shares.Best(3), testing::Optional(Turns{{0, 2}, {1, 2}, {2, 2}}));
  EXPECT_EQ(shares.Best(1), std::nullopt) << "no node has 6";
  EXPECT_EQ(shares.Best(0), std::nullopt);
  EXPECT_EQ(shares.Best(5), std::nullopt);
}

TEST(NodeSharesTest, ChoosesNodesThatLeaveTheRestAlike) {
  // 3, 4, 4, 4: of 0 and 1 it would leave 0, 1, 4, 4; of 1 and 2 3, 1, 1, 4.
  EXPECT_THAT(NodeShares({.free = {3, 4, 4, 4}, .count = 6}).Best(2),
              testing::Optional(Turns{{1, 3}, {2, 3}}));
}

TEST(NodeSharesTest, WhatIsLeftComesFromTheNodesThatHaveMost) {
  EXPECT_THAT(NodeShares({.free = {4, 4}, .count = 7}).Best(2),
              testing::Optional(Turns{{0, 3}, {1, 3}, {0, 1}}));
  EXPECT_THAT(NodeShares({.free = {4, 6}, .count = 7}).Best(2),
              testing::Optional(Turns{{0, 3}, {1, 3}, {1, 1}}));
  // 1 each, and 2 more: from the last twice leaves 1, 1, 8.
  EXPECT_THAT(NodeShares({.free = {2, 2, 11}, .count = 5}).Best(3),
              testing::Optional(Turns{{0, 1}, {1, 1}, {2, 1}, {2, 1}, {2, 1}}));
}

TEST(NodeSharesTest, TakesWholeGroups) {
  EXPECT_THAT(NodeShares({.free = {4, 4}, .count = 6, .group_size = 2}).Best(2),
              testing::Optional(Turns{{0, 2}, {1, 2}, {0, 2}}));
  // 3 and 3 are one group each.
  EXPECT_EQ(NodeShares({.free = {3, 3}, .count = 6, .group_size = 2}).Best(2), std::nullopt);
  // A node with one free CPU can't give what is left.
  EXPECT_THAT(NodeShares({.free = {3, 4}, .count = 6, .group_size = 2}).Best(2),
              testing::Optional(Turns{{0, 2}, {1, 2}, {1, 2}}));
}

// Kubelet's choice: the first of equally good ones, with its last node overwritten by that of
// the last choice that begins alike.
TEST(NodeSharesTest, FourOfEightEqualNodesAreKubelets) {
  EXPECT_THAT(NodeShares({.free = {2, 2, 2, 2, 2, 2, 2, 2}, .count = 8}).Best(4),
              testing::Optional(Turns{{0, 2}, {1, 2}, {2, 2}, {7, 2}}));
  // A choice that leaves all alike ends the search, so that just one more is tried.
  EXPECT_THAT(NodeShares({.free = {3, 3, 3, 3, 1, 2}, .count = 8}).Best(4),
              testing::Optional(Turns{{0, 2}, {1, 2}, {2, 2}, {5, 2}}));
  EXPECT_THAT(NodeShares({.free = {3, 3, 3, 3, 1, 1}, .count = 8}).Best(4),
              testing::Optional(Turns{{0, 2}, {1, 2}, {2, 2}, {3, 2}}))
      << "kubelet's nodes 0, 1, 2, 4 can't give 2 each";
}

TEST(NodeSharesTest, IsBoundedOnMachinesOfManyNodes) {
  NodeShares shares({.free = std::vector<size_t>(64, 3), .count = 97});
  const auto turns = shares.Best(33);
  ASSERT_TRUE(turns);
  size_t sum = 0;
  for (const auto& [node, count] : *turns) sum += count;
  EXPECT_EQ(sum, 97u);
}

}  // namespace
}  // namespace plimsoll::agent
