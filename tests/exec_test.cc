// ExecSync and container logs.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "harness/kernel.h"
#include "harness/node.h"
#include "harness/own_mark.h"

namespace plimsoll::testing {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;

class ExecTest : public NodeTest {
 protected:
  void SetUp() override {
    NodeTest::SetUp();
    if (!node_.daemon_runs()) return;
    pod_ = RunPod();
    container_ = Start(pod_, Shell("sleep 1000"));
  }
  std::string pod_;
  std::string container_;
};

TEST_F(ExecTest, GivesBothStreamsAndTheExitCode) {
  cri::ExecSyncResponse response;
  const grpc::Status status =
      Exec(container_, {"/bin/sh", "-c", "echo out; echo err >&2; exit 3"}, &response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(response.stdout(), "out\n");
  EXPECT_EQ(response.stderr(), "err\n");
  EXPECT_EQ(response.exit_code(), 3);
}

TEST_F(ExecTest, RunsInTheContainersGroupAndNamespaces) {
  const std::string mark = OwnMark(1);
  std::thread caller([&] { ExecOutput(container_, "sleep " + mark + " || true"); });
  std::vector<std::string> found;
  EXPECT_TRUE(Eventually([&] {
    found = ProcessesWith("sleep " + mark);
    // The shell also has it in its arguments.
    std::erase_if(found, [](const std::string& line) { return absl::StrContains(line, "||"); });
    return !found.empty();
  }));
  for (const std::string& process : found) {
    // The host's view: in its cgroup namespace the container sees less.
    const pid_t pid = std::stoi(process);
    EXPECT_THAT(Host().Read(absl::StrCat("proc/", pid, "/cgroup")).value_or(""),
                HasSubstr(absl::StrCat("/", container_)));
    EXPECT_EQ(kill(pid, SIGKILL), 0);
  }
  caller.join();
  EXPECT_EQ(ExecOutput(container_, "readlink /proc/self/ns/pid"),
            ExecOutput(container_, "readlink /proc/1/ns/pid"));
}

TEST_F(ExecTest, TimeoutKillsTheWholeTree) {
  const std::string mark = OwnMark(1);
  cri::ExecSyncResponse response;
  // A child, a process in its own session, and a deliberate orphan.
  const grpc::Status status =
      Exec(container_,
           {"/bin/sh", "-c",
            absl::StrCat("sleep ", mark, "1 & setsid sleep ", mark, "2 & (setsid sh -c 'sleep ",
                         mark, "3 & sleep ", mark, "4' &); sleep ", mark, "5")},
           &response, 1);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::DEADLINE_EXCEEDED) << status.error_message();
  EXPECT_TRUE(Eventually([&] { return ProcessesWith("sleep " + mark).empty(); }));
  EXPECT_EQ(Status(container_).state(), cri::CONTAINER_RUNNING);
  EXPECT_EQ(ExecOutput(container_, "echo still here"), "still here\n");
}

// With its client gone the command's output is useless, and its thread is needed.
TEST_F(ExecTest, EndsWithItsWholeTreeWhenItsClientGoes) {
  const std::string mark = OwnMark(1);
  cri::ExecSyncRequest request;
  request.set_container_id(container_);
  for (const std::string& word :
       {std::string("/bin/sh"), std::string("-c"),
        absl::StrCat("sleep ", mark, "1 & setsid sleep ", mark, "2 & (setsid sh -c 'sleep ", mark,
                     "3 & sleep ", mark, "4' &); sleep ", mark, "5")}) {
    request.add_cmd(word);
  }
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::hours(1));
  std::thread client([&] {
    cri::ExecSyncResponse response;
    EXPECT_EQ(node_.runtime().ExecSync(&context, request, &response).error_code(),
              grpc::StatusCode::CANCELLED);
  });
  EXPECT_TRUE(Eventually([&] {
    for (const char* end : {"1", "2", "3", "4", "5"}) {
      if (ProcessesWith(absl::StrCat("sleep ", mark, end)).empty()) return false;
    }
    return true;
  }));
  context.TryCancel();
  client.join();
  EXPECT_TRUE(Eventually([&] { return ProcessesWith("sleep " + mark).empty(); }));
  EXPECT_EQ(Status(container_).state(), cri::CONTAINER_RUNNING);
}

