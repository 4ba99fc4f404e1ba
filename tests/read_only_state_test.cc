// A state directory whose disk fails while the daemon runs: its file system turns read-only.
#include <fcntl.h>
#include <linux/loop.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/programs/subprocess.h"
#include "base/status.h"
#include "base/unique_fd.h"
#include "harness/kernel.h"
#include "harness/node.h"
#include "linux/namespaces/mounts.h"

namespace plimsoll::testing {
namespace {

using ::testing::HasSubstr;

constexpr off_t kDiskBytes = 64 << 20;

// A disk in a file, with ext4 on it. It goes with its last mount.
class LoopDisk {
 public:
  absl::Status Make(const std::string& file) {
    UniqueFd image(open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    if (!image.valid() || ftruncate(image.get(), kDiskBytes) != 0) return Error(file);
    PLIMSOLL_ASSIGN_OR_RETURN(const std::string mke2fs, FindProgram("mke2fs"));
    PLIMSOLL_RETURN_IF_ERROR(
        RunChecked({.argv = {mke2fs, "-q", "-t", "ext4", file}}, RunLimits()).status());
    const UniqueFd control(open("/dev/loop-control", O_RDWR | O_CLOEXEC));
    if (!control.valid()) return Error("/dev/loop-control");
    // Another process may take the number first.
    for (int tries = 0; tries < 20; ++tries) {
      const int number = ioctl(control.get(), LOOP_CTL_GET_FREE);
      if (number < 0) return Error("a free loop device");
      name_ = absl::StrCat("loop", number);
      device_.Reset(open(path().c_str(), O_RDWR | O_CLOEXEC));
      loop_config config = {};
      config.fd = static_cast<__u32>(image.get());
      config.info.lo_flags = LO_FLAGS_AUTOCLEAR;
      if (device_.valid() && ioctl(device_.get(), LOOP_CONFIGURE, &config) == 0) {
        return absl::OkStatus();
      }
    }
    return Error(path());
  }
  absl::Status Mount(const std::string& directory) {
    if (mount(path().c_str(), directory.c_str(), "ext4", 0, "errors=remount-ro") != 0) {
      return Error(absl::StrCat("mount ", path()));
    }
    device_.Reset();
    return absl::OkStatus();
  }
  // Injects a file system error through the kernel's own interface for that.
  absl::Status Fail() const {
    return Host().Write(absl::StrCat("sys/fs/ext4/", name_, "/trigger_fs_error"), "1");
  }

 private:
  static absl::Status Error(const std::string& what) {
    return absl::UnavailableError(absl::StrCat(what, ": ", strerror(errno)));
  }
  std::string path() const { return absl::StrCat("/dev/", name_); }

  std::string name_;
  UniqueFd device_;
};

class ReadOnlyStateTest : public NodeTest {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "mounts need root";
    ASSERT_TRUE(Host().MakeDirs(node_.state_directory(), 0700).ok());
    absl::Status made = disk_.Make(node_.directory() + "/disk");
    if (made.ok()) made = disk_.Mount(node_.state_directory());
    if (!made.ok()) GTEST_SKIP() << "no ext4 on a loop device here: " << made;
    is_mounted_ = true;
    NodeTest::SetUp();
  }
  void TearDown() override {
    if (!is_mounted_) return;
    if (!is_replaced_) Replace();
    NodeTest::TearDown();
    if (is_replaced_) {
      EXPECT_TRUE(linux::Unmount(node_.state_directory()).ok());
    }
    EXPECT_TRUE(linux::Unmount(node_.state_directory()).ok());
  }

  void Fail() {
    const absl::Status failed = disk_.Fail();
    ASSERT_TRUE(failed.ok()) << failed;
    ASSERT_FALSE(Host().ReplaceFile(node_.state_directory() + "/probe", "").ok());
  }
  // Copies the state to another disk, as after replacing the failed one; the daemon is killed and
  // restarted. Running containers still use the old one.
  void Replace() {
    if (node_.daemon_runs()) node_.KillDaemon();
    const std::string good = node_.directory() + "/good";
    ASSERT_TRUE(Host().MakeDirs(good, 0700).ok());
    // Not linux::MountTmpfs: programs run from here.
    ASSERT_EQ(mount("tmpfs", good.c_str(), "tmpfs", 0, "size=64m,mode=0700"), 0);
    const auto copied =
        RunChecked({.argv = {"/bin/cp", "-a", node_.state_directory() + "/.", good}}, RunLimits());
    EXPECT_TRUE(copied.ok()) << copied.status();
    ASSERT_EQ(mount(good.c_str(), node_.state_directory().c_str(), nullptr, MS_BIND, nullptr), 0);
    is_replaced_ = true;
    EXPECT_TRUE(linux::Unmount(good).ok());
    const absl::Status started = node_.StartDaemon();
    ASSERT_TRUE(started.ok()) << started;
  }
  static void ExpectReadOnly(const grpc::Status& status) {
    EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION) << status.error_message();
    EXPECT_THAT(status.error_message(), HasSubstr("Read-only file system"));
  }
  // The reason why the runtime isn't ready; empty: it is.
  std::string NotReadyReason() {
    cri::StatusResponse response;
    grpc::ClientContext context;
    EXPECT_TRUE(node_.runtime().Status(&context, {}, &response).ok());
    for (const cri::RuntimeCondition& condition : response.status().conditions()) {
      if (condition.type() == "RuntimeReady" && !condition.status()) return condition.reason();
    }
    return "";
  }
  std::set<std::string> Pods() {
    cri::ListPodSandboxResponse pods;
    grpc::ClientContext context;
    EXPECT_TRUE(node_.runtime().ListPodSandbox(&context, {}, &pods).ok());
    std::set<std::string> ids;
    for (const cri::PodSandbox& pod : pods.items()) ids.insert(pod.id());
    return ids;
  }

