#include "agent/cpu_manager/packed_taker.h"

#include "agent/cpu_manager/machine_for_test.h"
#include "gtest/gtest.h"

namespace plimsoll::agent {
namespace {

class PackedTakerTest : public ::testing::Test {
 protected:
  // `taken`: all others are free. The error's text if it fails.
  std::string Take(const MachineShape& shape, int64_t count, absl::string_view taken = "",
                   PackedStyle style = {}) {
    const CpuLayout layout(*MakeMachine(shape));
    const auto cpus = TakePacked(layout, layout.cpus().Difference(Cpus(taken)), count, style);
    if (cpus.ok()) return cpus->ToString();
    EXPECT_TRUE(absl::IsFailedPrecondition(cpus.status()));
    return std::string(cpus.status().message());
  }

  // Package 0 has 0-3 and their siblings 8-11, package 1 has 4-7 and 12-15.
  const MachineShape two_packages_{.packages = 2, .cores_per_cache = 4, .threads = 2};
  // Like two_packages_, but 0-1 with 8-9 are node 0, 2-3 with 10-11 node 1, and so on.
  const MachineShape sub_numa_{
      .packages = 2, .nodes_per_package = 2, .cores_per_cache = 2, .threads = 2};
  // Four caches: 0-3 with 16-19, 4-7 with 20-23, and so on.
  const MachineShape four_caches_{.caches_per_node = 4, .cores_per_cache = 4, .threads = 2};
  // 0-1, 2-3, 4-5 and 6-7 are performance cores, 8 to 11 efficient ones.
  const MachineShape hybrid_{.cores_per_cache = 4,
                             .threads = 2,
                             .single_thread_cores = 4,
                             .numbering = MachineShape::Numbering::kThreadsTogether};
};

TEST_F(PackedTakerTest, TakesWholePackagesFirst) {
  EXPECT_EQ(Take(two_packages_, 8), "0-3,8-11");
  EXPECT_EQ(Take(two_packages_, 8, "0"), "4-7,12-15");
  EXPECT_EQ(Take(two_packages_, 10), "0-4,8-12");
  EXPECT_EQ(Take(two_packages_, 16), "0-15");
}

TEST_F(PackedTakerTest, ThenWholeCoresWhereTheFewestAreFree) {
  EXPECT_EQ(Take(two_packages_, 2), "0,8");
  EXPECT_EQ(Take(two_packages_, 4, "4-5,12-13"), "6-7,14-15");
  EXPECT_EQ(Take(two_packages_, 2, "0-1"), "2,10") << "halves of cores are left";
}

TEST_F(PackedTakerTest, ThenSingleThreadsWithHalfUsedCoresFirst) {
  EXPECT_EQ(Take(two_packages_, 3), "0-1,8");
  EXPECT_EQ(Take(two_packages_, 1, "0"), "8");
  EXPECT_EQ(Take(two_packages_, 5, "1,13"), "0,2,8-10");
}

TEST_F(PackedTakerTest, TakesWholeNodesWithinPackages) {
  EXPECT_EQ(Take(sub_numa_, 4), "0-1,8-9");
  EXPECT_EQ(Take(sub_numa_, 12), "0-5,8-13");
  EXPECT_EQ(Take(sub_numa_, 4, "0"), "2-3,10-11") << "the package with the fewest first";
}

TEST_F(PackedTakerTest, TakesWholePackagesWithinNodes) {
  // Packages 0-1, 2-3 in node 0, 4-5, 6-7 in node 1.
  const MachineShape shape{.packages = 4, .packages_per_node = 2, .cores_per_cache = 2};
  EXPECT_EQ(Take(shape, 4, "0"), "4-7");
  EXPECT_EQ(Take(shape, 2, "0"), "2-3");
  EXPECT_EQ(Take(shape, 6), "0-5");
}

TEST_F(PackedTakerTest, FollowsTheNumberingOfTheMachine) {
  MachineShape shape = two_packages_;
  shape.numbering = MachineShape::Numbering::kPackagesInTurn;
  EXPECT_EQ(Take(shape, 8), "0,2,4,6,8,10,12,14");
  EXPECT_EQ(Take(shape, 4, "0"), "2,4,10,12");
  shape.numbering = MachineShape::Numbering::kThreadsTogether;
  EXPECT_EQ(Take(shape, 8), "0-7");
  EXPECT_EQ(Take(shape, 3), "0-2");
}

TEST_F(PackedTakerTest, SpreadsOverCores) {
  const PackedStyle spread{.spread_over_cores = true};
  EXPECT_EQ(Take(two_packages_, 4, "", spread), "0-3");
  EXPECT_EQ(Take(two_packages_, 6, "", spread), "0-3,8-9");
  EXPECT_EQ(Take(two_packages_, 3, "4-6", spread), "7,12-13") << "the fullest package first";
  EXPECT_EQ(Take(two_packages_, 9, "", spread), "0-4,8-11") << "whole packages all the same";
  // kubelet goes by the numbers of CPUs.
  MachineShape together = two_packages_;
  together.numbering = MachineShape::Numbering::kThreadsTogether;
  EXPECT_EQ(Take(together, 4, "", spread), "0-3");
}

TEST_F(PackedTakerTest, AlignsToCaches) {
  const PackedStyle align{.align_to_caches = true};
  EXPECT_EQ(Take(four_caches_, 8, "0", align), "4-7,20-23");
  EXPECT_EQ(Take(four_caches_, 4, "0-1,16-17", align), "2-3,18-19") << "the fullest that fits";
  EXPECT_EQ(Take(four_caches_, 6, "0-1,16-17", align), "4-6,20-22");
  EXPECT_EQ(Take(four_caches_, 6, "0-1,16-17"), "2-4,18-20") << "without the option";
  EXPECT_EQ(Take(four_caches_, 12, "0-1,16-17", align), "2-7,18-23");
  EXPECT_EQ(Take(four_caches_, 24, "", align), "0-11,16-27");
}

TEST_F(PackedTakerTest, AlignsOddNumbersToCachesWithTheLowestThreads) {
  const PackedStyle align{.align_to_caches = true};
  EXPECT_EQ(Take(four_caches_, 3, "", align), "0-1,16");
  EXPECT_EQ(Take(four_caches_, 1, "0", align), "16");
  EXPECT_EQ(Take(four_caches_, 9, "", align), "0-4,16-19");
}

TEST_F(PackedTakerTest, WithoutACacheThatFitsTakesCores) {
  EXPECT_EQ(Take(four_caches_, 4, "0-2,4-6,8-10,12-14,16-18,20-22,24-26,28-30",
                 {.align_to_caches = true}),
            "3,7,19,23");
}

// kubelet's whole core is one with as many free CPUs as a core has on average: here 1.
TEST_F(PackedTakerTest, TakesEfficientCoresFirst) {
  EXPECT_EQ(Take(hybrid_, 2), "8-9");
  EXPECT_EQ(Take(hybrid_, 6), "0-1,8-11");
}

TEST_F(PackedTakerTest, GivesNoCpuTwiceWhereCoresDiffer) {
  // To kubelet core 0-1 is free with one free CPU, and it would give both.
  EXPECT_EQ(Take(hybrid_, 2, "0"), "8-9");
  EXPECT_EQ(Take(hybrid_, 7, "0,8-11"), "1-7");
  // Nor half-offline cores: 0 lacks its sibling 2.
  EXPECT_EQ(Take({.cores_per_cache = 2, .threads = 2, .offline = Cpus("2")}, 2, "1"), "0,3");
}

TEST_F(PackedTakerTest, TooFewIsAnErrorInKubeletsWords) {
  EXPECT_EQ(Take(two_packages_, 17),
            "not enough cpus available to satisfy request: requested=17, available=16");
  EXPECT_EQ(Take(two_packages_, 3, "2-15"),
            "not enough cpus available to satisfy request: requested=3, available=2");
}

TEST_F(PackedTakerTest, CpusThatTheMachineLacksAreIgnored) {
  const CpuLayout layout(*MakeMachine(two_packages_));
  EXPECT_FALSE(TakePacked(layout, Cpus("0,99"), 2, {}).ok());
  EXPECT_EQ(TakePacked(layout, Cpus("0,99"), 1, {})->ToString(), "0");
}

TEST_F(PackedTakerTest, NothingNeedsNothing) {
  EXPECT_EQ(Take(two_packages_, 0, "0-15"), "");
  EXPECT_EQ(Take(two_packages_, -1), "");
}

}  // namespace
}  // namespace plimsoll::agent
