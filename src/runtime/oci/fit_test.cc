#include "runtime/oci/fit.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plimsoll::runtime {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Settings as kubelet asks for them, on cgroup v2.
linux::CgroupSettings All() {
  linux::CgroupSettings all;
  all.cpu_shares = 512;
  all.cpu_quota_us = 50000;
  all.cpu_period_us = 100000;
  all.cpuset_cpus = "0";
  all.cpuset_mems = "0";
  all.memory_limit_bytes = 64 << 20;
  all.memory_swap_limit_bytes = 64 << 20;
  all.pids_limit = 100;
  all.hugetlb_limits = {{"2MB", 0}, {"1GB", 0}};
  all.unified = {{"memory.oom.group", "1"}};
  return all;
}

HostFeatures Whole() {
  HostFeatures machine;
  machine.layout = linux::CgroupLayout::kV2;
  machine.controllers = {"cpu", "cpuset", "hugetlb", "memory", "pids"};
  return machine;
}

class FitTest : public ::testing::Test {
 protected:
  linux::CgroupSettings Fit(const linux::CgroupSettings& asked) {
    warnings_.clear();
    return FitSettings(asked, &machine_, &warnings_);
  }
  HostFeatures machine_ = Whole();
  std::vector<std::string> warnings_;
};

TEST_F(FitTest, AWholeMachineTakesAll) {
  EXPECT_EQ(Fit(All()), All());
  EXPECT_THAT(warnings_, IsEmpty());
}

TEST_F(FitTest, WithoutControllersNothingIsLeftAndItIsSaid) {
  machine_.controllers.clear();
  linux::CgroupSettings rest;
  rest.unified = All().unified;
  EXPECT_EQ(Fit(All()), rest);
  EXPECT_THAT(warnings_, ElementsAre(HasSubstr("the machine lacks the controller")));
  // Values that ask for nothing are no loss.
  linux::CgroupSettings none;
  none.cpu_quota_us = -1;
  none.cpu_period_us = 100000;
  none.memory_limit_bytes = -1;
  none.hugetlb_limits = {{"2MB", 0}};
  EXPECT_EQ(Fit(none), linux::CgroupSettings());
  EXPECT_THAT(warnings_, IsEmpty());
}

TEST_F(FitTest, NoHugePagesAreNoLossWhereThereAreNone) {
  linux::CgroupSettings asked;
  asked.hugetlb_limits = {{"2MB", 4 << 20}, {"1GB", 0}};
  EXPECT_EQ(Fit(asked), asked);
  machine_.controllers = {"cpu"};
  EXPECT_EQ(Fit(asked), linux::CgroupSettings());
  EXPECT_THAT(warnings_, ElementsAre(HasSubstr("2MB huge pages is not enforced: no hugetlb")));
  EXPECT_TRUE(CheckSettings(asked, &machine_).ok()) << "as with any other controller";
}

TEST_F(FitTest, ASizeThatTheKernelLacksIsAMistakeWithoutAControllerToo) {
  machine_.controllers = {"cpu"};
  machine_.huge_page_sizes = {"2MB"};
  linux::CgroupSettings asked;
  asked.hugetlb_limits = {{"2MB", 4 << 20}, {"3MB", 0}};
  EXPECT_TRUE(CheckSettings(asked, &machine_).ok());
  asked.hugetlb_limits["3MB"] = 4 << 20;
  const absl::Status mistake = CheckSettings(asked, &machine_);
  EXPECT_TRUE(absl::IsInvalidArgument(mistake)) << mistake;
  EXPECT_THAT(std::string(mistake.message()),
              AllOf(HasSubstr("4 MiB (4194304 bytes) of 3MB huge pages"), HasSubstr("has: 2MB")));
}

