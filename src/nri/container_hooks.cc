#include "nri/container_hooks.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "nri/messages/messages.h"
#include "nri/validators.h"

namespace plimsoll::nri {

absl::StatusOr<runtime::ContainerSpec> ContainerHooks::Create(
    const runtime::HookedPod& pod, const runtime::HookedContainer& container) {
  const std::string& id = container.record.id;
  parts_->makings.MarkHooked(id);
  const TurnHolder turn(&parts_->turn);
  dispatcher_->HasTurn();
  if (parts_->stopping) return container.record.spec;
  dispatcher_->Flush();
  PLIMSOLL_RETURN_IF_ERROR(parts_->roster.CheckRequired());
  const api::PodSandbox pod_message = MakePod(pod);
  const api::Container message = parts_->view.MessageOf(pod, container);
  parts_->objects.Keep(pod_message);
  parts_->objects.KeepInMaking(message);

  Creation creation(pod_message, message);
  PLIMSOLL_ASSIGN_OR_RETURN(const std::vector<std::string> seen, AskForChanges(id, &creation));
  PLIMSOLL_RETURN_IF_ERROR(AskValidators(parts_->options.config.validator, parts_->roster.Ready(),
                                         creation.ForValidators(seen)));
  runtime::HookedContainer adjusted = container;
  PLIMSOLL_ASSIGN_OR_RETURN(adjusted.record.spec, creation.Adjusted(container.record.spec));
  PLIMSOLL_RETURN_IF_ERROR(parts_->roster.CheckRequired());  // one may have gone meanwhile
  applier_->TellIgnored(creation.ignored());
  PLIMSOLL_RETURN_IF_ERROR(applier_->ApplyAll(creation.updates()));
  applier_->Evict(creation.evictions());
  parts_->objects.KeepInMaking(parts_->view.MessageOf(pod, adjusted));
  return std::move(adjusted.record.spec);
}

absl::StatusOr<std::vector<std::string>> ContainerHooks::AskForChanges(const std::string& id,
                                                                       Creation* creation) {
  std::vector<std::string> seen;
  for (const auto& plugin : parts_->roster.Ready()) {
    plugin->known().Add(id, Stage::kMaking);
    const api::CreateContainerRequest& request = creation->request();
    api::CreateContainerResponse response;
    bool answered = false;
    PLIMSOLL_RETURN_IF_ERROR(dispatcher_->Ask(
        plugin, {api::CREATE_CONTAINER, &request, &request.pod(), &request.container()}, &response,
        &answered));
    PLIMSOLL_RETURN_IF_ERROR(creation->Take(plugin->name(), response));
    if (response.adjust().ByteSizeLong() > 0) plugin->counts()->Adjusted();
    if (answered) seen.push_back(plugin->name());
  }
  return seen;
}

void ContainerHooks::Undo(const std::string& id) {
  const TurnHolder turn(&parts_->turn);
  dispatcher_->HasTurn();
  if (parts_->stopping) return;
  parts_->makings.DropKept(id);
  dispatcher_->Flush();
  const api::Container* const kept = parts_->objects.Container(id);
  if (kept == nullptr) return;
  const api::Container container = *kept;
  const api::PodSandbox pod = dispatcher_->PodMessage(container.pod_sandbox_id());
  // Plugins that count resources by container know no other end of it.
  dispatcher_->TellContainerStopped(pod, container);
  dispatcher_->TellContainerRemoved(pod, id);
}

absl::Status ContainerHooks::Start(const runtime::HookedPod& pod,
                                   const runtime::HookedContainer& container) {
  const TurnHolder turn(&parts_->turn);
  dispatcher_->HasTurn();
  if (parts_->stopping) return absl::OkStatus();
  dispatcher_->Flush();
  PLIMSOLL_RETURN_IF_ERROR(parts_->roster.CheckRequired());
  api::StartContainerRequest request;
  *request.mutable_pod() = MakePod(pod);
  *request.mutable_container() = parts_->view.MessageOf(pod, container);
  for (const auto& plugin : parts_->roster.Ready()) {
    if (!plugin->known().Has(container.record.id)) continue;
    PLIMSOLL_RETURN_IF_ERROR(dispatcher_->Ask(
        plugin, {api::START_CONTAINER, &request, &request.pod(), &request.container()}, nullptr));
  }
  return parts_->roster.CheckRequired();
}

absl::Status ContainerHooks::Update(const runtime::HookedPod& pod,
                                    const runtime::HookedContainer& container,
                                    const runtime::ResourceUpdate& update,
                                    runtime::Hooks::ApplyFn apply) {
  const TurnHolder turn(&parts_->turn);
  dispatcher_->HasTurn();
  if (parts_->stopping) return apply(update);
  dispatcher_->Flush();
  PLIMSOLL_RETURN_IF_ERROR(parts_->roster.CheckRequired());
  const api::PodSandbox pod_message = MakePod(pod);
  const api::Container message = parts_->view.MessageOf(pod, container);
  Updates updates(container.record.id);
  PLIMSOLL_ASSIGN_OR_RETURN(const runtime::ResourceUpdate wanted,
                            AskForUpdate(pod_message, message, update, &updates));
  PLIMSOLL_RETURN_IF_ERROR(parts_->roster.CheckRequired());
  applier_->TellIgnored(updates.ignored());
  // Others first: they may have to make room.
  PLIMSOLL_RETURN_IF_ERROR(applier_->ApplyAll(updates.updates()));
  PLIMSOLL_RETURN_IF_ERROR(apply(wanted));
  applier_->Evict(updates.evictions());
  TellUpdated(message);
  return absl::OkStatus();
}

absl::StatusOr<runtime::ResourceUpdate> ContainerHooks::AskForUpdate(
    const api::PodSandbox& pod, const api::Container& container,
    const runtime::ResourceUpdate& update, Updates* updates) {
  runtime::ResourceUpdate wanted = update;
  for (const auto& plugin : parts_->roster.Ready()) {
    if (!plugin->known().Has(container.id())) continue;
    const api::UpdateContainerRequest request = MakeUpdate(pod, container, wanted);
    api::UpdateContainerResponse response;
    PLIMSOLL_RETURN_IF_ERROR(dispatcher_->Ask(
        plugin, {api::UPDATE_CONTAINER, &request, &request.pod(), &request.container()},
        &response));
    PLIMSOLL_RETURN_IF_ERROR(updates->Take(plugin->name(), response.update(), response.evict()));
    wanted = update;
    const absl::Status read =
        ReadResources(updates->own(), {.settings = &wanted.cgroup, .classes = &wanted.classes});
    PLIMSOLL_RETURN_IF_ERROR(
        Annotate(read, absl::StrCat("plugin \"", plugin->name(), "\" changes the update")));
  }
  const auto owners = updates->owners().find(container.id());
  if (owners != updates->owners().end()) wanted.changed_by = owners->second.Changes();
  return wanted;
}

void ContainerHooks::TellUpdated(const api::Container& before) {
  dispatcher_->HasTurn();
  api::PostUpdateContainerRequest request;
  // The update is in the pod's picture, too.
  *request.mutable_pod() = dispatcher_->PodMessage(before.pod_sandbox_id());
  const absl::StatusOr<api::Container> now = parts_->view.Container(before.id());
  *request.mutable_container() = now.ok() ? *now : before;
  dispatcher_->TellKnowing(
      {api::POST_UPDATE_CONTAINER, &request, &request.pod(), &request.container()}, before.id());
}

}  // namespace plimsoll::nri
