// The state after a reboot, in a virtual machine that really restarts: reboot.py runs one of these
// tests in each boot. The state directory is on a disk that stays, /run is gone each time.
#include <unistd.h>

#include <cstdio>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "harness/kernel.h"
#include "harness/node.h"
#include "linux/process.h"

namespace plimsoll::testing {
namespace {

using ::testing::AnyOf;
using ::testing::IsEmpty;

constexpr char kDisk[] = "/var/lib/plimsoll-test";  // mounted by reboot_job
constexpr char kNotes[] = "/var/lib/plimsoll-test/notes";

class RebootTest : public NodeTest {
 protected:
  RebootTest()
      : NodeTest(NodePlaces{kDisk, "/run/plimsoll-test", absl::StrCat(kDisk, "/state"),
                            "/plimsoll-test"}) {}

  void SetUp() override {
    const absl::Status started = node_.StartDaemon();
    ASSERT_TRUE(started.ok()) << started;
  }
  // Leaves the daemon: the machine ends.
  void TearDown() override {
    if (HasFailure()) GTEST_LOG_(INFO) << node_.Log();
  }

  // Makes pods in all possible states, and notes for the next boot.
  void FillNode(uint32_t attempt) {
    cri::PodSandboxConfig config = PodConfig();
    config.mutable_metadata()->set_attempt(attempt);
    config.mutable_metadata()->set_name("old");
    const std::string pod = RunPod(config);
    const std::string ended = Start(pod, Shell("exit 3"));
    const std::string running = Start(pod, Shell("while :; do date; sleep 0.1; done"));
    const std::string created = Create(pod, Shell("exit 6"));
    cri::PodSandboxConfig shared = PodConfig();
    shared.mutable_metadata()->set_attempt(attempt);
    shared.mutable_linux()->mutable_security_context()->mutable_namespace_options()->set_pid(
        cri::POD);
    const std::string second = RunPod(shared);
    cri::ContainerConfig member = Shell("sleep 1000");
    member.mutable_linux()->mutable_security_context()->mutable_namespace_options()->set_pid(
        cri::POD);
    const std::string in_it = Start(second, member);
    EXPECT_EQ(AwaitExit(ended).exit_code(), 3);
    const auto boot = linux::ReadBootId(Host());
    ASSERT_TRUE(boot.ok()) << boot.status();
    ASSERT_TRUE(
        Host()
            .ReplaceFile(kNotes,
                         absl::StrJoin({*boot, pod, second, ended, running, created, in_it}, "\n"))
            .ok());
    sync();
  }

  // `recorded`: monitors and daemon may have recorded some of the ends.
  void ExpectEverythingHasEnded(bool recorded) {
    const std::vector<std::string> notes = absl::StrSplit(*Host().Read(kNotes), '\n');
    ASSERT_EQ(notes.size(), 7u);
    EXPECT_NE(*linux::ReadBootId(Host()), notes[0]) << "this is the same boot";
    for (const std::string& pod : {notes[1], notes[2]}) {
      EXPECT_EQ(PodStatus(pod).state(), cri::SANDBOX_NOTREADY);
    }
    const cri::ContainerStatus ended = Status(notes[3]);
    EXPECT_EQ(ended.exit_code(), 3) << "what had ended keeps its code";
    EXPECT_EQ(ended.reason(), "Error");
    for (const std::string& id : {notes[4], notes[5], notes[6]}) {
      const cri::ContainerStatus status = Status(id);
      EXPECT_EQ(status.state(), cri::CONTAINER_EXITED);
      const std::string how = absl::StrCat(status.reason(), " ", status.exit_code());
      if (recorded) {
        EXPECT_THAT(how, AnyOf("Unknown 255", "Error 143", "Error 137"));
      } else {
        EXPECT_EQ(how, "Unknown 255");
      }
      EXPECT_GE(status.finished_at(), status.started_at());
      EXPECT_GT(status.finished_at(), 0);
    }
    EXPECT_EQ(TryStart(notes[5]).error_code(), grpc::StatusCode::FAILED_PRECONDITION);
    cri::ExecSyncResponse response;
    EXPECT_EQ(Exec(notes[4], {"/bin/true"}, &response).error_code(),
              grpc::StatusCode::FAILED_PRECONDITION);
  }

