#include "linux/io_priority.h"

#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plimsoll::linux {
namespace {

using ::testing::HasSubstr;

TEST(IoPriorityTest, ParsesClassesAndPriorities) {
  EXPECT_EQ(*ParseIoPriority("IOPRIO_CLASS_RT", 7), (1 << 13) | 7);
  EXPECT_EQ(*ParseIoPriority("IOPRIO_CLASS_BE", 0), 2 << 13);
  EXPECT_EQ(*ParseIoPriority("IOPRIO_CLASS_IDLE", 3), (3 << 13) | 3);
  EXPECT_EQ(*ParseIoPriority("IOPRIO_CLASS_NONE", 0), 0);
}

TEST(IoPriorityTest, RefusesOthers) {
  for (const int priority : {-1, 8}) {
    const auto refused = ParseIoPriority("IOPRIO_CLASS_BE", priority);
    EXPECT_TRUE(absl::IsInvalidArgument(refused.status())) << refused.status();
    EXPECT_THAT(refused.status().message(), HasSubstr("0 to 7"));
  }
  EXPECT_TRUE(absl::IsInvalidArgument(ParseIoPriority("IOPRIO_CLASS_NONE", 1).status()));
  EXPECT_THAT(ParseIoPriority("BE", 1).status().message(), HasSubstr("class \"BE\""));
}

TEST(IoPriorityTest, IsOfTheProcess) {
  const pid_t child = fork();
  if (child == 0) {
    pause();
    _exit(0);
  }
  const absl::Status set = SetIoPriority(child, *ParseIoPriority("IOPRIO_CLASS_IDLE", 0));
  EXPECT_TRUE(set.ok()) << set;
  EXPECT_EQ(syscall(SYS_ioprio_get, 1, child), 3 << 13);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_EQ(SetIoPriority(child, 3 << 13).ok(), false);
}

}  // namespace
}  // namespace plimsoll::linux
