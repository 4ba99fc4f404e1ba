// The stop signal reaches an init that isn't ready for it: the kernel drops signals that the init
// of a PID namespace does not catch.
#include <signal.h>

#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/wait_until_for_test.h"
#include "harness/kernel.h"
#include "harness/node.h"

namespace plimsoll::testing {
namespace {

// Far less than the grace period that a lost signal costs, and than the wait for the end of what
// was killed (kKillTimeout).
constexpr absl::Duration kSoon = absl::Seconds(15);

class StopSignalTest : public NodeTest {
 protected:
  // The duration of the stop; the container has exited then.
  absl::Duration Stop(const std::string& id, int64_t grace_seconds) {
    const absl::Time begin = absl::Now();
    const grpc::Status stopped = StopContainer(id, grace_seconds);
    EXPECT_TRUE(stopped.ok()) << stopped.error_message();
    EXPECT_EQ(Status(id).state(), cri::CONTAINER_EXITED);
    return absl::Now() - begin;
  }

  // 0: not found.
  pid_t MonitorOf(const std::string& id) {
    cri::ContainerStatusRequest request;
    request.set_container_id(id);
    request.set_verbose(true);
    cri::ContainerStatusResponse response;
    grpc::ClientContext context;
    EXPECT_TRUE(node_.runtime().ContainerStatus(&context, request, &response).ok());
    const std::string key = "\"monitorPid\":";
    const std::string& info = (*response.mutable_info())["info"];
    const size_t at = info.find(key);
    return at == std::string::npos ? 0 : std::stoi(info.substr(at + key.size()));
  }
};

// `sh -c top`, whose handler is set some milliseconds after its start.
TEST_F(StopSignalTest, AStopRightAfterAStartIsNotLost) {
  const std::string pod = RunPod();
  for (int i = 0; i < 10; ++i) {
    const std::string id = Start(pod, Shell("trap 'exit 7' TERM; while :; do sleep 0.02; done"));
    EXPECT_LT(Stop(id, 60), Patience(kSoon)) << i;
    EXPECT_EQ(Status(id).exit_code(), 7) << i;
    ASSERT_TRUE(RemoveContainer(id).ok());
  }
}

TEST_F(StopSignalTest, ASignalWaitsForAHandlerThatComesLate) {
  const std::string id =
      Start(RunPod(), Shell("sleep 2; trap 'exit 7' TERM; while :; do sleep 0.02; done"));
  const absl::Duration took = Stop(id, 60);
  EXPECT_LT(took, Patience(kSoon));
  EXPECT_EQ(Status(id).exit_code(), 7) << "lost, it ends by SIGKILL";
}

TEST_F(StopSignalTest, AnInitThatNeverListensGetsItsGraceAndIsKilled) {
  for (const char* script :
       {"while :; do sleep 0.05; done", "trap '' TERM; while :; do sleep 0.05; done"}) {
    const std::string id = Start(RunPod(), Shell(script));
    const absl::Duration took = Stop(id, 2);
    EXPECT_GT(took, absl::Milliseconds(1900)) << script;
    EXPECT_LT(took, Patience(kSoon)) << script;
    EXPECT_EQ(Status(id).exit_code(), 137) << script;
  }
}

// Some programs take the second one as "now".
TEST_F(StopSignalTest, NoInitGetsTwo) {
  const std::string script =
      "n=0; sleep 1; trap 'n=$((n+1)); echo got $n' TERM; "
      "i=0; while [ $i -lt 100 ]; do sleep 0.05; i=$((i+1)); done; echo had $n";
  const std::string id = Start(RunPod(), Shell(script));
  std::thread first([&] { EXPECT_TRUE(StopContainer(id, 60).ok()); });
  // Only after the first one's arrival, or the shell would merge the two.
  EXPECT_TRUE(WaitUntil([&] { return Output(id) == "got 1\n"; }));
  EXPECT_TRUE(StopContainer(id, 60).ok());
  first.join();
  EXPECT_EQ(Status(id).exit_code(), 0);
  EXPECT_EQ(Output(id), "got 1\nhad 1\n");
}

// The kernel drops nothing for it, under the host's init or a pod's own.
TEST_F(StopSignalTest, WhatIsNoInitOfItsNamespaceEndsAtOnce) {
  for (const cri::NamespaceMode mode : {cri::POD, cri::NODE}) {
    cri::PodSandboxConfig pod = PodConfig();
    pod.mutable_linux()->mutable_security_context()->mutable_namespace_options()->set_pid(mode);
    cri::ContainerConfig config = Shell("exec sleep 1000");
    config.mutable_linux()->mutable_security_context()->mutable_namespace_options()->set_pid(mode);
    const std::string id = Start(RunPod(pod), config);
    EXPECT_LT(Stop(id, 60), Patience(kSoon));
    EXPECT_EQ(Status(id).exit_code(), 143);
  }
}

// A stop with less patience ends a stop that waits for a handler.
TEST_F(StopSignalTest, AnImpatientStopDoesNotWaitForAnother) {
  const std::string id = Start(RunPod(), Shell("while :; do sleep 0.05; done"));
  std::thread patient([&] { EXPECT_TRUE(StopContainer(id, 60).ok()); });
  absl::SleepFor(absl::Milliseconds(200));
  EXPECT_LT(Stop(id, 0), Patience(kSoon));
  patient.join();
  EXPECT_EQ(Status(id).exit_code(), 137);
}

// The monitor records the exit: if it is stopped, it is continued.
TEST_F(StopSignalTest, AStoppedMonitorHoldsNoStopUp) {
  const std::string pod = RunPod();
  struct Case {
    const char* script;
    int64_t grace_seconds;
    int exit_code;
  };
  for (const Case& each :
       {Case{"trap 'exit 7' TERM; echo ready; while :; do sleep 0.02; done", 60, 7},
        Case{"echo ready; while :; do sleep 0.02; done", 0, 137}}) {
    const std::string id = Start(pod, Shell(each.script));
    EXPECT_TRUE(Eventually([&] { return Output(id) == "ready\n"; }));
    const pid_t monitor = MonitorOf(id);
    ASSERT_GT(monitor, 0);
    ASSERT_EQ(kill(monitor, SIGSTOP), 0);
    EXPECT_LT(Stop(id, each.grace_seconds), Patience(kSoon)) << each.script;
    EXPECT_EQ(Status(id).exit_code(), each.exit_code) << each.script;
  }
}

TEST_F(StopSignalTest, AContainerWithAStoppedMonitorIsRemovedWithItsPod) {
  const std::string pod = RunPod();
  const std::string id = Start(pod, Shell("sleep 1000"));
  ASSERT_EQ(kill(MonitorOf(id), SIGSTOP), 0);
  const absl::Time begin = absl::Now();
  EXPECT_TRUE(RemovePod(pod).ok());
  EXPECT_LT(absl::Now() - begin, Patience(kSoon));
}

}  // namespace
}  // namespace plimsoll::testing
