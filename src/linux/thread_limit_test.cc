#include "linux/thread_limit.h"

#include "base/dir_for_test.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plimsoll::linux {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class ThreadLimitTest : public ::testing::Test {
 protected:
  void Put(const std::string& file, const std::string& text) {
    ASSERT_TRUE(dir_.root().MakeDirs(file.substr(0, file.rfind('/'))).ok());
    ASSERT_TRUE(dir_.root().ReplaceFile(file, text).ok());
  }
  TestDir dir_;
};

TEST_F(ThreadLimitTest, AFullGroupAboveIsNamed) {
  for (const auto& [line, mount] :
       {std::pair<std::string, std::string>("0::/a/b\n", "sys/fs/cgroup"),
        {"7:cpu:/x\n4:pids:/a/b\n", "sys/fs/cgroup/pids"}}) {
    Put("proc/self/cgroup", line);
    Put(mount + "/a/b/pids.max", "max\n");
    Put(mount + "/a/b/pids.current", "12\n");
    Put(mount + "/a/pids.max", "40\n");
    Put(mount + "/a/pids.current", "39\n");
    EXPECT_THAT(ThreadLimitReached(dir_.root()), HasSubstr("no limit is seen to be reached"));
    Put(mount + "/a/pids.current", "40\n");
    EXPECT_EQ(ThreadLimitReached(dir_.root()), "pids.max of control group /a is 40");
    Put(mount + "/a/pids.current", "1\n");
  }
}

TEST_F(ThreadLimitTest, TheRootOfANamespaceIsAGroupToo) {
  Put("proc/self/cgroup", "0::/\n");
  Put("sys/fs/cgroup/pids.max", "40\n");
  Put("sys/fs/cgroup/pids.current", "40\n");
  EXPECT_EQ(ThreadLimitReached(dir_.root()), "pids.max of control group / is 40");
  Put("proc/self/cgroup", "0::/a\n");
  EXPECT_EQ(ThreadLimitReached(dir_.root()), "pids.max of control group / is 40");
}

TEST_F(ThreadLimitTest, TheKernelsOwnLimitIsNamedOnceItIsReached) {
  Put("proc/sys/kernel/threads-max", "300\n");
  Put("proc/loadavg", "0.10 0.20 0.30 2/299 4711\n");
  EXPECT_THAT(ThreadLimitReached(dir_.root()), HasSubstr("(kernel.threads-max is 300"));
  Put("proc/loadavg", "0.10 0.20 0.30 2/300 4711\n");
  EXPECT_EQ(ThreadLimitReached(dir_.root()), "kernel.threads-max is 300");
}

TEST_F(ThreadLimitTest, WhatCannotBeReadIsNoLimit) {
  EXPECT_THAT(ThreadLimitReached(dir_.root()), Not(HasSubstr("pids.max")));
}

}  // namespace
}  // namespace plimsoll::linux