  LoopDisk disk_;
  bool is_mounted_ = false;
  bool is_replaced_ = false;
};

TEST_F(ReadOnlyStateTest, WhatMustBeWrittenIsRefusedAndWhatWasAcknowledgedStays) {
  const std::string pod = RunPod();
  const std::string container = Start(pod, Shell("sleep 1000"));
  EXPECT_EQ(NotReadyReason(), "");
  Fail();
  EXPECT_EQ(NotReadyReason(), "StateReadOnly");
  std::string id;
  ExpectReadOnly(TryRunPod(PodConfig(), &id));
  ExpectReadOnly(TryCreate(pod, Shell("true"), &id));
  ExpectReadOnly(Import(node_.directory() + "/busybox", "second"));
  cri::LinuxContainerResources limits;
  limits.set_cpu_shares(600);
  ExpectReadOnly(TryUpdate(container, limits));
  EXPECT_EQ(Pods(), std::set<std::string>{pod}) << "what failed is there, or one is gone";
  EXPECT_EQ(PodStatus(pod).state(), cri::SANDBOX_READY);
  EXPECT_EQ(Status(container).state(), cri::CONTAINER_RUNNING);
  EXPECT_EQ(ExecOutput(container, "echo here"), "here\n");

  Replace();
  EXPECT_EQ(NotReadyReason(), "");
  EXPECT_EQ(Pods(), std::set<std::string>{pod});
  EXPECT_EQ(Status(container).state(), cri::CONTAINER_RUNNING);
  EXPECT_EQ(ExecOutput(container, "echo here"), "here\n");
  EXPECT_TRUE(TryUpdate(container, limits).ok());
  EXPECT_FALSE(RunPod().empty());
}

TEST_F(ReadOnlyStateTest, WhatStartsAndEndsIsNotLost) {
  const std::string pod = RunPod();
  const std::string gentle = Start(pod, Shell("trap 'exit 7' TERM; echo on; sleep 1000 & wait"));
  ASSERT_TRUE(Eventually([&] { return Output(gentle) == "on\n"; }));
  const std::string created = Create(pod, Shell("sleep 1000"));
  const std::string other = RunPod();
  const std::string killed = Start(other, Shell("sleep 1000"));
  Fail();
  const grpc::Status started = TryStart(created);
  EXPECT_TRUE(started.ok()) << started.error_message();
  grpc::Status stopped = StopContainer(gentle, 20);
  EXPECT_TRUE(stopped.ok()) << stopped.error_message();
  stopped = StopPod(other);
  EXPECT_TRUE(stopped.ok()) << stopped.error_message();
  const auto expect_all = [&] {
    EXPECT_EQ(Status(created).state(), cri::CONTAINER_RUNNING);
    EXPECT_EQ(Status(gentle).state(), cri::CONTAINER_EXITED);
    EXPECT_EQ(Status(gentle).exit_code(), 7);
    EXPECT_EQ(Status(killed).state(), cri::CONTAINER_EXITED);
    EXPECT_EQ(Status(killed).exit_code(), 137);
    EXPECT_EQ(PodStatus(pod).state(), cri::SANDBOX_READY);
    EXPECT_EQ(PodStatus(other).state(), cri::SANDBOX_NOTREADY);
  };
  expect_all();
  // Objects that can't be forgotten stay, and their removal is refused.
  ExpectReadOnly(RemoveContainer(gentle));
  EXPECT_EQ(Status(gentle).exit_code(), 7);

  Replace();
  expect_all();
  EXPECT_TRUE(RemoveContainer(gentle).ok());
  EXPECT_TRUE(RemovePod(other).ok());
}

// A daemon whose own disk is already read-only when it starts.
TEST_F(ReadOnlyStateTest, ADaemonDoesNotStartOnItAndPodsRunOn) {
  const std::string container = Start(RunPod(), Shell("sleep 1000"));
  Fail();
  node_.KillDaemon();
  EXPECT_THAT(std::string(node_.StartDaemon().message()), HasSubstr("ead-only"));
  EXPECT_FALSE(ProcessesWith("sleep 1000").empty());
  Replace();
  EXPECT_EQ(Status(container).state(), cri::CONTAINER_RUNNING);
}

}  // namespace
}  // namespace plimsoll::testing
