#include "agent/topology_manager/common_ranges.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "agent/topology_manager/hints_for_test.h"

namespace plimsoll::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

bool LowerBits(NodeMask a, NodeMask b) {
  return a.bits() < b.bits();
}

NodeRange Range(uint64_t least, uint64_t most) {
  return {.least = NodeMask::FromBits(least), .most = NodeMask::FromBits(most)};
}

// Ranges of one set each.
std::vector<NodeRange> Masks(const std::vector<uint64_t>& bits) {
  std::vector<NodeRange> ranges;
  for (const uint64_t each : bits) ranges.push_back(Range(each, each));
  return ranges;
}

std::set<uint64_t> BitsOf(const CommonRanges& common) {
  for (const NodeRange& each : common.ranges()) EXPECT_TRUE(each.least.IsSubsetOf(each.most));
  std::set<uint64_t> bits = SetsOf(common.ranges());
  bits.erase(0);
  return bits;
}

TEST(CommonRangesTest, StartsWithAllNodes) {
  EXPECT_THAT(BitsOf(CommonRanges(NodeMask::FromBits(0b1011), LowerBits)), ElementsAre(0b1011));
  EXPECT_THAT(BitsOf(CommonRanges(NodeMask(), LowerBits)), IsEmpty());
}

TEST(CommonRangesTest, IntersectsOneMaskOfEachList) {
  CommonRanges common(NodeMask::FromBits(0b1111), LowerBits);
  common.Intersect(Masks({0b0011, 0b0110, 0b1110000}));  // the last one: no node of all
  EXPECT_THAT(BitsOf(common), ElementsAre(0b0011, 0b0110));
  common.Intersect(Masks({0b0001, 0b1110}));
  EXPECT_THAT(BitsOf(common), ElementsAre(0b0001, 0b0010, 0b0110));
  common.Intersect({});
  EXPECT_THAT(BitsOf(common), IsEmpty());
}

// A request that fits on each node of a machine has all sets, whatever list comes first.
TEST(CommonRangesTest, RangesTellManyAtOnce) {
  std::vector<NodeRange> each_node;
  for (uint32_t node = 0; node < 16; ++node) each_node.push_back(Range(1u << node, 0xffff));
  CommonRanges common(NodeMask::FromBits(0xffff), LowerBits);
  common.Intersect(each_node);
  EXPECT_EQ(common.ranges().size(), 16u);
  common.Intersect(each_node);
  EXPECT_THAT(common.ranges(), ElementsAre(Range(0, 0xffff)));
  common.Intersect({Range(0b11, 0xf), Range(0b11, 0xff), Range(0b1110, 0b1110)});
  EXPECT_THAT(common.ranges(), ElementsAre(Range(0, 0xff))) << "the others are parts of it";
}

// All ways to intersect, on nodes with and without holes; the masks of each pair are the judge.
TEST(CommonRangesTest, AgreesWithThePlainProduct) {
  std::mt19937_64 random(25);
  for (int round = 0; round < 44; ++round) {
    uint64_t all = 0;
    const int nodes = 1 + round % 11;
    const bool holes = random() % 2 == 0;
    const bool wide = random() % 2 == 0;
    while (std::popcount(all) < nodes) {
      all |= uint64_t{1} << (holes ? random() % 64 : static_cast<size_t>(std::popcount(all)));
    }
    std::set<uint64_t> expected = {all};
    CommonRanges common(NodeMask::FromBits(all), LowerBits);
    for (int list = 0; list < 3; ++list) {
      std::vector<NodeRange> ranges(1 + random() % (wide ? 20 : size_t{1} << nodes));
      for (NodeRange& each : ranges) {
        const uint64_t least = random() & (wide ? random() | random() : random());
        each = Range(least, wide ? least | (random() & all) : least);
      }
      // Nodes beyond all would only make it longer.
      for (NodeRange& each : ranges) {
        each = {each.least, each.least | (each.most & NodeMask::FromBits(all))};
      }
      const std::set<uint64_t> of_list = SetsOf(ranges);
      std::set<uint64_t> next;
      for (const uint64_t a : expected) {
        for (const uint64_t b : of_list) next.insert(a & b);
      }
      next.erase(0);
      expected = next;
      common.Intersect(ranges);
      ASSERT_EQ(BitsOf(common), expected) << "round " << round;
    }
  }
}

// Two lists of all halves of 16 nodes, and more: too many pairs, so that they are counted.
TEST(CommonRangesTest, LongListsOfRangesAreCounted) {
  std::vector<NodeRange> halves;
  for (uint64_t bits = 1; bits < 1u << 16; ++bits) {
    if (std::popcount(bits) == 10) halves.push_back(Range(bits, 0xffff));
  }
  CommonRanges common(NodeMask::FromBits(0xffff), LowerBits);
  common.Intersect(halves);
  common.Intersect(halves);
  std::set<uint64_t> expected;  // of the nodes, 4 each can be missing on one side alone
  for (uint64_t bits = 1; bits < 1u << 16; ++bits) {
    if (std::popcount(bits) >= 4) expected.insert(bits);
  }
  EXPECT_EQ(BitsOf(common), expected);
}

// All masks of 16 nodes in each of 6 lists: a walk over the product would take 2^96 steps.
TEST(CommonRangesTest, ManyLongListsEnd) {
  std::vector<uint64_t> every;
  for (uint64_t bits = 1; bits < 1u << 16; ++bits) every.push_back(bits);
  CommonRanges common(NodeMask::FromBits(0xffff), LowerBits);
  for (int list = 0; list < 6; ++list) common.Intersect(Masks(every));
  EXPECT_EQ(BitsOf(common).size(), 0xffffu);
}

TEST(CommonRangesTest, BeyondSixteenNodesTheBetterOnesGoOn) {
  std::vector<uint64_t> many;
  for (uint64_t bits = 1; bits <= 1u << 14; ++bits) many.push_back(bits << 20);
  CommonRanges common(NodeMask::FromBits(~uint64_t{0}), LowerBits);
  for (int list = 0; list < 3; ++list) common.Intersect(Masks(many));
  const std::set<uint64_t> bits = BitsOf(common);
  EXPECT_LE(bits.size(), many.size());
  EXPECT_TRUE(bits.contains(uint64_t{1} << 20));
}

}  // namespace
}  // namespace plimsoll::agent
