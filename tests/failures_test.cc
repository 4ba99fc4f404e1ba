// The daemon when it can't work: each case a clear error, nothing left behind.
#include <sys/mount.h>

#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/dir_for_test.h"
#include "base/programs/subprocess.h"
#include "harness/kernel.h"
#include "harness/node.h"
#include "harness/own_mark.h"
#include "linux/capabilities.h"
#include "linux/namespaces/mounts.h"

namespace plimsoll::testing {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Words that start a program in a mount namespace of its own, after this shell command.
std::vector<std::string> InMountsOf(const std::string& command) {
  return {FindProgram("unshare").value_or("unshare"),
          "--mount",
          "--propagation",
          "slave",
          "/bin/sh",
          "-c",
          absl::StrCat(command, " && exec \"$0\" \"$@\"")};
}

class FailuresTest : public ::testing::Test {
 protected:
  // Starts the daemon, which must fail, and returns its message.
  static std::string FailureOf(Node& node) {
    const absl::Status status = node.StartDaemon();
    EXPECT_FALSE(status.ok());
    if (status.ok()) node.KillDaemon();
    EXPECT_THAT(MountsBelow(node.directory()), IsEmpty()) << "a mount was left";
    EXPECT_FALSE(CgroupExists(node.cgroup_parent())) << "a group was left";
    EXPECT_FALSE(Host().Exists(node.run_directory() + "/plimsoll.sock"));
    return std::string(status.message());
  }
};

TEST_F(FailuresTest, AMissingCrunNamesThePackage) {
  if (geteuid() != 0) GTEST_SKIP() << "mounts need root";
  Node node;
  node.StartBy(InMountsOf("mount --bind /dev/null \"$(command -v crun)\""));
  EXPECT_THAT(FailureOf(node),
              AllOf(HasSubstr("no program crun in "), HasSubstr("apt-get install crun")));
}

TEST_F(FailuresTest, AWrongKeyHasFileAndLine) {
  Node node("colour: blue\n");
  EXPECT_THAT(FailureOf(node), HasSubstr(absl::StrCat(node.config_path(), ":5:")));
}

TEST_F(FailuresTest, AnUnreadableConfigurationIsNamed) {
  Node node;
  ASSERT_TRUE(Host().RemoveFile(node.config_path()).ok());
  EXPECT_THAT(FailureOf(node), HasSubstr(node.config_path()));
}

TEST_F(FailuresTest, CheckConfigSaysTheSameWithoutStarting) {
  Node node("workers: many\n");
  const auto result = RunProgram(
      {.argv = {ProgramPath("plimsolld"), "--config", node.config_path(), "--check-config"}});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_NE(result->exit.code, 0);
  EXPECT_THAT(absl::StrCat(result->out, result->err), HasSubstr("workers"));
  EXPECT_FALSE(Host().Exists(node.state_directory()));
}

TEST_F(FailuresTest, ASecondDaemonOnTheSameStateNamesTheFirst) {
  Node node;
  ASSERT_TRUE(node.StartDaemon().ok());
  const auto second =
      RunProgram({.argv = {ProgramPath("plimsolld"), "--config", node.config_path()}});
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_NE(second->exit.code, 0);
  EXPECT_THAT(second->err, HasSubstr(absl::StrCat(node.daemon_pid())));
  // The first daemon is unharmed.
  cri::VersionResponse version;
  grpc::ClientContext context;
  EXPECT_TRUE(node.runtime().Version(&context, {}, &version).ok());
  EXPECT_EQ(version.runtime_name(), "plimsoll");
}

TEST_F(FailuresTest, AReadOnlyStateDirectoryIsAClearError) {
  Node node;
  ASSERT_TRUE(Host().MakeDirs(node.state_directory(), 0700).ok());
  ASSERT_TRUE(linux::MountTmpfs(node.state_directory(), 1 << 20).ok());
  ASSERT_EQ(
      mount(nullptr, node.state_directory().c_str(), nullptr, MS_REMOUNT | MS_RDONLY, nullptr), 0);
  const absl::Status status = node.StartDaemon();
  EXPECT_THAT(std::string(status.message()), HasSubstr("Read-only file system"));
  if (status.ok()) node.KillDaemon();
  EXPECT_TRUE(linux::Unmount(node.state_directory()).ok());
}

TEST_F(FailuresTest, ADamagedDatabaseIsAClearErrorAndIsNotTouched) {
  Node node;
  ASSERT_TRUE(Host().MakeDirs(node.state_directory(), 0700).ok());
  const std::string garbage(8192, 'x');
  ASSERT_TRUE(Host().ReplaceFile(node.state_directory() + "/plimsoll.db", garbage).ok());
  EXPECT_THAT(FailureOf(node), HasSubstr("plimsoll.db"));
  EXPECT_EQ(*Host().Read(node.state_directory() + "/plimsoll.db"), garbage);
}

TEST_F(FailuresTest, TooFewDescriptorsAreAClearError) {
  // With 12, not even the files that the machine is known by could be opened.
  for (const int limit : {40, 12}) {
    Node node;
    node.StartBy({"/bin/sh", "-c", absl::StrCat("ulimit -n ", limit, "; exec \"$@\""), "sh"});
    const std::string said = FailureOf(node);
    EXPECT_THAT(said, HasSubstr(absl::StrCat("may have ", limit, " open files, and needs 256")));
    EXPECT_THAT(said, HasSubstr("RLIMIT_NOFILE"));
  }
}

TEST_F(FailuresTest, ALimitOfFilesSizesIsAClearError) {
  Node node;
  node.StartBy({"/bin/sh", "-c", "ulimit -f 10; exec \"$@\"", "sh"});
  const std::string said = FailureOf(node);
  EXPECT_THAT(said, HasSubstr("may write files of 5120 bytes, and needs 1073741824"));
  EXPECT_THAT(said, HasSubstr("RLIMIT_FSIZE"));
}

TEST_F(FailuresTest, AStackThatIsTooSmallIsAClearError) {
  Node node;
  node.StartBy({"/bin/sh", "-c", "ulimit -s 64; exec \"$@\"", "sh"});
  const std::string said = FailureOf(node);
  EXPECT_THAT(said, HasSubstr("may have stacks of 65536 bytes, and needs 1048576"));
  EXPECT_THAT(said, HasSubstr("RLIMIT_STACK"));
}

TEST_F(FailuresTest, WithoutAThreadForACallItsLimitIsNamed) {
  Node node;
  ASSERT_TRUE(node.StartDaemon().ok());
  const std::string group = absl::StrCat("/plimsoll-test-threads-", getpid());
  ASSERT_TRUE(Cgroups().Create(group).ok());
  ASSERT_TRUE(Cgroups().AddProcess(group, node.daemon_pid()).ok());
  ASSERT_TRUE(Cgroups().Apply(group, {.pids_limit = 1}).ok());
  const auto call = [&] {
    cri::ExecSyncRequest request;
    request.set_container_id("none");
    request.add_cmd("true");
    cri::ExecSyncResponse response;
    grpc::ClientContext context;
    return node.runtime().ExecSync(&context, request, &response);
  };
  const grpc::Status refused = call();
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(refused.error_message(),
              HasSubstr(absl::StrCat("pids.max of control group ", group, " is 1")));
  EXPECT_TRUE(Cgroups().Apply(group, {.pids_limit = -1}).ok());
  EXPECT_EQ(call().error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_TRUE(node.StopDaemon().ok());
  EXPECT_TRUE(Cgroups().Remove(group).ok());
}

class ReadOnlyEtcTest : public NodeTest {
 protected:
  void SetUp() override {
    node_.StartBy(InMountsOf("mount --bind /etc /etc && mount -o remount,bind,ro /etc"));
    NodeTest::SetUp();
  }
};

TEST_F(ReadOnlyEtcTest, APodRuns) {
  EXPECT_THAT(*Host().Read(absl::StrCat("proc/", node_.daemon_pid(), "/mounts")),
              ContainsRegex(" /etc [^ ]+ ro[, ]"));
  const std::string id = Start(RunPod(), Shell("sleep 1000"));
  EXPECT_EQ(ExecOutput(id, "echo here"), "here\n");
}

class StopTest : public NodeTest {};

TEST_F(StopTest, AnExecDoesNotHoldUpAStop) {
  const std::string id = Start(RunPod(), Shell("sleep 1000"));
  grpc::Status status;
  const std::string sleep = "sleep " + OwnMark(1);
  std::thread caller([&] {
    cri::ExecSyncResponse response;
    status = Exec(id, {"/bin/sh", "-c", absl::StrCat(sleep, " & ", sleep)}, &response, 90);
  });
  EXPECT_TRUE(Eventually([&] { return ProcessesWith(sleep).size() > 2; }));
  const auto exit = node_.StopDaemon();
  caller.join();
  ASSERT_TRUE(exit.ok()) << exit.status();
  EXPECT_TRUE(exit->success());
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE) << status.error_message();
  EXPECT_TRUE(Eventually([&] { return ProcessesWith(sleep).empty(); }));
  const absl::Status started = node_.StartDaemon();
  ASSERT_TRUE(started.ok()) << started;
  EXPECT_EQ(Status(id).state(), cri::CONTAINER_RUNNING);
}

class UnimplementedTest : public NodeTest {};

TEST_F(UnimplementedTest, WhatIsNotThereSaysSo) {
  grpc::ClientContext context;
  cri::CheckpointContainerResponse response;
  const grpc::Status status = node_.runtime().CheckpointContainer(&context, {}, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNIMPLEMENTED);
}

// A client that sends Windows' fields mistakes this machine; nothing is made or changed.
TEST_F(UnimplementedTest, WhatIsForWindowsSaysSo) {
  const auto expect_refused = [](const grpc::Status& status, const std::string& field) {
    EXPECT_EQ(status.error_code(), grpc::StatusCode::UNIMPLEMENTED) << status.error_message();
    EXPECT_THAT(status.error_message(), HasSubstr(field + " is for Windows containers"));
    EXPECT_THAT(status.error_message(), HasSubstr("this machine runs Linux"));
  };
  cri::PodSandboxConfig pod_config = PodConfig();
  pod_config.mutable_windows()->mutable_security_context()->set_host_process(true);
  std::string refused;
  expect_refused(TryRunPod(pod_config, &refused), "config.windows");
  const std::string pod = RunPod();
  cri::ContainerConfig config = Shell("sleep 1000");
  config.mutable_windows();
  expect_refused(TryCreate(pod, config, &refused), "config.windows");
  const auto create_beside = [&] {
    cri::CreateContainerRequest request;
    request.set_pod_sandbox_id(pod);
    *request.mutable_config() = Shell("sleep 1000");
    *request.mutable_sandbox_config() = pod_config;
    cri::CreateContainerResponse response;
    grpc::ClientContext context;
    return node_.runtime().CreateContainer(&context, request, &response);
  };
  expect_refused(create_beside(), "sandbox_config.windows");
  const std::string id = Start(pod, Shell("sleep 1000"));
  const int64_t shares = Status(id).resources().linux().cpu_shares();
  cri::UpdateContainerResourcesRequest update;
  update.set_container_id(id);
  update.mutable_linux()->set_cpu_shares(shares + 100);
  update.mutable_windows()->set_cpu_shares(100);
  cri::UpdateContainerResourcesResponse response;
  grpc::ClientContext context;
  expect_refused(node_.runtime().UpdateContainerResources(&context, update, &response), "windows");
  EXPECT_EQ(Status(id).resources().linux().cpu_shares(), shares);
  cri::ListContainersResponse containers;
  grpc::ClientContext listing;
  ASSERT_TRUE(node_.runtime().ListContainers(&listing, {}, &containers).ok());
  EXPECT_EQ(containers.containers_size(), 1);
  cri::ListPodSandboxResponse pods;
  grpc::ClientContext listing_pods;
  ASSERT_TRUE(node_.runtime().ListPodSandbox(&listing_pods, {}, &pods).ok());
  EXPECT_EQ(pods.items_size(), 1);
}

TEST_F(UnimplementedTest, StatusTellsOfAStateDirectoryThatIsGone) {
  const auto condition = [this] {
    grpc::ClientContext context;
    cri::StatusResponse response;
    EXPECT_TRUE(node_.runtime().Status(&context, {}, &response).ok());
    return response.status().conditions_size() > 0 ? response.status().conditions(0)
                                                   : cri::RuntimeCondition();
  };
  EXPECT_TRUE(condition().status());
  const std::string away = node_.state_directory() + ".away";
  ASSERT_EQ(rename(node_.state_directory().c_str(), away.c_str()), 0);
  const cri::RuntimeCondition gone = condition();
  ASSERT_EQ(rename(away.c_str(), node_.state_directory().c_str()), 0);
  EXPECT_FALSE(gone.status());
  EXPECT_EQ(gone.reason(), "DirectoryUnusable");
  EXPECT_THAT(gone.message(), HasSubstr(node_.state_directory()));
  EXPECT_TRUE(condition().status());
}

TEST_F(UnimplementedTest, StatusTellsReadinessAndWhatTheMachineLacks) {
  grpc::ClientContext context;
  cri::StatusRequest request;
  request.set_verbose(true);
  cri::StatusResponse response;
  ASSERT_TRUE(node_.runtime().Status(&context, request, &response).ok());
  bool runtime_ready = false;
  for (const cri::RuntimeCondition& condition : response.status().conditions()) {
    if (condition.type() == "RuntimeReady") runtime_ready = condition.status();
  }
  EXPECT_TRUE(runtime_ready);
  std::string info;
  for (const auto& [key, value] : response.info()) absl::StrAppend(&info, key, value);
  if (!linux::HasCapability(Host(), 24).value_or(true)) {
    EXPECT_THAT(info, HasSubstr("CAP_SYS_RESOURCE"));
  }
  if (!Cgroups().UnifiedControllersOnHybrid().empty()) {
    EXPECT_THAT(info, HasSubstr("hybrid"));
  }
}

// Debian's crun, which fails at the steps that the test chooses.
class FailingCrunTest : public NodeTest {
 protected:
  FailingCrunTest() : FailingCrunTest(std::make_unique<TestDir>()) {}
  // "before": fails before doing anything, with a message; "killed"; "hang": for ever.
  void Fail(const std::string& step, const std::string& how) {
    ASSERT_TRUE(directory_->root().ReplaceFile(step, how + "\n").ok());
  }
  void Mend(const std::string& step) { ASSERT_TRUE(directory_->root().RemoveFile(step).ok()); }
  int CountContainers() {
    cri::ListContainersResponse response;
    grpc::ClientContext context;
    EXPECT_TRUE(node_.runtime().ListContainers(&context, {}, &response).ok());
    return response.containers_size();
  }
  // The command it runs when it hangs.
  static std::string Hanging() { return "sleep " + OwnMark(2); }

