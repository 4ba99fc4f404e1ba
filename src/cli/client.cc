#include "cli/client.h"

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <chrono>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "base/socket_address.h"
#include "base/socket_probe.h"
#include "base/status.h"
#include "cli/call_watch.h"
#include "cli/errors.h"
#include "cli/output.h"
#include "cli/standalone.h"
#include "cri/observer.h"
#include "cri/runtime/v1/api.grpc.pb.h"
#include "plimsoll/v1/node.grpc.pb.h"

namespace plimsoll::cli {
namespace {

constexpr int kDefaultSeconds = 120;
constexpr int kSlowSeconds = 3600;  // pulls, imports
constexpr int kProbeSeconds = 4;
constexpr absl::Duration kReconnectInterval = absl::Milliseconds(200);

// The daemon's codes are absl's, and its messages are written for people.
absl::Status FromGrpc(const grpc::Status& status) {
  if (status.ok()) return absl::OkStatus();
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
}

void SetDeadline(grpc::ClientContext& context, int64_t seconds) {
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(seconds));
}

// Whether the daemon went before it had answered: nothing is known of what became of the call.
bool IsLost(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsCancelled(status);
}

std::unique_ptr<grpc::ClientReader<node::ImageProgress>> Open(
    node::NodeService::Stub& stub, grpc::ClientContext& context,
    const node::PullImageRequest& request) {
  return stub.PullImage(&context, request);
}

std::unique_ptr<grpc::ClientReader<node::ImageProgress>> Open(
    node::NodeService::Stub& stub, grpc::ClientContext& context,
    const node::ImportImageRequest& request) {
  return stub.ImportImage(&context, request);
}

// Of a call that answers with a URL. A daemon without streams is not an older one.
template <typename Response>
absl::StatusOr<std::string> UrlOf(const absl::StatusOr<Response>& response) {
  if (response.ok()) return response->url();
  if (!absl::IsUnimplemented(response.status()) ||
      !absl::StrContains(response.status().message(), "streaming.address")) {
    return response.status();
  }
  return WithHint(response.status(), "See streaming.address in plimsolld.yaml(5).");
}

absl::Status NoDaemon(const absl::Status& status, const std::string& address) {
  if (absl::IsPermissionDenied(status)) {
    return WithHint(Annotate(status, absl::StrCat("no permission for the daemon at ", address)),
                    "Run this as root, or as a member of the group that owns the socket.");
  }
  if (absl::IsFailedPrecondition(status)) {
    return WithHint(Annotate(status, absl::StrCat("no daemon at ", address)),
                    absl::StrCat("--address takes the socket of a daemon, as ", kDefaultAddress));
  }
  return WithHint(
      Annotate(
          absl::Status(absl::IsNotFound(status) ? absl::StatusCode::kUnavailable : status.code(),
                       status.message()),
          absl::StrCat("no daemon at ", address)),
      "Start plimsolld (`systemctl start plimsolld`), or leave --address out: plimsoll then "
      "starts a daemon of its own.");
}

}  // namespace

