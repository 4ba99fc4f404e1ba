#include "runtime/cgroups/node_share.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/cgroups/confine.h"

namespace plimsoll::runtime {
namespace {

using linux::CgroupSettings;
using resources::CpuSet;

NodeShare ShareOf(const char* cpus, const char* nodes, bool is_whole = false) {
  return {
      .cpus = *CpuSet::Parse(cpus), .memory_nodes = *CpuSet::Parse(nodes), .is_whole = is_whole};
}

// Confine before any CPU or memory node is removed.
absl::StatusOr<Confined> New(const CgroupSettings& asked, OutsideShare outside,
                             bool is_new = true) {
  return Confine(asked, ShareOf("2-5", "0"), NodeShare(), outside, is_new);
}

// Confine after CPUs 6-7 and node 1 have left the share.
absl::StatusOr<Confined> Later(const CgroupSettings& asked, OutsideShare outside) {
  return Confine(asked, ShareOf("2-5", "0"), ShareOf("2-7", "0-1"), outside, /*is_new=*/true);
}

TEST(ConfineTest, WhoBringsNoCpusetGetsTheShare) {
  for (const OutsideShare outside : {OutsideShare::kClip, OutsideShare::kRefuse}) {
    for (const CgroupSettings& asked :
         {CgroupSettings{.cpu_shares = 5},
          CgroupSettings{.cpu_shares = 5, .cpuset_cpus = "", .cpuset_mems = ""}}) {
      const auto confined = New(asked, outside);
      ASSERT_TRUE(confined.ok()) << confined.status();
      EXPECT_EQ(confined->settings,
                (CgroupSettings{.cpu_shares = 5, .cpuset_cpus = "2-5", .cpuset_mems = "0"}));
      EXPECT_EQ(confined->lost, "");
    }
  }
}

TEST(ConfineTest, WhatIsInsideStays) {
  const auto confined = New({.cpuset_cpus = "3,5"}, OutsideShare::kRefuse);
  ASSERT_TRUE(confined.ok()) << confined.status();
  EXPECT_EQ(confined->settings, (CgroupSettings{.cpuset_cpus = "3,5", .cpuset_mems = "0"}));
}

TEST(ConfineTest, AnUpdateThatSaysNothingOfItChangesNothing) {
  const CgroupSettings asked = {.cpu_shares = 5};
  const auto confined = New(asked, OutsideShare::kRefuse, /*is_new=*/false);
  ASSERT_TRUE(confined.ok()) << confined.status();
  EXPECT_EQ(confined->settings, asked);
  // An update that removes the limit gives the share.
  EXPECT_EQ(
      *New({.cpuset_cpus = ""}, OutsideShare::kRefuse, /*is_new=*/false)->settings.cpuset_cpus,
      "2-5");
}

TEST(ConfineTest, WhatIsOutsideIsRefusedByName) {
  const absl::Status cpus = New({.cpuset_cpus = "0-7"}, OutsideShare::kRefuse).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(cpus));
  EXPECT_EQ(cpus.message(),
            "cpuset_cpus is \"0-7\", but CPUs 0-1,6-7 are outside of this node's share for pods "
            "(nodeResources): 2-5");
  const absl::Status nodes = New({.cpuset_mems = "0-1"}, OutsideShare::kRefuse).status();
  EXPECT_EQ(nodes.message(),
            "cpuset_mems is \"0-1\", but memory nodes 1 are outside of this node's share for "
            "pods (nodeResources): 0");
}

TEST(ConfineTest, OrClipped) {
  const auto confined = New({.cpuset_cpus = "0-2,7", .cpuset_mems = "0-1"}, OutsideShare::kClip);
  ASSERT_TRUE(confined.ok()) << confined.status();
  EXPECT_EQ(confined->settings, (CgroupSettings{.cpuset_cpus = "2", .cpuset_mems = "0"}));
  EXPECT_EQ(confined->lost, "CPUs 0-1,7 and memory nodes 1");
  EXPECT_TRUE(
      absl::IsFailedPrecondition(New({.cpuset_cpus = "0-1"}, OutsideShare::kClip).status()));
}

TEST(ConfineTest, RawFilesCountToo) {
  const auto confined = New({.unified = {{"cpuset.cpus", "0-3"}}}, OutsideShare::kClip);
  ASSERT_TRUE(confined.ok()) << confined.status();
  EXPECT_EQ(confined->settings.unified.at("cpuset.cpus"), "2-3");
  EXPECT_FALSE(confined->settings.cpuset_cpus.has_value());
  EXPECT_EQ(confined->lost, "CPUs 0-1");
  EXPECT_TRUE(absl::IsFailedPrecondition(
      New({.unified = {{"cpuset.mems", "1"}}}, OutsideShare::kRefuse).status()));
}

TEST(ConfineTest, AListThatCannotBeReadIsRefused) {
  const absl::Status status = New({.cpuset_cpus = "3-1"}, OutsideShare::kClip).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
}

TEST(ConfineTest, TheWholeNodeConfinesNobody) {
  for (const CgroupSettings& asked : {CgroupSettings{}, CgroupSettings{.cpuset_cpus = "0-900"}}) {
    const auto confined = Confine(asked, ShareOf("0-3", "0", /*is_whole=*/true),
                                  ShareOf("0-3", "0"), OutsideShare::kRefuse, true);
    ASSERT_TRUE(confined.ok()) << confined.status();
    EXPECT_EQ(confined->settings, asked);
  }
}

// A kubelet goes on sending the CPUs that it found at its start.
TEST(ConfineTest, WhatWentIsClippedAndOnlyWhatWasNeverToldIsRefused) {
  const auto confined = Later({.cpuset_cpus = "4-7", .cpuset_mems = "0-1"}, OutsideShare::kRefuse);
  ASSERT_TRUE(confined.ok()) << confined.status();
  EXPECT_EQ(confined->settings, (CgroupSettings{.cpuset_cpus = "4-5", .cpuset_mems = "0"}));
  EXPECT_EQ(confined->lost, "CPUs 6-7 and memory nodes 1");
  const absl::Status never = Later({.cpuset_cpus = "0,4-7"}, OutsideShare::kRefuse).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(never)) << never;
  EXPECT_THAT(std::string(never.message()), ::testing::HasSubstr("but CPUs 0 are outside"));
}