TEST_F(ExecTest, EndsAtItsClientsDeadlineHoweverLongItsTimeout) {
  const std::string mark = OwnMark(1);
  cri::ExecSyncRequest request;
  request.set_container_id(container_);
  request.set_timeout(3600);
  for (const std::string& word : {std::string("sleep"), mark}) request.add_cmd(word);
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(2));
  cri::ExecSyncResponse response;
  EXPECT_EQ(node_.runtime().ExecSync(&context, request, &response).error_code(),
            grpc::StatusCode::DEADLINE_EXCEEDED);
  EXPECT_TRUE(Eventually([&] { return ProcessesWith("sleep " + mark).empty(); }));
}

class OneWorkerTest : public NodeTest {
 protected:
  OneWorkerTest() : NodeTest("workers: 1") {}
};

TEST_F(OneWorkerTest, CommandsThatNeverEndHoldUpNeitherStopsNorLooks) {
  const std::string pod = RunPod();
  const std::string container = Start(pod, Shell("sleep 1000"));
  grpc::ClientContext contexts[2];
  std::vector<std::thread> clients;
  for (grpc::ClientContext& context : contexts) {
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::hours(1));
    clients.emplace_back([&] {
      cri::ExecSyncRequest request;
      request.set_container_id(container);
      for (const char* word : {"sleep", "1000"}) request.add_cmd(word);
      cri::ExecSyncResponse response;
      // The running command ends with its container, the waiting one with its client.
      const bool ended = node_.runtime().ExecSync(&context, request, &response).ok();
      EXPECT_TRUE(!ended || response.exit_code() == 137) << response.exit_code();
    });
  }
  EXPECT_TRUE(Eventually([&] {
    return absl::StrContains(node_.Log(), "all workers for calls of this kind");
  })) << node_.Log();
  grpc::ClientContext looking;
  plimsoll::v1::InspectResponse found;
  EXPECT_TRUE(node_.node().Inspect(&looking, {}, &found).ok());
  cri::LinuxContainerResources more;
  more.set_cpu_shares(512);
  EXPECT_TRUE(TryUpdate(container, more).ok());
  EXPECT_TRUE(StopContainer(container, 0).ok());
  for (grpc::ClientContext& context : contexts) context.TryCancel();
  for (std::thread& client : clients) client.join();
  EXPECT_TRUE(RemovePod(pod).ok());
}

