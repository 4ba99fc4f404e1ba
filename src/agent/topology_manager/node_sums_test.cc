#include "agent/topology_manager/node_sums.h"

#include <gtest/gtest.h>

#include <limits>

namespace plimsoll::agent {
namespace {

constexpr int64_t kMost = std::numeric_limits<int64_t>::max();

TEST(NodeSumsTest, SumsAreThoseOfTheNodes) {
  // Node n has 2^n bytes, so that a sum is its mask. Nodes of three tables, with holes.
  std::map<uint32_t, int64_t> amounts;
  uint64_t present = 0;
  for (const uint32_t node : {0u, 1u, 2u, 6u, 7u, 8u, 11u, 15u, 16u, 20u}) {
    amounts[node] = int64_t{1} << node;
    present |= uint64_t{1} << node;
  }
  const NodeSums sums(amounts);
  for (uint64_t bits = 0; bits < uint64_t{1} << 21; bits += 37) {
    ASSERT_EQ(sums.Of(NodeMask::FromBits(bits)), static_cast<int64_t>(bits & present)) << bits;
  }
}

TEST(NodeSumsTest, NodesWithoutAnAmountHaveNothing) {
  const NodeSums none({});
  EXPECT_EQ(none.Of(NodeMask::FromBits(~uint64_t{0})), 0);
  const NodeSums far({{63, 5}, {64, 7}});
  EXPECT_EQ(far.Of(NodeMask::FromBits(~uint64_t{0})), 5);
  EXPECT_EQ(far.Of(NodeMask::Of(62)), 0);
}

TEST(NodeSumsTest, SumsStopAtTheMost) {
  // Beyond within a table, and only over tables.
  const NodeSums sums({{0, kMost}, {1, 1}, {9, kMost}});
  EXPECT_EQ(sums.Of(NodeMask::FromBits(0b11)), kMost);
  EXPECT_EQ(sums.Of(NodeMask::FromBits(0b10'0000'0001)), kMost);
  EXPECT_EQ(sums.Of(NodeMask::Of(1)), 1);
}

}  // namespace
}  // namespace plimsoll::agent
