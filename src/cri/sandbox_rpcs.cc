#include <google/protobuf/util/json_util.h>

#include <nlohmann/json.hpp>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "base/status.h"
#include "cri/class_requests.h"
#include "cri/messages/translate_classes.h"
#include "cri/messages/translate_pod_resources.h"
#include "cri/messages/translate_resources.h"
#include "cri/messages/translate_sandbox.h"
#include "cri/messages/validate.h"
#include "cri/messages/warn.h"
#include "cri/pod_rpcs.h"
#include "runtime/announcement/messages.h"
#include "runtime/requests/pod_picture.h"
#include "runtime/spec/json.h"

namespace plimsoll::cri {
namespace {

namespace v1 = ::runtime::v1;

bool Matches(const runtime::SandboxRecord& record, const v1::PodSandboxFilter& filter) {
  if (record.state == runtime::SandboxState::kCreating) return false;
  return absl::StartsWith(record.id, filter.id()) &&
         (!filter.has_state() || filter.state().state() == ToCri(record.state));
}

std::string SandboxInfo(const runtime::SandboxRecord& record) {
  nlohmann::json json;
  json["cgroupPath"] = record.cgroup_path;
  json["bootId"] = record.boot_id;
  json["spec"] = nlohmann::json::parse(runtime::ToJson(record.spec), nullptr, false);
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

nlohmann::json AsJson(const runtime::EffectiveResources& resources) {
  v1::LinuxContainerResources message;
  FillLinuxResources(resources, &message);
  std::string text;
  const auto written = google::protobuf::util::MessageToJsonString(message, &text);
  return written.ok() ? nlohmann::json::parse(text, nullptr, false) : nlohmann::json::object();
}

// The pod's resources as requested and as its group has them: each a LinuxContainerResources.
std::string ResourcesInfo(const runtime::SandboxRecord& record,
                          const runtime::EffectiveResources& held) {
  nlohmann::json json;
  json["asked"] = AsJson({.cgroup = record.spec.resources});
  if (held.live) json["held"] = AsJson(held);
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

void PodRpcs::WarnOfSelinux(const linux::SelinuxOptions& options,
                            std::vector<std::string>* warnings) const {
  if (info_.selinux || options.empty()) return;
  warnings->push_back(
      "config.linux.security_context.selinux_options has no effect: containers have no SELinux "
      "labels on this machine");
}

absl::Status PodRpcs::CheckRuntimeHandler(const std::string& name) const {
  if (name.empty() || absl::c_linear_search(info_.runtime_handlers, name)) return absl::OkStatus();
  const std::string known =
      info_.runtime_handlers.empty()
          ? "no other is configured"
          : absl::StrCat("or one of ", absl::StrJoin(info_.runtime_handlers, ", "));
  return Invalid("runtime_handler", name,
                 absl::StrCat("must be empty for the default handler; ", known,
                              " (runtime_handlers of plimsolld.yaml; a pod's runtimeClassName, or "
                              "its RuntimeClass, names one)"));
}

absl::Status PodRpcs::RunPodSandbox(const CallContext& call,
                                    const v1::RunPodSandboxRequest& request,
                                    v1::RunPodSandboxResponse* response) {
  PLIMSOLL_RETURN_IF_ERROR(CheckRuntimeHandler(request.runtime_handler()));
  std::vector<std::string> warnings;
  PLIMSOLL_ASSIGN_OR_RETURN(runtime::SandboxSpec spec, SandboxSpecFrom(request.config()));
  WarnOfSelinux(spec.selinux, &warnings);
  spec.runtime_handler = request.runtime_handler();
  spec.classes_from_scheduler = SchedulerGivesOut(info_.classes);
  PLIMSOLL_ASSIGN_OR_RETURN(spec.classes, PodClassesFrom(request.config(), spec, info_.classes));
  if (info_.pod_resources) {
    PLIMSOLL_ASSIGN_OR_RETURN(spec.pod_resources, PodResourcesOf(request.config(), &warnings));
    PLIMSOLL_ASSIGN_OR_RETURN(spec.picture_directory, PictureDirectoryOf(request.config()));
  }
  if (!AnnouncesPodResources(request.config())) {
    spec.facts = kubelet_.AskFor(spec);  // after all that may refuse the request
  } else if (!request.config().has_pod_resources()) {
    spec.announced_by = runtime::SaidBy::kAnnotation;
  }
  PLIMSOLL_ASSIGN_OR_RETURN(std::string id,
                            engine_->RunSandbox(spec, request.config().SerializeAsString()));
  if (call.cancellation->cancelled() && absl::Now() < call.deadline) return RemoveUnknown(id);
  Warn(events_, id, "", warnings);
  WarnOfOomScore(id, request.config().linux().resources(), request.config().linux().overhead());
  response->set_pod_sandbox_id(id);
  return absl::OkStatus();
}

absl::Status PodRpcs::RemoveUnknown(const std::string& sandbox_id) {
  const absl::Status removed = engine_->RemoveSandbox(sandbox_id);
  if (removed.ok() || IsGone(sandbox_id, removed)) {
    Forget(sandbox_id, "");
  } else {
    Warn(
        events_, sandbox_id, "",
        {absl::StrCat("its client left before it had this pod's id, and the pod can't be removed: ",
                      removed.message())});
  }
  return absl::CancelledError("the client has left");
}

void PodRpcs::AskKubeletAgain(const std::string& sandbox_id) {
  if (!kubelet_.can_ask()) return;
  const absl::StatusOr<runtime::SandboxRecord> sandbox = engine_->GetSandbox(sandbox_id);
  if (!sandbox.ok() || AnnouncesPodResources(*caches_->ConfigOf(*sandbox))) return;
  kubelet_.AskAgain(*sandbox);
}

void PodRpcs::WarnOfOomScore(const std::string& sandbox_id,
                             const v1::LinuxContainerResources& resources,
                             const v1::LinuxContainerResources& overhead) {
  const bool is_of_resources = resources.oom_score_adj() != 0;
  const int64_t score = is_of_resources ? resources.oom_score_adj() : overhead.oom_score_adj();
  if (score == 0) return;
  {
    absl::MutexLock lock(&told_mutex_);
    if (!told_of_score_.insert(sandbox_id).second) return;
  }
  Warn(events_, sandbox_id, "",
       {absl::StrCat("oom_score_adj ", score, " of the pod's ",
                     is_of_resources ? "resources" : "overhead",
                     " has no effect: a pod has no process of its own; each container's score is "
                     "in its own resources")});
}

bool PodRpcs::IsGone(const std::string& sandbox_id, const absl::Status& status) const {
  return absl::IsNotFound(status) && absl::IsNotFound(engine_->GetSandbox(sandbox_id).status());
}

absl::Status PodRpcs::StopPodSandbox(const v1::StopPodSandboxRequest& request,
                                     v1::StopPodSandboxResponse*) {
  PLIMSOLL_RETURN_IF_ERROR(CheckId("pod_sandbox_id", request.pod_sandbox_id()));
  const absl::Status status = engine_->StopSandbox(request.pod_sandbox_id());
  return IsGone(request.pod_sandbox_id(), status) ? absl::OkStatus() : status;
}

absl::Status PodRpcs::RemovePodSandbox(const v1::RemovePodSandboxRequest& request,
                                       v1::RemovePodSandboxResponse*) {
  PLIMSOLL_RETURN_IF_ERROR(CheckId("pod_sandbox_id", request.pod_sandbox_id()));
  const absl::Status status = engine_->RemoveSandbox(request.pod_sandbox_id());
  if (!status.ok() && !IsGone(request.pod_sandbox_id(), status)) return status;
  Forget(request.pod_sandbox_id(), "");
  return absl::OkStatus();
}

absl::Status PodRpcs::FillStatus(const runtime::SandboxRecord& record, v1::PodSandboxStatus* status,
                                 Classes* classes) {
  const auto config = caches_->ConfigOf(record);
  FillSandboxStatus(record, *config, status);
  if (record.state == runtime::SandboxState::kReady) {
    FillAddresses(engine_->Addresses(record.id), status);
  }
  const runtime::PodResources& announced = record.spec.pod_resources;
  if (info_.pod_resources && (!announced.empty() || announced.kubernetes_resources.is_given())) {
    FillPodResources(announced, status->mutable_pod_resources());
  }
  const auto held = engine_->SandboxClasses(record.id, /*look=*/classes != nullptr);
  if (held.ok()) {
    FillClasses(*held, status->mutable_class_resources()->mutable_class_());
    if (classes != nullptr) *classes = *held;
  } else if (!absl::IsNotFound(held.status())) {
    return Annotate(held.status(), absl::StrCat("reading the classes of ", record.id));
  }
  return absl::OkStatus();
}

absl::Status PodRpcs::PodSandboxStatus(const v1::PodSandboxStatusRequest& request,
                                       v1::PodSandboxStatusResponse* response) {
  PLIMSOLL_RETURN_IF_ERROR(CheckId("pod_sandbox_id", request.pod_sandbox_id()));
  // Taken before anything is read: an event then is clearly older or newer than this status.
  response->set_timestamp(absl::GetCurrentTimeNanos());
  PLIMSOLL_ASSIGN_OR_RETURN(const runtime::SandboxRecord record,
                            engine_->GetSandbox(request.pod_sandbox_id()));
  Classes classes;
  PLIMSOLL_RETURN_IF_ERROR(
      FillStatus(record, response->mutable_status(), request.verbose() ? &classes : nullptr));
  for (const runtime::ContainerRecord& container : engine_->ListContainersOf(record.id)) {
    if (container.state == runtime::ContainerState::kCreating) continue;
    PLIMSOLL_RETURN_IF_ERROR(FillStatus(container, response->add_containers_statuses()));
  }
  if (!request.verbose()) return absl::OkStatus();
  (*response->mutable_info())["info"] = SandboxInfo(record);
  const auto held = engine_->ReadSandboxResources(record.id);
  if (held.ok()) (*response->mutable_info())["resources"] = ResourcesInfo(record, *held);
  if (response->status().has_class_resources()) {
    (*response->mutable_info())["classes"] = ClassesJson(classes);
  }
  const absl::StatusOr<runtime::PodPicture> picture = engine_->Picture(record.id);
  if (info_.pod_resources && picture.ok()) {
    (*response->mutable_info())["podResources"] = runtime::ToJson(*picture);
  }
  return absl::OkStatus();
}

void PodRpcs::Forget(const std::string& sandbox_id, const std::string& container_id) {
  if (!container_id.empty()) return caches_->containers().Forget(container_id);
  caches_->sandboxes().Forget(sandbox_id);
  absl::MutexLock lock(&told_mutex_);
  told_of_score_.erase(sandbox_id);
}

void PodRpcs::ForgetRemoved() {
  const std::vector<std::string> there = caches_->SandboxIds();
  const absl::flat_hash_set<absl::string_view> ids(there.begin(), there.end());
  {
    absl::MutexLock lock(&told_mutex_);
    absl::erase_if(told_of_score_, [&](const std::string& id) { return !ids.contains(id); });
  }
  caches_->ForgetRemovedContainers();
}

absl::Status PodRpcs::UpdatePodSandboxConfig(const v1::UpdatePodSandboxConfigRequest& request,
                                             v1::UpdatePodSandboxConfigResponse*) {
  if (info_.classes.registry == nullptr) {
    return absl::UnimplementedError(
        "method UpdatePodSandboxConfig not implemented: the feature gate ClassResources is off");
  }
  PLIMSOLL_RETURN_IF_ERROR(CheckId("pod_sandbox_id", request.pod_sandbox_id()));
  PLIMSOLL_ASSIGN_OR_RETURN(
      const qos::ClassNames classes,
      ClassNamesFrom(request.class_resources().class_(), "class_resources.class"));
  return engine_->UpdateSandboxClasses(request.pod_sandbox_id(), classes);
}

absl::Status PodRpcs::UpdatePodSandboxResources(const v1::UpdatePodSandboxResourcesRequest& request,
                                                v1::UpdatePodSandboxResourcesResponse*) {
  PLIMSOLL_RETURN_IF_ERROR(CheckId("pod_sandbox_id", request.pod_sandbox_id()));
  runtime::SandboxUpdate update;
  PLIMSOLL_ASSIGN_OR_RETURN(update.resources, CgroupSettingsFrom(request.resources(), "resources"));
  PLIMSOLL_ASSIGN_OR_RETURN(update.overhead, CgroupSettingsFrom(request.overhead(), "overhead"));
  update.annotations = {request.annotations().begin(), request.annotations().end()};
  PLIMSOLL_ASSIGN_OR_RETURN(update.shrink_memory,
                            AsksToShrink(request.pod_sandbox_id(), request.annotations()));
  std::vector<std::string> warnings;
  if (info_.pod_resources && request.has_pod_resources()) {
    PLIMSOLL_ASSIGN_OR_RETURN(update.pod_resources, PodResourcesFrom(request.pod_resources(),
                                                                     "pod_resources", &warnings));
  }
  PLIMSOLL_RETURN_IF_ERROR(engine_->UpdateSandboxResources(request.pod_sandbox_id(), update));
  AskKubeletAgain(request.pod_sandbox_id());
  Warn(events_, request.pod_sandbox_id(), "", warnings);
  WarnOfOomScore(request.pod_sandbox_id(), request.resources(), request.overhead());
  return absl::OkStatus();
}

absl::Status PodRpcs::ListPodSandbox(const v1::ListPodSandboxRequest& request,
                                     std::string* response) {
  const v1::PodSandboxFilter& filter = request.filter();
  size_t there = 0;
  struct Item {
    v1::PodSandboxState state;
    std::shared_ptr<const ListedSandbox> listed;
    std::unique_ptr<const runtime::SandboxRecord> unmade;  // where `listed` is null
  };
  std::vector<Item> items;
  engine_->VisitSandboxes([&](const runtime::SandboxRecord& record) {
    ++there;
    if (!Matches(record, filter)) return;
    Item& item = items.emplace_back(
        Item{ToCri(record.state), caches_->sandboxes().FindListed(record.id), nullptr});
    if (!item.listed) item.unmade = std::make_unique<const runtime::SandboxRecord>(record);
  });
  // Like containers' entries, missing ones are made when no sandbox is locked.
  size_t size = 0;
  for (Item& item : items) {
    if (!item.listed) item.listed = caches_->sandboxes().GetListed(*item.unmade);
    size += SizeInList(*item.listed);
  }
  response->reserve(size);
  for (const Item& item : items) {
    if (!HasLabels(item.listed->config->labels(), filter.label_selector())) continue;
    AddListed(*item.listed, item.state, response);
  }
  if (caches_->sandboxes().size() > there) caches_->ForgetRemovedSandboxes();
  return absl::OkStatus();
}

PartSource<v1::StreamPodSandboxesResponse> PodRpcs::StreamPodSandboxes(
    const v1::StreamPodSandboxesRequest& request) {
  return InParts<v1::StreamPodSandboxesResponse>(
      [this] { return caches_->SandboxIds(); },
      [this, filter = request.filter()](
          const std::string& id, v1::StreamPodSandboxesResponse* part) -> absl::StatusOr<size_t> {
        const auto record = engine_->GetSandbox(id);
        if (!record.ok() || !Matches(*record, filter)) return 0;
        const auto config = caches_->ConfigOf(*record);
        if (!HasLabels(config->labels(), filter.label_selector())) return 0;
        v1::PodSandbox* const listed = part->add_pod_sandboxes();
        FillSandbox(*record, *config, listed);
        return listed->ByteSizeLong();
      });
}

}  // namespace plimsoll::cri
