#include "agent/topology_manager/common_masks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>

namespace plimsoll::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

bool LowerBits(NodeMask a, NodeMask b) {
  return a.bits() < b.bits();
}

std::vector<NodeMask> Masks(const std::vector<uint64_t>& bits) {
  std::vector<NodeMask> masks;
  for (const uint64_t each : bits) masks.push_back(NodeMask::FromBits(each));
  return masks;
}

std::set<uint64_t> BitsOf(const CommonMasks& common) {
  std::set<uint64_t> bits;
  for (const NodeMask mask : common.masks()) {
    EXPECT_TRUE(bits.insert(mask.bits()).second) << "twice: " << mask.bits();
  }
  return bits;
}

TEST(CommonMasksTest, StartsWithAllNodes) {
  EXPECT_THAT(BitsOf(CommonMasks(NodeMask::FromBits(0b1011), LowerBits)), ElementsAre(0b1011));
  EXPECT_THAT(BitsOf(CommonMasks(NodeMask(), LowerBits)), IsEmpty());
}

TEST(CommonMasksTest, IntersectsOneMaskOfEachList) {
  CommonMasks common(NodeMask::FromBits(0b1111), LowerBits);
  common.Intersect(Masks({0b0011, 0b0110, 0b1110000}));  // the last one: no node of all
  EXPECT_THAT(BitsOf(common), ElementsAre(0b0011, 0b0110));
  common.Intersect(Masks({0b0001, 0b1110}));
  EXPECT_THAT(BitsOf(common), ElementsAre(0b0001, 0b0010, 0b0110));
  common.Intersect({});
  EXPECT_THAT(BitsOf(common), IsEmpty());
}

// Both ways to intersect, on nodes with and without holes; the masks of each pair are the judge.
TEST(CommonMasksTest, AgreesWithThePlainProduct) {
  std::mt19937_64 random(25);
  for (int round = 0; round < 60; ++round) {
    uint64_t all = 0;
    const int nodes = 1 + round % 11;
    const bool holes = random() % 2 == 0;
    while (std::popcount(all) < nodes) {
      all |= uint64_t{1} << (holes ? random() % 64 : static_cast<size_t>(std::popcount(all)));
    }
    std::set<uint64_t> expected = {all};
    CommonMasks common(NodeMask::FromBits(all), LowerBits);
    for (int list = 0; list < 3; ++list) {
      std::vector<uint64_t> masks(1 + random() % (size_t{1} << nodes));
      for (uint64_t& mask : masks) mask = random() & random();
      std::set<uint64_t> next;
      for (const uint64_t a : expected) {
        for (const uint64_t b : masks) next.insert(a & b);
      }
      next.erase(0);
      expected = next;
      common.Intersect(Masks(masks));
    }
    ASSERT_EQ(BitsOf(common), expected) << "round " << round;
  }
}

// All masks of 16 nodes in each of 6 lists: a walk over the product would take 2^96 steps.
TEST(CommonMasksTest, ManyLongListsEnd) {
  std::vector<NodeMask> every;
  for (uint64_t bits = 1; bits < 1u << 16; ++bits) every.push_back(NodeMask::FromBits(bits));
  CommonMasks common(NodeMask::FromBits(0xffff), LowerBits);
  for (int list = 0; list < 6; ++list) common.Intersect(every);
  EXPECT_EQ(common.masks().size(), 0xffffu);
}

TEST(CommonMasksTest, BeyondSixteenNodesTheBetterOnesGoOn) {
  std::vector<NodeMask> many;
  for (uint64_t bits = 1; bits <= 1u << 14; ++bits) many.push_back(NodeMask::FromBits(bits << 20));
  CommonMasks common(NodeMask::FromBits(~uint64_t{0}), LowerBits);
  for (int list = 0; list < 4; ++list) common.Intersect(many);
  const std::set<uint64_t> bits = BitsOf(common);
  EXPECT_LE(bits.size(), many.size());
  EXPECT_TRUE(bits.contains(uint64_t{1} << 20));
}

}  // namespace
}  // namespace plimsoll::agent