struct Client::Connection {
  explicit Connection(SocketAddress socket) : address(std::move(socket)) {
    grpc::ChannelArguments arguments;
    arguments.SetMaxReceiveMessageSize(64 * 1024 * 1024);  // ExecSync returns up to 2 x 16 MiB
    // A daemon that is restarted is back within moments.
    arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
    // Also what an attempt may take: a daemon that is stopped, or a machine that is overloaded, is
    // slow to answer, and has not gone.
    arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 20'000);
    arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 500);
    channel = grpc::CreateCustomChannel(address.uri, grpc::InsecureChannelCredentials(), arguments);
    runtime = cri::RuntimeService::NewStub(channel);
    images = cri::ImageService::NewStub(channel);
    node = node::NodeService::NewStub(channel);
  }

  // One call; of those that change something, for it may have been done when its answer is lost.
  template <typename Stub, typename Request, typename Response>
  absl::StatusOr<Response> Call(Stub& stub,
                                grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&,
                                                             Response*),
                                const Request& request, int64_t seconds = kDefaultSeconds) {
    grpc::ClientContext context;
    SetDeadline(context, seconds);
    const CallWatch::Call call(&watch, [&context] { context.TryCancel(); });
    Response response;
    PLIMSOLL_RETURN_IF_ERROR(FromGrpc((stub.*method)(&context, request, &response)));
    return response;
  }

  // As Call, of what does no harm when it is done twice: asked again, with patience, of the daemon
  // that takes the place of one that has gone.
  template <typename Stub, typename Request, typename Response>
  absl::StatusOr<Response> Ask(Stub& stub,
                               grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&,
                                                            Response*),
                               const Request& request, int64_t seconds = kDefaultSeconds) {
    absl::StatusOr<Response> response = Call(stub, method, request, seconds);
    const absl::Time deadline = absl::Now() + patience.wait;
    while (IsLost(response.status()) && AwaitDaemon(deadline)) {
      response = Call(stub, method, request, seconds);
    }
    return response;
  }

  template <typename Request>
  absl::StatusOr<::plimsoll::v1::ImageProgress::Done> Follow(const Request& request,
                                                             const Client::OnProgress& progress);

  bool Answers() const {
    grpc::ClientContext context;
    SetDeadline(context, kProbeSeconds);
    cri::VersionResponse response;
    // A refusal is an answer too: the call that waits hears of it by itself.
    return runtime->Version(&context, {}, &response).error_code() !=
           grpc::StatusCode::DEADLINE_EXCEEDED;
  }

  // Waits for a daemon at the same place; one of our own is started again. False at the deadline.
  bool AwaitDaemon(absl::Time deadline) {
    if (patience.wait == absl::ZeroDuration() || given_up || watch.abandoned()) return false;
    if (!lost.exchange(true) && patience.lost) patience.lost();
    while (absl::Now() < deadline && !watch.abandoned()) {
      absl::SleepFor(kReconnectInterval);
      if (standalone.has_value()) Revive();
      grpc::ClientContext context;
      SetDeadline(context, kProbeSeconds);
      cri::VersionResponse response;
      if (!runtime->Version(&context, {}, &response).ok()) continue;
      if (lost.exchange(false) && patience.back) patience.back();
      return true;
    }
    given_up = true;  // what is left to do is not to wait as long again each time
    return false;
  }

  void Revive() {
    absl::MutexLock lock(&reviving);
    if (ProbeSocket(standalone_options.dirs.socket()).ok()) return;
    absl::StatusOr<Standalone> again = Standalone::Join(standalone_options);
    if (again.ok()) standalone = *std::move(again);
  }

  std::optional<Standalone> standalone;  // goes last
  StandaloneOptions standalone_options;
  absl::Mutex reviving;
  const SocketAddress address;  // for reconnecting too
  std::shared_ptr<grpc::Channel> channel;
  std::unique_ptr<cri::RuntimeService::Stub> runtime;
  std::unique_ptr<cri::ImageService::Stub> images;
  std::unique_ptr<node::NodeService::Stub> node;
  Patience patience;
  std::atomic<bool> lost = false;  // and not back yet
  std::atomic<bool> given_up = false;
  std::atomic<bool> silent = false;  // there, but without an answer
  CallWatch watch{{.answers = [this] { return Answers(); },
                   .silent =
                       [this] {
                         silent = true;
                         PrintNote(
                             "plimsoll: the daemon does not answer (is it stopped, or the machine "
                             "overloaded?); waiting for it. Ctrl-C gives up.\n");
                       },
                   .back =
                       [this] {
                         silent = false;
                         PrintNote("plimsoll: the daemon answers again\n");
                       }}};
  // Streams without an end, which may be silent for good reasons: the daemon is never asked whether
  // it answers.
  CallWatch streams{{.patience = absl::InfiniteDuration(),
                     .answers = [] { return true; },
                     .silent = nullptr,
                     .back = nullptr}};
};

