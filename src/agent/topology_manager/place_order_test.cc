#include "agent/topology_manager/place_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <random>
#include <set>

#include "agent/topology_manager/hints_for_test.h"

namespace plimsoll::agent {
namespace {

topology::MachineMaps RandomDistances(std::mt19937_64& random, uint32_t nodes) {
  topology::MachineMaps maps;
  for (uint32_t from = 0; from < nodes; ++from) {
    for (uint32_t to = 0; to < nodes; ++to) {
      maps.nodes[from].distances[to] = 10 + static_cast<uint32_t>(random() % 5);
    }
  }
  return maps;
}

TEST(NodeDistancesTest, AreThoseFromEachNodeToEach) {
  std::mt19937_64 random(3);
  const topology::MachineMaps maps = RandomDistances(random, 10);
  const NodeDistances distances(maps);
  for (uint64_t bits = 0; bits < 1024; bits += 7) {
    const NodeMask mask = NodeMask::FromBits(bits);
    uint64_t sum = 0;
    for (const uint32_t from : mask.ToVector()) {
      for (const uint32_t to : mask.ToVector()) sum += maps.nodes.at(from).distances.at(to);
    }
    EXPECT_EQ(distances.Within(mask), sum) << bits;
    if (mask.Contains(9)) continue;
    EXPECT_EQ(distances.Added(mask, 9), distances.Within(mask | NodeMask::Of(9)) - sum) << bits;
  }
}

TEST(NodeDistancesTest, NodesBeyondTheMaskAreIgnored) {
  topology::MachineMaps maps;
  maps.nodes[0].distances = {{0, 10}, {64, 20}};
  maps.nodes[64].distances = {{0, 20}, {64, 10}};
  EXPECT_EQ(NodeDistances(maps).Within(NodeMask::Of(0)), 10u);
}

// Against each set of the ranges.
TEST(PlaceOrderTest, NearestIsTheBestOfAllSets) {
  std::mt19937_64 random(4);
  int found = 0;
  for (int round = 0; round < 2000; ++round) {
    const topology::MachineMaps maps = RandomDistances(random, 7);
    const NodeDistances distances(maps);
    const PlaceOrder order(random() % 2 == 0 ? &distances : nullptr);
    std::vector<NodeRange> ranges(random() % 5);
    for (NodeRange& each : ranges) {
      each.least = NodeMask::FromBits(random() & random() & 127);
      each.most = each.least | NodeMask::FromBits(random() & 127);
    }
    const int needed = static_cast<int>(random() % 8);
    std::optional<NodeMask> expected;
    for (const uint64_t bits : SetsOf(ranges)) {
      const NodeMask mask = NodeMask::FromBits(bits);
      if (bits != 0 && (!expected || order.IsNearer(mask, *expected, needed))) expected = mask;
    }
    EXPECT_EQ(order.Nearest(ranges, needed), expected) << round;
    found += expected ? 1 : 0;
  }
  EXPECT_GT(found, 1000);
}

TEST(PlaceOrderTest, AsManyNodesAsNeededThenFewerThenMore) {
  const PlaceOrder order(nullptr);
  const auto nodes = [](uint64_t bits) { return NodeMask::FromBits(bits); };
  EXPECT_TRUE(order.IsNearer(nodes(0b110), nodes(0b1), 2));
  EXPECT_TRUE(order.IsNearer(nodes(0b1), nodes(0b111), 2));
  EXPECT_TRUE(order.IsNearer(nodes(0b111), nodes(0b1111), 2));
  EXPECT_TRUE(order.IsNearer(nodes(0b101), nodes(0b110), 2));
  EXPECT_FALSE(order.IsNearer(nodes(0b101), nodes(0b101), 2));
}

}  // namespace
}  // namespace plimsoll::agent
