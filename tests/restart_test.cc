// The daemon goes and comes; workloads don't notice.
#include <csignal>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/random_id.h"
#include "harness/kernel.h"
#include "harness/node.h"
#include "harness/own_mark.h"
#include "linux/process.h"
#include "runtime/store/store.h"

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

// After a reboot: rows of another boot. (The virtual machine tests that the processes are gone
// too.)
TEST_F(RestartTest, AfterARebootEverythingHasEnded) {
  const std::string pod = RunPod();
  const std::string created = Create(pod, Shell("exit 6"));
  const std::string running = Start(pod, Shell("sleep 1000"));
  const std::string ended = Start(pod, Shell("exit 3"));
  EXPECT_EQ(AwaitExit(ended).exit_code(), 3);
  node_.KillDaemon();
  {
    const auto store = runtime::Store::Open(*FsRoot::Open(node_.state_directory()));
    ASSERT_TRUE(store.ok()) << store.status();
    auto containers = *(*store)->LoadContainers();
    auto sandboxes = *(*store)->LoadSandboxes();
    for (auto& record : containers) {
      record.boot_id = "another";
      ASSERT_TRUE((*store)->PutContainer(record).ok());
    }
    for (auto& record : sandboxes) {
      record.boot_id = "another";
      ASSERT_TRUE((*store)->PutSandbox(record).ok());
    }
  }
  const absl::Status started = node_.StartDaemon();
  ASSERT_TRUE(started.ok()) << started;
  for (const std::string& id : {created, running}) {
    const cri::ContainerStatus status = Status(id);
    EXPECT_EQ(status.state(), cri::CONTAINER_EXITED);
    EXPECT_EQ(status.exit_code(), 255);
    EXPECT_EQ(status.reason(), "Unknown");
  }
  EXPECT_EQ(Status(ended).exit_code(), 3) << "what had ended keeps its code";
  EXPECT_EQ(PodStatus(pod).state(), cri::SANDBOX_NOTREADY);
  for (const std::string& mount : MountsBelow(node_.run_directory())) {
    EXPECT_EQ(mount, node_.run_directory()) << "still mounted";
  }
}

TEST_F(RestartTest, ACommandThatNobodyWaitsForIsEnded) {
  const std::string id = Start(RunPod(), Shell("sleep 1000"));
  const std::string sleep = "sleep " + OwnMark(1);
  const std::string script = sleep + "; :";
  for (const int64_t timeout : {0, 100}) {
    std::thread caller([&] {
      cri::ExecSyncResponse response;
      EXPECT_FALSE(Exec(id, {"/bin/sh", "-c", script}, &response, timeout).ok());
    });
    EXPECT_TRUE(Eventually([&] { return !ProcessesWith(script).empty(); }));
    node_.KillDaemon();
    caller.join();
    EXPECT_FALSE(ProcessesWith(script).empty()) << "it runs on";
    const absl::Status started = node_.StartDaemon();
    ASSERT_TRUE(started.ok()) << started;
    EXPECT_TRUE(Eventually([&] { return ProcessesWith(sleep).empty(); }));
    EXPECT_EQ(Status(id).state(), cri::CONTAINER_RUNNING);
    EXPECT_EQ(ExecOutput(id, "env | grep PLIMSOLL; echo"), "\n");
  }
}

// Each of a thousand rows is found in its state, and the start stays within a bound that a wait for
// each row, or a full walk for each, would break. There is little behind the rows: no groups, no
// namespaces, one process as the monitor of all. bench measures real start times.
class ManyContainersTest : public RestartTest {
 protected:
  static constexpr int kContainers = 1000;

  void SetUp() override {
    if (IsEmulated()) GTEST_SKIP() << "an emulated machine says nothing about a real one's times";
    RestartTest::SetUp();
  }