template <typename Request>
absl::StatusOr<::plimsoll::v1::ImageProgress::Done> Client::Connection::Follow(
    const Request& request, const Client::OnProgress& progress) {
  grpc::ClientContext context;
  SetDeadline(context, kSlowSeconds);
  const CallWatch::Call call(&watch, [&context] { context.TryCancel(); });
  const auto reader = Open(*node, context, request);
  ::plimsoll::v1::ImageProgress message;
  std::optional<::plimsoll::v1::ImageProgress::Done> done;
  while (reader->Read(&message)) {
    if (message.has_progress() && progress) progress(message.progress());
    if (message.has_done()) done = message.done();
  }
  PLIMSOLL_RETURN_IF_ERROR(FromGrpc(reader->Finish()));
  if (!done) return absl::InternalError("the daemon ended the transfer without a result");
  return *std::move(done);
}

Client::Client(std::string address, std::unique_ptr<Connection> connection)
    : address_(std::move(address)), connection_(std::move(connection)) {}

Client::~Client() {
  if (!connection_->standalone) return;
  // Pods that are left keep the daemon, or at least make its end no matter of moments.
  const auto pods = ListPodSandboxes();
  std::optional<Standalone> standalone = std::exchange(connection_->standalone, std::nullopt);
  connection_.reset();
  // So that a script that goes on finds the daemon gone with its last client.
  if (pods.ok() && pods->empty()) standalone->Leave(absl::Seconds(3));
}

void Client::SetPatience(Patience patience) {
  connection_->patience = std::move(patience);
}

bool Client::AwaitDaemon() {
  return connection_->AwaitDaemon(absl::Now() + connection_->patience.wait);
}

void Client::Abandon() {
  connection_->watch.Abandon();
  connection_->streams.Abandon();
}

bool Client::abandoned() const {
  return connection_->watch.abandoned();
}

bool Client::stuck() const {
  return connection_->silent || connection_->lost;
}

absl::StatusOr<std::unique_ptr<Client>> Client::Connect(const ConnectOptions& options) {
  if (!options.address.empty() || options.root.empty()) {
    std::string address = options.address.empty() ? kDefaultAddress : options.address;
    if (absl::StartsWith(address, "/")) address = "unix://" + address;
    if (!absl::StartsWith(address, "unix:")) {
      return absl::InvalidArgumentError(
          absl::StrCat("address \"", address, "\" is no unix socket, like ", kDefaultAddress));
    }
    absl::string_view path = absl::StripPrefix(address, "unix:");
    absl::ConsumePrefix(&path, "//");
    if (!absl::StartsWith(path, "/")) {
      return WithHint(
          absl::InvalidArgumentError(absl::StrCat("address \"", address, "\" is not absolute")),
          absl::StrCat("Three slashes begin an absolute path, as in unix:///", path));
    }
    const absl::Status listening = ProbeSocket(std::string(path));
    if (listening.ok()) {
      PLIMSOLL_ASSIGN_OR_RETURN(SocketAddress socket, SocketAddressOf(std::string(path)));
      return std::unique_ptr<Client>(
          new Client(address, std::make_unique<Connection>(std::move(socket))));
    }
    if (!options.address.empty() || !absl::IsNotFound(listening) || !options.may_start) {
      return NoDaemon(listening, address);
    }
  }
  const StandaloneDirs dirs = StandaloneDirs::Below(options.root);
  if (!options.may_start) {
    const absl::Status listening = ProbeSocket(dirs.socket());
    if (absl::IsNotFound(listening)) {
      return WithHint(
          absl::UnavailableError(absl::StrCat("no daemon runs in ", dirs.run)),
          "Commands that need one start one themselves; for one that stays, start plimsolld.");
    }
    if (!listening.ok()) return NoDaemon(listening, "unix://" + dirs.socket());
  }
  const StandaloneOptions own = {.dirs = dirs, .daemon = options.daemon};
  PLIMSOLL_ASSIGN_OR_RETURN(Standalone standalone, Standalone::Join(own));
  const std::string address = "unix://" + standalone.socket();
  PLIMSOLL_ASSIGN_OR_RETURN(SocketAddress socket, SocketAddressOf(standalone.socket()));
  auto connection = std::make_unique<Connection>(std::move(socket));
  connection->standalone = std::move(standalone);
  connection->standalone_options = own;
  return std::unique_ptr<Client>(new Client(address, std::move(connection)));
}

