// QoS classes: of block I/O, felt and changed while the container runs; listed, counted, reloaded,
// kept over restarts, switched off and on.
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <atomic>
#include <cstdio>
#include <fstream>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "harness/cgroup_layout.h"
#include "harness/kernel.h"
#include "harness/node.h"
#include "linux/block_devices.h"
#include "linux/uevents.h"

namespace plimsoll::testing {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

constexpr int64_t kMiB = 1 << 20;

// Has the class file before the daemon is started, which reads it.
class ClassFile {
 protected:
  ClassFile() { WriteClasses(""); }

  // `more`: further classes.
  void WriteClasses(const std::string& more) {
    const std::string disk = absl::StrCat("Devices: [", Disk(), "]");
    const std::string text =
        absl::StrCat("Classes:\n  slow: [{", disk, ", ThrottleReadBps: 1Mi}]\n  medium: [{", disk,
                     ", ThrottleReadBps: 4Mi}]\n  free: []\n", more);
    const absl::Status written = files_.root().ReplaceFile("blockio.yaml", text);
    EXPECT_TRUE(written.ok()) << written;
    const absl::Status rdt = files_.root().ReplaceFile(
        "rdt.yaml", "partitions:\n  all:\n    l3Allocation: 100%\n    classes: {gold: {}}\n");
    EXPECT_TRUE(rdt.ok()) << rdt;
  }
  std::string Config() const {
    return absl::StrCat("classes:\n  rdt: {config_file: ", files_.path(),
                        "/rdt.yaml}\n  pod-qos: {}\n  blockio:\n    config_file: ", files_.path(),
                        "/blockio.yaml\n    pods: true\n    capacity: {medium: 1}\n",
                        "    annotations: [sandbox]\n  oom: {classes: {first: 800, soon: 300}}\n  "
                        "cgroup:\n  - name: tier\n",
                        "    classes: {low: {cpu.weight: 10, memory.high: 64Mi}, normal: {}}\n");
  }
  // The disk that is read from: the virtual machine's second, else the one with the test's files.
  static std::string Disk() {
    if (IsEmulated()) return "/dev/vdb";
    struct stat place = {};
    stat("/tmp", &place);
    const auto devices = linux::BlockDevices::Scan(Host());
    if (!devices.ok()) return "/dev/none";
    const linux::Disk* disk = devices->DiskOf({major(place.st_dev), minor(place.st_dev)});
    return disk == nullptr ? "/dev/none" : absl::StrCat("/dev/", disk->name);
  }

  TestDir files_;
};

class ClassesTest : private ClassFile, public NodeTest {
 protected:
  ClassesTest() : NodeTest(Config()) {}

  void SetUp() override {
    struct stat disk = {};
    if (stat(Disk().c_str(), &disk) != 0) GTEST_SKIP() << "no disk to throttle: " << Disk();
    NodeTest::SetUp();
  }

  cri::ContainerConfig InClass(const std::string& name) {
    cri::ContainerConfig config = Shell("sleep 1000");
    (*config.mutable_class_resources()->mutable_classes())["blockio"] = name;
    return config;
  }
  grpc::Status Assign(const std::string& container, const std::string& name) {
    cri::UpdateContainerResourcesRequest request;
    request.set_container_id(container);
    (*request.mutable_class_resources()->mutable_classes())["blockio"] = name;
    cri::UpdateContainerResourcesResponse response;
    grpc::ClientContext context;
    return node_.runtime().UpdateContainerResources(&context, request, &response);
  }
  std::string ClassOf(const std::string& container) {
    const auto classes = Status(container).class_resources().classes();
    const auto at = classes.find("blockio");
    return at == classes.end() ? "" : at->second;
  }
  std::string ThrottleOf(const std::string& group) {
    return *Cgroups().ReadFile(group, IsV2() ? "io" : "blkio",
                               IsV2() ? "io.max" : "blkio.throttle.read_bps_device");
  }
  grpc::Status Reload() {
    plimsoll::v1::ReloadClassesResponse response;
    grpc::ClientContext context;
    return node_.node().ReloadClasses(&context, plimsoll::v1::ReloadClassesRequest(), &response);
  }

