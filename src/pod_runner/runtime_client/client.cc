#include "pod_runner/runtime_client/client.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "pod_runner/runtime_client/connection.h"
#include "pod_runner/runtime_client/hint.h"
#include "pod_runner/runtime_client/labels.h"
#include "pod_runner/runtime_client/read_stream.h"

namespace plimsoll::pod {
namespace {

// The answer of a call for a URL. UNIMPLEMENTED may mean a daemon whose streaming server is
// switched off, not an older daemon.
template <typename Response>
absl::StatusOr<std::string> UrlOf(const absl::StatusOr<Response>& response) {
  if (response.ok()) return response->url();
  if (!absl::IsUnimplemented(response.status()) ||
      !absl::StrContains(response.status().message(), "streaming.address")) {
    return response.status();
  }
  return WithHint(response.status(), "See streaming.address in plimsolld.yaml(5).");
}

}  // namespace

absl::StatusOr<std::string> SocketPathOf(const std::string& address) {
  if (absl::StartsWith(address, "/")) return address;
  if (!absl::StartsWith(address, "unix:")) {
    return absl::InvalidArgumentError(
        absl::StrCat("address \"", address, "\" is no unix socket, like ", kDefaultAddress));
  }
  absl::string_view path = absl::StripPrefix(address, "unix:");
  absl::ConsumePrefix(&path, "//");
  if (absl::StartsWith(path, "/")) return std::string(path);
  return WithHint(
      absl::InvalidArgumentError(absl::StrCat("address \"", address, "\" is not absolute")),
      absl::StrCat("Three slashes begin an absolute path, as in unix:///", path));
}

absl::StatusOr<std::unique_ptr<Client>> Client::Open(ClientOptions options) {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string path, SocketPathOf(options.address));
  PLIMSOLL_ASSIGN_OR_RETURN(SocketAddress socket, SocketAddressOf(path));
  auto connection = std::make_unique<RuntimeConnection>(std::move(socket), options);
  return std::unique_ptr<Client>(new Client(std::move(options), std::move(connection)));
}

Client::Client(ClientOptions options, std::unique_ptr<RuntimeConnection> connection)
    : address_(std::move(options.address)),
      keeper_(std::move(options.keeper)),
      connection_(std::move(connection)),
      own_(*connection_),
      updates_(*connection_) {}

Client::~Client() {
  if (keeper_ == nullptr) return;
  const auto pods = ListPodSandboxes();
  connection_.reset();
  if (pods.ok() && pods->empty()) keeper_->LeaveUnused();
}

void Client::SetPatience(Patience patience) {
  connection_->SetPatience(std::move(patience));
}

bool Client::AwaitDaemon() {
  return connection_->AwaitDaemon(absl::Now() + connection_->patience().wait);
}

void Client::Abandon() {
  connection_->Abandon();
}

bool Client::abandoned() const {
  return connection_->abandoned();
}

bool Client::stuck() const {
  return connection_->stuck();
}

absl::StatusOr<cri::VersionResponse> Client::Version(int64_t limit_s) {
  return connection_->Call(connection_->runtime_stub(), &cri::RuntimeService::Stub::Version,
                           cri::VersionRequest(), limit_s);
}

absl::StatusOr<cri::StatusResponse> Client::RuntimeStatus(bool verbose, int64_t limit_s) {
  cri::StatusRequest request;
  request.set_verbose(verbose);
  return connection_->Ask(connection_->runtime_stub(), &cri::RuntimeService::Stub::Status, request,
                          limit_s);
}

absl::StatusOr<cri::RuntimeConfigResponse> Client::RuntimeConfig() {
  return connection_->Ask(connection_->runtime_stub(), &cri::RuntimeService::Stub::RuntimeConfig,
                          cri::RuntimeConfigRequest());
}

