// The socket for plimsoll-kube: reports of the node, pod-level classes told to it, and who may
// come.
#include <fcntl.h>
#include <grp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/programs/subprocess.h"
#include "classes_fixture.h"
#include "harness/fake_kubelet.h"
#include "harness/kernel.h"
#include "harness/node.h"
#include "plimsoll/v1/cluster.grpc.pb.h"

namespace plimsoll::testing {
namespace {

namespace wire = ::plimsoll::v1;
using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::shared_ptr<grpc::Channel> ChannelTo(const std::string& socket) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  return grpc::CreateCustomChannel("unix:" + socket, grpc::InsecureChannelCredentials(), arguments);
}

// A stream of WatchNode.
class Watcher {
 public:
  explicit Watcher(const std::string& socket)
      : stub_(wire::ClusterService::NewStub(ChannelTo(socket))),
        stream_(stub_->WatchNode(&context_, {})) {}
  ~Watcher() {
    context_.TryCancel();
    static_cast<void>(stream_->Finish());
  }
  // Reads until a report is as wanted. False: the stream has ended.
  bool Await(const std::function<bool(const wire::NodeReport&)>& wanted) {
    while (stream_->Read(&report_)) {
      if (wanted(report_)) return true;
    }
    return false;
  }
  bool Read() { return stream_->Read(&report_); }
  const wire::NodeReport& report() const { return report_; }

 private:
  const std::unique_ptr<wire::ClusterService::Stub> stub_;
  grpc::ClientContext context_;
  wire::NodeReport report_;
  const std::unique_ptr<grpc::ClientReader<wire::NodeReport>> stream_;
};

const wire::NodeClassType* FindType(const wire::NodeReport& report, const std::string& level,
                                    const std::string& name) {
  for (const wire::NodeClassType& type : report.types()) {
    if (type.level() == level && type.name() == name) return &type;
  }
  return nullptr;
}

const wire::NodeClass* FindClass(const wire::NodeReport& report, const std::string& type,
                                 const std::string& name) {
  const wire::NodeClassType* found = FindType(report, "container", type);
  if (found == nullptr) return nullptr;
  for (const wire::NodeClass& one : found->classes()) {
    if (one.name() == name) return &one;
  }
  return nullptr;
}

class ClusterSocketTest : public ClassesTest {
 protected:
  ClusterSocketTest() : ClassesTest(kLaneOfPods) {}