  using ClassFile::Disk;
  using ClassFile::files_;
  using ClassFile::WriteClasses;
};

class FeltBlockioTest : public ClassesTest {
 protected:
  // A container that can read the disk past every cache.
  cri::ContainerConfig Reader(const std::string& name) {
    cri::ContainerConfig config = InClass(name);
    if (IsEmulated()) {
      cri::Device* device = config.add_devices();
      device->set_host_path("/dev/vdb");
      device->set_container_path("/disk");
      device->set_permissions("r");
      return config;
    }
    std::ofstream file(files_.path() + "/disk", std::ios::binary);
    file << std::string(64 * kMiB, 'x');
    file.close();
    sync();
    cri::Mount* mount = config.add_mounts();
    mount->set_host_path(files_.path() + "/disk");
    mount->set_container_path("/disk");
    mount->set_readonly(true);
    return config;
  }
  // MiB per second, by the container's own clock.
  double ReadRate(const std::string& container, int64_t mebibytes) {
    const std::string out = ExecOutput(
        container,
        absl::StrCat(
            "read a b < /proc/uptime; dd if=/disk of=/dev/null bs=256k count=", mebibytes * 4,
            " iflag=direct 2>/dev/null; read c d < /proc/uptime; ", "echo $a $c"));
    const std::vector<std::string> times = absl::StrSplit(out, ' ');
    double begin = 0;
    double end = 0;
    EXPECT_TRUE(times.size() == 2 && absl::SimpleAtod(times[0], &begin) &&
                absl::SimpleAtod(times[1], &end))
        << out;
    return static_cast<double>(mebibytes) / std::max(end - begin, 0.01);
  }
  // The fastest of some reads, which end once one was faster than `enough` MiB per second. A
  // machine whose processors are others' reads slower than its disk, and never faster.
  double FastestRate(const std::string& container, int64_t mebibytes, double enough) {
    double fastest = 0;
    for (int i = 0; i < 5 && fastest <= enough; ++i) {
      fastest = std::max(fastest, ReadRate(container, mebibytes));
    }
    return fastest;
  }
};

TEST_F(FeltBlockioTest, ThrottlesAreFeltChangedAndTakenAway) {
  const std::string id = Start(RunPod(), Reader("slow"));
  ReadRate(id, 1);  // whatever is to be loaded first is
  const double slow = FastestRate(id, 4, 1 * 0.85);
  EXPECT_GT(slow, 1 * 0.85);
  EXPECT_LT(slow, 1 * 1.15);
  ASSERT_TRUE(Assign(id, "medium").ok());
  const double medium = FastestRate(id, 16, 4 * 0.85);
  EXPECT_GT(medium, 4 * 0.85);
  EXPECT_LT(medium, 4 * 1.15);
  ASSERT_TRUE(Assign(id, "free").ok());
  EXPECT_GT(FastestRate(id, 48, 4 * 1.3), 4 * 1.3);
}

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
  if (!Host().Exists("sys/fs/resctrl/schemata")) {  // configured, but not to be had here
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

// A class file that was changed while no daemon ran means the same to old containers and new ones.
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
  // One whose class is there no more keeps what it has set, and that is told.
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
  // A class that somebody holds can't go, and nothing else of that file counts.
  WriteClasses("  more: []\n");
  const grpc::Status refused = Reload();
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(refused.error_message(), HasSubstr("\"extra\" of type \"blockio\" is held by"));
  EXPECT_EQ(Assign(id, "more").error_code(), grpc::StatusCode::NOT_FOUND);
  WriteClasses("  extra: nonsense\n");
  EXPECT_FALSE(Reload().ok());
  EXPECT_EQ(ClassOf(id), "extra");
}

// The kernel tells that a disk has changed: what its class sets is looked at again, and so what
// somebody has taken away is there again.
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
    GTEST_SKIP() << "the kernel tells this network namespace of no devices (its user namespace is "
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
    // Status says why, too.
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
  // Its Kubernetes class can't be changed.
  (*request.mutable_class_resources()->mutable_class_())["pod-qos"] = "Guaranteed";
  grpc::ClientContext again;
  EXPECT_EQ(node_.runtime().UpdatePodSandboxConfig(&again, request, &response).error_code(),
            grpc::StatusCode::FAILED_PRECONDITION);
}

TEST_F(ClassesTest, AnOomClassIsOfEveryProcess) {
  const std::string pod = RunPod();
  cri::ContainerConfig config = Shell("sleep 1000 & sleep 1001 & wait");
  (*config.mutable_class_resources()->mutable_classes())["oom"] = "soon";
  const std::string id = Start(pod, config);
  const auto scores = [&] {
    return ExecOutput(id, "cat /proc/[0-9]*/oom_score_adj | sort -u | tr '\\n' ' '");
  };
  EXPECT_EQ(scores(), "300 ");
  cri::UpdateContainerResourcesRequest request;
  request.set_container_id(id);
  (*request.mutable_class_resources()->mutable_classes())["oom"] = "first";
  request.mutable_linux()->set_oom_score_adj(5);  // the client's, for when the class goes
  cri::UpdateContainerResourcesResponse response;
  grpc::ClientContext context;
  ASSERT_TRUE(node_.runtime().UpdateContainerResources(&context, request, &response).ok());
  EXPECT_EQ(scores(), "800 ");
}

