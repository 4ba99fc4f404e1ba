#include "agent/topology_manager/node_range.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <set>

#include "agent/topology_manager/hints_for_test.h"

namespace plimsoll::agent {
namespace {

using ::testing::IsEmpty;

NodeMask Bits(uint64_t bits) {
  return NodeMask::FromBits(bits);
}

NodeRange RandomRange(std::mt19937_64& random) {
  const uint64_t least = random() & random() & 63;
  return {.least = Bits(least), .most = Bits(least | (random() & 63))};
}

TEST(NodeRangeTest, IntersectionsOfTwoRangesAreARange) {
  std::mt19937_64 random(16);
  for (int round = 0; round < 500; ++round) {
    const NodeRange a = RandomRange(random), b = RandomRange(random);
    std::set<uint64_t> expected;
    for (const uint64_t one : SetsOf(std::vector{a})) {
      for (const uint64_t other : SetsOf(std::vector{b})) expected.insert(one & other);
    }
    EXPECT_EQ(SetsOf(std::vector{a & b}), expected) << round;
  }
}

TEST(NodeRangeTest, ContainsRangesAllOfWhoseSetsItHas) {
  std::mt19937_64 random(17);
  int contained = 0;
  for (int round = 0; round < 2000; ++round) {
    const NodeRange a = RandomRange(random), b = RandomRange(random);
    EXPECT_EQ(a.Contains(b), SetsOf(std::vector{a, b}) == SetsOf(std::vector{a})) << round;
    contained += a.Contains(b) ? 1 : 0;
  }
  EXPECT_GT(contained, 20);
}

// Ranges of six nodes' amounts, against each set.
TEST(RangesThatSufficeTest, AreTheSetsThatSuffice) {
  std::mt19937_64 random(18);
  size_t found = 0;
  for (int round = 0; round < 500; ++round) {
    std::array<uint64_t, 6> amounts;
    for (uint64_t& each : amounts) each = random() % 5;
    const uint64_t wanted = random() % 16;
    const NodeMask needed = Bits(random() & random() & random() & 63);
    const auto suffices = [&](NodeMask mask) {
      uint64_t sum = 0;
      for (const uint32_t node : mask.ToVector()) sum += amounts.at(node);
      return sum >= wanted;
    };
    std::vector<uint32_t> others;
    std::set<uint64_t> expected;
    for (uint32_t node = 0; node < 6; ++node) {
      if (!needed.Contains(node)) others.push_back(node);
    }
    std::shuffle(others.begin(), others.end(), random);
    for (uint64_t bits = 1; bits < 64; ++bits) {
      if (needed.IsSubsetOf(Bits(bits)) && suffices(Bits(bits))) expected.insert(bits);
    }
    EXPECT_EQ(SetsOf(RangesThatSuffice(needed, others, suffices)), expected) << round;
    // With the richest first, none is part of another.
    std::sort(others.begin(), others.end(),
              [&](uint32_t a, uint32_t b) { return amounts.at(a) > amounts.at(b); });
    const std::vector<NodeRange> ranges = RangesThatSuffice(needed, others, suffices);
    EXPECT_EQ(SetsOf(ranges), expected) << round;
    EXPECT_LE(ranges.size(), 20u);  // 6 over 3
    found += expected.size();
  }
  EXPECT_GT(found, 1000u);
}

TEST(RangesThatSufficeTest, OfWhatFitsOnEachNodeThereAreAsManyAsNodes) {
  std::vector<uint32_t> nodes;
  for (uint32_t node = 0; node < 16; ++node) nodes.push_back(node);
  EXPECT_EQ(RangesThatSuffice({}, nodes, [](NodeMask) { return true; }).size(), 16u);
  EXPECT_THAT(RangesThatSuffice({}, nodes, [](NodeMask) { return false; }), IsEmpty());
  EXPECT_THAT(RangesThatSuffice({}, {}, [](NodeMask) { return true; }), IsEmpty());
}

// Half of 64 nodes are too many sets to ask for: those found so far are true.
TEST(RangesThatSufficeTest, EndsOnMachinesOfManyNodes) {
  std::vector<uint32_t> nodes;
  for (uint32_t node = 0; node < 64; ++node) nodes.push_back(node);
  const std::vector<NodeRange> ranges =
      RangesThatSuffice({}, nodes, [](NodeMask mask) { return mask.Count() >= 32; });
  ASSERT_FALSE(ranges.empty());
  EXPECT_LT(ranges.size(), size_t{1} << 20);
  for (const NodeRange& each : ranges) ASSERT_EQ(each.least.Count(), 32);
}

}  // namespace
}  // namespace plimsoll::agent
