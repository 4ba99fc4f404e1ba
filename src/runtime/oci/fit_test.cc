#include "runtime/oci/fit.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plimsoll::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// As kubelet asks, on cgroup v2.
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

Machine Whole() {
  Machine machine;
  machine.layout = linux::CgroupLayout::kV2;
  machine.controllers = {"cpu", "cpuset", "hugetlb", "memory", "pids"};
  return machine;
}

class FitTest : public ::testing::Test {
 protected:
  linux::CgroupSettings Fit(const linux::CgroupSettings& asked) {
    warnings_.clear();
    return FitSettings(asked, machine_, &warnings_);
  }
  Machine machine_ = Whole();
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
  // What asks for nothing is no loss.
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

TEST_F(FitTest, RawFilesAreThoseOfVersionTwo) {
  for (const auto layout : {linux::CgroupLayout::kV1, linux::CgroupLayout::kHybrid}) {
    machine_.layout = layout;
    EXPECT_THAT(Fit(All()).unified, IsEmpty());
    EXPECT_THAT(warnings_, ElementsAre(HasSubstr("unified \"memory.oom.group\" is not written")));
  }
}

TEST_F(FitTest, AScoreIsClippedWhereItCannotBeLowered) {
  EXPECT_EQ(FitOomScoreAdj(-997, machine_, &warnings_), -997);
  EXPECT_EQ(FitOomScoreAdj(-2000, machine_, &warnings_), -1000);
  EXPECT_THAT(warnings_, IsEmpty());
  machine_.lowers_oom_score_adj = false;
  machine_.oom_score_adj = 5;
  EXPECT_EQ(FitOomScoreAdj(-997, machine_, &warnings_), 5);
  EXPECT_THAT(warnings_, ElementsAre(HasSubstr("oom_score_adj is 5 instead of -997")));
  EXPECT_EQ(FitOomScoreAdj(1000, machine_, &warnings_), 1000);
  EXPECT_EQ(warnings_.size(), 1u);
}

}  // namespace
}  // namespace plimsoll::runtime
