// A state directory without space: clear errors, and nothing lost that was acknowledged.
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/dir_for_test.h"
#include "base/programs/subprocess.h"
#include "harness/kernel.h"
#include "harness/leftovers.h"
#include "harness/node.h"
#include "linux/namespaces/mounts.h"

namespace plimsoll::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// More ends of pods than a full disk can still record.
constexpr int kPodsToStop = 8;

class FullDiskTest : public NodeTest {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "mounts need root";
    ASSERT_TRUE(Host().MakeDirs(node_.state_directory(), 0700).ok());
    // Not linux::MountTmpfs: programs run from here.
    ASSERT_EQ(mount("tmpfs", node_.state_directory().c_str(), "tmpfs", 0, "size=32m,mode=0700"), 0);
    NodeTest::SetUp();
  }
  void TearDown() override {
    Free();
    NodeTest::TearDown();
    EXPECT_TRUE(linux::Unmount(node_.state_directory()).ok());
  }

  std::string Filler() const { return node_.state_directory() + "/filler"; }
  void Fill() {
    const UniqueFd file(open(Filler().c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
    ASSERT_TRUE(file.valid());
    const std::string block(4096, 'x');
    while (write(file.get(), block.data(), block.size()) > 0) {
    }
    ASSERT_EQ(errno, ENOSPC);
  }
  // A pod without namespaces of its own.
  cri::PodSandboxConfig PodOfTheNode() {
    cri::PodSandboxConfig config = PodConfig();
    cri::NamespaceOption* namespaces =
        config.mutable_linux()->mutable_security_context()->mutable_namespace_options();
    namespaces->set_network(cri::NODE);
    namespaces->set_ipc(cri::NODE);
    namespaces->set_pid(cri::NODE);
    return config;
  }
  // True if the daemon has warned that something of the pod could not be written.
  bool HasWarnedOfNoSpace(const std::string& pod) {
    grpc::ClientContext context;
    const auto reader = node_.node().ListEvents(&context, plimsoll::v1::ListEventsRequest());
    bool has_warned = false;
    plimsoll::v1::Event event;
    while (reader->Read(&event)) {
      has_warned |= event.type() == "Warning" && event.sandbox_id() == pod &&
                    absl::StrContains(event.message(), "No space left");
    }
    EXPECT_TRUE(reader->Finish().ok());
    return has_warned;
  }
  // Fills the disk until nothing more can be recorded, the reserve being gone. The daemon thinks
  // that it still has the reserve, and so doesn't make it again. `unsaved` gets the pods whose end
  // could not be recorded: at least one with namespaces of its own and one without.
  void FillWithoutReserve(std::vector<std::string>* unsaved) {
    std::vector<std::string> pods;
    std::vector<std::string> pods_of_the_node;
    for (int i = 0; i < kPodsToStop; ++i) {
      pods.push_back(RunPod());
      pods_of_the_node.push_back(RunPod(PodOfTheNode()));
    }
    ASSERT_EQ(unlink((node_.state_directory() + "/reserve").c_str()), 0);
    Fill();
    grpc::Status status;
    for (int i = 0; i < 100 && status.ok(); ++i) {
      std::string id;
      status = TryRunPod(PodConfig(), &id);
    }
    ExpectFull(status);
    // If a new row doesn't fit, the database's log may still have room for a change to an old row.
    // Each success uses some of it.
    for (const auto& kind : {pods, pods_of_the_node}) {
      const auto is_unsaved = [&](const std::string& pod) {
        const grpc::Status stopped = StopPod(pod);
        EXPECT_TRUE(stopped.ok()) << stopped.error_message();
        if (!HasWarnedOfNoSpace(pod)) return false;
        unsaved->push_back(pod);
        return true;
      };
      ASSERT_TRUE(std::any_of(kind.begin(), kind.end(), is_unsaved))
          << "there was room for the end of each pod";
    }
  }
  void Free() { unlink(Filler().c_str()); }
  uint64_t BytesFree() const {
    struct statvfs disk = {};
    EXPECT_EQ(statvfs(node_.state_directory().c_str(), &disk), 0);
    return disk.f_bavail * disk.f_bsize;
  }
  static void ExpectFull(const grpc::Status& status) {
    EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED) << status.error_message();
    EXPECT_THAT(absl::AsciiStrToLower(status.error_message()), HasSubstr("no space left"));
  }
  std::set<std::string> Pods() {
    cri::ListPodSandboxResponse pods;
    grpc::ClientContext context;
    EXPECT_TRUE(node_.runtime().ListPodSandbox(&context, {}, &pods).ok());
    std::set<std::string> ids;
    for (const cri::PodSandbox& pod : pods.items()) ids.insert(pod.id());
    return ids;
  }
};

