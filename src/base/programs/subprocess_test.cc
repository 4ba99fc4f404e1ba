#include "base/programs/subprocess.h"

#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <string>
#include <thread>
#include <vector>

#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "base/dir_for_test.h"
#include "base/programs/vfork_for_test.h"
#include "base/wait_until_for_test.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plimsoll {
namespace {

using ::testing::HasSubstr;

Command Shell(const std::string& script) {
  return {.argv = {"/bin/sh", "-c", script}};
}

TEST(RunTest, CollectsBothStreamsAndTheExitCode) {
  const auto result = RunProgram(Shell("echo out; echo err >&2; exit 3"));
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->out, "out\n");
  EXPECT_EQ(result->err, "err\n");
  EXPECT_EQ(result->exit.code, 3);
  EXPECT_FALSE(result->truncated);
}

TEST(RunTest, PassesInput) {
  const auto result = RunProgram({.argv = {"/bin/cat"}}, {.input = std::string(300000, 'x')});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->out.size(), 300000u);
}

TEST(RunTest, CutsLongOutputAndSaysSo) {
  const auto result = RunProgram(Shell("head -c 100000 /dev/zero"), {.max_output_bytes = 1000});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->out.size(), 1000u);
  EXPECT_TRUE(result->truncated);
}

TEST(RunTest, KillsTheGroupAtTheTimeout) {
  const auto result =
      RunProgram(Shell("sleep 100 & sleep 100"), {.timeout = absl::Milliseconds(50)});
  EXPECT_TRUE(absl::IsDeadlineExceeded(result.status())) << result.status();
}

TEST(RunTest, KillsTheGroupWhenItIsCancelled) {
  Cancellation cancellation;
  std::thread canceller([&] {
    absl::SleepFor(absl::Milliseconds(50));
    cancellation.Cancel();
  });
  const auto result = RunProgram(Shell("sleep 100 & sleep 100"),
                                 {.timeout = absl::Seconds(90), .cancellation = &cancellation});
  canceller.join();
  EXPECT_TRUE(absl::IsCancelled(result.status())) << result.status();
  // A run that was cancelled before it began ends at once, too.
  EXPECT_TRUE(absl::IsCancelled(
      RunProgram(Shell("sleep 100"), {.timeout = absl::Seconds(90), .cancellation = &cancellation})
          .status()));
}

TEST(RunTest, WhatNobodyCancelsEndsByItself) {
  Cancellation cancellation;
  const auto result = RunProgram(Shell("echo out"), {.cancellation = &cancellation});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->out, "out\n");
}

TEST(RunTest, DoesNotWaitForAGrandchildThatHoldsThePipe) {
  const absl::Time before = absl::Now();
  const auto result = RunProgram(Shell("sleep 20 & echo done"));
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->out, "done\n");
  EXPECT_LT(absl::Now() - before, absl::Seconds(10));
}

TEST(RunTest, OutputWithoutEndDoesNotPutOffTheTimeout) {
  const auto result = RunProgram(Shell("while :; do echo more; done"),
                                 {.timeout = absl::Milliseconds(300), .max_output_bytes = 1000});
  EXPECT_TRUE(absl::IsDeadlineExceeded(result.status())) << result.status();
}

TEST(RunTest, WhoStaysBehindAndWritesDoesNotPutOffTheEnd) {
  const auto result = RunProgram(Shell("echo done; yes & exit 3"), {.max_output_bytes = 5});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->exit.code, 3);
  EXPECT_EQ(result->out, "done\n");
}

TEST(RunTest, SignalBecomesExitStatus) {
  const auto result = RunProgram(Shell("kill -TERM $$"));
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->exit.code, 128 + SIGTERM);
  EXPECT_EQ(result->exit.signal, SIGTERM);
  EXPECT_EQ(result->exit.ToString(), "killed by signal 15 (Terminated)");
}

TEST(RunTest, MissingProgramIsNotFound) {
  if (!VforkSharesMemory()) GTEST_SKIP() << kVforkCopies;
  const auto result = RunProgram({.argv = {"/no/such/program"}});
  EXPECT_TRUE(absl::IsNotFound(result.status())) << result.status();
  EXPECT_THAT(result.status().message(), HasSubstr("/no/such/program"));
}

TEST(RunOkTest, FailureCarriesTheErrorOutput) {
  const auto result = RunChecked(Shell("echo broken >&2; exit 1"));
  EXPECT_THAT(result.status().message(), HasSubstr("exit code 1: broken"));
}

TEST(SpawnTest, ChildSeesOnlyTheDescriptorsItIsGiven) {
  int fds[2];
  ASSERT_EQ(pipe(fds), 0);  // without O_CLOEXEC
  UniqueFd reader(fds[0]);
  UniqueFd writer(fds[1]);
  const auto result = RunChecked(Shell("ls -1 /proc/self/fd | wc -l"));
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(*result, "4\n");  // 0, 1, 2 and the directory that ls reads
}

