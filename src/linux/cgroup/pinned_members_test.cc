#include "linux/cgroup/pinned_members.h"

#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <vector>

#include "gtest/gtest.h"
#include "linux/process.h"

namespace plimsoll::linux {
namespace {

using Pids = std::vector<pid_t>;

TEST(PinnedMembersTest, OnlyThoseThatAreListedAgainAreMembers) {
  // It sends no signal when it ends, so the reaper of other tests' children leaves it to this one.
  const auto child = static_cast<pid_t>(syscall(SYS_clone, 0, nullptr, nullptr, nullptr, 0));
  while (child == 0) pause();
  int looks = 0;
  // The child has left between the two lists, or its pid is another's now.
  const auto left = PinMembers([&]() -> absl::StatusOr<Pids> {
    return ++looks == 1 ? Pids{getpid(), child} : Pids{getpid()};
  });
  ASSERT_TRUE(left.ok()) << left.status();
  EXPECT_EQ(looks, 2);
  ASSERT_EQ(left->size(), 1u);
  EXPECT_EQ(left->front().pid, getpid());

  const auto there = PinMembers([&]() -> absl::StatusOr<Pids> { return Pids{child, getpid()}; });
  ASSERT_TRUE(there.ok()) << there.status();
  ASSERT_EQ(there->size(), 2u);
  EXPECT_EQ(there->front().pid, child);
  EXPECT_TRUE(SignalProcess(there->front().pidfd, SIGKILL).ok());
  EXPECT_EQ(waitpid(child, nullptr, __WALL), child);
  // After its end nobody has its pid.
  const auto gone = PinMembers([&]() -> absl::StatusOr<Pids> { return Pids{child}; });
  ASSERT_TRUE(gone.ok()) << gone.status();
  EXPECT_TRUE(gone->empty());
}

TEST(PinnedMembersTest, AGroupThatGoesMeanwhileIsAnError) {
  int looks = 0;
  const auto pinned = PinMembers([&]() -> absl::StatusOr<Pids> {
    if (++looks == 1) return Pids{getpid()};
    return absl::NotFoundError("gone");
  });
  EXPECT_TRUE(absl::IsNotFound(pinned.status())) << pinned.status();
}

}  // namespace
}  // namespace plimsoll::linux
