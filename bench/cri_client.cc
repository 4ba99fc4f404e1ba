#include "bench/cri_client.h"

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/status.h"

namespace plimsoll::bench {
namespace {

constexpr absl::Duration kDeadline = absl::Minutes(2);

void SetNamespaces(cri::NamespaceMode network, cri::NamespaceOption* options) {
  options->set_network(network);
  options->set_pid(cri::CONTAINER);
  options->set_ipc(cri::POD);
}

}  // namespace

absl::Status ToStatus(const grpc::Status& status, absl::string_view what) {
  if (status.ok()) return absl::OkStatus();
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()),
                      absl::StrCat(what, ": ", status.error_message()));
}

template <typename Request, typename Response>
absl::Status CriClient::Call(grpc::Status (cri::RuntimeService::Stub::*call)(grpc::ClientContext*,
                                                                             const Request&,
                                                                             Response*),
                             absl::string_view name, const Request& request, Response* response,
                             absl::Duration* took) {
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(absl::Now() + kDeadline));
  const absl::Time start = absl::Now();
  const grpc::Status status = (stub_.get()->*call)(&context, request, response);
  *took += absl::Now() - start;
  return ToStatus(status, name);
}

absl::StatusOr<Sandbox> CriClient::RunSandbox(const std::string& name, absl::Duration* took) {
  cri::RunPodSandboxRequest request;
  cri::PodSandboxConfig& config = *request.mutable_config();
  config.mutable_metadata()->set_name(name);
  config.mutable_metadata()->set_uid(name);
  config.mutable_metadata()->set_namespace_("default");
  config.set_log_directory(absl::StrCat(log_directory_, "/", name));
  config.mutable_linux()->set_cgroup_parent(cgroup_parent_);
  SetNamespaces(network_,
                config.mutable_linux()->mutable_security_context()->mutable_namespace_options());
  cri::RunPodSandboxResponse response;
  PLIMSOLL_RETURN_IF_ERROR(
      Call(&cri::RuntimeService::Stub::RunPodSandbox, "RunPodSandbox", request, &response, took));
  return Sandbox{response.pod_sandbox_id(), config};
}

absl::StatusOr<std::string> CriClient::Create(const Sandbox& sandbox, const std::string& name,
                                              const std::vector<std::string>& command,
                                              cri::SecurityProfile::ProfileType seccomp,
                                              absl::Duration* took) {
  cri::CreateContainerRequest request;
  request.set_pod_sandbox_id(sandbox.id);
  *request.mutable_sandbox_config() = sandbox.config;
  cri::ContainerConfig& config = *request.mutable_config();
  config.mutable_metadata()->set_name(name);
  config.mutable_image()->set_image(image_);
  for (const std::string& word : command) config.add_command(word);
  config.set_log_path(name + ".log");
  cri::LinuxContainerSecurityContext& security =
      *config.mutable_linux()->mutable_security_context();
  SetNamespaces(network_, security.mutable_namespace_options());
  security.mutable_seccomp()->set_profile_type(seccomp);
  cri::CreateContainerResponse response;
  PLIMSOLL_RETURN_IF_ERROR(Call(&cri::RuntimeService::Stub::CreateContainer, "CreateContainer",
                                request, &response, took));
  return response.container_id();
}

absl::Status CriClient::Start(const std::string& container, absl::Duration* took) {
  cri::StartContainerRequest request;
  request.set_container_id(container);
  cri::StartContainerResponse response;
  return Call(&cri::RuntimeService::Stub::StartContainer, "StartContainer", request, &response,
              took);
}

absl::Status CriClient::Exec(const std::string& container, const std::vector<std::string>& command,
                             absl::Duration* took) {
  cri::ExecSyncRequest request;
  request.set_container_id(container);
  for (const std::string& word : command) request.add_cmd(word);
  cri::ExecSyncResponse response;
  PLIMSOLL_RETURN_IF_ERROR(
      Call(&cri::RuntimeService::Stub::ExecSync, "ExecSync", request, &response, took));
  if (response.exit_code() == 0) return absl::OkStatus();
  return absl::InternalError(
      absl::StrCat("ExecSync: exit code ", response.exit_code(), ": ", response.stderr()));
}