  std::string SocketDirectory() const { return node_.run_directory() + "/cluster"; }
  std::string Socket() const { return SocketDirectory() + "/cluster.sock"; }
  std::unique_ptr<wire::ClusterService::Stub> Stub() const {
    return wire::ClusterService::NewStub(ChannelTo(Socket()));
  }
  grpc::Status Tell(const std::string& pod, const std::string& claim, const std::string& type,
                    const std::string& name) const {
    wire::SetPodClassesRequest request;
    request.set_pod_uid(pod);
    request.set_claim_uid(claim);
    (*request.mutable_classes())[type] = name;
    wire::SetPodClassesResponse response;
    grpc::ClientContext context;
    return Stub()->SetPodClasses(&context, request, &response);
  }
  grpc::Status Drop(const std::string& claim) const {
    wire::DropPodClassesRequest request;
    request.set_claim_uid(claim);
    wire::DropPodClassesResponse response;
    grpc::ClientContext context;
    return Stub()->DropPodClasses(&context, request, &response);
  }
  grpc::Status SetScheduled(bool scheduled) const {
    wire::SetScheduledRequest request;
    request.set_scheduled(scheduled);
    wire::SetScheduledResponse response;
    grpc::ClientContext context;
    return Stub()->SetScheduled(&context, request, &response);
  }
  std::string PodClass(const std::string& pod, const std::string& type) {
    const auto classes = PodStatus(pod).class_resources().class_();
    const auto at = classes.find(type);
    return at == classes.end() ? "" : at->second;
  }
  wire::DaemonStatusResponse DaemonStatus() {
    wire::DaemonStatusResponse response;
    grpc::ClientContext context;
    EXPECT_TRUE(node_.node().DaemonStatus(&context, {}, &response).ok());
    return response;
  }
  // The errno of a connect(2) by a process of that user and group; -1: the process has failed.
  int ConnectAs(uid_t user, gid_t group) const {
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    Socket().copy(address.sun_path, sizeof(address.sun_path) - 1);
    // The answer comes by a pipe: the harness may be the first to collect the child's exit status.
    int ends[2] = {-1, -1};
    EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
    const pid_t child = fork();
    if (child == 0) {
      int answer = -1;
      if (setgroups(0, nullptr) == 0 && setgid(group) == 0 && setuid(user) == 0) {
        const int connection = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        const auto* const to = reinterpret_cast<const sockaddr*>(&address);
        answer = connect(connection, to, sizeof(address)) == 0 ? 0 : errno;
      }
      _exit(write(ends[1], &answer, sizeof(answer)) == sizeof(answer) ? 0 : 1);
    }
    const UniqueFd from_child(ends[0]);
    close(ends[1]);
    int answer = -1;
    if (read(from_child.get(), &answer, sizeof(answer)) != sizeof(answer)) answer = -1;
    waitpid(child, nullptr, 0);
    return answer;
  }
  size_t DescriptorsOfDaemon() const {
    return Host().List(absl::StrCat("proc/", node_.daemon_pid(), "/fd"))->size();
  }
};

TEST_F(ClusterSocketTest, TheReportHasClassesAndTopology) {
  Watcher watcher(Socket());
  ASSERT_TRUE(watcher.Await([](const auto& report) { return report.has_topology(); }));
  const wire::NodeReport& report = watcher.report();
  EXPECT_FALSE(report.version().empty());
  EXPECT_GE(report.topology_edition(), 1u);
  EXPECT_GT(report.topology().zones_size(), 0);
  const wire::NodeClass* medium = FindClass(report, "blockio", "medium");
  ASSERT_NE(medium, nullptr) << report.ShortDebugString();
  EXPECT_EQ(medium->capacity(), 1u);
  EXPECT_EQ(medium->holders(), 0u);
  EXPECT_FALSE(medium->meaning().empty());
  ASSERT_NE(FindType(report, "pod", "lane"), nullptr);
  EXPECT_EQ(FindType(report, "pod", "pod-qos"), nullptr) << "it follows from the pod's resources";
  if (Host().Exists("sys/fs/resctrl/schemata")) return;
  const wire::NodeClassType* rdt = FindType(report, "container", "rdt");
  ASSERT_NE(rdt, nullptr);
  EXPECT_THAT(rdt->unavailable(), HasSubstr("resctrl is not mounted"));
  EXPECT_EQ(rdt->classes_size(), 0);
  EXPECT_THAT(report.ShortDebugString(), HasSubstr("ClassTypeUnavailable"));
}

TEST_F(ClusterSocketTest, HoldersAndReloadedClassesAreTold) {
  Watcher watcher(Socket());
  ASSERT_TRUE(watcher.Read());
  const std::string pod = RunPod();
  const std::string id = Start(pod, InClass("medium"));
  EXPECT_TRUE(watcher.Await([](const auto& report) {
    const wire::NodeClass* medium = FindClass(report, "blockio", "medium");
    return medium != nullptr && medium->holders() == 1;
  }));
  WriteClasses("  extra: []\n");
  ASSERT_TRUE(Reload().ok());
  EXPECT_TRUE(watcher.Await(
      [](const auto& report) { return FindClass(report, "blockio", "extra") != nullptr; }));
  ASSERT_TRUE(StopContainer(id, 0).ok());
  EXPECT_TRUE(watcher.Await(
      [](const auto& report) { return FindClass(report, "blockio", "medium")->holders() == 0; }));
}

// The class that was set, in the kernel where it has files.
TEST_F(ClusterSocketTest, AToldClassIsInForceFromTheStart) {
  cri::PodSandboxConfig config = PodConfig();
  const std::string uid = config.metadata().uid();
  ASSERT_TRUE(Tell(uid, "claim-1", "lane", "fast").ok());
  if (IsV2()) {
    ASSERT_TRUE(Tell(uid, "claim-2", "blockio", "slow").ok());
  }
  node_.KillDaemon();  // told is durable
  ASSERT_TRUE(node_.StartDaemon().ok());
  EXPECT_EQ(DaemonStatus().told_claims(), IsV2() ? 2u : 1u);
  const std::string pod = RunPod(config);
  EXPECT_EQ(PodClass(pod, "lane"), "fast");
  if (IsV2()) {
    EXPECT_EQ(PodClass(pod, "blockio"), "slow");
    EXPECT_THAT(ThrottleOf(absl::StrCat(node_.cgroup_parent(), "/", pod)), HasSubstr("1048576"));
  }
  // The sandbox keeps its class; the next one of that uid has none.
  ASSERT_TRUE(Drop("claim-1").ok());
  ASSERT_TRUE(Drop("claim-1").ok());
  EXPECT_EQ(PodClass(pod, "lane"), "fast");
  ASSERT_TRUE(StopPod(pod).ok());
  ASSERT_TRUE(RemovePod(pod).ok());
  config.mutable_metadata()->set_attempt(1);
  EXPECT_EQ(PodClass(RunPod(config), "lane"), "slow");
}

TEST_F(ClusterSocketTest, AnotherPodHasNothingOfIt) {
  ASSERT_TRUE(Tell(PodConfig().metadata().uid() + "0", "claim-1", "lane", "fast").ok());
  EXPECT_EQ(PodClass(RunPod(), "lane"), "slow");
}

TEST_F(ClusterSocketTest, AClassForAPodThatRunsIsRefused) {
  cri::PodSandboxConfig config = PodConfig();
  const std::string uid = config.metadata().uid();
  RunPod(config);
  const grpc::Status late = Tell(uid, "claim-1", "lane", "fast");
  EXPECT_EQ(late.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(late.error_message(), AllOf(HasSubstr("runs without class \"fast\" of type \"lane\""),
                                          HasSubstr("with class \"slow\"")));
  EXPECT_TRUE(Tell(uid, "claim-1", "lane", "slow").ok());
}

TEST_F(ClusterSocketTest, WrongWordsAreRefused) {
  EXPECT_EQ(Tell("pod-1", "claim-1", "pod-qos", "Guaranteed").error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(Tell("../../etc", "claim-1", "lane", "fast").error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(Tell("", "claim-1", "lane", "fast").error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  const grpc::Status unknown = Tell("pod-1", "claim-1", "lane", "golden");
  EXPECT_EQ(unknown.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_THAT(unknown.error_message(), HasSubstr("\"fast\""));
  EXPECT_EQ(Tell("pod-1", std::string(70'000, 'x'), "lane", "fast").error_code(),
            grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(DaemonStatus().told_claims(), 0u);
}

TEST_F(ClusterSocketTest, HasNeitherTheCriNorTheDaemonsOwnCalls) {
  grpc::ClientContext version;
  cri::VersionResponse version_response;
  EXPECT_EQ(cri::RuntimeService::NewStub(ChannelTo(Socket()))
                ->Version(&version, {}, &version_response)
                .error_code(),
            grpc::StatusCode::UNIMPLEMENTED);
  grpc::ClientContext images;
  cri::ListImagesResponse images_response;
  EXPECT_EQ(cri::ImageService::NewStub(ChannelTo(Socket()))
                ->ListImages(&images, {}, &images_response)
                .error_code(),
            grpc::StatusCode::UNIMPLEMENTED);
  grpc::ClientContext status;
  wire::DaemonStatusResponse status_response;
  EXPECT_EQ(wire::NodeService::NewStub(ChannelTo(Socket()))
                ->DaemonStatus(&status, {}, &status_response)
                .error_code(),
            grpc::StatusCode::UNIMPLEMENTED);
}

TEST_F(ClusterSocketTest, StatusTellsOfItsClientsAndTheScheduler) {
  wire::DaemonStatusResponse status = DaemonStatus();
  EXPECT_EQ(status.cluster_socket(), Socket());
  EXPECT_EQ(status.cluster_watchers(), 0u);
  EXPECT_FALSE(status.classes_from_scheduler());
  {
    Watcher watcher(Socket());
    ASSERT_TRUE(watcher.Read());
    EXPECT_EQ(DaemonStatus().cluster_watchers(), 1u);
  }
  EXPECT_TRUE(Eventually([&] { return DaemonStatus().cluster_watchers() == 0; }));
  ASSERT_TRUE(SetScheduled(true).ok());
  node_.KillDaemon();
  ASSERT_TRUE(node_.StartDaemon().ok());
  EXPECT_TRUE(DaemonStatus().classes_from_scheduler());
  const auto shown = RunProgram(
      {.argv = {ProgramPath("plimsoll"), "--address", node_.address(), "daemon", "status"}});
  ASSERT_TRUE(shown.ok());
  EXPECT_THAT(shown->out, AllOf(HasSubstr(Socket() + ", nobody follows"),
                                ContainsRegex("classes from +the cluster's scheduler")));
  ASSERT_TRUE(SetScheduled(false).ok());
  EXPECT_FALSE(DaemonStatus().classes_from_scheduler());
}

TEST_F(ClusterSocketTest, OnlyRootMayComeWithoutAGroup) {
  struct stat info = {};
  ASSERT_EQ(stat(Socket().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0660u);
  EXPECT_EQ(info.st_gid, 0u);
  ASSERT_EQ(stat(SocketDirectory().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0750u);
  EXPECT_EQ(info.st_gid, 0u);
  EXPECT_EQ(ConnectAs(0, 0), 0);
  // The run directory itself may be closed to others: a test's temporary directory is.
  EXPECT_EQ(ConnectAs(65534, 65534), EACCES);
}

// A container that has the directory mounted sees each later daemon's socket, and no other.
TEST_F(ClusterSocketTest, ItsDirectoryStaysAndHasNothingElse) {
  const auto directory = FsRoot::Open(SocketDirectory());
  ASSERT_TRUE(directory.ok()) << directory.status();
  EXPECT_THAT(*directory->List("."), ElementsAre("cluster.sock"));
  // An administrator's slip.
  ASSERT_EQ(chmod(SocketDirectory().c_str(), 0777), 0);
  ASSERT_EQ(chown(SocketDirectory().c_str(), 1, 1), 0);
  ASSERT_TRUE(node_.StopDaemon().ok());
  EXPECT_THAT(*directory->List("."), IsEmpty());
  ASSERT_TRUE(node_.StartDaemon().ok());
  EXPECT_THAT(*directory->List("."), ElementsAre("cluster.sock"));
  struct stat info = {};
  ASSERT_EQ(fstat(directory->fd(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0750u);
  EXPECT_EQ(info.st_uid, 0u);
  EXPECT_EQ(info.st_gid, 0u);
}

// More clients than any cluster has, which say nothing and read nothing.
TEST_F(ClusterSocketTest, FloodsLeaveTheCriAlone) {
  Watcher watcher(Socket());
  ASSERT_TRUE(watcher.Read());
  const size_t before = DescriptorsOfDaemon();
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  Socket().copy(address.sun_path, sizeof(address.sun_path) - 1);
  std::vector<UniqueFd> silent;
  for (int i = 0; i < 1000; ++i) {
    UniqueFd one(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    ASSERT_EQ(connect(one.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    silent.push_back(std::move(one));
  }
  // Two for each connection that is let in.
  EXPECT_TRUE(Eventually([&] { return DescriptorsOfDaemon() < before + 100; }));
  const std::string pod = RunPod();
  const std::string id = Start(pod, InClass("medium"));
  EXPECT_TRUE(watcher.Await(
      [](const auto& report) { return FindClass(report, "blockio", "medium")->holders() == 1; }));
  silent.clear();
  // Streams without a reader, by connections of one client each.
  const auto stub = Stub();
  std::vector<std::unique_ptr<grpc::ClientContext>> contexts;
  std::vector<std::unique_ptr<grpc::ClientReader<wire::NodeReport>>> streams;
  for (int i = 0; i < 200; ++i) {
    contexts.push_back(std::make_unique<grpc::ClientContext>());
    streams.push_back(stub->WatchNode(contexts.back().get(), {}));
  }
  EXPECT_LE(DaemonStatus().cluster_watchers(), 16u);
  EXPECT_TRUE(StopContainer(id, 0).ok());
  EXPECT_TRUE(watcher.Await(
      [](const auto& report) { return FindClass(report, "blockio", "medium")->holders() == 0; }));
  for (const auto& context : contexts) context->TryCancel();
  for (const auto& stream : streams) static_cast<void>(stream->Finish());
  EXPECT_TRUE(Eventually([&] { return DaemonStatus().cluster_watchers() == 1; }));
}

// Pods whose class may be lost don't start; those that run are served.
TEST_F(ClusterSocketTest, ADamagedTableStartsNoPod) {
  ASSERT_TRUE(Tell("pod-1", "claim-1", "lane", "fast").ok());
  const std::string id = Start(RunPod(), Shell("sleep 1000"));
  ASSERT_TRUE(node_.StopDaemon().ok());
  const std::string table = node_.state_directory() + "/cluster.db";
  ASSERT_TRUE(Host().ReplaceFile(table, std::string(4096, 'x')).ok());
  ASSERT_TRUE(node_.StartDaemon().ok());
  EXPECT_EQ(ExecOutput(id, "echo here"), "here\n");
  std::string pod;
  const grpc::Status refused = TryRunPod(PodConfig(), &pod);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::DATA_LOSS);
  EXPECT_THAT(refused.error_message(), AllOf(HasSubstr(table), HasSubstr("To mend it")));
  Watcher watcher(Socket());
  ASSERT_TRUE(watcher.Read());
  EXPECT_THAT(watcher.report().ShortDebugString(), HasSubstr("ToldClassesLost"));
  ASSERT_TRUE(node_.StopDaemon().ok());
  for (const char* suffix : {"", "-wal", "-shm"}) {
    Host().RemoveFile(absl::StrCat(table, suffix)).IgnoreError();
  }
  ASSERT_TRUE(node_.StartDaemon().ok());
  EXPECT_TRUE(TryRunPod(PodConfig(), &pod).ok());
}

class ClusterSocketKubeletTest : private KubeletRoot, public NodeTest {
 protected:
  ClusterSocketKubeletTest() : NodeTest(absl::StrCat("kubelet: {root: ", kubelet.root(), "}\n")) {}

  using KubeletRoot::kubelet;
};

TEST_F(ClusterSocketKubeletTest, ExclusiveResourcesAreTold) {
  ::v1::PodResources grants;
  grants.set_name("pod");
  grants.set_namespace_("default");
  ::v1::ContainerResources* container = grants.add_containers();
  container->set_name("main");
  container->add_cpu_ids(0);
  ::v1::ContainerDevices* devices = container->add_devices();
  devices->set_resource_name("vendor.com/nic");
  devices->add_device_ids("a");
  devices->add_device_ids("b");
  kubelet.SetGrants(grants);
  ::v1::AllocatableResourcesResponse all;
  *all.add_devices() = *devices;
  all.mutable_devices(0)->add_device_ids("c");
  kubelet.SetDevices(all);
  const std::string socket = node_.run_directory() + "/cluster/cluster.sock";
  {
    Watcher watcher(socket);
    // A busy machine may lose one of the two questions to kubelet.
    ASSERT_TRUE(watcher.Await([](const auto& report) {
      return report.has_exclusive() && report.exclusive().device_totals_size() > 0;
    }));
    EXPECT_EQ(watcher.report().exclusive().cpus(), "0");
    ASSERT_EQ(watcher.report().exclusive().devices_size(), 1);
    EXPECT_EQ(watcher.report().exclusive().devices(0).resource(), "vendor.com/nic");
    EXPECT_EQ(watcher.report().exclusive().devices(0).count(), 2u);
    ASSERT_EQ(watcher.report().exclusive().device_totals_size(), 1);
    EXPECT_EQ(watcher.report().exclusive().device_totals(0).count(), 3u);
  }
  kubelet.Stop(FakeKubelet::kPodResources);
  Watcher watcher(socket);
  ASSERT_TRUE(watcher.Await([](const auto& report) { return !report.has_exclusive(); }));
}

class ClusterSocketGroupTest : public NodeTest {
 protected:
  ClusterSocketGroupTest() : NodeTest("kube: {socket_group: daemon}\n") {}
};

TEST_F(ClusterSocketGroupTest, AGroupMayUseIt) {
  struct stat info = {};
  const std::string path = node_.run_directory() + "/cluster/cluster.sock";
  ASSERT_EQ(stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_gid, 1u);  // Debian's
  EXPECT_EQ(info.st_mode & 0777, 0660u);
  ASSERT_EQ(stat((node_.run_directory() + "/cluster").c_str(), &info), 0);
  EXPECT_EQ(info.st_gid, 1u);
  EXPECT_EQ(info.st_mode & 07777, 0750u);
  // The CRI's stays root's.
  ASSERT_EQ(stat((node_.run_directory() + "/plimsoll.sock").c_str(), &info), 0);
  EXPECT_EQ(info.st_gid, 0u);
}

// The daemon has a file of groups of its own, which the test changes.
class ClusterSocketNewGroupTest : public NodeTest {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "mount namespaces need root";
    const auto unshare = FindProgram("unshare");
    if (!unshare.ok()) GTEST_SKIP() << unshare.status();
    WriteGroups("root:x:0:\n");
    node_.StartBy({*unshare, "--mount", "--propagation", "slave", "/bin/sh", "-c",
                   "mount --bind \"$0\" /etc/group && exec \"$@\"", groups()});
    NodeTest::SetUp();
  }
  // In place: the daemon has a bind of this very file.
  void WriteGroups(const std::string& text) const { std::ofstream(groups()) << text; }
  // Reloads the configuration, and waits until the reload before this one is done.
  void Reload() {
    ASSERT_EQ(kill(node_.daemon_pid(), SIGHUP), 0);
    ++reloads_;
    EXPECT_TRUE(Eventually([&] {
      const std::vector<std::string> parts = absl::StrSplit(node_.Log(), "configuration reloaded");
      return parts.size() > reloads_;
    }));
  }
  struct stat Info(const std::string& name) const {
    struct stat info = {};
    stat(absl::StrCat(node_.run_directory(), "/", name).c_str(), &info);
    return info;
  }
  bool Belongs(gid_t group) const {
    return Info("cluster").st_gid == group && Info("cluster/cluster.sock").st_gid == group;
  }
  std::string groups() const { return node_.directory() + "/group"; }

 private:
  size_t reloads_ = 0;
};

TEST_F(ClusterSocketNewGroupTest, AReloadFollowsPlimsollKubesGroup) {
  constexpr gid_t kGroup = 54321;
  const std::string path = node_.run_directory() + "/cluster/cluster.sock";
  EXPECT_TRUE(Belongs(0));
  {
    Watcher watcher(path);
    ASSERT_TRUE(watcher.Read());
    // A package makes it.
    WriteGroups(absl::StrCat("root:x:0:\nplimsoll-kube:x:", kGroup, ":\n"));
    Reload();
    ASSERT_TRUE(Eventually([&] { return Belongs(kGroup); }));
    EXPECT_FALSE(watcher.Await([](const auto&) { return false; })) << "it came by the old socket";
  }
  EXPECT_EQ(Info("cluster").st_mode & 07777, 0750u);
  EXPECT_EQ(Info("cluster/cluster.sock").st_mode & 0777, 0660u);
  {
    Watcher watcher(path);
    ASSERT_TRUE(watcher.Read());
    // The same group: nobody is cut off.
    const ino_t socket = Info("cluster/cluster.sock").st_ino;
    Reload();
    Reload();
    EXPECT_EQ(Info("cluster/cluster.sock").st_ino, socket);
    wire::DaemonStatusResponse status;
    grpc::ClientContext context;
    ASSERT_TRUE(node_.node().DaemonStatus(&context, {}, &status).ok());
    EXPECT_EQ(status.cluster_watchers(), 1u);
  }
  // Removed with the package.
  WriteGroups("root:x:0:\n");
  Reload();
  EXPECT_TRUE(Eventually([&] { return Belongs(0); }));
  Watcher watcher(path);
  EXPECT_TRUE(watcher.Read());
}

class NoClusterSocketTest : public NodeTest {
 protected:
  NoClusterSocketTest() : NodeTest("kube: {socket: \"\"}\n") {}
};

TEST_F(NoClusterSocketTest, CanBeSwitchedOff) {
  EXPECT_FALSE(Host().Exists(node_.run_directory() + "/cluster"));
  wire::DaemonStatusResponse response;
  grpc::ClientContext context;
  ASSERT_TRUE(node_.node().DaemonStatus(&context, {}, &response).ok());
  EXPECT_THAT(response.cluster_socket(), IsEmpty());
}

}  // namespace
}  // namespace plimsoll::testing
