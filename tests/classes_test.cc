// QoS classes, those of block I/O above all: listed, counted, reloaded, kept over restarts.
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "classes_fixture.h"
#include "linux/uevents.h"

namespace plimsoll::testing {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

TEST_F(ClassesTest, AClassIsShownCountedAndGivenBack) {
  const std::string pod = RunPod();
  const std::string id = Start(pod, InClass("medium"));
  EXPECT_EQ(ClassOf(id), "medium");
  EXPECT_THAT(ThrottleOf(CgroupOf(pod, id)), HasSubstr("4194304"));
  std::string other;
  const grpc::Status full = TryCreate(pod, InClass("medium"), &other);
  EXPECT_EQ(full.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(full.error_message(), HasSubstr("\"medium\" of type \"blockio\" is full"));
  ASSERT_TRUE(StopContainer(id, 0).ok());
  EXPECT_EQ(ClassOf(id), "medium") << "the class it held last";
  ASSERT_TRUE(Eventually([&] { return TryCreate(pod, InClass("medium"), &other).ok(); }));
}

// kubelet that was killed between create and start makes the next attempt beside the first.
TEST_F(ClassesTest, ANextAttemptTakesThePlaceOfAContainerThatWasNeverStarted) {
  const std::string pod = RunPod();
  cri::ContainerConfig config = InClass("medium");  // one place
  const std::string first = Create(pod, config);
  config.mutable_metadata()->set_attempt(1);
  const std::string second = Create(pod, config);
  EXPECT_EQ(ClassOf(second), "medium");
  EXPECT_EQ(Status(first).state(), cri::CONTAINER_CREATED);
  EXPECT_EQ(TryStart(first).error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  node_.KillDaemon();
  ASSERT_TRUE(node_.StartDaemon().ok());
  EXPECT_TRUE(TryStart(second).ok());
  std::string other;
  EXPECT_EQ(TryCreate(pod, InClass("medium"), &other).error_code(),
            grpc::StatusCode::RESOURCE_EXHAUSTED)
      << "it runs";
  ASSERT_TRUE(StopContainer(second, 0).ok());
  ASSERT_TRUE(Eventually([&] { return TryStart(first).ok(); }));
  EXPECT_EQ(ClassOf(first), "medium");
}

TEST_F(ClassesTest, AnUnknownClassMakesNothing) {
  const std::string pod = RunPod();
  std::string id;
  grpc::Status status = TryCreate(pod, InClass("gold"), &id);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_THAT(status.error_message(), HasSubstr("there are: \"slow\", \"medium\", \"free\""));
  cri::ContainerConfig config = Shell("true");
  (*config.mutable_class_resources()->mutable_classes())["rdt"] = "tin";
  status = TryCreate(pod, config, &id);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
  if (!Host().Exists("sys/fs/resctrl/schemata")) {  // configured, but not available here
    EXPECT_THAT(status.error_message(), HasSubstr("no class type \"rdt\""));
    EXPECT_THAT(status.error_message(),
                HasSubstr("(rdt is configured, but: resctrl is not mounted"));
  }
  cri::ListContainersResponse list;
  grpc::ClientContext context;
  ASSERT_TRUE(node_.runtime().ListContainers(&context, cri::ListContainersRequest(), &list).ok());
  EXPECT_THAT(list.containers(), SizeIs(0));
}

TEST_F(ClassesTest, AnUnmodifiedClientsAnnotationsCount) {
  cri::PodSandboxConfig config = PodConfig();
  (*config.mutable_annotations())["blockio.resources.beta.kubernetes.io/pod"] = "slow";
  const std::string pod = RunPod(config);
  const std::string id = Start(pod, Shell("sleep 1000"));
  EXPECT_EQ(ClassOf(id), "slow");
  EXPECT_EQ(PodStatus(pod).class_resources().class_().at("pod-qos"), "BestEffort");
}

TEST_F(ClassesTest, ARestartChangesNothing) {
  const std::string pod = RunPod();
  const std::string id = Start(pod, InClass("slow"));
  ASSERT_TRUE(Assign(id, "medium").ok());
  node_.KillDaemon();
  EXPECT_THAT(ThrottleOf(CgroupOf(pod, id)), HasSubstr("4194304"));
  ASSERT_TRUE(node_.StartDaemon().ok());
  EXPECT_EQ(ClassOf(id), "medium");
  std::string other;
  EXPECT_EQ(TryCreate(pod, InClass("medium"), &other).error_code(),
            grpc::StatusCode::RESOURCE_EXHAUSTED);
  ASSERT_TRUE(Assign(id, "free").ok());
  EXPECT_EQ(ThrottleOf(CgroupOf(pod, id)), "");
}

// Editing a class file while no daemon runs affects old containers and new ones alike.
TEST_F(ClassesTest, AStartPutsInForceWhatTheClassesMeanNow) {
  const std::string pod = RunPod();
  const std::string id = Start(pod, InClass("slow"));
  const std::string loses = Start(pod, InClass("medium"));
  ASSERT_TRUE(node_.StopDaemon().ok());
  ASSERT_TRUE(
      files_.root()
          .ReplaceFile("blockio.yaml", absl::StrCat("Classes:\n  slow: [{Devices: [", Disk(),
                                                    "], ThrottleReadBps: 8Mi}]\n  free: []\n"))
          .ok());
  std::string config = *Host().Read(node_.config_path());
  config = absl::StrReplaceAll(config, {{"    capacity: {medium: 1}\n", ""}});
  ASSERT_TRUE(Host().ReplaceFile(node_.config_path(), config).ok());
  ASSERT_TRUE(node_.StartDaemon().ok());
  EXPECT_THAT(ThrottleOf(CgroupOf(pod, id)), HasSubstr("8388608"));
  // A container whose class was removed keeps its settings, with a warning.
  EXPECT_THAT(ThrottleOf(CgroupOf(pod, loses)), HasSubstr("4194304"));
  plimsoll::v1::InspectResponse found;
  grpc::ClientContext context;
  ASSERT_TRUE(node_.node().Inspect(&context, plimsoll::v1::InspectRequest(), &found).ok());
  EXPECT_THAT(found.troubles(), Contains(AllOf(HasSubstr(loses), HasSubstr("\"medium\""),
                                               HasSubstr("no such class any more"))));
  EXPECT_THAT(node_.Log(), HasSubstr("no such class any more"));
  plimsoll::v1::ListClassesResponse classes;
  grpc::ClientContext listing;
  ASSERT_TRUE(
      node_.node().ListClasses(&listing, plimsoll::v1::ListClassesRequest(), &classes).ok());
  EXPECT_THAT(classes.ShortDebugString(), HasSubstr("no such class any more"));
  ASSERT_TRUE(Assign(loses, "free").ok());
  EXPECT_EQ(ThrottleOf(CgroupOf(pod, loses)), "");
}

TEST_F(ClassesTest, DriftIsReported) {
  const std::string pod = RunPod();
  const std::string id = Start(pod, InClass("slow"));
  const auto info = [&] {
    cri::ContainerStatusRequest request;
    request.set_container_id(id);
    request.set_verbose(true);
    cri::ContainerStatusResponse response;
    grpc::ClientContext context;
    EXPECT_TRUE(node_.runtime().ContainerStatus(&context, request, &response).ok());
    return response.info().at("classes");
  };
  EXPECT_THAT(info(), Not(HasSubstr("drift")));
  const std::string held = ThrottleOf(CgroupOf(pod, id));
  const std::string device = held.substr(0, held.find(' '));
  ASSERT_TRUE(Cgroups()
                  .WriteFile(CgroupOf(pod, id), IsV2() ? "io" : "blkio",
                             IsV2() ? "io.max" : "blkio.throttle.read_bps_device",
                             absl::StrCat(device, IsV2() ? " rbps=1000000" : " 1000000"))
                  .ok());
  EXPECT_THAT(info(), HasSubstr("drift"));
  EXPECT_EQ(ClassOf(id), "slow");
}

TEST_F(ClassesTest, AReloadReachesThoseWhoHoldAClass) {
  const std::string pod = RunPod();
  const std::string id = Start(pod, InClass("slow"));
  WriteClasses("  extra: []\n");
  ASSERT_TRUE(Reload().ok());
  EXPECT_TRUE(Assign(id, "extra").ok());
  // A class with a holder can't be removed, and nothing else in that file takes effect.
  WriteClasses("  more: []\n");
  const grpc::Status refused = Reload();
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(refused.error_message(), HasSubstr("\"extra\" of type \"blockio\" is held by"));
  EXPECT_EQ(Assign(id, "more").error_code(), grpc::StatusCode::NOT_FOUND);
  WriteClasses("  extra: nonsense\n");
  EXPECT_FALSE(Reload().ok());
  EXPECT_EQ(ClassOf(id), "extra");
}

// On the kernel's event for a disk its classes' values are checked, and a removed one is written
// again.
TEST_F(ClassesTest, ADisksEventBringsItsThrottleBack) {
  const std::string name = Disk().substr(Disk().rfind('/') + 1);
  const std::string uevent = absl::StrCat("sys/class/block/", name, "/uevent");
  auto socket = linux::UeventSocket::Open({.subsystems = {"block"}});
  ASSERT_TRUE(socket.ok()) << socket.status();
  if (const absl::Status asked = Host().Write(uevent, "change"); !asked.ok()) {
    GTEST_SKIP() << "no event can be provoked: " << asked;
  }
  linux::UeventNews news;
  if (!Eventually([&] { return socket->Read(&news).ok() && !news.events.empty(); })) {
    GTEST_SKIP()
        << "the kernel notifies this network namespace of no devices (its user namespace is "
           "not the first)";
  }
  const std::string pod = RunPod();
  const std::string id = Start(pod, InClass("slow"));
  const std::string held = ThrottleOf(CgroupOf(pod, id));
  const std::string device = held.substr(0, held.find(' '));
  ASSERT_TRUE(Cgroups()
                  .WriteFile(CgroupOf(pod, id), IsV2() ? "io" : "blkio",
                             IsV2() ? "io.max" : "blkio.throttle.read_bps_device",
                             absl::StrCat(device, IsV2() ? " rbps=max" : " 0"))
                  .ok());
  ASSERT_TRUE(Host().Write(uevent, "change").ok());
  EXPECT_TRUE(Eventually([&] { return ThrottleOf(CgroupOf(pod, id)) == held; }));
}

TEST_F(ClassesTest, APodAsAWholeHasClassesOnV2) {
  cri::PodSandboxConfig config = PodConfig();
  (*config.mutable_annotations())["blockio.class.plimsoll.dev/sandbox"] = "slow";
  std::string pod;
  const grpc::Status status = TryRunPod(config, &pod);
  if (!IsV2()) {
    EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
    EXPECT_THAT(status.error_message(), HasSubstr("blockio is configured, but"));
    // Status gives the reason, too.
    cri::StatusRequest request;
    request.set_verbose(true);
    cri::StatusResponse response;
    grpc::ClientContext context;
    ASSERT_TRUE(node_.runtime().Status(&context, request, &response).ok());
    EXPECT_THAT(response.info().at("limitations"),
                HasSubstr("no QoS classes of type blockio for pods: blockio classes of pods need "
                          "cgroup v2"));
    return;
  }
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(PodStatus(pod).class_resources().class_().at("blockio"), "slow");
  const std::string group = absl::StrCat(node_.cgroup_parent(), "/", pod);
  EXPECT_THAT(ThrottleOf(group), HasSubstr("rbps=1048576"));
  cri::UpdatePodSandboxConfigRequest request;
  request.set_pod_sandbox_id(pod);
  (*request.mutable_class_resources()->mutable_class_())["blockio"] = "medium";
  cri::UpdatePodSandboxConfigResponse response;
  grpc::ClientContext context;
  ASSERT_TRUE(node_.runtime().UpdatePodSandboxConfig(&context, request, &response).ok());
  EXPECT_THAT(ThrottleOf(group), HasSubstr("rbps=4194304"));
  // The pod's Kubernetes class can't be changed.
  (*request.mutable_class_resources()->mutable_class_())["pod-qos"] = "Guaranteed";
  grpc::ClientContext again;
  EXPECT_EQ(node_.runtime().UpdatePodSandboxConfig(&again, request, &response).error_code(),
            grpc::StatusCode::FAILED_PRECONDITION);
}

}  // namespace
}  // namespace plimsoll::testing
