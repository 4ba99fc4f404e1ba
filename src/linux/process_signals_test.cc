#include "linux/process_signals.h"

#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "base/dir_for_test.h"
#include "base/programs/subprocess.h"
#include "base/wait_until_for_test.h"
#include "gtest/gtest.h"

namespace plimsoll::linux {
namespace {

class ProcessSignalsTest : public ::testing::Test {
 protected:
  FsRoot real_ = *FsRoot::Open("/");
  TestDir dir_;
};

// A child without an exec, made with `flags` of clone(2), that sleeps until it is killed. It sends
// no signal when it ends, so only a wait with __WALL reaps it.
pid_t Fork(int flags) {
  const auto pid = static_cast<pid_t>(syscall(SYS_clone, flags, nullptr, nullptr, nullptr, 0));
  while (pid == 0) pause();
  return pid;
}

TEST_F(ProcessSignalsTest, AForkHasNotExecutedAsLongAsItsEndIsSeen) {
  const pid_t pid = Fork(0);
  ASSERT_GT(pid, 0);
  const ProcessId id = *IdentifyProcess(real_, pid);
  EXPECT_FALSE(*HasExecuted(real_, id));
  ASSERT_EQ(kill(pid, SIGKILL), 0);
  siginfo_t info;
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT | __WALL), 0);
  EXPECT_FALSE(*HasExecuted(real_, id)) << "of the zombie";
  ASSERT_EQ(waitpid(pid, nullptr, __WALL), pid);
  EXPECT_TRUE(absl::IsNotFound(HasExecuted(real_, id).status()));
  EXPECT_TRUE(absl::IsNotFound(ReadSignals(real_, id).status()));

  Child sleep = *Spawn({.argv = {"/bin/sleep", "60"}});
  const ProcessId other = *IdentifyProcess(real_, sleep.pid());
  // Spawn returns in the middle of the execve, which closes its pipe.
  EXPECT_TRUE(WaitUntil([&] { return *HasExecuted(real_, other); }));
  EXPECT_FALSE(ReadSignals(real_, other)->is_namespace_init);
  EXPECT_TRUE(sleep.Signal(SIGKILL).ok());
}

TEST_F(ProcessSignalsTest, AnotherProcessWithThePidIsNotTheOne) {
  ProcessId id = *IdentifyProcess(real_, getpid());
  ++id.start_time_ticks;
  EXPECT_TRUE(absl::IsNotFound(HasExecuted(real_, id).status()));
  EXPECT_TRUE(absl::IsNotFound(ReadSignals(real_, id).status()));
}

TEST_F(ProcessSignalsTest, TheInitOfANamespaceIsKnown) {
  if (geteuid() != 0) GTEST_SKIP() << "PID namespaces need root";
  const pid_t pid = Fork(CLONE_NEWPID);
  ASSERT_GT(pid, 0);
  EXPECT_TRUE(ReadSignals(real_, *IdentifyProcess(real_, pid))->is_namespace_init);
  ASSERT_EQ(kill(pid, SIGKILL), 0);
  ASSERT_EQ(waitpid(pid, nullptr, __WALL), pid);
}

TEST_F(ProcessSignalsTest, SetsAreRead) {
  const ProcessId self = *IdentifyProcess(real_, getpid());
  struct sigaction before = {};
  struct sigaction handler = {};
  handler.sa_handler = [](int) {};
  ASSERT_EQ(sigaction(SIGUSR2, &handler, &before), 0);
  sigset_t set;
  sigset_t blocked;
  sigemptyset(&set);
  sigaddset(&set, SIGRTMIN + 3);
  ASSERT_EQ(sigprocmask(SIG_BLOCK, &set, &blocked), 0);
  const ProcessSignals signals = *ReadSignals(real_, self);
  EXPECT_TRUE(Holds(signals.caught, SIGUSR2));
  EXPECT_FALSE(Holds(signals.caught, SIGUSR1));
  EXPECT_TRUE(Holds(signals.blocked, SIGRTMIN + 3));
  EXPECT_FALSE(Holds(signals.blocked, SIGUSR2));
  sigprocmask(SIG_SETMASK, &blocked, nullptr);
  sigaction(SIGUSR2, &before, nullptr);
}

// In the middle of an execve the handlers may still be the old program's.
TEST_F(ProcessSignalsTest, AnExecutionUnderWayIsNone) {
  ASSERT_TRUE(dir_.root().MakeDirs("proc/7").ok());
  const ProcessId id = {7, 4711};
  const auto has_executed = [&](const char* state, const char* start_code) {
    EXPECT_TRUE(dir_.root()
                    .ReplaceFile("proc/7/stat",
                                 absl::StrCat("7 (a) ", state,
                                              " 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 4711 0 0 0 ",
                                              start_code, " 0 0\n"))
                    .ok());
    return *HasExecuted(dir_.root(), id);
  };
  EXPECT_FALSE(has_executed("R", "0"));
  EXPECT_TRUE(has_executed("R", "94829446205440"));
  EXPECT_TRUE(has_executed("R", "1")) << "it is not for this reader to know";
  EXPECT_TRUE(has_executed("Z", "0"));
}

TEST_F(ProcessSignalsTest, FilesThatAreNotUnderstoodAreSaidToBe) {
  ASSERT_TRUE(dir_.root().MakeDirs("proc/7").ok());
  const auto write = [&](const char* file, const std::string& text) {
    ASSERT_TRUE(dir_.root().ReplaceFile(absl::StrCat("proc/7/", file), text).ok());
  };
  const std::string rest = " 0 0 0 0 0 0 0 20 0 1 0 4711 0 0\n";
  write("stat", absl::StrCat("7 (a) R 1) S 1 1 1 0 -1 64 0", rest));
  write("status", "Name:\ta\nSigBlk:\t0000000000000000\n");
  const ProcessId id = {7, 4711};
  EXPECT_FALSE(*HasExecuted(dir_.root(), id));
  EXPECT_TRUE(absl::IsInternal(ReadSignals(dir_.root(), id).status()));
  // The files of a kernel without PID namespaces.
  write("status", "SigBlk:\t0000000000004000\nSigCgt:\t8000000000000000\n");
  const ProcessSignals signals = *ReadSignals(dir_.root(), id);
  EXPECT_FALSE(signals.is_namespace_init);
  EXPECT_TRUE(Holds(signals.blocked, SIGTERM));
  EXPECT_TRUE(Holds(signals.caught, 64));
  write("stat", absl::StrCat("7 (a) S 1 1 1 0 -1 x 0", rest));
  EXPECT_TRUE(absl::IsInternal(HasExecuted(dir_.root(), id).status()));
}

}  // namespace
}  // namespace plimsoll::linux
