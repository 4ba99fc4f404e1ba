// The daemon goes and comes; workloads don't notice.
#include <csignal>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "harness/kernel.h"
#include "harness/node.h"

namespace plimsoll::testing {
namespace {

class RestartTest : public NodeTest {
 protected:
  void Restart(bool killed) {
    if (killed) {
      node_.KillDaemon();
    } else {
      const auto exit = node_.StopDaemon();
      ASSERT_TRUE(exit.ok() && exit->success()) << node_.Log();
    }
    const absl::Status started = node_.StartDaemon();
    ASSERT_TRUE(started.ok()) << started;
  }
};

TEST_F(RestartTest, RunningContainersRunOn) {
  for (const bool killed : {false, true}) {
    const std::string pod = RunPod();
    const std::string id =
        Start(pod, Shell("n=0; while :; do echo $n; n=$((n+1)); sleep 0.05; done"));
    const std::string init = ExecOutput(id, "cut -d' ' -f22 /proc/1/stat");
    Restart(killed);
    EXPECT_EQ(Status(id).state(), cri::CONTAINER_RUNNING);
    EXPECT_EQ(PodStatus(pod).state(), cri::SANDBOX_READY);
    EXPECT_EQ(ExecOutput(id, "cut -d' ' -f22 /proc/1/stat"), init) << "the same process";
    const size_t lines = Output(id).size();
    EXPECT_TRUE(Eventually([&] { return Output(id).size() > lines; })) << "its log goes on";
    EXPECT_TRUE(StopContainer(id, 0).ok());
    EXPECT_EQ(Status(id).exit_code(), 137);
  }
}

TEST_F(RestartTest, AnExitWhileNoDaemonLivedIsRecorded) {
  const std::string gate = absl::StrCat(node_.directory(), "/gate");
  ASSERT_TRUE(Host().MakeDirs(gate, 0755).ok());
  cri::ContainerConfig config = Shell("while [ ! -e /gate/open ]; do sleep 0.05; done; exit 9");
  cri::Mount* mount = config.add_mounts();
  mount->set_host_path(gate);
  mount->set_container_path("/gate");
  const std::string id = Start(RunPod(), config);
  const std::string init_log = Status(id).log_path();
  node_.KillDaemon();
  ASSERT_TRUE(Host().ReplaceFile(gate + "/open", "").ok());
  ASSERT_TRUE(Eventually([&] { return ProcessesWith("/gate/open").empty(); }));
  const absl::Status started = node_.StartDaemon();
  ASSERT_TRUE(started.ok()) << started;
  const cri::ContainerStatus status = AwaitExit(id);
  EXPECT_EQ(status.exit_code(), 9);
  EXPECT_GT(status.finished_at(), status.started_at());
  EXPECT_EQ(status.log_path(), init_log);
}

TEST_F(RestartTest, CreatedContainersCanBeStartedAfterwards) {
  const std::string pod = RunPod();
  const std::string id = Create(pod, Shell("exit 6"));
  Restart(/*killed=*/true);
  EXPECT_EQ(Status(id).state(), cri::CONTAINER_CREATED);
  ASSERT_TRUE(TryStart(id).ok());
  EXPECT_EQ(AwaitExit(id).exit_code(), 6);
}

TEST_F(RestartTest, NamesLabelsAndImagesAreKept) {
  cri::PodSandboxConfig config = PodConfig();
  (*config.mutable_labels())["app"] = "x";
  const std::string pod = RunPod(config);
  Restart(/*killed=*/true);
  EXPECT_EQ(PodStatus(pod).labels().at("app"), "x");
  std::string again;
  EXPECT_EQ(TryRunPod(config, &again).error_code(), grpc::StatusCode::ALREADY_EXISTS);
  EXPECT_EQ(AwaitExit(Start(pod, Shell("exit 2"))).exit_code(), 2);
}

TEST_F(RestartTest, AKilledMonitorEndsItsContainerAsUnknown) {
  const std::string id = Start(RunPod(), Shell("sleep 1000"));
  const std::vector<std::string> monitors = ProcessesWith("plimsoll-monitor");
  pid_t monitor = 0;
  for (const std::string& line : monitors) {
    if (absl::StrContains(line, id)) monitor = std::stoi(line);
  }
  ASSERT_GT(monitor, 0);
  ASSERT_EQ(kill(monitor, SIGKILL), 0);
  const cri::ContainerStatus status = AwaitExit(id);
  EXPECT_EQ(status.exit_code(), 255);
  EXPECT_EQ(status.reason(), "Unknown");
}

}  // namespace
}  // namespace plimsoll::testing
