#include "agent/topology_manager/set_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "agent/topology_manager/hints_for_test.h"
#include "agent/topology_manager/superset_counts.h"

namespace plimsoll::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Ranges of up to 9 nodes, with holes between or not: a table of them has one word or several.
class RandomRanges {
 public:
  explicit RandomRanges(uint64_t seed) : random_(seed) {
    const uint32_t step = 1 + seed % 2 * 3;
    for (uint32_t i = 0; i < 1 + seed / 2 % 9; ++i) {
      nodes_.push_back(i * step);
      all_ |= uint64_t{1} << i * step;
    }
  }

  const std::vector<uint32_t>& nodes() const { return nodes_; }
  std::vector<NodeRange> Some() {
    std::vector<NodeRange> ranges(random_() % 6);
    const uint64_t most = random_() % 2 == 0 ? all_ : all_ & random_();
    for (NodeRange& each : ranges) {
      const uint64_t least = all_ & random_() & random_();
      const uint64_t above = random_() % 4 == 0 ? 0 : most;
      each = {NodeMask::FromBits(least), NodeMask::FromBits(least | above)};
    }
    return ranges;
  }

 private:
  std::mt19937_64 random_;
  std::vector<uint32_t> nodes_;
  uint64_t all_ = 0;
};

TEST(SetTableTest, HasTheSetsOfRangesAndTellsOfThemAgain) {
  for (uint64_t seed = 0; seed < 600; ++seed) {
    RandomRanges random(seed);
    const std::vector<NodeRange> ranges = random.Some();
    std::set<uint64_t> expected = SetsOf(ranges);
    const SetTable table(ranges, random.nodes());
    for (size_t number = 0; number < table.numbers().count(); ++number) {
      const NodeMask mask = table.numbers().MaskAt(number);
      EXPECT_EQ(table.numbers().Of(mask), number);
      EXPECT_EQ(table.Contains(mask), expected.contains(mask.bits())) << seed;
    }
    std::set<uint64_t> again = SetsOf(table.Ranges());
    again.erase(0);
    expected.erase(0);
    ASSERT_EQ(again, expected) << seed;
  }
}

TEST(SetTableTest, TellsOfAllSetsAboveSomeByTheLeast) {
  const std::vector<uint32_t> nodes = {0, 1, 2, 3, 4, 5, 6, 7};
  const auto range = [](uint64_t least, uint64_t most) {
    return NodeRange{NodeMask::FromBits(least), NodeMask::FromBits(most)};
  };
  EXPECT_THAT(SetTable({range(3, 255), range(128, 255), range(131, 255)}, nodes).Ranges(),
              ElementsAre(range(3, 255), range(128, 255)));
  EXPECT_THAT(SetTable({range(1, 1), range(2, 2), range(3, 3)}, nodes).Ranges(),
              ElementsAre(range(0, 3)));
  EXPECT_THAT(SetTable({range(1, 1), range(6, 6)}, nodes).Ranges(),
              ElementsAre(range(1, 1), range(6, 6)));
  EXPECT_THAT(SetTable(std::vector<NodeRange>(), nodes).Ranges(), IsEmpty());
}

TEST(SupersetCountsTest, AreTheIntersectionsOfEachPair) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    RandomRanges random(seed);
    const std::vector<NodeRange> some = random.Some(), others = random.Some();
    std::set<uint64_t> expected;
    for (const uint64_t a : SetsOf(some)) {
      for (const uint64_t b : SetsOf(others)) expected.insert(a & b);
    }
    expected.erase(0);
    SupersetCounts counts(SetTable(some, random.nodes()));
    counts.Multiply(SupersetCounts(SetTable(others, random.nodes())));
    std::set<uint64_t> found = SetsOf(std::move(counts).Table().Ranges());
    found.erase(0);
    ASSERT_EQ(found, expected) << seed;
  }
}

}  // namespace
}  // namespace plimsoll::agent
