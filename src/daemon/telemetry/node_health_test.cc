#include "daemon/telemetry/node_health.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <string>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "base/dir_for_test.h"
#include "base/unique_fd.h"
#include "cri/mocks_for_test.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "linux/cgroup/stub_for_test.h"
#include "linux/namespaces/mounts.h"
#include "runtime/objects/fakes_for_test.h"

namespace plimsoll::daemon {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::NiceMock;

class Runtime : public runtime::FakeRuntime {
 public:
  using runtime::FakeRuntime::FakeRuntime;
  absl::Status Ready() const override { return ready; }
  absl::Status ready;
};

class Cgroups : public linux::CgroupStub {
 public:
  absl::StatusOr<bool> Exists(absl::string_view) const override { return mounted; }
  absl::StatusOr<bool> mounted = true;
};

class NodeHealthTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(dir_.root().MakeDirs("state").ok());
    ASSERT_TRUE(dir_.root().MakeDirs("run").ok());
    health_.emplace(NodeHealth::Parts{.host = *FsRoot::Open("/"),
                                      .state = *dir_.root().Sub("state"),
                                      .run = *dir_.root().Sub("run"),
                                      .state_directory = dir_.path() + "/state",
                                      .run_directory = dir_.path() + "/run",
                                      .runtime = &runtime_,
                                      .cgroups = &cgroups_,
                                      .network = [this] { return network_; },
                                      .network_patience = absl::Minutes(1),
                                      .lanes = [this] { return lanes_; }});
  }
  void Serve() {
    health_->Recovered(&engine_, [this] { return node_resources_; });
    health_->Serving();
  }
  ReadinessPage Page() { return DescribeReadiness(health_->Conditions()); }

  TestDir dir_;
  Runtime runtime_{dir_.root()};
  Cgroups cgroups_;
  NiceMock<cri::MockEngine> engine_;
  absl::Status network_;
  absl::Status node_resources_;
  std::vector<cri::LaneState> lanes_;
  std::optional<NodeHealth> health_;
};

TEST_F(NodeHealthTest, IsReadyOnceAllIsFoundAndServed) {
  EXPECT_TRUE(health_->Alive().ok());
  EXPECT_EQ(Page().text,
            "not ready\n"
            "Recovered: no: earlier pods are still being recovered\n"
            "Serving: no: the socket is not served yet\n"
            "Alive: yes\nRuntimeReady: yes\nStoreWritable: yes\nRunDirectoryWritable: yes\n"
            "NetworkReady: yes\n");
  EXPECT_FALSE(Page().is_ready);
  health_->Recovered(&engine_, [this] { return node_resources_; });
  EXPECT_THAT(health_->NotReady(), ElementsAre("Serving: the socket is not served yet"));
  health_->Serving();
  EXPECT_EQ(Page().text,
            "ready\nRecovered: yes\nServing: yes\nAlive: yes\nRuntimeReady: yes\n"
            "StoreWritable: yes\nRunDirectoryWritable: yes\nNetworkReady: yes\n"
            "NodeResourcesReady: yes\n");
  EXPECT_TRUE(Page().is_ready);
  EXPECT_THAT(health_->NotReady(), IsEmpty());
  health_->Stopping();
  EXPECT_FALSE(Page().is_ready);
  EXPECT_THAT(health_->NotReady(), ElementsAre("Serving: the daemon is stopping"));
  EXPECT_TRUE(health_->Alive().ok());
}

TEST_F(NodeHealthTest, WithoutANetworkItIsReadyAndSaysSo) {
  Serve();
  network_ = absl::FailedPreconditionError("NetworkPluginNotReady: no CNI network");
  node_resources_ = absl::FailedPreconditionError("SourceFailed: no file");
  const ReadinessPage page = Page();
  EXPECT_TRUE(page.is_ready);
  EXPECT_THAT(page.text,
              HasSubstr("NetworkReady: no (not required): NetworkPluginNotReady: no CNI network\n"
                        "NodeResourcesReady: no (not required): SourceFailed: no file\n"));
  EXPECT_THAT(health_->NotReady(), IsEmpty());
}