TEST_F(ExecTest, LongOutputIsCutWithAMark) {
  cri::ExecSyncResponse response;
  const grpc::Status status =
      Exec(container_, {"/bin/sh", "-c", "head -c 20000000 /dev/zero | tr '\\0' x"}, &response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_GT(response.stdout().size(), 15u << 20);
  EXPECT_THAT(response.stdout().substr(15 << 20), HasSubstr("truncated"));
}

// Memory that a process holds now, from the kernel.
int64_t ResidentBytes(pid_t pid) {
  const std::string status = Host().Read(absl::StrCat("proc/", pid, "/status")).value_or("");
  const size_t at = status.find("VmRSS:");
  return at == std::string::npos ? -1 : std::stoll(status.substr(at + 6)) * 1024;
}

TEST_F(ExecTest, FloodsTogetherAreCutAndTheirMemoryGivenBack) {
  if (IsEmulated()) GTEST_SKIP() << "800 MB through pipes take minutes";
  constexpr int kFloods = 40;
  constexpr int64_t kMiB = 1 << 20;
  ExecOutput(container_, "true");
  const int64_t before = ResidentBytes(node_.daemon_pid());
  ASSERT_GT(before, 0);
  std::vector<cri::ExecSyncResponse> responses(kFloods);
  std::vector<std::thread> clients;
  std::atomic<int> ended = 0;
  for (cri::ExecSyncResponse& response : responses) {
    clients.emplace_back([&] {
      const grpc::Status status =
          Exec(container_, {"/bin/sh", "-c", "head -c 20000000 /dev/zero; echo done >&2; exit 7"},
               &response);
      EXPECT_TRUE(status.ok()) << status.error_message();
      ++ended;
    });
  }
  int64_t most = before;
  while (ended < kFloods) {
    most = std::max(most, ResidentBytes(node_.daemon_pid()));
    absl::SleepFor(absl::Milliseconds(5));
  }
  for (std::thread& client : clients) client.join();
  EXPECT_LT(most - before, 64 * kMiB) << before;
  for (const cri::ExecSyncResponse& response : responses) {
    EXPECT_EQ(response.exit_code(), 7);
    EXPECT_EQ(response.stderr(), "done\n");
    EXPECT_GE(response.stdout().size(), 16u * 1024);
    const size_t end = response.stdout().size() - std::min<size_t>(response.stdout().size(), 200);
    EXPECT_THAT(response.stdout().substr(end), HasSubstr("truncated"));
  }
  EXPECT_TRUE(Eventually([&] { return ResidentBytes(node_.daemon_pid()) < before + 16 * kMiB; }))
      << before << " before, " << ResidentBytes(node_.daemon_pid()) << " after";
  // The next command has the full limit again.
  cri::ExecSyncResponse response;
  EXPECT_TRUE(Exec(container_, {"head", "-c", "15000000", "/dev/zero"}, &response).ok());
  EXPECT_EQ(response.stdout().size(), 15'000'000u);
}

TEST_F(ExecTest, DoesNotWaitForABackgroundProcessThatHoldsThePipe) {
  const absl::Time before = absl::Now();
  EXPECT_EQ(ExecOutput(container_, "sleep 100 & echo done"), "done\n");
  EXPECT_LT(absl::Now() - before, absl::Seconds(30));
}

// On v2 a group that delegates controllers has no processes of its own, so a command's remaining
// processes can't move to the container's group.
TEST_F(ExecTest, WhatACommandLeavesStaysWithAContainerThatHasGroupsOfItsOwn) {
  if (Cgroups().layout() != linux::CgroupLayout::kV2) GTEST_SKIP() << "this is so on v2 only";
  const std::string group = absl::StrCat("sys/fs/cgroup", CgroupOf(pod_, container_));
  ASSERT_TRUE(Host().MakeDirs(group + "/own", 0755).ok());
  const auto processes = Host().Read(group + "/cgroup.procs");
  ASSERT_TRUE(processes.ok()) << processes.status();
  for (absl::string_view pid : absl::StrSplit(*processes, '\n', absl::SkipEmpty())) {
    ASSERT_TRUE(Host().Write(group + "/own/cgroup.procs", pid).ok());
  }
  ASSERT_TRUE(Host().Write(group + "/cgroup.subtree_control", "+pids").ok());
  const std::string mark = OwnMark(1);
  EXPECT_EQ(ExecOutput(container_, "sleep " + mark + " >/dev/null 2>&1 & echo done"), "done\n");
  const std::vector<std::string> left = ProcessesWith("sleep " + mark);
  ASSERT_EQ(left.size(), 1u);
  EXPECT_TRUE(Eventually([&] {
    return absl::EndsWith(
        Host().Read(absl::StrCat("proc/", std::stoi(left[0]), "/cgroup")).value_or(""),
        absl::StrCat(CgroupOf(pod_, container_), "/left-by-exec\n"));
  }));
  EXPECT_EQ(ExecOutput(container_, "echo still here"), "still here\n");
}

TEST_F(ExecTest, MissingCommandIsAClearError) {
  cri::ExecSyncResponse response;
  const grpc::Status status = Exec(container_, {"/no/such/command"}, &response);
  EXPECT_THAT(absl::StrCat(status.error_message(), response.stderr()),
              HasSubstr("/no/such/command"));
  EXPECT_TRUE(!status.ok() || response.exit_code() == 127 || response.exit_code() == 126);
}

TEST_F(ExecTest, NeedsARunningContainer) {
  ASSERT_TRUE(StopContainer(container_, 0).ok());
  cri::ExecSyncResponse response;
  EXPECT_EQ(Exec(container_, {"/bin/true"}, &response).error_code(),
            grpc::StatusCode::FAILED_PRECONDITION);
}

class LogsTest : public NodeTest {
 protected:
  std::string RawLog(const std::string& container) {
    return Host().Read(Status(container).log_path()).value_or("");
  }
};

TEST_F(LogsTest, LinesAreInCriFormat) {
  const std::string id = Start(RunPod(), Shell("echo to out; echo to err >&2"));
  AwaitExit(id);
  const std::string time = "[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+([+-][0-9:]{5}|Z)";
  EXPECT_THAT(RawLog(id), ContainsRegex(absl::StrCat(time, " stdout F to out\n")));
  EXPECT_THAT(RawLog(id), ContainsRegex(absl::StrCat(time, " stderr F to err\n")));
}

// The log is complete once the exit is reported. (The conformance suite, made for other runtimes
// too, allows a delay.)
TEST_F(LogsTest, NoLineIsLost) {
  const std::string id = Start(RunPod(), Shell("seq 1 20000"));
  AwaitExit(id);
  std::string expected;
  for (int i = 1; i <= 20000; ++i) absl::StrAppend(&expected, i, "\n");
  EXPECT_EQ(Output(id), expected);
}

TEST_F(LogsTest, AnUnfinishedLineIsPartial) {
  const std::string id = Start(RunPod(), Shell("printf unfinished"));
  AwaitExit(id);
  EXPECT_THAT(RawLog(id), HasSubstr(" stdout P unfinished"));
}

TEST_F(LogsTest, ReopenGoesOnInANewFile) {
  const std::string id =
      Start(RunPod(), Shell("trap 'echo second' USR1; echo first; while :; do sleep 0.05; done"));
  ASSERT_TRUE(Eventually([&] { return absl::StrContains(RawLog(id), "first"); }));
  const std::string path = Status(id).log_path();
  ASSERT_EQ(rename(path.c_str(), (path + ".1").c_str()), 0);
  cri::ReopenContainerLogRequest request;
  request.set_container_id(id);
  cri::ReopenContainerLogResponse response;
  grpc::ClientContext context;
  const grpc::Status status = node_.runtime().ReopenContainerLog(&context, request, &response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_TRUE(Host().Exists(path)) << "the new file is there when the call returns";
  ExecOutput(id, "kill -USR1 1");
  EXPECT_TRUE(Eventually([&] { return absl::StrContains(RawLog(id), "second"); }));
  EXPECT_THAT(Host().Read(path + ".1").value_or(""), HasSubstr("first"));
}

TEST_F(LogsTest, AReopenedLogIsNoFifoAndNoLink) {
  const std::string id = Start(RunPod(), Shell("while :; do echo on; sleep 0.05; done"));
  ASSERT_TRUE(Eventually([&] { return absl::StrContains(RawLog(id), "on"); }));
  const std::string path = Status(id).log_path();
  const std::string victim = absl::StrCat(node_.directory(), "/victim");
  ASSERT_TRUE(Host().ReplaceFile(victim, "").ok());
  ASSERT_EQ(rename(path.c_str(), (path + ".1").c_str()), 0);
  for (const bool fifo : {true, false}) {
    ASSERT_EQ(fifo ? mkfifo(path.c_str(), 0600) : symlink(victim.c_str(), path.c_str()), 0);
    cri::ReopenContainerLogRequest request;
    request.set_container_id(id);
    cri::ReopenContainerLogResponse response;
    grpc::ClientContext context;
    const grpc::Status refused = node_.runtime().ReopenContainerLog(&context, request, &response);
    EXPECT_EQ(refused.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
    EXPECT_THAT(refused.error_message(),
                AllOf(HasSubstr(path), HasSubstr(fifo ? "is a FIFO" : "is a symlink")));
    ASSERT_EQ(unlink(path.c_str()), 0);
  }
  const size_t before = Host().Read(path + ".1")->size();
  EXPECT_TRUE(Eventually([&] { return Host().Read(path + ".1")->size() > before; })) << "goes on";
  EXPECT_EQ(*Host().Read(victim), "");
  EXPECT_TRUE(StopContainer(id, 0).ok());
}

TEST_F(LogsTest, ALogThatIsAFifoOrALinkFailsTheCreation) {
  cri::PodSandboxConfig pod_config = PodConfig();
  pod_config.set_log_directory(absl::StrCat(node_.directory(), "/pod-logs"));
  ASSERT_TRUE(Host().MakeDirs(pod_config.log_directory(), 0755).ok());
  const std::string pod = RunPod(pod_config);
  cri::ContainerConfig config = Shell("true");
  config.set_log_path("0.log");
  const std::string path = pod_config.log_directory() + "/0.log";
  for (const bool fifo : {true, false}) {
    ASSERT_EQ(fifo ? mkfifo(path.c_str(), 0600) : symlink("/etc/passwd", path.c_str()), 0);
    std::string id;
    const grpc::Status refused = TryCreate(pod, config, &id);
    EXPECT_EQ(refused.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
    EXPECT_THAT(refused.error_message(),
                AllOf(HasSubstr(path), HasSubstr(fifo ? "is a FIFO" : "is a symlink")));
    ASSERT_EQ(unlink(path.c_str()), 0);
  }
  EXPECT_TRUE(StopPod(pod).ok());
}

TEST_F(LogsTest, ATerminalIsATerminal) {
  cri::ContainerConfig config = Shell("tty; test -t 1 && echo yes");
  config.set_tty(true);
  const std::string id = Start(RunPod(), config);
  EXPECT_EQ(AwaitExit(id).exit_code(), 0);
  EXPECT_THAT(Output(id), HasSubstr("/dev/pts/0"));
}

TEST_F(LogsTest, WithoutStdinAReaderSeesTheEnd) {
  const std::string id = Start(RunPod(), Shell("cat; echo end"));
  AwaitExit(id);
  EXPECT_EQ(Output(id), "end\n");
}

}  // namespace
}  // namespace plimsoll::testing
