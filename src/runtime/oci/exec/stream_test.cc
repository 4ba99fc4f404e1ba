#include "runtime/oci/exec/stream.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <memory>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/programs/subprocess.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/oci/machine_for_test.h"

namespace plimsoll::runtime {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

// The parameter is the OCI runtime.
class ExecStreamTest : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (const auto lacks = TestMachine::Lacks()) GTEST_SKIP() << *lacks;
    const absl::StatusOr<std::string> program = FindProgram(GetParam());
    if (!program.ok()) GTEST_SKIP() << program.status();
    machine_ = std::make_unique<TestMachine>();
    machine_->UseCrun(*program);
    const auto created = machine_->runtime().Create(machine_->Request("a", "sleep 1000"));
    ASSERT_TRUE(created.ok()) << created.status();
    ASSERT_TRUE(machine_->runtime().Start("a").ok());
  }

  std::unique_ptr<RunningCommand> Start(const std::string& script, const ExecStreams& streams) {
    ExecRequest request;
    request.argv = {"/bin/sh", "-c", script};
    request.streams = streams;
    auto started = machine_->runtime().StartExec("a", machine_->group("a"), request);
    EXPECT_TRUE(started.ok()) << started.status();
    return started.ok() ? *std::move(started) : nullptr;
  }
  // Reads until `text` has come, the writers are gone or half a minute is over.
  static std::string ReadUntil(int fd, const std::string& text) {
    std::string all;
    const absl::Time end = absl::Now() + absl::Seconds(30);
    while (all.find(text) == std::string::npos && absl::Now() < end) {
      pollfd look = {fd, POLLIN, 0};
      if (poll(&look, 1, 100) <= 0) continue;
      char buffer[4096];
      const ssize_t n = read(fd, buffer, sizeof(buffer));
      if (n <= 0) break;
      all.append(buffer, static_cast<size_t>(n));
    }
    return all;
  }
  static bool AwaitEnd(const RunningCommand& command) {
    pollfd look = {command.ended_fd(), POLLIN, 0};
    return poll(&look, 1, 30'000) > 0;
  }

  std::unique_ptr<TestMachine> machine_;
};

TEST_P(ExecStreamTest, StreamsAreTheCallersToCarry) {
  const auto command = Start("cat; echo err >&2; exit 7", {true, true, true, false});
  ASSERT_NE(command, nullptr);
  ASSERT_EQ(write(command->streams().input.get(), "hello\n", 6), 6);
  EXPECT_EQ(ReadUntil(command->streams().output.get(), "hello\n"), "hello\n");
  command->streams().input.Reset();
  EXPECT_EQ(ReadUntil(command->streams().errors.get(), "err\n"), "err\n");
  ASSERT_TRUE(AwaitEnd(*command));
  const auto end = command->Finish();
  ASSERT_TRUE(end.ok()) << end.status();
  EXPECT_EQ(end->exit_code, 7);
  EXPECT_THAT(end->message, IsEmpty());
}

TEST_P(ExecStreamTest, WhatIsNotAskedForIsNotThere) {
  const auto command =
      Start("read line || echo closed; echo lost >&2", {false, true, false, false});
  ASSERT_NE(command, nullptr);
  EXPECT_FALSE(command->streams().input.valid());
  EXPECT_FALSE(command->streams().errors.valid());
  EXPECT_FALSE(command->streams().terminal.valid());
  EXPECT_EQ(ReadUntil(command->streams().output.get(), "closed\n"), "closed\n");
}

