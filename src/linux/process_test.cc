#include "linux/process.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/dir_for_test.h"
#include "base/no_descriptors_for_test.h"
#include "base/programs/subprocess.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "linux/capabilities.h"

namespace plimsoll::linux {
namespace {

using ::testing::HasSubstr;

Child StartSleep() {
  Command command;
  command.argv = {"/bin/sleep", "60"};
  return *Spawn(command);
}

class ProcessTest : public ::testing::Test {
 protected:
  FsRoot real_ = *FsRoot::Open("/");
  TestDir dir_;
};

TEST_F(ProcessTest, IdentifiesAndOpens) {
  Child child = StartSleep();
  const auto id = IdentifyProcess(real_, child.pid());
  ASSERT_TRUE(id.ok()) << id.status();
  EXPECT_EQ(id->pid, child.pid());
  EXPECT_GT(id->start_time_ticks, 0u);
  EXPECT_TRUE(*IsRunning(real_, *id));
  auto pidfd = OpenProcess(real_, *id);
  ASSERT_TRUE(pidfd.ok()) << pidfd.status();
  EXPECT_FALSE(HasExited(*pidfd));
  ASSERT_TRUE(SignalProcess(*pidfd, SIGKILL).ok());
  ASSERT_TRUE(child.Wait(absl::Now() + absl::Seconds(20)).ok());
  EXPECT_TRUE(HasExited(*pidfd));
  EXPECT_TRUE(absl::IsNotFound(SignalProcess(*pidfd, SIGKILL)));
  EXPECT_FALSE(*IsRunning(real_, *id));
  EXPECT_TRUE(absl::IsNotFound(OpenProcess(real_, *id).status()));
  EXPECT_TRUE(absl::IsNotFound(IdentifyProcess(real_, child.pid()).status()));
}

TEST_F(ProcessTest, APidThatIsAnothersNowIsNotFound) {
  ProcessId id = *IdentifyProcess(real_, getpid());
  ++id.start_time_ticks;
  EXPECT_TRUE(absl::IsNotFound(OpenProcess(real_, id).status()));
  EXPECT_FALSE(*IsRunning(real_, id));
}

TEST_F(ProcessTest, NamesWithBracketsAndZombies) {
  const std::string tail = " 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 4711 0 0\n";
  ASSERT_TRUE(dir_.root().MakeDirs("proc/7").ok());
  ASSERT_TRUE(dir_.root().ReplaceFile("proc/7/stat", absl::StrCat("7 (a) R 1) S", tail)).ok());
  EXPECT_EQ(IdentifyProcess(dir_.root(), 7)->start_time_ticks, 4711u);
  EXPECT_TRUE(*IsRunning(dir_.root(), {7, 4711}));
  ASSERT_TRUE(dir_.root().ReplaceFile("proc/7/stat", absl::StrCat("7 (a) Z", tail)).ok());
  EXPECT_FALSE(*IsRunning(dir_.root(), {7, 4711}));
  ASSERT_TRUE(dir_.root().ReplaceFile("proc/7/stat", "7 (a) S 1 2 3").ok());
  EXPECT_EQ(IdentifyProcess(dir_.root(), 7).status().code(), absl::StatusCode::kInternal);
}

TEST_F(ProcessTest, ProcessesThatEnd) {
  ASSERT_TRUE(dir_.root().MakeDirs("proc/7").ok());
  const auto ending = [&](const char* state, int flags, int pending) {
    const std::string stat =
        absl::StrCat("7 (a) ", state, " 1 1 1 0 -1 ", flags,
                     " 0 0 0 0 0 0 0 0 20 0 1 0 4711 0 0 0 0 0 0 0 0 ", pending, " 0 0 0\n");
    EXPECT_TRUE(dir_.root().ReplaceFile("proc/7/stat", stat).ok());
    const bool is_ending = ReadProcess(dir_.root(), 7)->ending;
    EXPECT_EQ(HasEndedOrIsEnding(dir_.root(), {7, 4711}), is_ending);
    EXPECT_EQ(HasEndedOrIsEnding(dir_.root(), {.pid = 7}), is_ending);
    EXPECT_TRUE(HasEndedOrIsEnding(dir_.root(), {7, 4710})) << "another has its pid";
    return is_ending;
  };
  EXPECT_FALSE(ending("S", 0x400140, 0));
  EXPECT_FALSE(ending("S", 0x400140, 1 << (SIGTERM - 1)));
  EXPECT_TRUE(ending("S", 0x400140, 1 << (SIGKILL - 1)));
  EXPECT_TRUE(ending("R", 0x400144, 0));
  EXPECT_TRUE(ending("R", 0x400540, 0));
  EXPECT_TRUE(ending("Z", 0x400140, 0));
  EXPECT_TRUE(HasEndedOrIsEnding(dir_.root(), {.pid = 8}));
  ASSERT_TRUE(dir_.root().ReplaceFile("proc/7/stat", "?").ok());
  EXPECT_FALSE(HasEndedOrIsEnding(dir_.root(), {7, 4711})) << "unknown";
}

TEST_F(ProcessTest, KillsExactlyThatProcess) {
  Child child = StartSleep();
  const ProcessId id = *IdentifyProcess(real_, child.pid());
  ProcessId before = id;  // an earlier process with the same pid
  --before.start_time_ticks;
  EXPECT_TRUE(KillProcess(real_, before).ok()) << "gone already";
  EXPECT_TRUE(KillAndAwait(real_, before, absl::InfiniteFuture()).ok());
  EXPECT_TRUE(absl::IsNotFound(ReadOomScoreAdj(real_, before).status()));
  EXPECT_TRUE(absl::IsNotFound(WriteOomScoreAdj(real_, before, 1000)));
  EXPECT_TRUE(*IsRunning(real_, id));
  const UniqueFd pidfd = *OpenProcess(real_, id);
  EXPECT_FALSE(AwaitExit(pidfd, absl::Now() + absl::Milliseconds(20)));
  EXPECT_TRUE(KillAndAwait(real_, id, absl::Now() + absl::Seconds(20)).ok());
  EXPECT_TRUE(AwaitExit(pidfd, absl::InfinitePast()));
  EXPECT_FALSE(*IsRunning(real_, id));
  EXPECT_EQ(child.Wait(absl::Now() + absl::Seconds(20))->signal, SIGKILL);
}

TEST_F(ProcessTest, WhatCannotBeLookedAtIsNotGone) {
  const ProcessId id = *IdentifyProcess(real_, getpid());
  absl::StatusOr<bool> running = true;
  absl::Status killed;
  absl::StatusOr<int> score = 0;
  {
    const NoDescriptors none;
    running = IsRunning(real_, id);
    killed = KillProcess(real_, id);
    score = ReadOomScoreAdj(real_, id);
  }
  EXPECT_TRUE(absl::IsResourceExhausted(running.status())) << running.status();
  EXPECT_TRUE(absl::IsResourceExhausted(killed)) << killed;
  EXPECT_TRUE(absl::IsResourceExhausted(score.status())) << score.status();
}

TEST_F(ProcessTest, OomScoreAdjCanBeRaised) {
  Child child = StartSleep();
  const ProcessId id = *IdentifyProcess(real_, child.pid());
  const int before = *ReadOomScoreAdj(real_, id);
  const int wanted = std::min(1000, before + 5);
  ASSERT_TRUE(WriteOomScoreAdj(real_, id, wanted).ok());
  EXPECT_EQ(*ReadOomScoreAdj(real_, id), wanted);
  EXPECT_TRUE(absl::IsInvalidArgument(WriteOomScoreAdj(real_, id, 1001)));
  if (!*HasCapability(real_, 24)) {
    const absl::Status lowered = WriteOomScoreAdj(real_, id, -1000);
    EXPECT_TRUE(absl::IsPermissionDenied(lowered));
    EXPECT_THAT(lowered.message(), HasSubstr("CAP_SYS_RESOURCE"));
  }
  ASSERT_TRUE(child.Signal(SIGKILL).ok());
  ASSERT_TRUE(child.Wait(absl::Now() + absl::Seconds(20)).ok());
  EXPECT_TRUE(absl::IsNotFound(ReadOomScoreAdj(real_, id).status()));
  EXPECT_TRUE(absl::IsNotFound(WriteOomScoreAdj(real_, id, 1)));
}

TEST_F(ProcessTest, ReadsTheBootId) {
  ASSERT_TRUE(dir_.root().MakeDirs("proc/sys/kernel/random").ok());
  ASSERT_TRUE(dir_.root().ReplaceFile("proc/sys/kernel/random/boot_id", "1-2-3\n").ok());
  EXPECT_EQ(*ReadBootId(dir_.root()), "1-2-3");
  EXPECT_EQ(ReadBootId(real_)->size(), 36u);
}

TEST(ParseSignal, KnowsNamesAndNumbers) {
  EXPECT_EQ(ParseSignal("TERM"), SIGTERM);
  EXPECT_EQ(ParseSignal("SIGTERM"), SIGTERM);
  EXPECT_EQ(ParseSignal("sigkill"), SIGKILL);
  EXPECT_EQ(ParseSignal("15"), 15);
  EXPECT_EQ(ParseSignal("SIGWINCH"), SIGWINCH);
  EXPECT_EQ(ParseSignal("IOT"), SIGABRT);
  EXPECT_EQ(ParseSignal("CLD"), SIGCHLD);
  EXPECT_EQ(ParseSignal("SIGRTMIN"), 34);
  EXPECT_EQ(ParseSignal("SIGRTMIN+3"), 37);
  EXPECT_EQ(ParseSignal("RTMAX-1"), 63);
  EXPECT_EQ(ParseSignal("64"), 64);
}

TEST(ParseSignal, RefusesEverythingElse) {
  for (const char* text : {"", "SIG", "0", "65", "-9", "TERMINATE", "RTMIN+31", "RTMIN+-1",
                           "RTMIN+", "RTMAX+1", "RTMIN 1", "9x"}) {
    EXPECT_EQ(ParseSignal(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace plimsoll::linux