absl::StatusOr<cri::VersionResponse> Client::Version() {
  return connection_->Call(*connection_->runtime, &cri::RuntimeService::Stub::Version,
                           cri::VersionRequest());
}

absl::StatusOr<cri::StatusResponse> Client::RuntimeStatus(bool verbose) {
  cri::StatusRequest request;
  request.set_verbose(verbose);
  return connection_->Ask(*connection_->runtime, &cri::RuntimeService::Stub::Status, request);
}

absl::StatusOr<node::DaemonStatusResponse> Client::DaemonStatus() {
  return connection_->Ask(*connection_->node, &node::NodeService::Stub::DaemonStatus,
                          node::DaemonStatusRequest());
}

absl::StatusOr<node::InspectResponse> Client::Inspect() {
  return connection_->Ask(*connection_->node, &node::NodeService::Stub::Inspect,
                          node::InspectRequest());
}

absl::StatusOr<node::ListClassesResponse> Client::ListClasses() {
  return connection_->Ask(*connection_->node, &node::NodeService::Stub::ListClasses,
                          node::ListClassesRequest());
}

absl::StatusOr<node::ListUsageResponse> Client::ListUsage() {
  return connection_->Ask(*connection_->node, &node::NodeService::Stub::ListUsage,
                          node::ListUsageRequest());
}

absl::StatusOr<node::ReloadClassesResponse> Client::ReloadClasses() {
  return connection_->Call(*connection_->node, &node::NodeService::Stub::ReloadClasses,
                           node::ReloadClassesRequest());
}

absl::StatusOr<std::string> Client::RunPodSandbox(const cri::PodSandboxConfig& config) {
  cri::RunPodSandboxRequest request;
  *request.mutable_config() = config;
  PLIMSOLL_ASSIGN_OR_RETURN(
      const auto response,
      connection_->Call(*connection_->runtime, &cri::RuntimeService::Stub::RunPodSandbox, request));
  return response.pod_sandbox_id();
}

absl::Status Client::StopPodSandbox(const std::string& id) {
  cri::StopPodSandboxRequest request;
  request.set_pod_sandbox_id(id);
  return connection_
      ->Ask(*connection_->runtime, &cri::RuntimeService::Stub::StopPodSandbox, request)
      .status();
}

absl::Status Client::RemovePodSandbox(const std::string& id) {
  cri::RemovePodSandboxRequest request;
  request.set_pod_sandbox_id(id);
  return connection_
      ->Ask(*connection_->runtime, &cri::RuntimeService::Stub::RemovePodSandbox, request)
      .status();
}

absl::StatusOr<cri::PodSandboxStatusResponse> Client::PodSandboxStatus(const std::string& id,
                                                                       bool verbose) {
  cri::PodSandboxStatusRequest request;
  request.set_pod_sandbox_id(id);
  request.set_verbose(verbose);
  return connection_->Ask(*connection_->runtime, &cri::RuntimeService::Stub::PodSandboxStatus,
                          request);
}

absl::StatusOr<std::vector<cri::PodSandbox>> Client::ListPodSandboxes() {
  PLIMSOLL_ASSIGN_OR_RETURN(
      const auto response,
      connection_->Ask(*connection_->runtime, &cri::RuntimeService::Stub::ListPodSandbox,
                       cri::ListPodSandboxRequest()));
  return std::vector<cri::PodSandbox>(response.items().begin(), response.items().end());
}

absl::StatusOr<std::string> Client::CreateContainer(const std::string& sandbox_id,
                                                    const cri::ContainerConfig& config,
                                                    const cri::PodSandboxConfig& sandbox) {
  cri::CreateContainerRequest request;
  request.set_pod_sandbox_id(sandbox_id);
  *request.mutable_config() = config;
  *request.mutable_sandbox_config() = sandbox;
  PLIMSOLL_ASSIGN_OR_RETURN(
      const auto response, connection_->Call(*connection_->runtime,
                                             &cri::RuntimeService::Stub::CreateContainer, request));
  return response.container_id();
}