absl::Status CriClient::Update(const std::string& container,
                               const cri::LinuxContainerResources& resources,
                               absl::Duration* took) {
  cri::UpdateContainerResourcesRequest request;
  request.set_container_id(container);
  *request.mutable_linux() = resources;
  cri::UpdateContainerResourcesResponse response;
  return Call(&cri::RuntimeService::Stub::UpdateContainerResources, "UpdateContainerResources",
              request, &response, took);
}

absl::Status CriClient::StopContainer(const std::string& container, absl::Duration* took) {
  cri::StopContainerRequest request;
  request.set_container_id(container);
  cri::StopContainerResponse response;
  return Call(&cri::RuntimeService::Stub::StopContainer, "StopContainer", request, &response, took);
}

absl::Status CriClient::RemoveContainer(const std::string& container, absl::Duration* took) {
  cri::RemoveContainerRequest request;
  request.set_container_id(container);
  cri::RemoveContainerResponse response;
  return Call(&cri::RuntimeService::Stub::RemoveContainer, "RemoveContainer", request, &response,
              took);
}

absl::Status CriClient::RemoveSandbox(const std::string& sandbox, absl::Duration* took) {
  cri::StopPodSandboxRequest stop;
  stop.set_pod_sandbox_id(sandbox);
  cri::StopPodSandboxResponse stopped;
  PLIMSOLL_RETURN_IF_ERROR(
      Call(&cri::RuntimeService::Stub::StopPodSandbox, "StopPodSandbox", stop, &stopped, took));
  cri::RemovePodSandboxRequest remove;
  remove.set_pod_sandbox_id(sandbox);
  cri::RemovePodSandboxResponse removed;
  return Call(&cri::RuntimeService::Stub::RemovePodSandbox, "RemovePodSandbox", remove, &removed,
              took);
}

absl::StatusOr<int> CriClient::List(absl::Duration* took) {
  cri::ListContainersRequest request;
  cri::ListContainersResponse response;
  PLIMSOLL_RETURN_IF_ERROR(
      Call(&cri::RuntimeService::Stub::ListContainers, "ListContainers", request, &response, took));
  return response.containers_size();
}

absl::StatusOr<int> CriClient::ListSandboxes(absl::Duration* took) {
  cri::ListPodSandboxRequest request;
  cri::ListPodSandboxResponse response;
  PLIMSOLL_RETURN_IF_ERROR(
      Call(&cri::RuntimeService::Stub::ListPodSandbox, "ListPodSandbox", request, &response, took));
  return response.items_size();
}

absl::StatusOr<int> CriClient::ListContainerStats(absl::Duration* took) {
  cri::ListContainerStatsRequest request;
  cri::ListContainerStatsResponse response;
  PLIMSOLL_RETURN_IF_ERROR(Call(&cri::RuntimeService::Stub::ListContainerStats,
                                "ListContainerStats", request, &response, took));
  return response.stats_size();
}

absl::StatusOr<int> CriClient::ListSandboxStats(absl::Duration* took) {
  cri::ListPodSandboxStatsRequest request;
  cri::ListPodSandboxStatsResponse response;
  PLIMSOLL_RETURN_IF_ERROR(Call(&cri::RuntimeService::Stub::ListPodSandboxStats,
                                "ListPodSandboxStats", request, &response, took));
  return response.stats_size();
}

absl::StatusOr<cri::ContainerStatus> CriClient::Status(const std::string& container) {
  cri::ContainerStatusRequest request;
  request.set_container_id(container);
  cri::ContainerStatusResponse response;
  absl::Duration ignored;
  PLIMSOLL_RETURN_IF_ERROR(Call(&cri::RuntimeService::Stub::ContainerStatus, "ContainerStatus",
                                request, &response, &ignored));
  return response.status();
}

}  // namespace plimsoll::bench
