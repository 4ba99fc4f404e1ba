// The daemon when it can't work: each a clear error, nothing left behind.
#include <sys/mount.h>
#include <unistd.h>

#include <thread>

#include "absl/strings/str_cat.h"
#include "base/subprocess.h"
#include "harness/kernel.h"
#include "harness/node.h"
#include "linux/mounts.h"
#include "linux/process.h"

namespace plimsoll::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

class FailuresTest : public ::testing::Test {
 protected:
  // Starts the daemon, which must fail, and gives what it said.
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
  Node node("crun: /no/such/crun\n");
  const std::string said = FailureOf(node);
  EXPECT_THAT(said, HasSubstr("/no/such/crun"));
  EXPECT_THAT(said, HasSubstr("crun"));
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
  // The first is none the worse.
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

class StopTest : public NodeTest {};

TEST_F(StopTest, AnExecDoesNotHoldUpAStop) {
  const std::string id = Start(RunPod(), Shell("sleep 1000"));
  grpc::Status status;
  // A number that no other process of the machine sleeps for, another run of this test included.
  const std::string sleep = absl::StrCat("sleep ", 90'000'000 + getpid());
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

}  // namespace
}  // namespace plimsoll::testing
