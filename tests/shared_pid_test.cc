// One PID namespace for all containers of a pod; and another container's, joined from outside.
#include <algorithm>
#include <csignal>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "harness/kernel.h"
#include "harness/node.h"
#include "harness/own_mark.h"
#include "linux/process.h"

namespace plimsoll::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

class SharedPidTest : public NodeTest {
 protected:
  std::string RunSharedPod() {
    cri::PodSandboxConfig config = PodConfig();
    config.mutable_linux()->mutable_security_context()->mutable_namespace_options()->set_pid(
        cri::POD);
    return RunPod(config);
  }
  cri::ContainerConfig InPod(const std::string& script) {
    cri::ContainerConfig config = Shell(script);
    config.mutable_linux()->mutable_security_context()->mutable_namespace_options()->set_pid(
        cri::POD);
    return config;
  }
  // Host pids in the group of the pod's init.
  std::vector<pid_t> Pauses(const std::string& pod) {
    return Cgroups()
        .Processes(absl::StrCat(node_.cgroup_parent(), "/", pod, "/pause-", pod), false)
        .value_or(std::vector<pid_t>());
  }
  // Whether `sleep` itself runs: the shell that starts it has it in its arguments too.
  static bool Runs(const std::string& sleep) {
    const std::vector<std::string> found = ProcessesWith(sleep);
    return std::any_of(found.begin(), found.end(), [&](const std::string& line) {
      return absl::EndsWith(line, absl::StrCat(": ", sleep, " "));
    });
  }
  void Kill(pid_t pid) {
    const auto pidfd = linux::OpenPidfd(pid);
    ASSERT_TRUE(pidfd.ok()) << pidfd.status();
    ASSERT_TRUE(linux::SignalProcess(*pidfd, SIGKILL).ok());
  }
};

TEST_F(SharedPidTest, ContainersSeeEachOther) {
  const std::string pod = RunSharedPod();
  const std::string of_one = "sleep " + OwnMark(1);
  const std::string of_two = "sleep " + OwnMark(2);
  const std::string of_own = "sleep " + OwnMark(3);
  const std::string one = Start(pod, InPod(of_one + "; :"));
  const std::string two = Start(pod, InPod(of_two + "; :"));
  const std::string own = Start(pod, [&] {
    cri::ContainerConfig config = InPod(of_own + "; :");
    config.mutable_linux()->mutable_security_context()->mutable_namespace_options()->set_pid(
        cri::CONTAINER);
    return config;
  }());
  ASSERT_TRUE(Eventually([&] { return Runs(of_one) && Runs(of_two) && Runs(of_own); }));
  for (const std::string& id : {one, two}) {
    const std::string seen = ExecOutput(id, "ps");
    EXPECT_THAT(seen, HasSubstr(of_one));
    EXPECT_THAT(seen, HasSubstr(of_two));
    EXPECT_THAT(seen, Not(HasSubstr(of_own))) << "one that asked for its own";
    EXPECT_THAT(ExecOutput(id, "tr '\\0' ' ' < /proc/1/cmdline"), HasSubstr("plimsoll-pause"));
  }
  EXPECT_THAT(ExecOutput(own, "ps"), Not(HasSubstr(of_one)));
  // A container may end another's processes, but not the shared init.
  ExecOutput(one, absl::StrCat("kill -9 $(ps -o pid,args | awk '$2 == \"sleep\" && $3 == ",
                               OwnMark(2), " {print $1}')"));
  EXPECT_EQ(AwaitExit(two).exit_code(), 0);
  ExecOutput(one, "kill -TERM 1; kill -9 1");
  EXPECT_EQ(Status(one).state(), cri::CONTAINER_RUNNING);
  EXPECT_EQ(PodStatus(pod).state(), cri::SANDBOX_READY);
  EXPECT_EQ(PodStatus(pod).linux().namespaces().options().pid(), cri::POD);
}

// If its first process isn't the namespace's init, the kernel ends nothing with it.
TEST_F(SharedPidTest, TheRestOfAContainerEndsWithItsFirstProcess) {
  const std::string pod = RunSharedPod();
  const std::string sleep = "sleep " + OwnMark(1);
  const std::string id = Start(pod, InPod(sleep + " >/dev/null 2>&1 & exit 3"));
  EXPECT_EQ(AwaitExit(id).exit_code(), 3);
  EXPECT_TRUE(Eventually([&] { return ProcessesWith(sleep).empty(); }));
}

