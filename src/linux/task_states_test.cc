#include "linux/task_states.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/dir_for_test.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plimsoll::linux {
namespace {

using ::testing::HasSubstr;

// The fields of proc/<pid>/stat up to the number of threads.
std::string Stat(int pid, char state, int threads) {
  return absl::StrCat(pid, " (a ) R (b) ", std::string(1, state),
                      " 1 1 1 0 -1 4194560 10 0 0 0 1 2 0 0 20 0 ", threads, " 0 12345 4096 100\n");
}

class TaskStatesTest : public ::testing::Test {
 protected:
  void Put(const std::string& process, const std::string& text) {
    ASSERT_TRUE(dir_.root().MakeDirs(absl::StrCat("proc/", process)).ok());
    ASSERT_TRUE(dir_.root().ReplaceFile(absl::StrCat("proc/", process, "/stat"), text).ok());
  }
  TestDir dir_;
};

TEST_F(TaskStatesTest, AreThoseOfAllThreads) {
  Put("1", Stat(1, 'S', 1));
  Put("2", Stat(2, 'T', 1));
  Put("3", Stat(3, 'Z', 5));
  Put("3/task/3", Stat(3, 'Z', 5));
  Put("3/task/4", Stat(4, 'R', 5));
  Put("3/task/5", Stat(5, 'D', 5));
  Put("3/task/6", Stat(6, 't', 5));
  ASSERT_TRUE(dir_.root().MakeDirs("proc/3/task/7").ok());  // a thread that has just ended
  EXPECT_EQ(*CountTaskStates(dir_.root(), {1, 2, 3, 77}, 100),
            (TaskStates{.running = 1, .sleeping = 1, .uninterruptible = 1, .stopped = 2}))
      << "77 has ended";
  EXPECT_EQ(*CountTaskStates(dir_.root(), {}, 100), TaskStates());
}

TEST_F(TaskStatesTest, TooManyAreNotCounted) {
  Put("1", Stat(1, 'S', 1));
  Put("2", Stat(2, 'S', 3));
  EXPECT_EQ(*CountTaskStates(dir_.root(), {1, 2}, 3), std::nullopt);
  EXPECT_EQ(*CountTaskStates(dir_.root(), {1, 2}, 1), std::nullopt);
  EXPECT_TRUE(CountTaskStates(dir_.root(), {1, 2}, 4)->has_value());
}

TEST_F(TaskStatesTest, WhatIsNotUnderstoodIsAnError) {
  Put("1", "1 (a) S 1\n");
  EXPECT_THAT(CountTaskStates(dir_.root(), {1}, 9).status().message(),
              HasSubstr("proc/1/stat: not understood"));
}

TEST(TaskStates, OfARealProcess) {
  const FsRoot host = *FsRoot::Open("/");
  std::atomic<bool> go_on = true;
  std::thread sleeper([&] { go_on.wait(true); });
  std::thread busy([&] {
    while (go_on) {
    }
  });
  std::optional<TaskStates> states;
  for (int i = 0; i < 500; ++i) {
    const auto counted = CountTaskStates(host, {getpid()}, 1000);
    ASSERT_TRUE(counted.ok()) << counted.status();
    states = *counted;
    if (states->running >= 2 && states->sleeping >= 1) break;  // this thread and the busy one
    absl::SleepFor(absl::Milliseconds(10));
  }
  go_on = false;
  go_on.notify_all();
  sleeper.join();
  busy.join();
  ASSERT_TRUE(states.has_value());
  EXPECT_GE(states->running, 2u);
  EXPECT_GE(states->sleeping, 1u);
}

}  // namespace
}  // namespace plimsoll::linux
