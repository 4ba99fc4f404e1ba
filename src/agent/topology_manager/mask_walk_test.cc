#include "agent/topology_manager/mask_walk.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_join.h"

namespace plimsoll::agent {
namespace {

// "1 4 1+4": the sets before the one at which the walk is stopped.
std::string Walk(const std::vector<uint32_t>& nodes, NodeMask stop = {}, size_t size = 0) {
  std::vector<std::string> sets;
  const auto visit = [&](NodeMask mask) {
    if (mask == stop) return false;
    sets.push_back(absl::StrJoin(mask.ToVector(), "+"));
    return true;
  };
  const bool complete = size > 0 ? ForEachMaskOf(size, nodes, visit) : ForEachMask(nodes, visit);
  EXPECT_EQ(complete, stop.Empty());
  return absl::StrJoin(sets, " ");
}

TEST(MaskWalkTest, SmallerSetsComeFirstThenThoseWithTheLowerFirstNode) {
  EXPECT_EQ(Walk({1, 4, 63}), "1 4 63 1+4 1+63 4+63 1+4+63");
  EXPECT_EQ(Walk({}), "");
  EXPECT_EQ(Walk({0, 1, 2, 3}, {}, 3), "0+1+2 0+1+3 0+2+3 1+2+3");
  EXPECT_EQ(Walk({0, 1}, {}, 3), "");
}

TEST(MaskWalkTest, ItStopsWhenItIsTold) {
  EXPECT_EQ(Walk({0, 1, 2}, NodeMask::FromBits(0b110)), "0 1 2 0+1 0+2");
  EXPECT_EQ(Walk({0, 1, 2}, NodeMask::Of(0)), "");
  EXPECT_EQ(Walk({0, 1, 2}, NodeMask::FromBits(0b101), 2), "0+1");
}

}  // namespace
}  // namespace plimsoll::agent