absl::StatusOr<std::string> Client::RunPodSandbox(const cri::PodSandboxConfig& config,
                                                  const std::string& runtime_handler) {
  cri::RunPodSandboxRequest request;
  *request.mutable_config() = config;
  request.set_runtime_handler(runtime_handler);
  PLIMSOLL_ASSIGN_OR_RETURN(const auto response,
                            connection_->Call(connection_->runtime_stub(),
                                              &cri::RuntimeService::Stub::RunPodSandbox, request));
  return response.pod_sandbox_id();
}

absl::Status Client::StopPodSandbox(const std::string& id) {
  cri::StopPodSandboxRequest request;
  request.set_pod_sandbox_id(id);
  return connection_
      ->Ask(connection_->runtime_stub(), &cri::RuntimeService::Stub::StopPodSandbox, request)
      .status();
}

absl::Status Client::RemovePodSandbox(const std::string& id) {
  cri::RemovePodSandboxRequest request;
  request.set_pod_sandbox_id(id);
  return connection_
      ->Ask(connection_->runtime_stub(), &cri::RuntimeService::Stub::RemovePodSandbox, request)
      .status();
}

absl::StatusOr<cri::PodSandboxStatusResponse> Client::PodSandboxStatus(const std::string& id,
                                                                       bool verbose) {
  cri::PodSandboxStatusRequest request;
  request.set_pod_sandbox_id(id);
  request.set_verbose(verbose);
  return connection_->Ask(connection_->runtime_stub(), &cri::RuntimeService::Stub::PodSandboxStatus,
                          request);
}

absl::StatusOr<std::vector<cri::PodSandbox>> Client::ListPodSandboxes(const std::string& uid,
                                                                      int64_t limit_s) {
  std::map<std::string, std::string> labels;
  if (!uid.empty()) labels[kPodUidLabel] = uid;
  return ListPodSandboxesWith(labels, limit_s);
}

absl::StatusOr<std::vector<cri::PodSandbox>> Client::ListPodSandboxesWith(
    const std::map<std::string, std::string>& labels, int64_t limit_s) {
  cri::ListPodSandboxRequest request;
  for (const auto& [label, value] : labels) {
    (*request.mutable_filter()->mutable_label_selector())[label] = value;
  }
  PLIMSOLL_ASSIGN_OR_RETURN(
      const auto response,
      connection_->Ask(connection_->runtime_stub(), &cri::RuntimeService::Stub::ListPodSandbox,
                       request, limit_s));
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
      const auto response, connection_->Call(connection_->runtime_stub(),
                                             &cri::RuntimeService::Stub::CreateContainer, request));
  return response.container_id();
}

absl::Status Client::StartContainer(const std::string& id) {
  cri::StartContainerRequest request;
  request.set_container_id(id);
  return connection_
      ->Call(connection_->runtime_stub(), &cri::RuntimeService::Stub::StartContainer, request)
      .status();
}

absl::Status Client::StopContainer(const std::string& id, int64_t grace_s) {
  cri::StopContainerRequest request;
  request.set_container_id(id);
  request.set_timeout(grace_s);
  return connection_
      ->Ask(connection_->runtime_stub(), &cri::RuntimeService::Stub::StopContainer, request,
            grace_s + kCallSeconds)
      .status();
}

absl::Status Client::RemoveContainer(const std::string& id) {
  cri::RemoveContainerRequest request;
  request.set_container_id(id);
  return connection_
      ->Ask(connection_->runtime_stub(), &cri::RuntimeService::Stub::RemoveContainer, request)
      .status();
}

absl::Status Client::ReopenContainerLog(const std::string& id) {
  cri::ReopenContainerLogRequest request;
  request.set_container_id(id);
  return connection_
      ->Call(connection_->runtime_stub(), &cri::RuntimeService::Stub::ReopenContainerLog, request)
      .status();
}

absl::StatusOr<cri::ContainerStatusResponse> Client::ContainerStatus(const std::string& id,
                                                                     bool verbose) {
  cri::ContainerStatusRequest request;
  request.set_container_id(id);
  request.set_verbose(verbose);
  return connection_->Ask(connection_->runtime_stub(), &cri::RuntimeService::Stub::ContainerStatus,
                          request);
}