TEST(SpawnTest, MapsDescriptorsEvenWhenNumbersOverlap) {
  int fds[2];
  ASSERT_EQ(pipe2(fds, O_CLOEXEC), 0);
  UniqueFd reader(fds[0]);
  UniqueFd writer(fds[1]);
  Command command = Shell("echo hello >&3");
  command.descriptors = {{writer.get(), 3}, {reader.get(), 4}};
  auto child = Spawn(command);
  ASSERT_TRUE(child.ok()) << child.status();
  ASSERT_TRUE(child->Wait(absl::Now() + absl::Seconds(10)).ok());
  char buffer[16];
  EXPECT_EQ(read(reader.get(), buffer, sizeof(buffer)), 6);
}

TEST(SpawnTest, ManyAtOnceAreAllCollected) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([t] {
      for (int i = 0; i < 20; ++i) {
        const auto result = RunProgram(Shell("exit " + std::to_string(t * 20 + i)));
        ASSERT_TRUE(result.ok()) << result.status();
        EXPECT_EQ(result->exit.code, t * 20 + i);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// execve(2) waits for the holder of a lease on the file, as it would for a server that is away.
TEST(SpawnTest, AProgramThatHangsAtItsStartHoldsNoOtherUp) {
  const TestDir dir;
  const std::string program = dir.path() + "/program";
  ASSERT_TRUE(dir.root().ReplaceFile("program", "#!/bin/sh\nexit 7\n", 0755).ok());
  const UniqueFd held(open(program.c_str(), O_RDONLY | O_CLOEXEC));
  ASSERT_EQ(fcntl(held.get(), F_SETSIG, SIGURG), 0);  // a signal that nobody heeds
  ASSERT_EQ(fcntl(held.get(), F_SETLEASE, F_WRLCK), 0);
  ASSERT_TRUE(BecomeChildSubreaper().ok());

  std::thread hanging([&] {
    const auto result = RunProgram({.argv = {program}});
    EXPECT_TRUE(result.ok()) << result.status();
    EXPECT_EQ(result.ok() ? result->exit.code : -1, 7);
  });
  while (fcntl(held.get(), F_GETLEASE) == F_WRLCK) absl::SleepFor(absl::Milliseconds(1));
  absl::Notification done;
  std::thread others([&] {
    // The orphan ends first; the reaper can't know yet that the hanging start didn't make it.
    EXPECT_TRUE(RunProgram(Shell("sleep 0.05 &")).ok());
    const auto result = RunProgram(Shell("sleep 0.2; exit 3"));
    EXPECT_EQ(result.ok() ? result->exit.code : -1, 3);
    done.Notify();
  });
  EXPECT_TRUE(done.WaitForNotificationWithTimeout(absl::Seconds(20)));
  EXPECT_NE(fcntl(held.get(), F_GETLEASE), F_UNLCK) << "the kernel has broken the lease";
  EXPECT_EQ(fcntl(held.get(), F_SETLEASE, F_UNLCK), 0);
  hanging.join();
  others.join();
}

TEST(ChildTest, SignalAfterExitIsNotFound) {
  auto child = Spawn(Shell("exit 0"));
  ASSERT_TRUE(child.ok()) << child.status();
  ASSERT_TRUE(child->Wait().ok());
  EXPECT_TRUE(absl::IsNotFound(child->Signal(SIGTERM)));
}

TEST(ChildTest, KillGroupWaitsForTheEnd) {
  if (!VforkSharesMemory()) GTEST_SKIP() << kVforkCopies;
  Command command = Shell("sleep 100");
  command.new_session = true;
  auto child = Spawn(command);
  ASSERT_TRUE(child.ok()) << child.status();
  const absl::Status killed = child->KillGroup(absl::InfiniteFuture());
  ASSERT_TRUE(killed.ok()) << killed;
  EXPECT_EQ(child->Wait(absl::InfinitePast())->signal, SIGKILL);
}

// A child outside its own group doesn't get the signal, as if the kernel kept it.
TEST(ChildTest, KillGroupDoesNotWaitForever) {
  auto child = Spawn(Shell("exec sleep 100"));
  ASSERT_TRUE(child.ok()) << child.status();
  const absl::Status killed = child->KillGroup(absl::Now() + absl::Milliseconds(50));
  EXPECT_TRUE(absl::IsDeadlineExceeded(killed)) << killed;
  EXPECT_THAT(killed.message(), HasSubstr("was killed and has not ended"));
  EXPECT_TRUE(child->Signal(SIGKILL).ok());
  EXPECT_TRUE(child->Wait().ok());
}

TEST(SubreaperTest, OrphansAreReaped) {
  ASSERT_TRUE(BecomeChildSubreaper().ok());
  // The shell leaves an orphan and prints its pid; it becomes ours and must not stay a zombie.
  const auto result = RunProgram(Shell("(sleep 0.2 & echo $!)"));
  ASSERT_TRUE(result.ok()) << result.status();
  const pid_t orphan = std::stoi(result->out);
  EXPECT_TRUE(WaitUntil([&] { return kill(orphan, 0) != 0; }));
}

TEST(FindProgramTest, FindsAndNamesWhatIsMissing) {
  EXPECT_TRUE(FindProgram("sh").ok());
  EXPECT_THAT(FindProgram("no-such-program").status().message(), HasSubstr("no-such-program"));
}

}  // namespace
}  // namespace plimsoll