TEST_F(FullDiskTest, WhatWasAcknowledgedStays) {
  const std::string pod = RunPod();
  const std::string container = Start(pod, Shell("sleep 1000"));
  std::set<std::string> acknowledged = {pod};
  Fill();
  // The database's log may have some room left.
  grpc::Status status;
  for (int i = 0; i < 100 && status.ok(); ++i) {
    std::string id;
    status = TryRunPod(PodConfig(), &id);
    if (status.ok()) acknowledged.insert(id);
  }
  ExpectFull(status);
  EXPECT_EQ(Pods(), acknowledged) << "a pod that failed is there, or one is gone";
  // Running containers run on, and write on.
  EXPECT_EQ(ExecOutput(container, "echo here"), "here\n");

  node_.KillDaemon();
  Free();
  const absl::Status started = node_.StartDaemon();
  ASSERT_TRUE(started.ok()) << started;
  EXPECT_EQ(Pods(), acknowledged);
  EXPECT_EQ(Status(container).state(), cri::CONTAINER_RUNNING);
  EXPECT_FALSE(RunPod().empty());
}

// Stopping and removing makes room again.
TEST_F(FullDiskTest, AnExitIsNotLost) {
  const std::string pod = RunPod();
  const std::string container = Start(pod, Shell("trap 'exit 7' TERM; sleep 1000 & wait"));
  Fill();
  EXPECT_TRUE(StopContainer(container, 20).ok());
  const int code = AwaitExit(container).exit_code();
  node_.KillDaemon();
  Free();
  const absl::Status started = node_.StartDaemon();
  ASSERT_TRUE(started.ok()) << started;
  EXPECT_EQ(Status(container).state(), cri::CONTAINER_EXITED);
  EXPECT_EQ(Status(container).exit_code(), code);
}