TEST_P(ExecStreamTest, ATerminalIsOneOfTheContainers) {
  const auto command = Start("tty; echo $TERM; read go; exit 3", {true, true, false, true});
  ASSERT_NE(command, nullptr);
  const int terminal = command->streams().terminal.get();
  ASSERT_GE(terminal, 0);
  EXPECT_THAT(ReadUntil(terminal, "xterm"), HasSubstr("/dev/pts/"));
  ASSERT_EQ(write(terminal, "\n", 1), 1);
  ASSERT_TRUE(AwaitEnd(*command));
  EXPECT_EQ(command->Finish()->exit_code, 3);
  // No file of the entry is left in the bundle.
  const auto files = FsRoot::Open(machine_->Options().run.PathOf("oci/containers/a"))->List(".");
  ASSERT_TRUE(files.ok()) << files.status();
  for (const std::string& file : *files) EXPECT_THAT(file, ::testing::Not(HasSubstr("exec-")));
}

TEST_P(ExecStreamTest, ATerminalFollowsItsClient) {
  const auto command = Start(
      "read word; echo got $word; until [ \"$(busybox stty size 2>&1)\" = '33 77' ]; do "
      "sleep 0.05; done; echo sized",
      {true, true, false, true});
  ASSERT_NE(command, nullptr);
  const int terminal = command->streams().terminal.get();
  ASSERT_GE(terminal, 0);
  ASSERT_EQ(write(terminal, "on\n", 3), 3);
  EXPECT_EQ(ReadUntil(terminal, "got on\r\n"), "on\r\ngot on\r\n") << "echoed once";
  const winsize size = {.ws_row = 33, .ws_col = 77, .ws_xpixel = 0, .ws_ypixel = 0};
  ASSERT_EQ(ioctl(terminal, TIOCSWINSZ, &size), 0);
  EXPECT_EQ(ReadUntil(terminal, "sized\r\n"), "sized\r\n");
  ASSERT_TRUE(AwaitEnd(*command));
  EXPECT_EQ(command->Finish()->exit_code, 0);
}

// Ctrl-C, and the end of the client.
TEST_P(ExecStreamTest, ATerminalEndsWhatItControls) {
  auto command = Start("trap 'echo interrupted' INT; echo up; read a; echo then; read b",
                       {true, true, false, true});
  ASSERT_NE(command, nullptr);
  const int terminal = command->streams().terminal.get();
  ASSERT_GE(terminal, 0);
  ReadUntil(terminal, "up\r\n");
  ASSERT_EQ(write(terminal, "\x03", 1), 1);
  EXPECT_THAT(ReadUntil(terminal, "interrupted"), HasSubstr("interrupted"));
  command->streams().terminal.Reset();
  EXPECT_TRUE(AwaitEnd(*command)) << "hung up";
}

TEST_P(ExecStreamTest, ACommandThatIsNotThereIsAnExitCodeWithAMessage) {
  for (const bool terminal : {false, true}) {
    SCOPED_TRACE(terminal);
    ExecRequest request;
    request.argv = {"/no/such"};
    request.streams = {.output = true, .terminal = terminal};
    const auto command = machine_->runtime().StartExec("a", machine_->group("a"), request);
    ASSERT_TRUE(command.ok()) << command.status();
    ASSERT_TRUE(AwaitEnd(**command));
    const auto end = (*command)->Finish();
    ASSERT_TRUE(end.ok()) << end.status();
    EXPECT_EQ(end->exit_code, 127);
    EXPECT_THAT(end->message, HasSubstr("/no/such"));
  }
}