absl::Status Client::StartContainer(const std::string& id) {
  cri::StartContainerRequest request;
  request.set_container_id(id);
  return connection_
      ->Call(*connection_->runtime, &cri::RuntimeService::Stub::StartContainer, request)
      .status();
}

absl::Status Client::StopContainer(const std::string& id, int64_t grace_s) {
  cri::StopContainerRequest request;
  request.set_container_id(id);
  request.set_timeout(grace_s);
  return connection_
      ->Ask(*connection_->runtime, &cri::RuntimeService::Stub::StopContainer, request,
            grace_s + kDefaultSeconds)
      .status();
}

absl::Status Client::RemoveContainer(const std::string& id) {
  cri::RemoveContainerRequest request;
  request.set_container_id(id);
  return connection_
      ->Ask(*connection_->runtime, &cri::RuntimeService::Stub::RemoveContainer, request)
      .status();
}

absl::StatusOr<cri::ContainerStatusResponse> Client::ContainerStatus(const std::string& id,
                                                                     bool verbose) {
  cri::ContainerStatusRequest request;
  request.set_container_id(id);
  request.set_verbose(verbose);
  return connection_->Ask(*connection_->runtime, &cri::RuntimeService::Stub::ContainerStatus,
                          request);
}

absl::StatusOr<std::vector<cri::Container>> Client::ListContainers(const std::string& sandbox_id) {
  cri::ListContainersRequest request;
  if (!sandbox_id.empty()) request.mutable_filter()->set_pod_sandbox_id(sandbox_id);
  PLIMSOLL_ASSIGN_OR_RETURN(
      const auto response,
      connection_->Ask(*connection_->runtime, &cri::RuntimeService::Stub::ListContainers, request));
  return std::vector<cri::Container>(response.containers().begin(), response.containers().end());
}

absl::Status Client::UpdatePodClasses(const cri::UpdatePodSandboxConfigRequest& request) {
  return connection_
      ->Call(*connection_->runtime, &cri::RuntimeService::Stub::UpdatePodSandboxConfig, request)
      .status();
}

absl::Status Client::UpdateContainer(const cri::UpdateContainerResourcesRequest& request) {
  return connection_
      ->Call(*connection_->runtime, &cri::RuntimeService::Stub::UpdateContainerResources, request)
      .status();
}

absl::Status Client::UpdatePod(const cri::UpdatePodSandboxResourcesRequest& request) {
  return connection_
      ->Call(*connection_->runtime, &cri::RuntimeService::Stub::UpdatePodSandboxResources, request)
      .status();
}

absl::StatusOr<cri::ExecSyncResponse> Client::ExecSync(const std::string& id,
                                                       const std::vector<std::string>& command,
                                                       int64_t timeout_s) {
  cri::ExecSyncRequest request;
  request.set_container_id(id);
  for (const std::string& word : command) request.add_cmd(word);
  request.set_timeout(timeout_s);
  return connection_->Call(*connection_->runtime, &cri::RuntimeService::Stub::ExecSync, request,
                           timeout_s > 0 ? timeout_s + kDefaultSeconds : 365 * 24 * 3600);
}

absl::StatusOr<std::string> Client::ExecUrl(const std::string& id,
                                            const std::vector<std::string>& command, bool input,
                                            bool terminal) {
  cri::ExecRequest request;
  request.set_container_id(id);
  for (const std::string& word : command) request.add_cmd(word);
  request.set_stdin(input);
  request.set_stdout(true);
  request.set_stderr(!terminal);
  request.set_tty(terminal);
  return UrlOf(connection_->Call(*connection_->runtime, &cri::RuntimeService::Stub::Exec, request));
}

