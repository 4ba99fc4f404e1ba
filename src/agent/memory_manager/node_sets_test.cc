#include "agent/memory_manager/node_sets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "agent/memory_manager/machines_for_test.h"

namespace plimsoll::agent {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Not;

MemoryByNode NodesWith(uint32_t count, int64_t bytes) {
  MemoryByNode nodes;
  for (uint32_t number = 0; number < count; ++number) nodes[number] = {{"memory", bytes}};
  return nodes;
}

std::vector<NodeMask> Sets(const MemoryByNode& nodes, const std::vector<MemoryBlock>& used = {},
                           const std::vector<NodeMask>& wanted = {}, NodeMask inside = {}) {
  std::vector<NodeMask> sets;
  ForEachNodeSet(MemoryState(nodes, {{"memory", kGi}}, used), wanted, inside, [&](NodeMask set) {
    sets.push_back(set);
    return true;
  });
  return sets;
}

TEST(NodeSetsTest, AllOfASmallMachineInKubeletsOrder) {
  EXPECT_THAT(Sets({{1, {}}, {4, {}}, {63, {}}}),
              ElementsAre(Nodes({1}), Nodes({4}), Nodes({63}), Nodes({1, 4}), Nodes({1, 63}),
                          Nodes({4, 63}), Nodes({1, 4, 63})));
  EXPECT_THAT(Sets({}), ElementsAre());
  EXPECT_EQ(Sets(NodesWith(16, kGi)).size(), 0xffffu);
}

TEST(NodeSetsTest, TheWalkStopsWhenItIsTold) {
  for (const uint32_t count : {4u, 64u}) {
    const MemoryState state(NodesWith(count, kGi), {{"memory", kGi}}, {});
    int visited = 0;
    ForEachNodeSet(state, {}, {}, [&](NodeMask set) {
      ++visited;
      return set != NodeMask::Of(2);
    });
    EXPECT_EQ(visited, 3) << count << " nodes";
  }
}

TEST(NodeSetsTest, OfLargeMachinesTheLikelyOnes) {
  MemoryByNode nodes = NodesWith(64, kGi);
  for (const uint32_t rich : {3u, 17u, 40u, 63u, 21u}) nodes[rich]["memory"] = 2 * kGi;
  const std::vector<MemoryBlock> used = {MemoryOf({{0, 1}, {9, 1}, {30, 1}, {31, 1}})};
  const NodeMask wanted = Nodes({2, 19, 50, 51, 60});
  const std::vector<NodeMask> sets = Sets(nodes, used, {wanted}, Nodes({7, 22}));
  EXPECT_LT(sets.size(), 3 * kMostSets);
  EXPECT_EQ(std::count_if(sets.begin(), sets.end(), [](NodeMask set) { return set.Count() == 2; }),
            64 * 63 / 2);
  EXPECT_THAT(sets, Contains(Nodes({3, 17, 21, 40, 63})));  // the richest
  EXPECT_THAT(sets, Contains(Nodes({7, 22, 3, 17, 21})));   // beside those inside
  EXPECT_THAT(sets, Contains(Nodes({0, 9, 30, 31})));       // a group
  EXPECT_THAT(sets, Contains(wanted));
  EXPECT_THAT(sets, Contains(Nodes({40, 41, 42, 43, 44})));       // neighbours
  EXPECT_THAT(sets, Contains(Nodes({29, 32, 33, 34, 35})));       // among unused ones
  EXPECT_THAT(sets, Contains(NodeMask::FromBits(~uint64_t{0})));  // all
  EXPECT_THAT(sets, Not(Contains(Nodes({2, 19, 50, 52, 60}))));
  EXPECT_TRUE(std::is_sorted(sets.begin(), sets.end(), [](NodeMask a, NodeMask b) {
    return a.Count() != b.Count() ? a.Count() < b.Count() : a.ToVector() < b.ToVector();
  }));
  EXPECT_EQ(std::adjacent_find(sets.begin(), sets.end()), sets.end());
}

}  // namespace
}  // namespace plimsoll::agent