TEST_F(NodeHealthTest, WhatAPodNeedsIsRequired) {
  Serve();
  runtime_.ready = absl::NotFoundError("no crun in PATH");
  EXPECT_THAT(health_->NotReady(),
              ElementsAre("RuntimeReady: RuntimeProgramMissing: no crun in PATH"));
  EXPECT_FALSE(Page().is_ready);
  runtime_.ready = absl::OkStatus();
  cgroups_.mounted = false;
  EXPECT_THAT(health_->NotReady(),
              ElementsAre("RuntimeReady: CgroupsUnusable: /sys/fs/cgroup is not mounted"));
  cgroups_.mounted = true;
  ASSERT_TRUE(dir_.root().RemoveDir("run").ok());
  EXPECT_THAT(health_->NotReady(),
              ElementsAre(HasSubstr(absl::StrCat("RuntimeReady: DirectoryUnusable: run directory ",
                                                 dir_.path(), "/run"))));
  EXPECT_TRUE(health_->Alive().ok()) << "a restart would mend none of this";
}

TEST_F(NodeHealthTest, AStateDirectoryThatIsReadOnlyIsToldUntilItIsWritable) {
  const std::string state = dir_.path() + "/state";
  ASSERT_TRUE(linux::MountTmpfs(state, 64 << 10).ok());
  const absl::Cleanup unmount = [&] {
    health_.reset();
    EXPECT_TRUE(linux::Unmount(state).ok());
  };
  health_.emplace(NodeHealth::Parts{.host = *FsRoot::Open("/"),
                                    .state = *dir_.root().Sub("state"),
                                    .run = *dir_.root().Sub("run"),
                                    .state_directory = state,
                                    .run_directory = dir_.path() + "/run",
                                    .runtime = &runtime_,
                                    .cgroups = &cgroups_,
                                    .network = [this] { return network_; },
                                    .network_patience = absl::Minutes(1),
                                    .lanes = [this] { return lanes_; }});
  EXPECT_TRUE(health_->RuntimeReady().ok()) << health_->RuntimeReady();
  constexpr unsigned long kFlags = MS_REMOUNT | MS_NOSUID | MS_NODEV | MS_NOEXEC;
  ASSERT_EQ(mount(nullptr, state.c_str(), nullptr, kFlags | MS_RDONLY, nullptr), 0);
  EXPECT_THAT(
      std::string(health_->RuntimeReady().message()),
      HasSubstr(absl::StrCat("StateReadOnly: the file system of the state directory ", state)));
  ASSERT_EQ(mount(nullptr, state.c_str(), nullptr, kFlags, nullptr), 0);
  EXPECT_TRUE(health_->RuntimeReady().ok()) << health_->RuntimeReady();
  // A full disk is reported as such.
  EXPECT_FALSE(dir_.root().ReplaceFile("state/all", std::string(128 << 10, 'x')).ok());
  const UniqueFd file(open((state + "/rest").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  const std::string block(4096, 'x');
  while (write(file.get(), block.data(), block.size()) > 0) {
  }
  EXPECT_EQ(errno, ENOSPC);
  EXPECT_TRUE(health_->RuntimeReady().ok()) << health_->RuntimeReady();
}

TEST_F(NodeHealthTest, CallsThatWaitForNobodyElseMustGetTheirTurn) {
  Serve();
  cri::LaneState exec{.lane = cri::Lane::kExec, .workers = 64, .running = 64, .waiting = 3};
  exec.longest_wait = absl::Hours(1);
  cri::LaneState look{.lane = cri::Lane::kLook, .workers = 16, .running = 16, .waiting = 2};
  look.longest_wait = absl::Seconds(29);
  lanes_ = {look, exec};
  EXPECT_TRUE(health_->Alive().ok()) << health_->Alive();
  lanes_[0].longest_wait = absl::Seconds(45);
  const absl::Status stuck = health_->Alive();
  EXPECT_TRUE(absl::IsUnavailable(stuck)) << stuck;
  EXPECT_EQ(stuck.message(),
            "all 16 workers for calls of kind 'look' are taken, and 2 calls wait, one of them for "
            "45s");
  EXPECT_FALSE(Page().is_ready);
}

TEST_F(NodeHealthTest, AFullDiskIsTold) {
  const std::string small = dir_.path() + "/small";
  ASSERT_TRUE(dir_.root().MakeDirs("small").ok());
  ASSERT_TRUE(linux::MountTmpfs(small, 512 << 10).ok());
  const absl::Cleanup unmount = [&] { EXPECT_TRUE(linux::Unmount(small).ok()); };
  for (const auto& full :
       {HasRoomToRecord(*FsRoot::Open(small)), HasRoomToRun(*FsRoot::Open(small))}) {
    EXPECT_TRUE(absl::IsFailedPrecondition(full)) << full;
    EXPECT_THAT(std::string(full.message()), HasSubstr("DiskFull: the file system of " + small));
  }
  EXPECT_TRUE(HasRoomToRun(dir_.root()).ok());
}

}  // namespace
}  // namespace plimsoll::daemon