  // `dead`: the rows' processes have ended meanwhile.
  void FillStore(const std::string& boot_id, const linux::ProcessId& monitor, bool dead) {
    const auto store = runtime::Store::Open(*FsRoot::Open(node_.state_directory()));
    ASSERT_TRUE(store.ok()) << store.status();
    const auto images = (*store)->LoadImages();
    ASSERT_TRUE(images.ok() && !images->empty());
    std::string sandbox_id;
    for (int i = 0; i < kContainers; ++i) {
      if (i % 10 == 0) {
        runtime::SandboxRecord sandbox;
        sandbox.id = sandbox_id = RandomId();
        sandbox.state = runtime::SandboxState::kReady;
        sandbox.boot_id = boot_id;
        sandbox.spec.name = absl::StrCat("pod", i);
        sandbox.spec.namespaces.network = runtime::NamespaceMode::kNode;
        sandbox.spec.namespaces.ipc = runtime::NamespaceMode::kNode;
        sandbox.cgroup_path = absl::StrCat(node_.cgroup_parent(), "/", sandbox.id);
        ASSERT_TRUE((*store)->PutSandbox(sandbox).ok());
      }
      runtime::ContainerRecord container;
      container.id = RandomId();
      container.sandbox_id = sandbox_id;
      container.state = runtime::ContainerState::kRunning;
      container.boot_id = boot_id;
      container.spec.name = absl::StrCat("container", i);
      container.chain_ids = images->front().chain_ids;
      container.cgroup_path = absl::StrCat(node_.cgroup_parent(), "/", sandbox_id, "/", i);
      container.monitor = container.init = monitor;
      const std::string bundle =
          absl::StrCat(node_.run_directory(), "/oci/containers/", container.id);
      ASSERT_TRUE(Host().MakeDirs(bundle).ok());
      if (dead) {
        ASSERT_TRUE(Host().ReplaceFile(bundle + "/exit", "7 1700000000000000000\n").ok());
      }
      ASSERT_TRUE((*store)->PutContainer(container).ok());
    }
  }

  // None of them ever existed: taking each down would take long and show nothing.
  void TearDown() override {
    if (!IsSkipped() && !node_.daemon_runs()) {
      for (const char* file : {"plimsoll.db", "plimsoll.db-wal", "plimsoll.db-shm"}) {
        EXPECT_TRUE(Host().RemoveFile(absl::StrCat(node_.state_directory(), "/", file)).ok());
      }
      EXPECT_TRUE(Host().RemoveTree(node_.run_directory() + "/oci/containers").ok());
    }
    RestartTest::TearDown();
  }

  // Starts a daemon on them, and stops it.
  void ExpectQuickStart(const char* what, cri::ContainerState state) {
    const absl::Time start = absl::Now();
    const absl::Status started = node_.StartDaemon();
    ASSERT_TRUE(started.ok()) << started;
    const absl::Duration took = absl::Now() - start;
    GTEST_LOG_(INFO) << "a start with 1,000 containers, " << what << ", took " << took;
    EXPECT_LT(took, Patience(absl::Seconds(10))) << "an unoptimised build on a busy machine";
    cri::ListContainersResponse containers;
    grpc::ClientContext context;
    ASSERT_TRUE(node_.runtime().ListContainers(&context, {}, &containers).ok());
    EXPECT_EQ(containers.containers_size(), kContainers);
    for (const auto& container : containers.containers()) ASSERT_EQ(container.state(), state);
    node_.KillDaemon();
  }
};

TEST_F(ManyContainersTest, AreFoundRunning) {
  node_.KillDaemon();
  auto monitor = Spawn({.argv = {"/bin/sleep", "1000"}});
  ASSERT_TRUE(monitor.ok()) << monitor.status();
  FillStore(*linux::ReadBootId(Host()), *linux::IdentifyProcess(Host(), monitor->pid()), false);
  ExpectQuickStart("all running", cri::CONTAINER_RUNNING);
  monitor->Signal(SIGKILL).IgnoreError();
}

TEST_F(ManyContainersTest, AreFoundEnded) {
  node_.KillDaemon();
  FillStore(*linux::ReadBootId(Host()), {.pid = 1, .start_time_ticks = 1}, true);
  ExpectQuickStart("ended meanwhile", cri::CONTAINER_EXITED);
}

TEST_F(ManyContainersTest, AreFoundEndedByAReboot) {
  node_.KillDaemon();
  FillStore("another", {.pid = 1, .start_time_ticks = 1}, false);
  ExpectQuickStart("after a reboot", cri::CONTAINER_EXITED);
}

}  // namespace
}  // namespace plimsoll::testing
