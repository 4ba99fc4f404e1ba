#include "nri/pod_hooks.h"

#include "base/status.h"
#include "nri/messages/messages.h"

namespace plimsoll::nri {

absl::Status PodHooks::Run(const runtime::HookedPod& pod) {
  const std::string& id = pod.record.id;
  parts_->makings.MarkHooked(id);
  const TurnHolder turn(&parts_->turn);
  dispatcher_->HasTurn();
  if (parts_->stopping) return absl::OkStatus();
  dispatcher_->Flush();
  PLIMSOLL_RETURN_IF_ERROR(parts_->roster.CheckRequired());
  api::RunPodSandboxRequest request;
  *request.mutable_pod() = MakePod(pod);
  parts_->objects.KeepInMaking(request.pod());
  for (const auto& plugin : parts_->roster.Ready()) {
    plugin->known().Add(id, Stage::kMaking);
    PLIMSOLL_RETURN_IF_ERROR(dispatcher_->Ask(
        plugin, {api::RUN_POD_SANDBOX, &request, &request.pod(), nullptr}, nullptr));
  }
  return parts_->roster.CheckRequired();  // one may have gone meanwhile
}

void PodHooks::Undo(const std::string& id) {
  const TurnHolder turn(&parts_->turn);
  dispatcher_->HasTurn();
  if (parts_->stopping) return;
  dispatcher_->Flush();
  // Plugins know no other end of a pod that they have let begin.
  dispatcher_->TellSandboxStopped(dispatcher_->PodMessage(id));
  dispatcher_->TellSandboxRemoved(id);
}

absl::Status PodHooks::Update(const runtime::HookedPod& pod, const runtime::SandboxUpdate& update) {
  const TurnHolder turn(&parts_->turn);
  dispatcher_->HasTurn();
  if (parts_->stopping) return absl::OkStatus();
  dispatcher_->Flush();
  PLIMSOLL_RETURN_IF_ERROR(parts_->roster.CheckRequired());
  const api::UpdatePodSandboxRequest request = MakeUpdate(MakePod(pod), update);
  for (const auto& plugin : parts_->roster.Ready()) {
    if (!plugin->known().Has(pod.record.id)) continue;
    PLIMSOLL_RETURN_IF_ERROR(dispatcher_->Ask(
        plugin, {api::UPDATE_POD_SANDBOX, &request, &request.pod(), nullptr}, nullptr));
  }
  return parts_->roster.CheckRequired();
}

void PodHooks::Updated(const runtime::HookedPod& pod) {
  const TurnHolder turn(&parts_->turn);
  dispatcher_->HasTurn();
  if (parts_->stopping) return;
  dispatcher_->Flush();
  api::PostUpdatePodSandboxRequest request;
  *request.mutable_pod() = MakePod(pod);
  dispatcher_->TellKnowing({api::POST_UPDATE_POD_SANDBOX, &request, &request.pod(), nullptr},
                           pod.record.id);
}

void PodHooks::Stop(const runtime::HookedPod& pod) {
  const TurnHolder turn(&parts_->turn);
  dispatcher_->HasTurn();
  if (parts_->stopping) return;
  dispatcher_->Flush();
  dispatcher_->TellSandboxStopped(MakePod(pod));
}

}  // namespace plimsoll::nri