 private:
  explicit FailingCrunTest(std::unique_ptr<TestDir> directory)
      : NodeTest(absl::StrCat("crun: ", directory->path(), "/crun\n")),
        directory_(std::move(directory)) {
    const std::string crun = FindProgram("crun").value_or("/usr/bin/crun");
    const std::string& place = directory_->path();
    const std::string script = absl::StrCat(
        "#!/bin/sh\ncase \"$*\" in\n*' create '*) step=create ;;\n*' start '*) step=start ;;\n"
        "*) exec ",
        crun, " \"$@\" ;;\nesac\nhow=\n[ ! -e ", place, "/$step ] || read -r how < ", place,
        "/$step\ncase $how in\nbefore) echo \"no luck before $step\" >&2; exit 1 ;;\n",
        "killed) kill -9 $$ ;;\nhang) exec ", Hanging(), " ;;\nesac\nexec ", crun, " \"$@\"\n");
    EXPECT_TRUE(directory_->root().ReplaceFile("crun", script, 0755).ok());
  }
  std::unique_ptr<TestDir> directory_;
};

TEST_F(FailingCrunTest, AFailedCreateIsToldAndTheNameIsFreeAgain) {
  const std::string pod = RunPod();
  const cri::ContainerConfig config = Shell("echo ran");
  std::string id;
  for (const auto& [how, why] :
       {std::pair("before", "no luck before create"), std::pair("killed", "signal 9")}) {
    Fail("create", how);
    const grpc::Status failed = TryCreate(pod, config, &id);
    EXPECT_EQ(failed.error_code(), grpc::StatusCode::INTERNAL) << how;
    EXPECT_THAT(failed.error_message(), HasSubstr(config.metadata().name()));
    EXPECT_THAT(failed.error_message(), HasSubstr(why));
    EXPECT_EQ(CountContainers(), 0) << how;
  }
  Mend("create");
  id = Start(pod, config);
  EXPECT_EQ(AwaitExit(id).exit_code(), 0);
}

// crun itself starts a container only if the FIFO of its waiting process isn't as expected.
TEST_F(FailingCrunTest, AFailedStartIsAnEndWithTheSameMessage) {
  const std::string pod = RunPod();
  std::vector<std::pair<std::string, std::string>> ended;  // id, message
  for (const auto& [how, why] :
       {std::pair("before", "no luck before start"), std::pair("killed", "signal 9")}) {
    const std::string id = Create(pod, Shell("sleep 1000"));
    const std::string fifo = absl::StrCat(node_.run_directory(), "/oci/crun/", id, "/exec.fifo");
    ASSERT_TRUE(Host().RemoveFile(fifo).ok()) << fifo;
    Fail("start", how);
    const grpc::Status failed = TryStart(id);
    EXPECT_EQ(failed.error_code(), grpc::StatusCode::FAILED_PRECONDITION) << how;
    EXPECT_THAT(failed.error_message(), HasSubstr("start container " + id));
    EXPECT_THAT(failed.error_message(), HasSubstr(why));
    ended.emplace_back(id, failed.error_message());
    Mend("start");
  }
  const auto expect_told = [&] {
    for (const auto& [id, message] : ended) {
      const cri::ContainerStatus status = Status(id);
      EXPECT_EQ(status.state(), cri::CONTAINER_EXITED);
      EXPECT_EQ(status.exit_code(), 128);
      EXPECT_EQ(status.reason(), "StartError");
      EXPECT_EQ(status.message(), message);
    }
  };
  expect_told();
  node_.KillDaemon();
  ASSERT_TRUE(node_.StartDaemon().ok());
  expect_told();
  for (const auto& [id, message] : ended) {
    EXPECT_EQ(TryStart(id).error_code(), grpc::StatusCode::FAILED_PRECONDITION);
    EXPECT_TRUE(RemoveContainer(id).ok());
  }
  EXPECT_EQ(AwaitExit(Start(pod, Shell("echo ran"))).exit_code(), 0);
}

TEST_F(FailingCrunTest, ACreateThatHangsHoldsNobodyUpAndEndsWithTheDaemon) {
  const std::string pod = RunPod();
  const cri::ContainerConfig config = Shell("echo ran");
  Fail("create", "hang");
  grpc::Status hung;
  cri::CreateContainerRequest request;
  request.set_pod_sandbox_id(pod);
  *request.mutable_config() = config;
  std::thread caller([&] {
    grpc::ClientContext context;
    cri::CreateContainerResponse response;
    hung = node_.runtime().CreateContainer(&context, request, &response);
  });
  EXPECT_TRUE(Eventually([] { return !ProcessesWith(Hanging()).empty(); }));
  Mend("create");
  EXPECT_EQ(AwaitExit(Start(RunPod(), Shell("echo ran"))).exit_code(), 0);
  EXPECT_EQ(CountContainers(), 1) << "one that is being made is none yet";
  EXPECT_FALSE(ProcessesWith(Hanging()).empty());
  node_.KillDaemon();
  caller.join();
  EXPECT_EQ(hung.error_code(), grpc::StatusCode::UNAVAILABLE) << hung.error_message();
  ASSERT_TRUE(node_.StartDaemon().ok());
  EXPECT_TRUE(Eventually([] { return ProcessesWith(Hanging()).empty(); }));
  EXPECT_EQ(CountContainers(), 1);
  EXPECT_EQ(AwaitExit(Start(pod, config)).exit_code(), 0) << "under the same name";
}

}  // namespace
}  // namespace plimsoll::testing
