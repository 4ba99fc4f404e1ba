#include "harness/node.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mount.h>
#include <unistd.h>

#include <csignal>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "base/programs/pipe.h"
#include "base/status.h"
#include "harness/busybox_image.h"
#include "harness/kernel.h"
#include "linux/namespaces/mounts.h"

namespace plimsoll::testing {
namespace {

using ::testing::IsEmpty;

constexpr absl::Duration kStartTimeout = absl::Seconds(20);
constexpr absl::Duration kStopTimeout = absl::Seconds(30);

// A context that gives up before the test's own time limit.
std::unique_ptr<grpc::ClientContext> Context() {
  auto context = std::make_unique<grpc::ClientContext>();
  context->set_deadline(absl::ToChronoTime(absl::Now() + Patience(absl::Seconds(100))));
  return context;
}

void ExpectOk(const grpc::Status& status, const char* what) {
  EXPECT_TRUE(status.ok()) << what << ": " << status.error_code() << " " << status.error_message();
}

}  // namespace

std::string ProgramPath(const std::string& name) {
  return absl::StrCat(PLIMSOLL_BIN_DIRECTORY, "/", name);
}

std::string SourcePath(const std::string& path) {
  return absl::StrCat(PLIMSOLL_SOURCE_DIRECTORY, "/", path);
}

Node::Node(const std::string& extra_config) : temporary_(std::in_place) {
  places_.directory = temporary_->path();
  places_.run_directory = places_.directory + "/run";
  places_.state_directory = places_.directory + "/state";
  places_.cgroup_parent = absl::StrCat("/plimsoll-test-", getpid());
  WriteConfig(extra_config);
}

Node::Node(NodePlaces places) : places_(std::move(places)) {
  EXPECT_TRUE(Host().MakeDirs(places_.directory, 0755).ok());
  WriteConfig("");
}

void Node::WriteConfig(const std::string& extra) {
  has_network_ = absl::StrContains(extra, "network:");
  has_plugins_ = absl::StrContains(extra, "plugin_dir:");
  const std::string config = absl::StrCat(
      "address: ", address(), "\nstate_dir: ", state_directory(), "\nrun_dir: ", run_directory(),
      "\ncgroup_parent: ", cgroup_parent(), "\n", extra);
  const absl::Status written = Host().ReplaceFile(config_path(), config);
  EXPECT_TRUE(written.ok()) << written;
}

Node::~Node() {
  if (!temporary_) return;
  if (daemon_runs()) KillDaemon();
  // Running processes first: their monitors work in the run directory. A killed agent leaves mounts
  // beside it.
  Cgroups().KillAll(cgroup_parent(), absl::Now() + absl::Seconds(10)).IgnoreError();
  Eventually([this] { return linux::UnmountBelow(Host(), directory()).ok(); }, absl::Seconds(5));
  Cgroups().Remove(cgroup_parent()).IgnoreError();
}

absl::Status Node::StartDaemon() {
  PLIMSOLL_RETURN_IF_ERROR(SpawnDaemon());
  return AwaitReady();
}

absl::Status Node::SpawnDaemon() {
  const std::string log = absl::StrCat(directory(), "/daemon.log");
  UniqueFd log_fd(open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  PLIMSOLL_ASSIGN_OR_RETURN(Pipe ready, MakePipe());
  ready_ = std::move(ready.reader);
  Command command;
  command.argv = {program_.empty() ? ProgramPath("plimsolld") : program_, "--config", config_path(),
                  "--ready-fd", "3"};
  // The tests' pods must not join the networks of this machine.
  if (program_.empty() && !has_network_) {
    command.argv.insert(command.argv.end(),
                        {"--network-config-dir", absl::StrCat(directory(), "/no-network")});
  }
  // Nor may the machine's plugins see them.
  if (program_.empty() && !has_plugins_) {
    command.argv.insert(command.argv.end(),
                        {"--nri-plugin-dir", absl::StrCat(directory(), "/no-plugins")});
  }
  if (keeps_streams_) command.argv.emplace_back("--keep-streams");
  command.argv.insert(command.argv.begin(), started_by_.begin(), started_by_.end());
  command.descriptors = {{log_fd.get(), 1}, {log_fd.get(), 2}, {ready.writer.get(), 3}};
  command.new_session = own_session_;
  PLIMSOLL_ASSIGN_OR_RETURN(Child child, Spawn(command));
  daemon_ = std::move(child);
  return absl::OkStatus();
}

absl::Status Node::AwaitReady() {
  char byte = 0;
  struct pollfd poller = {ready_.get(), POLLIN, 0};
  const absl::Duration patience = Patience(kStartTimeout);
  if (poll(&poller, 1, static_cast<int>(absl::ToInt64Milliseconds(patience))) == 0) {
    const std::string log = Log();
    KillDaemon();
    return absl::DeadlineExceededError(
        absl::StrCat("plimsolld is not ready after ", absl::FormatDuration(patience), ": ", log));
  }
  if (read(ready_.get(), &byte, 1) != 1) {
    const auto exit = daemon_->Wait(absl::Now() + Patience(kStartTimeout));
    daemon_.reset();
    return absl::InternalError(
        absl::StrCat("plimsolld did not start: ", exit.ok() ? exit->ToString() : "?", ": ", Log()));
  }
  Connect();
  return absl::OkStatus();
}

void Node::Connect() {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(16 << 20);  // as kubelet's
  // Else it gets the connection to the previous daemon, whose end may not have been noticed yet.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  channel_ = grpc::CreateCustomChannel(absl::StrCat("unix:", run_directory(), "/plimsoll.sock"),
                                       grpc::InsecureChannelCredentials(), arguments);
  runtime_ = cri::RuntimeService::NewStub(channel_);
  images_ = cri::ImageService::NewStub(channel_);
  node_ = plimsoll::v1::NodeService::NewStub(channel_);
}

absl::StatusOr<ExitStatus> Node::StopDaemon() {
  PLIMSOLL_RETURN_IF_ERROR(daemon_->Signal(SIGTERM));
  absl::StatusOr<ExitStatus> exit = daemon_->Wait(absl::Now() + Patience(kStopTimeout));
  if (exit.ok()) daemon_.reset();
  return exit;
}

void Node::KillDaemon() {
  daemon_->Signal(SIGKILL).IgnoreError();
  daemon_->Wait().IgnoreError();
  daemon_.reset();
}

std::string Node::Log() const {
  return Host().Read(directory() + "/daemon.log").value_or("");
}

void NodeTest::SetUp() {
  if (geteuid() != 0) GTEST_SKIP() << "containers need root";
  const absl::Status started = node_.StartDaemon();
  ASSERT_TRUE(started.ok()) << started;
  ImportBusybox();
}

void NodeTest::ImportBusybox() {
  const auto rootfs = FsRoot::OpenOrCreate(absl::StrCat(node_.directory(), "/busybox"), 0755);
  ASSERT_TRUE(rootfs.ok()) << rootfs.status();
  const absl::Status made = MakeBusyboxRootfs(*rootfs);
  ASSERT_TRUE(made.ok()) << made;
  const grpc::Status imported = Import(rootfs->path(), "busybox");
  ASSERT_TRUE(imported.ok()) << imported.error_message();
}

void NodeTest::TearDown() {
  if (IsSkipped()) return;
  // A daemon that the test has stopped is started again, to remove its pods and to be checked.
  if (!node_.daemon_runs()) {
    const absl::Status started = node_.StartDaemon();
    ASSERT_TRUE(started.ok()) << started << "\n" << node_.Log();
  }
  RemoveAllPods();
  EXPECT_THAT(ProcessesWith(absl::StrCat(node_.run_directory(), "/oci")), IsEmpty());
  const auto exit = node_.StopDaemon();
  ASSERT_TRUE(exit.ok()) << exit.status() << "\n" << node_.Log();
  EXPECT_TRUE(exit->success()) << exit->ToString() << "\n" << node_.Log();
  for (const std::string& mount : MountsBelow(node_.run_directory())) {
    EXPECT_EQ(mount, node_.run_directory()) << "left mounted";
  }
  EXPECT_THAT(*Host().List(absl::StrCat(node_.run_directory(), "/sandboxes")), IsEmpty());
  EXPECT_THAT(Host()
                  .List(absl::StrCat(node_.state_directory(), "/containers"))
                  .value_or(std::vector<std::string>()),
              IsEmpty());
  const auto processes = Cgroups().Processes(node_.cgroup_parent(), true);
  EXPECT_TRUE(!processes.ok() || processes->empty());
  if (HasFailure()) GTEST_LOG_(INFO) << node_.Log();
}

void NodeTest::RemoveAllPods() {
  cri::ListPodSandboxResponse pods;
  ExpectOk(node_.runtime().ListPodSandbox(Context().get(), {}, &pods), "ListPodSandbox");
  for (const cri::PodSandbox& pod : pods.items()) {
    ExpectOk(StopPod(pod.id()), "StopPodSandbox");
    ExpectOk(RemovePod(pod.id()), "RemovePodSandbox");
    EXPECT_FALSE(CgroupExists(absl::StrCat(node_.cgroup_parent(), "/", pod.id())));
  }
}

grpc::Status NodeTest::Import(const std::string& path, const std::string& reference) {
  plimsoll::v1::ImportImageRequest request;
  request.set_path(path);
  request.set_reference(reference);
  const auto context = Context();
  const auto reader = node_.node().ImportImage(context.get(), request);
  plimsoll::v1::ImageProgress progress;
  while (reader->Read(&progress)) {
  }
  return reader->Finish();
}

grpc::Status NodeTest::TryRunPod(const cri::PodSandboxConfig& config, std::string* id) {
  cri::RunPodSandboxRequest request;
  *request.mutable_config() = config;
  cri::RunPodSandboxResponse response;
  const grpc::Status status = node_.runtime().RunPodSandbox(Context().get(), request, &response);
  *id = response.pod_sandbox_id();
  return status;
}

std::string NodeTest::RunPod(const cri::PodSandboxConfig& config) {
  std::string id;
  ExpectOk(TryRunPod(config, &id), "RunPodSandbox");
  return id;
}

grpc::Status NodeTest::TryCreate(const std::string& pod, const cri::ContainerConfig& config,
                                 std::string* id) {
  cri::CreateContainerRequest request;
  request.set_pod_sandbox_id(pod);
  *request.mutable_config() = config;
  *request.mutable_sandbox_config() = PodConfig();
  cri::CreateContainerResponse response;
  const grpc::Status status = node_.runtime().CreateContainer(Context().get(), request, &response);
  *id = response.container_id();
  return status;
}

std::string NodeTest::Create(const std::string& pod, const cri::ContainerConfig& config) {
  std::string id;
  ExpectOk(TryCreate(pod, config, &id), "CreateContainer");
  return id;
}

grpc::Status NodeTest::TryStart(const std::string& container) {
  cri::StartContainerRequest request;
  request.set_container_id(container);
  cri::StartContainerResponse response;
  return node_.runtime().StartContainer(Context().get(), request, &response);
}

std::string NodeTest::Start(const std::string& pod, const cri::ContainerConfig& config) {
  const std::string id = Create(pod, config);
  if (!id.empty()) ExpectOk(TryStart(id), "StartContainer");
  return id;
}

grpc::Status NodeTest::TryUpdate(const std::string& container,
                                 const cri::LinuxContainerResources& linux) {
  cri::UpdateContainerResourcesRequest request;
  request.set_container_id(container);
  *request.mutable_linux() = linux;
  cri::UpdateContainerResourcesResponse response;
  return node_.runtime().UpdateContainerResources(Context().get(), request, &response);
}

grpc::Status NodeTest::StopContainer(const std::string& container, int64_t timeout_seconds) {
  cri::StopContainerRequest request;
  request.set_container_id(container);
  request.set_timeout(timeout_seconds);
  cri::StopContainerResponse response;
  return node_.runtime().StopContainer(Context().get(), request, &response);
}

grpc::Status NodeTest::RemoveContainer(const std::string& container) {
  cri::RemoveContainerRequest request;
  request.set_container_id(container);
  cri::RemoveContainerResponse response;
  return node_.runtime().RemoveContainer(Context().get(), request, &response);
}

grpc::Status NodeTest::StopPod(const std::string& pod) {
  cri::StopPodSandboxRequest request;
  request.set_pod_sandbox_id(pod);
  cri::StopPodSandboxResponse response;
  return node_.runtime().StopPodSandbox(Context().get(), request, &response);
}

grpc::Status NodeTest::RemovePod(const std::string& pod) {
  cri::RemovePodSandboxRequest request;
  request.set_pod_sandbox_id(pod);
  cri::RemovePodSandboxResponse response;
  return node_.runtime().RemovePodSandbox(Context().get(), request, &response);
}

cri::ContainerStatus NodeTest::Status(const std::string& container) {
  cri::ContainerStatusRequest request;
  request.set_container_id(container);
  cri::ContainerStatusResponse response;
  ExpectOk(node_.runtime().ContainerStatus(Context().get(), request, &response), "ContainerStatus");
  return response.status();
}

cri::PodSandboxStatus NodeTest::PodStatus(const std::string& pod) {
  cri::PodSandboxStatusRequest request;
  request.set_pod_sandbox_id(pod);
  cri::PodSandboxStatusResponse response;
  ExpectOk(node_.runtime().PodSandboxStatus(Context().get(), request, &response),
           "PodSandboxStatus");
  return response.status();
}

cri::ContainerStatus NodeTest::AwaitExit(const std::string& container) {
  cri::ContainerStatus status;
  EXPECT_TRUE(Eventually(
      [&] {
        status = Status(container);
        return status.state() == cri::CONTAINER_EXITED || HasFailure();
      },
      absl::Seconds(60)))
      << "container " << container << " has not exited";
  return status;
}

grpc::Status NodeTest::Exec(const std::string& container, const std::vector<std::string>& command,
                            cri::ExecSyncResponse* response, int64_t timeout_seconds) {
  cri::ExecSyncRequest request;
  request.set_container_id(container);
  for (const std::string& word : command) request.add_cmd(word);
  request.set_timeout(timeout_seconds);
  return node_.runtime().ExecSync(Context().get(), request, response);
}

std::string NodeTest::ExecOutput(const std::string& container, const std::string& script) {
  cri::ExecSyncResponse response;
  ExpectOk(Exec(container, {"/bin/sh", "-c", script}, &response), "ExecSync");
  EXPECT_EQ(response.exit_code(), 0) << script << ": " << response.stderr();
  return response.stdout();
}

cri::PodSandboxConfig NodeTest::PodConfig() {
  const std::string name = absl::StrCat("pod", ++names_);
  cri::PodSandboxConfig config;
  config.mutable_metadata()->set_name(name);
  config.mutable_metadata()->set_namespace_("default");
  config.mutable_metadata()->set_uid(absl::StrCat("uid-", name));
  config.set_hostname(name);
  config.set_log_directory(absl::StrCat(node_.directory(), "/logs/", name));
  config.mutable_linux();
  return config;
}

cri::ContainerConfig NodeTest::Shell(const std::string& script) {
  const std::string name = absl::StrCat("container", ++names_);
  cri::ContainerConfig config;
  config.mutable_metadata()->set_name(name);
  config.mutable_image()->set_image("busybox");
  config.add_command("/bin/sh");
  config.add_args("-c");
  config.add_args(script);
  config.set_log_path(absl::StrCat(name, ".log"));
  config.mutable_linux();
  return config;
}

std::string NodeTest::Output(const std::string& container) {
  const auto log = Host().Read(Status(container).log_path());
  EXPECT_TRUE(log.ok()) << log.status();
  std::string output;
  if (!log.ok()) return output;
  // A running container's last line may be half written: a write(2) across a page's end is seen in
  // part.
  const absl::string_view written = absl::string_view(*log).substr(0, log->rfind('\n') + 1);
  for (absl::string_view line : absl::StrSplit(written, '\n', absl::SkipEmpty())) {
    const std::vector<absl::string_view> fields = absl::StrSplit(line, absl::MaxSplits(' ', 3));
    EXPECT_EQ(fields.size(), 4u) << line;
    if (fields.size() != 4) continue;
    absl::StrAppend(&output, fields[3], fields[2] == "F" ? "\n" : "");
  }
  return output;
}

std::string NodeTest::CgroupOf(const std::string& pod, const std::string& container) {
  return absl::StrCat(node_.cgroup_parent(), "/", pod, "/", container);
}

}  // namespace plimsoll::testing