// kubelet sends a limit of 0 for each size that it knows.
TEST_F(FitTest, SizesThatTheKernelLacksAreLeftOut) {
  machine_.huge_page_sizes = {"2MB", "64KB"};
  linux::CgroupSettings asked;
  asked.hugetlb_limits = {{"2MB", 4 << 20}, {"64KB", 0}, {"1GB", 0}};
  EXPECT_TRUE(CheckSettings(asked, &machine_).ok());
  linux::CgroupSettings held;
  held.hugetlb_limits = {{"2MB", 4 << 20}, {"64KB", 0}};
  EXPECT_EQ(Fit(asked), held);
  EXPECT_THAT(warnings_, IsEmpty());
  asked.hugetlb_limits["1GB"] = 1 << 30;
  EXPECT_EQ(Fit(asked), held) << "as a row may have it";
  EXPECT_THAT(warnings_, ElementsAre(HasSubstr("1GB huge pages is not enforced: the kernel")));
  const absl::Status mistake = CheckSettings(asked, &machine_);
  EXPECT_TRUE(absl::IsInvalidArgument(mistake)) << mistake;
  EXPECT_THAT(
      std::string(mistake.message()),
      AllOf(HasSubstr("1 GiB (1073741824 bytes) of 1GB huge pages"), HasSubstr("2MB, 64KB")));
  machine_.huge_page_sizes.emplace();
  EXPECT_THAT(std::string(CheckSettings(asked, &machine_).message()), HasSubstr("no sizes"));
  machine_.huge_page_sizes.reset();
  EXPECT_TRUE(CheckSettings(asked, &machine_).ok()) << "the kernel refuses what it doesn't have";
  EXPECT_EQ(Fit(asked), asked);
}

TEST_F(FitTest, SwapThatIsNotCountedIsNotLimited) {
  machine_.swap_accounting = false;
  linux::CgroupSettings asked;
  asked.memory_limit_bytes = 100;
  for (const auto& [both, warned] : {std::pair(-1, false), {100, false}, {150, true}}) {
    asked.memory_swap_limit_bytes = both;
    EXPECT_EQ(Fit(asked), linux::CgroupSettings{.memory_limit_bytes = 100});
    EXPECT_EQ(!warnings_.empty(), warned) << both;
  }
}

TEST_F(FitTest, RawFilesOfSwapNeedItsAccountingToo) {
  linux::CgroupSettings asked;
  asked.unified = {{"memory.swap.max", "1048576"}, {"memory.high", "1"}};
  EXPECT_EQ(Fit(asked), asked);
  machine_.swap_accounting = false;
  for (const auto& [value, warned] : {std::pair("0", false), {"max\n", false}, {"1048576", true}}) {
    asked.unified["memory.swap.max"] = value;
    EXPECT_EQ(Fit(asked).unified, (std::map<std::string, std::string>{{"memory.high", "1"}}));
    EXPECT_EQ(!warnings_.empty(), warned) << value;
  }
  EXPECT_THAT(warnings_, ElementsAre("unified \"memory.swap.max\" of 1048576 is not enforced: no "
                                     "swap accounting in the kernel"));
}

TEST_F(FitTest, RawFilesAreThoseOfVersionTwo) {
  for (const auto layout : {linux::CgroupLayout::kV1, linux::CgroupLayout::kHybrid}) {
    machine_.layout = layout;
    EXPECT_THAT(Fit(All()).unified, IsEmpty());
    EXPECT_THAT(warnings_, ElementsAre(HasSubstr("unified \"memory.oom.group\" is not written")));
  }
}

TEST_F(FitTest, AScoreIsClippedWhereItCannotBeLowered) {
  EXPECT_EQ(FitOomScoreAdj(-997, &machine_, &warnings_), -997);
  EXPECT_EQ(FitOomScoreAdj(-2000, &machine_, &warnings_), -1000);
  EXPECT_THAT(warnings_, IsEmpty());
  machine_.lowers_oom_score_adj = false;
  machine_.oom_score_adj = 5;
  EXPECT_EQ(FitOomScoreAdj(-997, &machine_, &warnings_), 5);
  EXPECT_THAT(warnings_, ElementsAre(HasSubstr("oom_score_adj is 5 instead of -997")));
  EXPECT_EQ(FitOomScoreAdj(1000, &machine_, &warnings_), 1000);
  EXPECT_EQ(warnings_.size(), 1u);
}

TEST_F(FitTest, AnUnknownMachineTakesAllAsAsked) {
  linux::CgroupSettings asked = All();
  asked.hugetlb_limits = {{"3MB", 1}};
  EXPECT_EQ(FitSettings(asked, nullptr, &warnings_), asked);
  EXPECT_TRUE(CheckSettings(asked, nullptr).ok());
  EXPECT_EQ(FitOomScoreAdj(-2000, nullptr, &warnings_), -2000);
  EXPECT_THAT(warnings_, IsEmpty());
}

}  // namespace
}  // namespace plimsoll::runtime