absl::StatusOr<std::vector<cri::Container>> Client::ListContainers(const std::string& sandbox_id) {
  cri::ListContainersRequest request;
  if (!sandbox_id.empty()) request.mutable_filter()->set_pod_sandbox_id(sandbox_id);
  PLIMSOLL_ASSIGN_OR_RETURN(const auto response,
                            connection_->Ask(connection_->runtime_stub(),
                                             &cri::RuntimeService::Stub::ListContainers, request));
  return std::vector<cri::Container>(response.containers().begin(), response.containers().end());
}

absl::StatusOr<std::vector<cri::Container>> Client::ListContainersOf(const std::string& uid) {
  cri::ListContainersRequest request;
  (*request.mutable_filter()->mutable_label_selector())[kPodUidLabel] = uid;
  PLIMSOLL_ASSIGN_OR_RETURN(const auto response,
                            connection_->Ask(connection_->runtime_stub(),
                                             &cri::RuntimeService::Stub::ListContainers, request));
  return std::vector<cri::Container>(response.containers().begin(), response.containers().end());
}

absl::Status Client::WatchContainers(
    const std::function<bool(const cri::ContainerEventResponse&)>& event) {
  grpc::ClientContext context;
  const CallWatch::Call call(connection_->streams(), [&context] { context.TryCancel(); });
  const auto reader =
      connection_->runtime_stub().GetContainerEvents(&context, cri::GetEventsRequest());
  return ReadStream(context, *reader, event);
}

absl::StatusOr<cri::ExecSyncResponse> Client::ExecSync(const std::string& id,
                                                       const std::vector<std::string>& command,
                                                       int64_t timeout_s) {
  cri::ExecSyncRequest request;
  request.set_container_id(id);
  for (const std::string& word : command) request.add_cmd(word);
  request.set_timeout(timeout_s);
  return connection_->Call(connection_->runtime_stub(), &cri::RuntimeService::Stub::ExecSync,
                           request, timeout_s > 0 ? timeout_s + kCallSeconds : 365 * 24 * 3600);
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
  return UrlOf(
      connection_->Call(connection_->runtime_stub(), &cri::RuntimeService::Stub::Exec, request));
}

absl::StatusOr<std::string> Client::AttachUrl(const std::string& id, bool input, bool terminal) {
  cri::AttachRequest request;
  request.set_container_id(id);
  request.set_stdin(input);
  request.set_stdout(true);
  request.set_stderr(!terminal);
  request.set_tty(terminal);
  return UrlOf(
      connection_->Call(connection_->runtime_stub(), &cri::RuntimeService::Stub::Attach, request));
}

absl::StatusOr<std::string> Client::PortForwardUrl(const std::string& sandbox_id, uint16_t port) {
  cri::PortForwardRequest request;
  request.set_pod_sandbox_id(sandbox_id);
  request.add_port(port);
  return UrlOf(connection_->Call(connection_->runtime_stub(),
                                 &cri::RuntimeService::Stub::PortForward, request));
}

absl::StatusOr<std::vector<cri::Image>> Client::ListImages() {
  PLIMSOLL_ASSIGN_OR_RETURN(
      const auto response,
      connection_->Ask(connection_->image_stub(), &cri::ImageService::Stub::ListImages,
                       cri::ListImagesRequest()));
  return std::vector<cri::Image>(response.images().begin(), response.images().end());
}

absl::StatusOr<cri::ImageStatusResponse> Client::InspectImage(const std::string& reference) {
  cri::ImageStatusRequest request;
  request.mutable_image()->set_image(reference);
  request.set_verbose(true);
  return connection_->Ask(connection_->image_stub(), &cri::ImageService::Stub::ImageStatus,
                          request);
}

absl::StatusOr<std::optional<cri::Image>> Client::ImageStatus(const std::string& reference) {
  cri::ImageStatusRequest request;
  request.mutable_image()->set_image(reference);
  PLIMSOLL_ASSIGN_OR_RETURN(
      const auto response,
      connection_->Ask(connection_->image_stub(), &cri::ImageService::Stub::ImageStatus, request));
  if (!response.has_image()) return std::optional<cri::Image>();
  return std::optional<cri::Image>(response.image());
}