TEST_F(FullDiskTest, RemovingWorksAndMakesRoom) {
  const std::string pod = RunPod();
  const std::string container = Start(pod, Shell("sleep 1000"));
  const std::string ended = Start(pod, Shell("exit 0"));
  AwaitExit(ended);
  Fill();
  grpc::Status status;
  for (int i = 0; i < 100 && status.ok(); ++i) {
    std::string id;
    status = TryRunPod(PodConfig(), &id);
  }
  ExpectFull(status);
  status = RemoveContainer(ended);
  EXPECT_TRUE(status.ok()) << status.error_message();
  // A daemon that starts now can do it too.
  node_.KillDaemon();
  const absl::Status started = node_.StartDaemon();
  ASSERT_TRUE(started.ok()) << started;
  EXPECT_EQ(Status(container).state(), cri::CONTAINER_RUNNING);
  for (const std::string& id : Pods()) {
    status = StopPod(id);
    EXPECT_TRUE(status.ok()) << status.error_message();
    status = RemovePod(id);
    EXPECT_TRUE(status.ok()) << status.error_message();
  }
  EXPECT_THAT(Pods(), IsEmpty());
  const uint64_t before = BytesFree();
  cri::RemoveImageRequest request;
  request.mutable_image()->set_image("busybox");
  cri::RemoveImageResponse response;
  grpc::ClientContext context;
  status = node_.images().RemoveImage(&context, request, &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
  EXPECT_GT(BytesFree(), before + (256 << 10)) << "its layers are gone";
  Free();
  status = Import(node_.directory() + "/busybox", "busybox");
  EXPECT_TRUE(status.ok()) << status.error_message();
}

// The reserve is used up, and a container's files take the space.
TEST_F(FullDiskTest, RemovingMakesRoomWithoutAReserve) {
  const std::string pod = RunPod();
  const std::string container =
      Start(pod, Shell("dd if=/dev/zero of=/big bs=4096 count=512 2>/dev/null"));
  AwaitExit(container);
  std::vector<std::string> unsaved;
  ASSERT_NO_FATAL_FAILURE(FillWithoutReserve(&unsaved));
  const uint64_t before = BytesFree();
  grpc::Status status = RemoveContainer(container);
  EXPECT_TRUE(status.ok()) << status.error_message();
  EXPECT_GE(BytesFree(), before + (1 << 20));
  for (const std::string& id : Pods()) {
    status = RemovePod(id);
    EXPECT_TRUE(status.ok()) << status.error_message();
  }
  EXPECT_THAT(Pods(), IsEmpty());
}

// An ended container has ended, whether or not that can be recorded.
TEST_F(FullDiskTest, StoppingWorksWithoutAReserve) {
  const std::string with_container = RunPod();
  const std::string container = Start(with_container, Shell("sleep 1000"));
  std::vector<std::string> pods;
  ASSERT_NO_FATAL_FAILURE(FillWithoutReserve(&pods));
  const grpc::Status status = StopPod(with_container);
  EXPECT_TRUE(status.ok()) << status.error_message();
  pods.push_back(with_container);
  for (const std::string& pod : pods) {
    EXPECT_EQ(PodStatus(pod).state(), cri::SANDBOX_NOTREADY);
  }
  node_.KillDaemon();
  Free();
  const absl::Status started = node_.StartDaemon();
  ASSERT_TRUE(started.ok()) << started;
  for (const std::string& pod : pods) {
    EXPECT_EQ(PodStatus(pod).state(), cri::SANDBOX_NOTREADY);
  }
  EXPECT_EQ(Status(container).state(), cri::CONTAINER_EXITED);
}

TEST_F(FullDiskTest, RemovingAnImageMakesRoomWithoutAReserve) {
  std::vector<std::string> unsaved;
  ASSERT_NO_FATAL_FAILURE(FillWithoutReserve(&unsaved));
  const uint64_t before = BytesFree();
  cri::RemoveImageRequest request;
  request.mutable_image()->set_image("busybox");
  cri::RemoveImageResponse response;
  grpc::ClientContext context;
  const grpc::Status status = node_.images().RemoveImage(&context, request, &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
  EXPECT_GT(BytesFree(), before + (256 << 10)) << "its layers are gone";
  for (const std::string& id : Pods()) {
    const grpc::Status removed = RemovePod(id);
    EXPECT_TRUE(removed.ok()) << removed.error_message();
  }
  EXPECT_THAT(Pods(), IsEmpty());
}

TEST_F(FullDiskTest, AnImportIsAllOrNothing) {
  Fill();
  ExpectFull(Import(node_.directory() + "/busybox", "second"));
  EXPECT_THAT(*Host().List(node_.state_directory() + "/images/work"), IsEmpty());
  Free();
  const grpc::Status again = Import(node_.directory() + "/busybox", "second");
  EXPECT_TRUE(again.ok()) << again.error_message();
}

// The run directory is on a disk, as with `plimsoll --root`.
class FullRunDiskTest : public NodeTest {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "mounts need root";
    ASSERT_TRUE(Host().MakeDirs(node_.run_directory(), 0700).ok());
    ASSERT_EQ(mount("tmpfs", node_.run_directory().c_str(), "tmpfs", 0, "size=8m,mode=0700"), 0);
    NodeTest::SetUp();
  }
  void TearDown() override {
    unlink(Filler().c_str());
    NodeTest::TearDown();
    EXPECT_TRUE(linux::Unmount(node_.run_directory()).ok());
  }
  std::string Filler() const { return node_.run_directory() + "/filler"; }
  void Fill() const {
    const UniqueFd file(open(Filler().c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    const std::string block(4096, 'x');
    while (write(file.get(), block.data(), block.size()) > 0) {
    }
    ASSERT_EQ(errno, ENOSPC);
  }

  TestDir control_;
};

TEST_F(FullRunDiskTest, AnExitCodeIsNotLost) {
  cri::ContainerConfig config = Shell("while ! test -e /control/go; do sleep 0.05; done; exit 4");
  cri::Mount* mount = config.add_mounts();
  mount->set_host_path(control_.path());
  mount->set_container_path("/control");
  const std::string id = Start(RunPod(), config);
  ASSERT_NO_FATAL_FAILURE(Fill());
  ASSERT_TRUE(control_.root().ReplaceFile("go", "").ok());
  EXPECT_EQ(AwaitExit(id).exit_code(), 4);
}

TEST_F(FullRunDiskTest, APodIsRefusedInWordsAndLeavesNothing) {
  const auto not_ready = [this] {
    grpc::ClientContext context;
    plimsoll::v1::DaemonStatusResponse response;
    EXPECT_TRUE(node_.node().DaemonStatus(&context, {}, &response).ok());
    return std::vector<std::string>(response.not_ready().begin(), response.not_ready().end());
  };
  EXPECT_THAT(not_ready(), IsEmpty());
  const std::string runs_on = RunPod();
  ASSERT_NO_FATAL_FAILURE(Fill());
  EXPECT_THAT(not_ready(),
              ElementsAre(HasSubstr(absl::StrCat(
                  "RunDirectoryWritable: DiskFull: the file system of ", node_.run_directory()))));
  const InventoryScope scope = {.directories = {node_.state_directory(), node_.run_directory()},
                                .cgroup = node_.cgroup_parent(),
                                .database = node_.state_directory() + "/plimsoll.db"};
  const Inventory before = TakeInventory(scope);
  std::string id;
  const grpc::Status refused = TryRunPod(PodConfig(), &id);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(refused.error_message(),
              AllOf(HasSubstr(node_.run_directory()), HasSubstr("No space left on device")));
  EXPECT_THAT(AwaitNothingLeft(scope, before), IsEmpty());
  // `plimsoll prune` would make no room there.
  ASSERT_TRUE(control_.root()
                  .ReplaceFile("pod.yaml",
                               "apiVersion: v1\nkind: Pod\nmetadata: {name: full}\nspec:\n"
                               "  hostNetwork: true\n  containers: [{name: a, image: busybox, "
                               "imagePullPolicy: Never}]\n")
                  .ok());
  const auto run = RunProgram({.argv = {ProgramPath("plimsoll"), "--address", node_.address(),
                                        "run", "--detach", control_.path() + "/pod.yaml"}});
  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_EQ(run->exit.code, 125);
  EXPECT_THAT(run->err, AllOf(HasSubstr("No space left on device"), Not(HasSubstr("prune"))));
  EXPECT_THAT(*Host().List(node_.run_directory() + "/sandboxes"), ElementsAre(runs_on));
  EXPECT_EQ(PodStatus(runs_on).state(), cri::SANDBOX_READY);
  ASSERT_EQ(unlink(Filler().c_str()), 0);
  EXPECT_THAT(not_ready(), IsEmpty());
  EXPECT_FALSE(RunPod().empty());
}

}  // namespace
}  // namespace plimsoll::testing
