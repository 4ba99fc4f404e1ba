#include "linux/scheduling.h"

#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plimsoll::linux {
namespace {

using ::testing::HasSubstr;

TEST(SchedulingTest, TakesThePoliciesOfTheKernel) {
  EXPECT_TRUE(CheckScheduling({.policy = "SCHED_OTHER", .nice = -20}).ok());
  EXPECT_TRUE(CheckScheduling({.policy = "SCHED_IDLE"}).ok());
  EXPECT_TRUE(
      CheckScheduling({.policy = "SCHED_RR", .priority = 99, .flags = {"SCHED_FLAG_RESET_ON_FORK"}})
          .ok());
  EXPECT_TRUE(
      CheckScheduling({.policy = "SCHED_DEADLINE", .runtime_ns = 1, .deadline_ns = 2}).ok());
}

TEST(SchedulingTest, RefusesValuesOfOtherPolicies) {
  const auto message = [](const Scheduling& scheduling) {
    const absl::Status refused = CheckScheduling(scheduling);
    EXPECT_TRUE(absl::IsInvalidArgument(refused)) << refused;
    return std::string(refused.message());
  };
  EXPECT_THAT(message({.policy = "FIFO"}), HasSubstr("policy \"FIFO\""));
  EXPECT_THAT(message({.policy = "SCHED_OTHER", .nice = 20}), HasSubstr("nice is 20"));
  EXPECT_THAT(message({.policy = "SCHED_IDLE", .nice = 1}), HasSubstr("nice is 1"));
  EXPECT_THAT(message({.policy = "SCHED_FIFO"}), HasSubstr("priority is 0"));
  EXPECT_THAT(message({.policy = "SCHED_BATCH", .priority = 1}), HasSubstr("priority is 1"));
  EXPECT_THAT(message({.policy = "SCHED_BATCH", .period_ns = 1}), HasSubstr("SCHED_DEADLINE"));
  EXPECT_THAT(message({.policy = "SCHED_DEADLINE", .runtime_ns = 3, .deadline_ns = 2}),
              HasSubstr("runtime 3"));
  EXPECT_THAT(message({.policy = "SCHED_OTHER", .flags = {"X"}}), HasSubstr("flag \"X\""));
}

TEST(SchedulingTest, SaysWhatThereIsNoRoomFor) {
  EXPECT_TRUE(absl::IsUnimplemented(CheckScheduling({.policy = "SCHED_ISO"})));
  const absl::Status clamp =
      CheckScheduling({.policy = "SCHED_OTHER", .flags = {"SCHED_FLAG_UTIL_CLAMP_MIN"}});
  EXPECT_TRUE(absl::IsUnimplemented(clamp)) << clamp;
}

TEST(SchedulingTest, IsOfTheProcess) {
  const pid_t child = fork();
  if (child == 0) {
    pause();
    _exit(0);
  }
  const absl::Status set = SetScheduling(child, {.policy = "SCHED_BATCH", .nice = 5});
  EXPECT_TRUE(set.ok()) << set;
  EXPECT_EQ(sched_getscheduler(child), SCHED_BATCH);
  EXPECT_EQ(getpriority(PRIO_PROCESS, static_cast<id_t>(child)), 5);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_FALSE(SetScheduling(child, {.policy = "SCHED_BATCH"}).ok());
}

}  // namespace
}  // namespace plimsoll::linux