absl::Status Client::RemoveImage(const std::string& reference) {
  cri::RemoveImageRequest request;
  request.mutable_image()->set_image(reference);
  return connection_->Ask(connection_->image_stub(), &cri::ImageService::Stub::RemoveImage, request)
      .status();
}

absl::Status Client::PullImage(const cri::PullImageRequest& request) {
  return connection_
      ->Call(connection_->image_stub(), &cri::ImageService::Stub::PullImage, request,
             kTransferSeconds)
      .status();
}

absl::Status Client::WatchTopology(
    const std::string& metadata,
    const std::function<bool(const cri::DynamicRuntimeConfigResponse&)>& topology) {
  grpc::ClientContext context;
  if (!metadata.empty()) context.AddMetadata(metadata, "1");
  const CallWatch::Call call(connection_->streams(), [&context] { context.TryCancel(); });
  const auto reader = connection_->runtime_stub().GetDynamicRuntimeConfig(&context, {});
  return ReadStream(context, *reader, topology);
}

absl::StatusOr<node::DaemonStatusResponse> OwnCalls::DaemonStatus() {
  return connection_.Ask(connection_.node_stub(), &node::NodeService::Stub::DaemonStatus,
                         node::DaemonStatusRequest());
}

absl::StatusOr<node::InspectResponse> OwnCalls::Inspect() {
  return connection_.Ask(connection_.node_stub(), &node::NodeService::Stub::Inspect,
                         node::InspectRequest());
}

absl::StatusOr<node::ListClassesResponse> OwnCalls::ListClasses() {
  return connection_.Ask(connection_.node_stub(), &node::NodeService::Stub::ListClasses,
                         node::ListClassesRequest());
}

absl::StatusOr<node::ReloadClassesResponse> OwnCalls::ReloadClasses() {
  return connection_.Call(connection_.node_stub(), &node::NodeService::Stub::ReloadClasses,
                          node::ReloadClassesRequest());
}

absl::StatusOr<node::ListUsageResponse> OwnCalls::ListUsage() {
  return connection_.Ask(connection_.node_stub(), &node::NodeService::Stub::ListUsage,
                         node::ListUsageRequest());
}

absl::StatusOr<node::ImageProgress::Done> OwnCalls::PullImage(const node::PullImageRequest& request,
                                                              const OnProgress& progress) {
  return connection_.Pull(request, progress);
}

absl::StatusOr<node::ImageProgress::Done> OwnCalls::ImportImage(
    const node::ImportImageRequest& request, const OnProgress& progress) {
  return connection_.Import(request, progress);
}

absl::Status OwnCalls::ListEvents(uint64_t since, bool follow,
                                  const std::function<bool(const node::Event&)>& event) {
  grpc::ClientContext context;
  const CallWatch::Call call(follow ? connection_.streams() : connection_.watch(),
                             [&context] { context.TryCancel(); });
  node::ListEventsRequest request;
  request.set_since(since);
  request.set_follow(follow);
  const auto reader = connection_.node_stub().ListEvents(&context, request);
  return ReadStream(context, *reader, event);
}

absl::Status UpdateCalls::PodClasses(const cri::UpdatePodSandboxConfigRequest& request) {
  return connection_
      .Call(connection_.runtime_stub(), &cri::RuntimeService::Stub::UpdatePodSandboxConfig, request)
      .status();
}

absl::Status UpdateCalls::Container(const cri::UpdateContainerResourcesRequest& request) {
  return connection_
      .Call(connection_.runtime_stub(), &cri::RuntimeService::Stub::UpdateContainerResources,
            request)
      .status();
}

absl::Status UpdateCalls::Pod(const cri::UpdatePodSandboxResourcesRequest& request) {
  return connection_
      .Call(connection_.runtime_stub(), &cri::RuntimeService::Stub::UpdatePodSandboxResources,
            request)
      .status();
}

}  // namespace plimsoll::pod