  // Includes pods that never reached the disk.
  void ExpectNothingRunsOrIsMounted() {
    cri::ListContainersResponse containers;
    grpc::ClientContext context;
    ASSERT_TRUE(node_.runtime().ListContainers(&context, {}, &containers).ok());
    for (const auto& container : containers.containers()) {
      EXPECT_EQ(container.state(), cri::CONTAINER_EXITED);
    }
    EXPECT_THAT(ProcessesWith("plimsoll-monitor"), IsEmpty());
    for (const std::string& mount : MountsBelow(node_.run_directory())) {
      EXPECT_EQ(mount, node_.run_directory());
    }
    EXPECT_THAT(MountsBelow(node_.state_directory()), IsEmpty());
    const auto groups = Host().List(absl::StrCat("sys/fs/cgroup", node_.cgroup_parent()));
    for (const std::string& name : groups.value_or(std::vector<std::string>())) {
      const std::string group = absl::StrCat("/sys/fs/cgroup", node_.cgroup_parent(), "/", name);
      EXPECT_FALSE(FsRoot::Open(group).ok()) << group;
    }
    plimsoll::v1::InspectResponse doctor;
    grpc::ClientContext inspection;
    ASSERT_TRUE(node_.node().Inspect(&inspection, {}, &doctor).ok());
    EXPECT_EQ(doctor.findings_size(), 0) << doctor.ShortDebugString();
    EXPECT_EQ(doctor.troubles_size(), 0) << doctor.ShortDebugString();
  }

  void ExpectPodsCanBeMade() {
    cri::PodSandboxConfig config = PodConfig();
    config.mutable_metadata()->set_name("new");
    const std::string id = Start(RunPod(config), Shell("echo here; exit 5"));
    EXPECT_EQ(AwaitExit(id).exit_code(), 5);
    EXPECT_EQ(Output(id), "here\n");
  }

  void RemoveAll() {
    RemoveAllPods();
    for (const char* what : {"/run/plimsoll-test/sandboxes", "/run/plimsoll-test/oci/containers",
                             "/var/lib/plimsoll-test/state/containers"}) {
      EXPECT_THAT(Host().List(what).value_or(std::vector<std::string>()), IsEmpty()) << what;
    }
  }
};

// Ends when the machine's power is cut.
TEST_F(RebootTest, First) {
  ImportBusybox();
  FillNode(0);
  // Less of these has reached the disk.
  for (int i = 0; i < 3; ++i) Start(RunPod(), Shell("sleep 1000"));
  ASSERT_FALSE(HasFailure());
  std::puts("the node is busy");
  std::fflush(stdout);
  while (true) pause();
}

// An orderly end: reboot_job ends all processes and unmounts the disk.
TEST_F(RebootTest, AfterAPowerCut) {
  ExpectEverythingHasEnded(/*recorded=*/false);
  ExpectNothingRunsOrIsMounted();
  cri::PodSandboxConfig config = PodConfig();
  config.mutable_metadata()->set_name("old");
  std::string id;
  EXPECT_EQ(TryRunPod(config, &id).error_code(), grpc::StatusCode::ALREADY_EXISTS);
  ExpectPodsCanBeMade();
  RemoveAll();
  FillNode(1);
}

TEST_F(RebootTest, AfterAnOrderlyReboot) {
  ExpectEverythingHasEnded(/*recorded=*/true);
  ExpectNothingRunsOrIsMounted();
  ExpectPodsCanBeMade();
  RemoveAll();
  const auto exit = node_.StopDaemon();
  ASSERT_TRUE(exit.ok()) << exit.status();
  EXPECT_TRUE(exit->success()) << exit->ToString();
}

}  // namespace
}  // namespace plimsoll::testing