// Commands enter all the time while the class changes, and so does what they leave running.
TEST_F(ClassesTest, NoCommandThatEntersDuringAChangeStaysInTheOldClass) {
  const std::string pod = RunPod();
  cri::ContainerConfig config = Shell("sleep 1000");
  (*config.mutable_class_resources()->mutable_classes())["oom"] = "soon";
  const std::string id = Start(pod, config);
  const auto assign = [&](const char* name) {
    cri::UpdateContainerResourcesRequest request;
    request.set_container_id(id);
    (*request.mutable_class_resources()->mutable_classes())["oom"] = name;
    cri::UpdateContainerResourcesResponse response;
    grpc::ClientContext context;
    return node_.runtime().UpdateContainerResources(&context, request, &response);
  };
  std::atomic<bool> done = false;
  std::thread entering([&] {
    for (int i = 0; i < 60 && !done; ++i) ExecOutput(id, "sleep 1001 > /dev/null 2>&1 &");
  });
  const absl::Time end = absl::Now() + absl::Seconds(8);  // on a busy machine it is fewer
  bool is_first = false;
  for (int i = 0; i < 100 && absl::Now() < end; ++i) {
    is_first = !is_first;
    const grpc::Status changed = assign(is_first ? "first" : "soon");
    ASSERT_TRUE(changed.ok()) << changed.error_message();
  }
  done = true;
  entering.join();
  const std::vector<pid_t> processes = *Cgroups().Processes(CgroupOf(pod, id), /*recursive=*/true);
  EXPECT_GE(processes.size(), 2u);
  for (const pid_t process : processes) {
    EXPECT_EQ(*Host().Read(absl::StrCat("proc/", process, "/oom_score_adj")),
              is_first ? "800\n" : "300\n")
        << process << " of " << processes.size();
  }
}

