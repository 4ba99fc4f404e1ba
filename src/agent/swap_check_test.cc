#include "agent/swap_check.h"

#include <string>

#include "base/dir_for_test.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plimsoll::agent {
namespace {

using ::testing::HasSubstr;

constexpr char kHeadline[] = "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n";

class SwapCheckTest : public ::testing::Test {
 protected:
  void PutSwaps(const std::string& lines) {
    ASSERT_TRUE(dir_.root().MakeDirs("proc").ok());
    ASSERT_TRUE(dir_.root().ReplaceFile("proc/swaps", kHeadline + lines).ok());
  }
  TestDir dir_;
  AgentConfig config_;
};

TEST_F(SwapCheckTest, ALineBelowTheHeadlineIsASwap) {
  EXPECT_FALSE(*IsSwapOn(dir_.root())) << "a kernel without swap";
  PutSwaps("");
  EXPECT_FALSE(*IsSwapOn(dir_.root()));
  PutSwaps("/dev/vda2 partition 1048572 0 -2\n");
  EXPECT_TRUE(*IsSwapOn(dir_.root()));
}

TEST_F(SwapCheckTest, SwapIsRefusedIfThatIsAskedFor) {
  PutSwaps("/dev/vda2 partition 1048572 0 -2\n");
  EXPECT_TRUE(CheckSwap(config_, dir_.root()).ok());
  config_.fail_swap_on = true;
  const absl::Status status = CheckSwap(config_, dir_.root());
  EXPECT_TRUE(absl::IsFailedPrecondition(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("set failSwapOn: false"));
  PutSwaps("");
  EXPECT_TRUE(CheckSwap(config_, dir_.root()).ok());
}

TEST_F(SwapCheckTest, OnlyCgroupV2KillsWholeContainers) {
  ASSERT_TRUE(dir_.root().MakeDirs("sys/fs/cgroup/memory").ok());
  EXPECT_TRUE(CheckOomKill(config_, dir_.root()).ok()) << "as the machine has it";
  config_.single_process_oom_kill = true;
  EXPECT_TRUE(CheckOomKill(config_, dir_.root()).ok());
  config_.single_process_oom_kill = false;
  const absl::Status status = CheckOomKill(config_, dir_.root());
  EXPECT_TRUE(absl::IsFailedPrecondition(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("singleProcessOOMKill: false needs"));
  ASSERT_TRUE(dir_.root().ReplaceFile("sys/fs/cgroup/cgroup.controllers", "memory\n").ok());
  EXPECT_TRUE(CheckOomKill(config_, dir_.root()).ok());
}

TEST_F(SwapCheckTest, NoswapCameWithKernel64) {
  EXPECT_FALSE(HasTmpfsNoswap("6.1.0-13-amd64"));
  EXPECT_FALSE(HasTmpfsNoswap("5.19"));
  EXPECT_TRUE(HasTmpfsNoswap("6.4.0"));
  EXPECT_TRUE(HasTmpfsNoswap("6.12-rc1"));
  EXPECT_TRUE(HasTmpfsNoswap("7.0.1"));
  EXPECT_FALSE(HasTmpfsNoswap("unknown"));
}

}  // namespace
}  // namespace plimsoll::agent