TEST(ConfineTest, WhereAllOfItWentAllOfTheShareIsGiven) {
  for (const OutsideShare outside : {OutsideShare::kClip, OutsideShare::kRefuse}) {
    const auto confined = Later({.cpuset_cpus = "7"}, outside);
    ASSERT_TRUE(confined.ok()) << confined.status();
    EXPECT_EQ(*confined->settings.cpuset_cpus, "2-5");
    EXPECT_EQ(confined->lost, "CPUs 7");
    EXPECT_TRUE(absl::IsFailedPrecondition(Later({.cpuset_cpus = "0"}, outside).status()));
  }
}

TEST(ConfineTest, OfAWholeNodeWhatWentIsClipped) {
  const auto now = [](const CgroupSettings& asked) {
    return *Confine(asked, ShareOf("0-2", "0", /*is_whole=*/true), ShareOf("0-3", "0-1"),
                    OutsideShare::kRefuse, /*is_new=*/true);
  };
  EXPECT_EQ(now({.cpuset_cpus = "1-3"}).settings, (CgroupSettings{.cpuset_cpus = "1-2"}));
  EXPECT_EQ(now({.cpuset_cpus = "1-3"}).lost, "CPUs 3");
  EXPECT_EQ(now({.cpuset_cpus = "3", .cpuset_mems = "1"}).settings,
            (CgroupSettings{.cpuset_cpus = "0-2", .cpuset_mems = "0"}));
  EXPECT_EQ(now({.unified = {{"cpuset.cpus", "2-3"}}}).settings.unified.at("cpuset.cpus"), "2");
}

TEST(FollowTest, WhoBroughtNoCpusetGoesWhereTheShareGoes) {
  EXPECT_EQ(Follow({.cpu_shares = 5}, ShareOf("2-5", "0")).settings,
            (CgroupSettings{.cpuset_cpus = "2-5", .cpuset_mems = "0"}));
  EXPECT_EQ(Follow({}, ShareOf("0-7", "0-1", /*is_whole=*/true)).settings,
            (CgroupSettings{.cpuset_cpus = "", .cpuset_mems = ""}));
}

TEST(FollowTest, WhatIsLeftOfWhatWasAskedFor) {
  const Confined confined =
      Follow({.cpuset_cpus = "1-3", .cpuset_mems = "0-1"}, ShareOf("2-5", "0"));
  EXPECT_EQ(confined.settings, (CgroupSettings{.cpuset_cpus = "2-3", .cpuset_mems = "0"}));
  EXPECT_EQ(confined.lost, "CPUs 1 and memory nodes 1");
  // CPU 1 is back again.
  EXPECT_EQ(Follow({.cpuset_cpus = "1-3"}, ShareOf("0-7", "0", true)).settings,
            (CgroupSettings{.cpuset_cpus = "1-3", .cpuset_mems = ""}));
}

TEST(FollowTest, WhereNothingIsLeftAllOfTheShare) {
  for (const bool is_whole : {false, true}) {
    const Confined confined = Follow({.cpuset_cpus = "7"}, ShareOf("2-5", "0", is_whole));
    EXPECT_EQ(*confined.settings.cpuset_cpus, "2-5");
    EXPECT_EQ(confined.lost, "CPUs 7");
  }
}

TEST(FollowTest, OfWhatIsNotKnownNothingIsSaid) {
  EXPECT_EQ(Follow({.cpuset_cpus = "7"}, NodeShare()).settings, CgroupSettings());
}

}  // namespace
}  // namespace plimsoll::runtime