TEST_F(SharedPidTest, TheHostIsNotSeenThroughTheInit) {
  const std::string id = Start(RunSharedPod(), InPod("sleep 1000"));
  cri::ExecSyncResponse response;
  ASSERT_TRUE(Exec(id, {"ls", "/proc/1/root/"}, &response).ok());
  EXPECT_NE(response.exit_code(), 0) << response.stdout();
  EXPECT_THAT(ExecOutput(id, "cat /proc/1/status"), HasSubstr("CapEff:\t0000000000000000"));
}

TEST_F(SharedPidTest, OrphansAreReapedAndStopEndsEverything) {
  const std::string pod = RunSharedPod();
  ASSERT_THAT(Pauses(pod), SizeIs(1)) << "charged to the pod, in a group of its own";
  const pid_t pause = Pauses(pod)[0];
  const std::string id = Start(pod, InPod("sh -c '(sleep 0.05) & exit'; sleep 1000"));
  ASSERT_TRUE(Eventually([&] {
    return ExecOutput(id, "ps -o ppid,stat,comm | grep -c '^ *1 Z' || true") == "0\n" &&
           ExecOutput(id, "pgrep -f 'sleep 0.05' || echo none") == "none\n";
  }));
  ASSERT_TRUE(StopPod(pod).ok());
  EXPECT_EQ(Status(id).state(), cri::CONTAINER_EXITED);
  EXPECT_THAT(Pauses(pod), IsEmpty());
  EXPECT_FALSE(*linux::IsRunning(
      Host(), linux::IdentifyProcess(Host(), pause).value_or(linux::ProcessId())));
  EXPECT_TRUE(RemovePod(pod).ok());
}

TEST_F(SharedPidTest, ItOutlivesTheDaemon) {
  const std::string pod = RunSharedPod();
  const std::string id = Start(pod, InPod("sleep 72001; :"));
  for (const bool killed : {false, true}) {
    if (killed) {
      node_.KillDaemon();
    } else {
      ASSERT_TRUE(node_.StopDaemon().ok());
    }
    ASSERT_TRUE(node_.StartDaemon().ok());
    EXPECT_EQ(PodStatus(pod).state(), cri::SANDBOX_READY);
    EXPECT_EQ(Status(id).state(), cri::CONTAINER_RUNNING);
    const std::string later = Start(pod, InPod("sleep 1000"));
    EXPECT_THAT(ExecOutput(later, "ps"), HasSubstr("sleep 72001"));
    EXPECT_TRUE(RemoveContainer(later).ok());
  }
}

TEST_F(SharedPidTest, WithoutItsInitThePodIsNotReady) {
  for (const bool daemon_lives : {true, false}) {
    const std::string pod = RunSharedPod();
    const std::string id = Start(pod, InPod("sleep 1000"));
    ASSERT_THAT(Pauses(pod), SizeIs(1));
    const pid_t pause = Pauses(pod)[0];
    if (!daemon_lives) node_.KillDaemon();
    Kill(pause);
    if (!daemon_lives) {
      ASSERT_TRUE(node_.StartDaemon().ok());
    }
    EXPECT_TRUE(Eventually([&] { return PodStatus(pod).state() == cri::SANDBOX_NOTREADY; }));
    EXPECT_EQ(AwaitExit(id).exit_code(), 137);
    std::string refused;
    EXPECT_EQ(TryCreate(pod, InPod("true"), &refused).error_code(),
              grpc::StatusCode::FAILED_PRECONDITION);
    EXPECT_TRUE(RemovePod(pod).ok());
  }
}

TEST_F(SharedPidTest, RightAfterItsInitsEndNothingIsMadeInThePod) {
  for (int i = 0; i < 5; ++i) {
    const std::string pod = RunSharedPod();
    Kill(Pauses(pod)[0]);
    std::string id;
    const grpc::Status refused = TryCreate(pod, InPod("sleep 1000"), &id);
    EXPECT_EQ(refused.error_code(), grpc::StatusCode::FAILED_PRECONDITION)
        << refused.error_message();
    ASSERT_TRUE(RemovePod(pod).ok());
  }
}

TEST_F(SharedPidTest, AContainerMayEnterAnothersNamespace) {
  const std::string pod = RunPod();
  const std::string target = Start(pod, Shell("sleep 73001; :"));
  cri::ContainerConfig config = Shell("sleep 1000");
  cri::NamespaceOption* options =
      config.mutable_linux()->mutable_security_context()->mutable_namespace_options();
  options->set_pid(cri::TARGET);
  options->set_target_id(target);
  const std::string debugger = Start(pod, config);
  EXPECT_THAT(ExecOutput(debugger, "ps"), HasSubstr("sleep 73001"));
  EXPECT_EQ(ExecOutput(debugger, "readlink /proc/self/ns/pid"),
            ExecOutput(target, "readlink /proc/self/ns/pid"));
}

}  // namespace
}  // namespace plimsoll::testing