// A class that configuration alone defines; and a client's own value for a file of its.
TEST_F(ClassesTest, AFileThatAClassSetsIsTheClasss) {
  if (!IsV2()) GTEST_SKIP() << "types that name cgroup v2's files need cgroup v2";
  const std::string pod = RunPod();
  cri::ContainerConfig config = Shell("sleep 1000");
  (*config.mutable_class_resources()->mutable_classes())["tier"] = "low";
  const std::string id = Start(pod, config);
  const std::string group = CgroupOf(pod, id);
  EXPECT_EQ(*Cgroups().ReadFile(group, "cpu", "cpu.weight"), "10");
  EXPECT_EQ(*Cgroups().ReadFile(group, "memory", "memory.high"), absl::StrCat(64 * kMiB));
  cri::LinuxContainerResources linux;
  linux.set_cpu_shares(1024);
  ASSERT_TRUE(TryUpdate(id, linux).ok());
  EXPECT_EQ(*Cgroups().ReadFile(group, "cpu", "cpu.weight"), "10");
  // Nothing of a request is done whose class is refused, raw files included.
  cri::UpdateContainerResourcesRequest refused;
  refused.set_container_id(id);
  (*refused.mutable_class_resources()->mutable_classes())["tier"] = "none";
  (*refused.mutable_linux()->mutable_unified())["memory.low"] = "4096";
  cri::UpdateContainerResourcesResponse no_response;
  grpc::ClientContext refused_context;
  EXPECT_EQ(node_.runtime()
                .UpdateContainerResources(&refused_context, refused, &no_response)
                .error_code(),
            grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(*Cgroups().ReadFile(group, "memory", "memory.low"), "0");
  cri::UpdateContainerResourcesRequest request;
  request.set_container_id(id);
  (*request.mutable_class_resources()->mutable_classes())["tier"] = "normal";
  cri::UpdateContainerResourcesResponse response;
  grpc::ClientContext context;
  ASSERT_TRUE(node_.runtime().UpdateContainerResources(&context, request, &response).ok());
  EXPECT_EQ(*Cgroups().ReadFile(group, "cpu", "cpu.weight"), "39");
  EXPECT_EQ(*Cgroups().ReadFile(group, "memory", "memory.high"), "max");
}

class ClassGateTest : public ClassesTest {
 protected:
  void RestartWith(bool gate) {
    ASSERT_TRUE(node_.StopDaemon().ok());
    std::ifstream before(node_.config_path());
    std::string text((std::istreambuf_iterator<char>(before)), std::istreambuf_iterator<char>());
    before.close();
    text = text.substr(0, text.find("feature_gates"));
    std::ofstream(node_.config_path())
        << text << "feature_gates: {ClassResources: " << (gate ? "true" : "false") << "}\n";
    ASSERT_TRUE(node_.StartDaemon().ok());
  }
  bool KnowsClasses() {
    cri::StatusResponse status;
    grpc::ClientContext context;
    EXPECT_TRUE(node_.runtime().Status(&context, cri::StatusRequest(), &status).ok());
    return status.status().has_resources();
  }
  std::string ThrottleOfPod(const std::string& pod, const std::string& container) {
    const std::string group = CgroupOf(pod, container);
    return ThrottleOf(group.substr(0, group.rfind('/')));
  }
  grpc::Status AssignPod(const std::string& pod, const std::string& name) {
    cri::UpdatePodSandboxConfigRequest request;
    request.set_pod_sandbox_id(pod);
    (*request.mutable_class_resources()->mutable_class_())["blockio"] = name;
    cri::UpdatePodSandboxConfigResponse response;
    grpc::ClientContext context;
    return node_.runtime().UpdatePodSandboxConfig(&context, request, &response);
  }
};

// On, off, and on again, with a container that runs all the time.
TEST_F(ClassGateTest, SwitchedOffAndOnAgain) {
  const std::string pod = RunPod();
  const std::string id = Start(pod, InClass("medium"));
  RestartWith(false);
  EXPECT_THAT(ThrottleOf(CgroupOf(pod, id)), HasSubstr("4194304")) << "it keeps its class";
  EXPECT_FALSE(KnowsClasses());
  const std::string plain = Start(pod, InClass("no such class"));
  EXPECT_EQ(ThrottleOf(CgroupOf(pod, plain)), "");
  RestartWith(true);
  EXPECT_EQ(ClassOf(id), "medium");
  EXPECT_EQ(ClassOf(plain), "");
  std::string other;
  EXPECT_EQ(TryCreate(pod, InClass("medium"), &other).error_code(),
            grpc::StatusCode::RESOURCE_EXHAUSTED);
}

// Two starts without the gate: what is kept is kept over restarts too.
TEST_F(ClassGateTest, ContainersLiveThroughIt) {
  const std::string pod = RunPod();
  const std::string id = Start(pod, InClass("slow"));
  cri::PodSandboxConfig annotated = PodConfig();
  (*annotated.mutable_annotations())["blockio.resources.beta.kubernetes.io/pod"] = "none of them";
  std::string plain;
  for (int restarts = 0; restarts < 2; ++restarts) {
    RestartWith(false);
    EXPECT_FALSE(KnowsClasses());
    EXPECT_THAT(ThrottleOf(CgroupOf(pod, id)), HasSubstr("1048576"));
    EXPECT_TRUE(Assign(id, "free").ok()) << "a field that isn't read";
    EXPECT_THAT(ThrottleOf(CgroupOf(pod, id)), HasSubstr("1048576"));
    if (plain.empty()) plain = Start(RunPod(annotated), Shell("sleep 1000"));
    // Resources are changed as ever.
    cri::LinuxContainerResources linux;
    linux.set_cpu_shares(512);
    EXPECT_TRUE(TryUpdate(id, linux).ok());
  }
  RestartWith(true);
  EXPECT_TRUE(KnowsClasses());
  EXPECT_EQ(ClassOf(id), "slow");
  EXPECT_EQ(ClassOf(plain), "");
  // Both can be changed again, what came meanwhile too.
  EXPECT_TRUE(Assign(id, "free").ok());
  EXPECT_EQ(ThrottleOf(CgroupOf(pod, id)), "");
  EXPECT_TRUE(Assign(plain, "slow").ok());
  EXPECT_EQ(ClassOf(plain), "slow");
}

TEST_F(ClassGateTest, PodsLiveThroughItOnV2) {
  if (!IsV2()) GTEST_SKIP() << "blockio classes of pods need cgroup v2";
  cri::PodSandboxConfig config = PodConfig();
  (*config.mutable_class_resources()->mutable_class_())["blockio"] = "medium";
  const std::string pod = RunPod(config);
  const std::string id = Start(pod, Shell("sleep 1000"));
  cri::PodSandboxConfig unknown = PodConfig();
  (*unknown.mutable_class_resources()->mutable_class_())["blockio"] = "none of them";
  for (int restarts = 0; restarts < 2; ++restarts) {
    RestartWith(false);
    EXPECT_THAT(ThrottleOfPod(pod, id), HasSubstr("4194304"));
    EXPECT_EQ(AssignPod(pod, "free").error_code(), grpc::StatusCode::UNIMPLEMENTED);
    if (restarts > 0) continue;
    const std::string other = RunPod(unknown);
    EXPECT_EQ(ThrottleOfPod(other, Start(other, Shell("sleep 1000"))), "") << "a field unread";
  }
  RestartWith(true);
  EXPECT_EQ(PodStatus(pod).class_resources().class_().at("blockio"), "medium");
  EXPECT_THAT(ThrottleOfPod(pod, id), HasSubstr("4194304"));
  EXPECT_TRUE(AssignPod(pod, "free").ok());
  EXPECT_EQ(ThrottleOfPod(pod, id), "");
}

}  // namespace
}  // namespace plimsoll::testing
