#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "cri/class_requests.h"
#include "cri/messages/translate_classes.h"
#include "cri/messages/translate_container.h"
#include "cri/messages/translate_pod_resources.h"
#include "cri/messages/translate_resources.h"
#include "cri/messages/validate.h"
#include "cri/messages/warn.h"
#include "cri/pod_rpcs.h"
#include "runtime/announcement/messages.h"
#include "runtime/spec/json.h"

namespace plimsoll::cri {
namespace {

namespace v1 = ::runtime::v1;

bool Matches(const runtime::ContainerRecord& record, const v1::ContainerFilter& filter) {
  if (record.state == runtime::ContainerState::kCreating) return false;
  return absl::StartsWith(record.id, filter.id()) &&
         absl::StartsWith(record.sandbox_id, filter.pod_sandbox_id()) &&
         (!filter.has_state() || filter.state().state() == ToCri(record.state));
}

// The changes of plugins, [{"field": "env", "key": "A", "plugin": "10-a"}].
nlohmann::json ChangesJson(const std::vector<runtime::PluginChange>& changes) {
  nlohmann::json json = nlohmann::json::array();
  for (const runtime::PluginChange& change : changes) {
    json.push_back({{"field", change.field}, {"key", change.key}, {"plugin", change.plugin}});
  }
  return json;
}

std::string ContainerInfo(const runtime::ContainerRecord& record) {
  nlohmann::json json;
  json["sandboxID"] = record.sandbox_id;
  json["pid"] = record.init.pid;
  json["startTimeTicks"] = record.init.start_time_ticks;  // identifies the process: a reused pid
                                                          // has another start time
  json["monitorPid"] = record.monitor.pid;
  json["cgroupPath"] = record.cgroup_path;
  json["oomKilled"] = record.oom_killed;
  json["bootId"] = record.boot_id;
  json["spec"] = nlohmann::json::parse(runtime::ToJson(record.spec), nullptr, false);
  json["changedBy"] = ChangesJson(record.spec.changed_by);
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

absl::Status PodRpcs::CreateContainer(const v1::CreateContainerRequest& request,
                                      v1::CreateContainerResponse* response) {
  PLIMSOLL_RETURN_IF_ERROR(CheckId("pod_sandbox_id", request.pod_sandbox_id()));
  PLIMSOLL_RETURN_IF_ERROR(CheckNoWindows(
      "sandbox_config.windows", request.sandbox_config().has_windows(), "sandbox_config.linux"));
  PLIMSOLL_ASSIGN_OR_RETURN(const runtime::SandboxRecord sandbox,
                            engine_->GetSandbox(request.pod_sandbox_id()));
  std::vector<std::string> warnings;
  const auto create = [&]() -> absl::StatusOr<std::string> {
    PLIMSOLL_ASSIGN_OR_RETURN(
        runtime::ContainerSpec spec,
        ContainerSpecFrom(request.config(), sandbox.spec, info_.annotation_allow_list));
    WarnOfSelinux(spec.security.selinux, &warnings);
    const auto sandbox_config = caches_->ConfigOf(sandbox);
    if (info_.pod_resources && request.config().has_kubernetes_resources()) {
      PLIMSOLL_ASSIGN_OR_RETURN(spec.kubernetes_resources,
                                KubernetesResourcesFrom(request.config().kubernetes_resources(),
                                                        "config.kubernetes_resources"));
    }
    const PodOfContainer pod{*sandbox_config, sandbox.spec,
                             [&] { return engine_->ListContainersOf(sandbox.id); }};
    PLIMSOLL_ASSIGN_OR_RETURN(spec.classes, ContainerClassesFrom(request.config(), spec.cdi_devices,
                                                                 pod, info_.classes, &warnings));
    return engine_->CreateContainer(sandbox.id, spec, request.config().SerializeAsString());
  };
  const absl::StatusOr<std::string> id = create();
  if (!id.ok()) {
    // The resource has no id by which its pod's events could be told from others'.
    Warn(events_, sandbox.id, "",
         {absl::StrCat("creating container ", request.config().metadata().name(),
                       " failed: ", id.status().message())});
    return id.status();
  }
  Warn(events_, sandbox.id, *id, warnings);
  AskKubeletAgain(sandbox.id);
  response->set_container_id(*id);
  return absl::OkStatus();
}

absl::Status PodRpcs::StartContainer(const v1::StartContainerRequest& request,
                                     v1::StartContainerResponse*) {
  PLIMSOLL_RETURN_IF_ERROR(CheckId("container_id", request.container_id()));
  return engine_->StartContainer(request.container_id());
}

absl::Status PodRpcs::StopContainer(const v1::StopContainerRequest& request,
                                    v1::StopContainerResponse*) {
  PLIMSOLL_RETURN_IF_ERROR(CheckId("container_id", request.container_id()));
  PLIMSOLL_ASSIGN_OR_RETURN(const absl::Duration grace, SecondsFrom("timeout", request.timeout()));
  const absl::Status status = engine_->StopContainer(request.container_id(), grace);
  return absl::IsNotFound(status) ? absl::OkStatus() : status;
}

absl::Status PodRpcs::RemoveContainer(const v1::RemoveContainerRequest& request,
                                      v1::RemoveContainerResponse*) {
  PLIMSOLL_RETURN_IF_ERROR(CheckId("container_id", request.container_id()));
  const absl::Status status = engine_->RemoveContainer(request.container_id());
  if (!status.ok() && !absl::IsNotFound(status)) return status;
  caches_->containers().Forget(request.container_id());
  return absl::OkStatus();
}

absl::Status PodRpcs::ListContainers(const v1::ListContainersRequest& request,
                                     std::string* response) {
  const v1::ContainerFilter& filter = request.filter();
  size_t there = 0;
  struct Item {
    v1::ContainerState state;
    std::shared_ptr<const ListedContainer> listed;
    std::unique_ptr<const runtime::ContainerRecord> unmade;  // where `listed` is null
  };
  std::vector<Item> items;
  engine_->VisitContainers([&](const runtime::ContainerRecord& record) {
    ++there;
    if (!Matches(record, filter)) return;
    Item& item = items.emplace_back(
        Item{ToCri(record.state), caches_->containers().FindListed(record.id), nullptr});
    if (!item.listed) item.unmade = std::make_unique<const runtime::ContainerRecord>(record);
  });
  // Keeps the visit's order. Missing entries are made after the visit, which holds the container's
  // lock: a message may be large.
  size_t size = 0;
  for (Item& item : items) {
    if (!item.listed) item.listed = caches_->containers().GetListed(*item.unmade);
    size += SizeInList(*item.listed);
  }
  response->reserve(size);
  for (const Item& item : items) {
    if (!HasLabels(item.listed->config->labels(), filter.label_selector())) continue;
    AddListed(*item.listed, item.state, response);
  }
  if (caches_->containers().size() > there) caches_->ForgetRemovedContainers();
  return absl::OkStatus();
}

PartSource<v1::StreamContainersResponse> PodRpcs::StreamContainers(
    const v1::StreamContainersRequest& request) {
  return InParts<v1::StreamContainersResponse>(
      [this] { return caches_->ContainerIds(); },
      [this, filter = request.filter()](
          const std::string& id, v1::StreamContainersResponse* part) -> absl::StatusOr<size_t> {
        const auto record = engine_->GetContainer(id);
        if (!record.ok() || !Matches(*record, filter)) return 0;
        const auto config = caches_->ConfigOf(*record);
        if (!HasLabels(config->labels(), filter.label_selector())) return 0;
        v1::Container* const listed = part->add_containers();
        FillContainer(*record, *config, listed);
        return listed->ByteSizeLong();
      });
}

absl::Status PodRpcs::FillStatus(const runtime::ContainerRecord& record,
                                 v1::ContainerStatus* status, Classes* classes) {
  const auto config = caches_->ConfigOf(record);
  FillContainerStatus(record, *config, status);
  if (info_.pod_resources && record.spec.kubernetes_resources.is_given()) {
    FillKubernetesResources(record.spec.kubernetes_resources,
                            status->mutable_kubernetes_resources());
  }
  // A container removed meanwhile has the resources in its record.
  const absl::StatusOr<runtime::EffectiveResources> resources = engine_->ReadResources(record.id);
  if (resources.ok()) {
    FillLinuxResources(*resources, status->mutable_resources()->mutable_linux());
  } else if (!absl::IsNotFound(resources.status())) {
    return Annotate(resources.status(), absl::StrCat("reading the resources of ", record.id));
  }
  const auto held = engine_->ContainerClasses(record.id, /*look=*/classes != nullptr);
  if (held.ok()) {
    FillClasses(*held, status->mutable_class_resources()->mutable_classes());
    if (classes != nullptr) *classes = *held;
  } else if (!absl::IsNotFound(held.status())) {
    return Annotate(held.status(), absl::StrCat("reading the classes of ", record.id));
  }
  return absl::OkStatus();
}

absl::Status PodRpcs::ContainerStatus(const v1::ContainerStatusRequest& request,
                                      v1::ContainerStatusResponse* response) {
  PLIMSOLL_RETURN_IF_ERROR(CheckId("container_id", request.container_id()));
  PLIMSOLL_ASSIGN_OR_RETURN(const runtime::ContainerRecord record,
                            engine_->GetContainer(request.container_id()));
  Classes classes;
  PLIMSOLL_RETURN_IF_ERROR(
      FillStatus(record, response->mutable_status(), request.verbose() ? &classes : nullptr));
  if (!request.verbose()) return absl::OkStatus();
  (*response->mutable_info())["info"] = ContainerInfo(record);
  if (response->status().has_class_resources()) {
    (*response->mutable_info())["classes"] = ClassesJson(classes);
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> PodRpcs::AsksToShrink(const std::string& sandbox_id,
                                           const CriAnnotations& annotations) {
  CriAnnotations of_pod;
  // A missing sandbox is the update's own error to report.
  const absl::StatusOr<runtime::SandboxRecord> sandbox =
      sandbox_id.empty() ? absl::NotFoundError("not known") : engine_->GetSandbox(sandbox_id);
  if (sandbox.ok()) {
    of_pod = caches_->ConfigOf(*sandbox)->annotations();
  }
  return cri::AsksToShrink(annotations, of_pod);
}

absl::Status PodRpcs::UpdateContainerResources(const v1::UpdateContainerResourcesRequest& request,
                                               v1::UpdateContainerResourcesResponse*) {
  PLIMSOLL_RETURN_IF_ERROR(CheckId("container_id", request.container_id()));
  PLIMSOLL_ASSIGN_OR_RETURN(runtime::ResourceUpdate update, ResourceUpdateFrom(request));
  if (info_.classes.registry != nullptr) {
    PLIMSOLL_ASSIGN_OR_RETURN(update.classes, ClassNamesFrom(request.class_resources().classes(),
                                                             "class_resources.classes"));
  }
  if (info_.pod_resources && request.has_kubernetes_resources()) {
    PLIMSOLL_ASSIGN_OR_RETURN(
        update.kubernetes_resources,
        KubernetesResourcesFrom(request.kubernetes_resources(), "kubernetes_resources"));
  }
  const auto container = engine_->GetContainer(request.container_id());
  PLIMSOLL_ASSIGN_OR_RETURN(
      update.shrink_memory,
      AsksToShrink(container.ok() ? container->sandbox_id : "", request.annotations()));
  PLIMSOLL_RETURN_IF_ERROR(engine_->UpdateResources(request.container_id(), update));
  if (container.ok()) {
    Warn(events_, container->sandbox_id, container->id,
         ClassesBesideGrants(container->spec.cdi_devices, update.classes, info_.classes));
    AskKubeletAgain(container->sandbox_id);
  }
  return absl::OkStatus();
}

absl::Status PodRpcs::ReopenContainerLog(const v1::ReopenContainerLogRequest& request,
                                         v1::ReopenContainerLogResponse*) {
  PLIMSOLL_RETURN_IF_ERROR(CheckId("container_id", request.container_id()));
  return engine_->commands().ReopenLog(request.container_id());
}

}  // namespace plimsoll::cri