TEST_P(ExecStreamTest, TheCommandIsWhoTheContainersProcessIs) {
  machine_->spec().security.run_as_username = "web";
  machine_->spec().security.supplemental_groups = {77};
  machine_->spec().security.no_new_privs = true;
  const auto created = machine_->runtime().Create(machine_->Request("b", "sleep 1000"));
  ASSERT_TRUE(created.ok()) << created.status();
  ASSERT_TRUE(machine_->runtime().Start("b").ok());
  for (const bool terminal : {false, true}) {
    SCOPED_TRACE(terminal);
    ExecRequest request;
    request.argv = {"/bin/grep", "-E", "^(Uid|Gid|Groups|NoNewPrivs):", "/proc/self/status"};
    request.streams = {.output = true, .terminal = terminal};
    const auto command = machine_->runtime().StartExec("b", machine_->group("b"), request);
    ASSERT_TRUE(command.ok()) << command.status();
    const CommandStreams& streams = (*command)->streams();
    const std::string status =
        ReadUntil(terminal ? streams.terminal.get() : streams.output.get(), "NoNewPrivs:\t1");
    EXPECT_THAT(status, HasSubstr("Uid:\t33\t"));
    EXPECT_THAT(status, HasSubstr("Gid:\t34\t"));
    EXPECT_THAT(status, HasSubstr("Groups:\t34 35 77"));
    EXPECT_THAT(status, HasSubstr("NoNewPrivs:\t1"));
  }
}

TEST_P(ExecStreamTest, ADamagedRecordOfTheRuntimesIsNamed) {
  if (GetParam() != std::string("crun")) GTEST_SKIP() << "crun's record alone is read";
  constexpr char kStatus[] = "run/oci/crun/a/status";
  const FsRoot& root = machine_->dir().root();
  const auto before = root.Read(kStatus);
  ASSERT_TRUE(before.ok()) << before.status();
  ASSERT_TRUE(root.ReplaceFile(kStatus, "").ok());
  for (const bool terminal : {false, true}) {
    SCOPED_TRACE(terminal);
    const auto command = Start("true", {.output = true, .terminal = terminal});
    if (command == nullptr) continue;
    EXPECT_TRUE(AwaitEnd(*command));
    const absl::Status refused = command->Finish().status();
    EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
    EXPECT_THAT(refused.message(), HasSubstr("/a/status is empty or damaged"));
  }
  EXPECT_TRUE(root.ReplaceFile(kStatus, *before).ok());
}

TEST_P(ExecStreamTest, KillEndsWhatTheCommandStarted) {
  const auto processes = [&] {
    const auto pids = machine_->cgroups().Processes(machine_->group("a"), /*recursive=*/true);
    return pids.ok() ? pids->size() : 0;
  };
  const size_t before = processes();
  const auto command = Start("sleep 1000 & echo up; wait", {false, true, false, false});
  ASSERT_NE(command, nullptr);
  EXPECT_EQ(ReadUntil(command->streams().output.get(), "up\n"), "up\n");
  EXPECT_GT(processes(), before);
  EXPECT_TRUE(command->Kill().ok());
  EXPECT_TRUE(WaitUntil([&] { return processes() == before; }));
  EXPECT_TRUE(command->Kill().ok()) << "again";
}

TEST_P(ExecStreamTest, AnAbandonedCommandIsKilled) {
  auto command = Start("sleep 1000", {true, true, true, false});
  ASSERT_NE(command, nullptr);
  EXPECT_FALSE(machine_->runtime().EnteringProcesses("a").empty());
  command.reset();
  EXPECT_THAT(machine_->runtime().EnteringProcesses("a"), IsEmpty());
}

TEST_P(ExecStreamTest, AFrozenContainerIsToBeTriedAgain) {
  const std::string group = machine_->group("a");
  const auto frozen = machine_->cgroups().Freeze(group, absl::Now() + absl::Seconds(20));
  if (absl::IsFailedPrecondition(frozen.status())) GTEST_SKIP() << frozen.status();
  ASSERT_TRUE(frozen.ok()) << frozen.status();
  ExecRequest request;
  request.argv = {"true"};
  const auto command = machine_->runtime().StartExec("a", group, request);
  EXPECT_TRUE(machine_->cgroups().Thaw(group).ok());
  EXPECT_TRUE(absl::IsAborted(command.status())) << command.status();
}

INSTANTIATE_TEST_SUITE_P(Programs, ExecStreamTest, ::testing::Values("crun", "runc"),
                         [](const auto& program) { return std::string(program.param); });

}  // namespace
}  // namespace plimsoll::runtime