absl::StatusOr<std::string> Client::AttachUrl(const std::string& id, bool input, bool terminal) {
  cri::AttachRequest request;
  request.set_container_id(id);
  request.set_stdin(input);
  request.set_stdout(true);
  request.set_stderr(!terminal);
  request.set_tty(terminal);
  return UrlOf(
      connection_->Call(*connection_->runtime, &cri::RuntimeService::Stub::Attach, request));
}

absl::StatusOr<std::string> Client::PortForwardUrl(const std::string& sandbox_id, uint16_t port) {
  cri::PortForwardRequest request;
  request.set_pod_sandbox_id(sandbox_id);
  request.add_port(port);
  return UrlOf(
      connection_->Call(*connection_->runtime, &cri::RuntimeService::Stub::PortForward, request));
}

absl::StatusOr<std::vector<cri::Image>> Client::ListImages() {
  PLIMSOLL_ASSIGN_OR_RETURN(
      const auto response,
      connection_->Ask(*connection_->images, &cri::ImageService::Stub::ListImages,
                       cri::ListImagesRequest()));
  return std::vector<cri::Image>(response.images().begin(), response.images().end());
}

absl::StatusOr<cri::ImageStatusResponse> Client::InspectImage(const std::string& reference) {
  cri::ImageStatusRequest request;
  request.mutable_image()->set_image(reference);
  request.set_verbose(true);
  return connection_->Ask(*connection_->images, &cri::ImageService::Stub::ImageStatus, request);
}

absl::StatusOr<std::optional<cri::Image>> Client::ImageStatus(const std::string& reference) {
  cri::ImageStatusRequest request;
  request.mutable_image()->set_image(reference);
  PLIMSOLL_ASSIGN_OR_RETURN(
      const auto response,
      connection_->Ask(*connection_->images, &cri::ImageService::Stub::ImageStatus, request));
  if (!response.has_image()) return std::optional<cri::Image>();
  return std::optional<cri::Image>(response.image());
}

absl::Status Client::RemoveImage(const std::string& reference) {
  cri::RemoveImageRequest request;
  request.mutable_image()->set_image(reference);
  return connection_->Ask(*connection_->images, &cri::ImageService::Stub::RemoveImage, request)
      .status();
}

absl::StatusOr<node::ImageProgress::Done> Client::PullImage(const node::PullImageRequest& request,
                                                            const OnProgress& progress) {
  return connection_->Follow(request, progress);
}

absl::StatusOr<node::ImageProgress::Done> Client::ImportImage(
    const node::ImportImageRequest& request, const OnProgress& progress) {
  return connection_->Follow(request, progress);
}

absl::Status Client::ListEvents(uint64_t since, bool follow,
                                const std::function<bool(const node::Event&)>& event) {
  grpc::ClientContext context;
  const CallWatch::Call call(follow ? &connection_->streams : &connection_->watch,
                             [&context] { context.TryCancel(); });
  node::ListEventsRequest request;
  request.set_since(since);
  request.set_follow(follow);
  const auto reader = connection_->node->ListEvents(&context, request);
  node::Event message;
  bool enough = false;
  while (!enough && reader->Read(&message)) enough = !event(message);
  if (enough) context.TryCancel();
  const absl::Status status = FromGrpc(reader->Finish());
  return enough ? absl::OkStatus() : status;
}

absl::Status Client::WatchTopology(
    const std::function<bool(const cri::DynamicRuntimeConfigResponse&)>& topology) {
  grpc::ClientContext context;
  context.AddMetadata(plimsoll::cri::kObserverMetadata, "1");
  const CallWatch::Call call(&connection_->streams, [&context] { context.TryCancel(); });
  const auto reader = connection_->runtime->GetDynamicRuntimeConfig(&context, {});
  cri::DynamicRuntimeConfigResponse message;
  bool enough = false;
  while (!enough && reader->Read(&message)) enough = !topology(message);
  if (enough) context.TryCancel();
  const absl::Status status = FromGrpc(reader->Finish());
  return enough ? absl::OkStatus() : status;
}

}  // namespace plimsoll::cli
