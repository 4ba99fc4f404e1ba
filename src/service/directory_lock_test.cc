#include "service/directory_lock.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "base/dir_for_test.h"
#include "base/programs/pipe.h"
#include "base/programs/subprocess.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plimsoll {
namespace {

using ::testing::HasSubstr;

TEST(DirectoryLockTest, TheSecondIsToldWhoTheFirstIs) {
  TestDir dir;
  {
    const auto first = DirectoryLock::Take(dir.root(), "state directory");
    ASSERT_TRUE(first.ok()) << first.status();
    const absl::Status second = DirectoryLock::Take(dir.root(), "state directory").status();
    EXPECT_TRUE(absl::IsFailedPrecondition(second));
    EXPECT_EQ(second.message(),
              absl::StrCat("another service_test (pid ", getpid(), ") uses the state directory ",
                           dir.path(), "; stop it, or give this one a directory of its own"));
  }
  EXPECT_TRUE(DirectoryLock::Take(dir.root(), "state directory").ok());
}

// A child of a daemon that was killed while starting a program holds the lock a little longer.
TEST(DirectoryLock, ALockWhoseHolderIsDeadIsWaitedFor) {
  const TestDir dir;
  ASSERT_TRUE(dir.root().ReplaceFile("lock", "1234567890\n").ok());
  UniqueFd child(*dir.root().OpenFile("lock", O_RDWR));
  ASSERT_EQ(flock(child.get(), LOCK_EX | LOCK_NB), 0);
  EXPECT_TRUE(absl::IsFailedPrecondition(DirectoryLock::CheckFree(dir.root(), "directory")));
  std::thread exec([&] {
    absl::SleepFor(absl::Milliseconds(200));
    child.Reset();
  });
  const auto lock = DirectoryLock::Take(dir.root(), "state directory");
  exec.join();
  EXPECT_TRUE(lock.ok()) << lock.status();
}

// The kernel frees a killed process's memory before it closes its files.
TEST(DirectoryLockTest, AKilledHolderIsWaitedFor) {
  const TestDir dir;
  constexpr size_t kMemory = size_t{256} << 20;
  Pipe locked = *MakePipe();
  const pid_t holder = fork();
  if (holder == 0) {
    const auto lock = DirectoryLock::Take(dir.root(), "state directory");
    void* memory = mmap(nullptr, kMemory, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (!lock.ok() || memory == MAP_FAILED || write(locked.writer.get(), "+", 1) != 1) _exit(1);
    for (;;) pause();
  }
  const absl::Cleanup end = [&] {
    EXPECT_EQ(kill(holder, SIGKILL), 0);
    EXPECT_EQ(waitpid(holder, nullptr, 0), holder);
  };
  locked.writer.Reset();
  char byte = 0;
  ASSERT_EQ(read(locked.reader.get(), &byte, 1), 1);
  ASSERT_TRUE(absl::IsFailedPrecondition(DirectoryLock::CheckFree(dir.root(), "directory")));
  ASSERT_EQ(kill(holder, SIGKILL), 0);
  const auto lock = DirectoryLock::Take(dir.root(), "state directory");
  EXPECT_TRUE(lock.ok()) << lock.status();
}

// A killed daemon leaves its lock file, with a pid that may be reused by now.
TEST(DirectoryLockTest, AnOldFileIsNoLock) {
  TestDir dir;
  ASSERT_TRUE(dir.root().ReplaceFile("lock", "1234567890\n").ok());
  const auto lock = DirectoryLock::Take(dir.root(), "run directory");
  ASSERT_TRUE(lock.ok()) << lock.status();
  EXPECT_EQ(*dir.root().Read("lock"), absl::StrCat(getpid(), "\n"));
}

TEST(DirectoryLockTest, ChildrenDoNotInheritIt) {
  TestDir dir;
  Command command;
  command.argv = {"/bin/sleep", "30"};
  absl::StatusOr<Child> child = absl::UnavailableError("");
  {
    const auto lock = DirectoryLock::Take(dir.root(), "state directory");
    ASSERT_TRUE(lock.ok());
    child = Spawn(command);
    ASSERT_TRUE(child.ok());
  }
  EXPECT_TRUE(DirectoryLock::Take(dir.root(), "state directory").ok());
  EXPECT_TRUE(child->Signal(9).ok());
  EXPECT_TRUE(child->Wait(absl::Now() + absl::Seconds(20)).ok());
}

// Such a child holds a copy of every descriptor. A daemon that carries open streams lives on.
TEST(DirectoryLockTest, ItIsReleasedAlsoForAChildThatHasExecutedNothingYet) {
  const TestDir dir;
  pid_t child = 0;
  {
    const auto lock = DirectoryLock::Take(dir.root(), "state directory");
    ASSERT_TRUE(lock.ok()) << lock.status();
    child = fork();
    if (child == 0) {
      for (;;) pause();
    }
  }
  const auto again = DirectoryLock::Take(dir.root(), "state directory");
  EXPECT_TRUE(again.ok()) << again.status();
  ASSERT_EQ(kill(child, SIGKILL), 0);
  EXPECT_EQ(waitpid(child, nullptr, 0), child);
}

TEST(ClientsLockTest, ReturnsWhenTheLastClientHasGone) {
  TestDir dir;
  const auto client = [&] {
    UniqueFd fd = dir.root().OpenFile(kClientsLockName, O_RDWR | O_CREAT, 0600).value();
    EXPECT_EQ(flock(fd.get(), LOCK_SH), 0);
    return fd;
  };
  UniqueFd first = client();
  absl::Notification returned;
  std::thread waiter([&] {
    const auto held = WaitUntilNoClientIsLeft(dir.root());
    EXPECT_TRUE(held.ok()) << held.status();
    returned.Notify();
  });
  UniqueFd second = client();
  first.Reset();
  EXPECT_FALSE(returned.WaitForNotificationWithTimeout(absl::Milliseconds(50)));
  second.Reset();
  EXPECT_TRUE(returned.WaitForNotificationWithTimeout(absl::Seconds(20)));
  waiter.join();
}

}  // namespace
}  // namespace plimsoll
