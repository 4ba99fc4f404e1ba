#include "nri/dispatcher.h"

#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "nri/adjust/adjust.h"

namespace plimsoll::nri {

void Dispatcher::Flush() {
  if (parts_->queue.TakeLost()) StartAnew();
  for (size_t left = parts_->queue.size(); left > 0; --left) {
    const std::optional<Notification> next = parts_->queue.Pop();
    if (!next.has_value()) return;
    Deliver(*next);
  }
}

void Dispatcher::StartAnew() {
  const absl::Status why = absl::ResourceExhaustedError(
      "plugins are too slow: events had to be dropped, so each must join again");
  for (const auto& plugin : parts_->roster.All()) plugin->Close(why);
  parts_->objects.Clear();
  parts_->makings.ForgetHooked();
  applier_->ApplyOrTell(parts_->makings.TakeAllEnded());  // their news were dropped, too
}

Outcome Dispatcher::AskAsHolder(const std::shared_ptr<PluginConnection>& plugin,
                                const PluginRequest& request, google::protobuf::Message* response) {
  {
    absl::MutexLock lock(&mutex_);
    holder_ = plugin;
    holds_since_ = SteadyNow();
  }
  const absl::Cleanup release = [&] {
    absl::MutexLock lock(&mutex_);
    holder_ = nullptr;
  };
  Outcome outcome = plugin->Ask(request, response);
  if (!outcome.status.ok() && response != nullptr) response->Clear();
  return outcome;
}

void Dispatcher::CloseHolder(absl::Duration held, const absl::Status& why) {
  std::shared_ptr<PluginConnection> holder;
  {
    absl::MutexLock lock(&mutex_);
    if (-TimeUntil(holds_since_) >= held) holder = holder_;
  }
  if (holder != nullptr) holder->Close(why);
}

absl::Status Dispatcher::Ask(const std::shared_ptr<PluginConnection>& plugin,
                             const PluginRequest& request, google::protobuf::Message* response,
                             bool* answered) {
  if (answered != nullptr) *answered = true;
  if (!plugin->Wants(request.event)) return absl::OkStatus();
  const Outcome outcome = AskAsHolder(plugin, request, response);
  if (answered != nullptr) *answered = outcome.answered;
  if (outcome.status.ok()) return absl::OkStatus();
  if (outcome.answered) {
    // A client takes UNIMPLEMENTED for Plimsoll's own word about the call.
    if (!absl::IsUnimplemented(outcome.status)) return outcome.status;
    return absl::FailedPreconditionError(outcome.status.message());
  }
  if (plugin->policy().required) {
    return absl::UnavailableError(
        absl::StrCat(outcome.status.message(), "; the plugin is required"));
  }
  parts_->Tell(/*is_warning=*/true, plugin->name(),
               absl::StrCat(outcome.status.message(), "; the request goes on without it"));
  return absl::OkStatus();
}

void Dispatcher::TellOne(const std::shared_ptr<PluginConnection>& plugin,
                         const PluginRequest& request, google::protobuf::Message* response) {
  if (!plugin->Wants(request.event)) return;
  const Outcome outcome = AskAsHolder(plugin, request, response);
  if (outcome.status.ok()) return;
  parts_->Tell(/*is_warning=*/true, plugin->name(), std::string(outcome.status.message()));
}

void Dispatcher::TellStage(const PluginRequest& request, const std::string& id, Stage stage) {
  for (const auto& plugin : parts_->roster.Ready()) {
    if (plugin->known().Advance(id, stage)) TellOne(plugin, request, nullptr);
  }
}

void Dispatcher::TellKnowing(const PluginRequest& request, const std::string& id) {
  for (const auto& plugin : parts_->roster.Ready()) {
    if (plugin->known().Has(id)) TellOne(plugin, request, nullptr);
  }
}

void Dispatcher::TellSandboxStopped(const api::PodSandbox& pod) {
  api::StopPodSandboxRequest request;
  *request.mutable_pod() = pod;
  TellStage({api::STOP_POD_SANDBOX, &request, &request.pod(), nullptr}, pod.id(), Stage::kStopped);
}

void Dispatcher::TellSandboxRemoved(const std::string& id) {
  api::RemovePodSandboxRequest request;
  *request.mutable_pod() = PodMessage(id);
  for (const auto& plugin : parts_->roster.Ready()) {
    if (!plugin->known().Forget(id)) continue;
    TellOne(plugin, {api::REMOVE_POD_SANDBOX, &request, &request.pod(), nullptr}, nullptr);
  }
  parts_->objects.Forget(id);
}

void Dispatcher::TellContainerStopped(const api::PodSandbox& pod, const api::Container& container) {
  api::StopContainerRequest request;
  *request.mutable_pod() = pod;
  *request.mutable_container() = container;
  const PluginRequest asked{api::STOP_CONTAINER, &request, &request.pod(), &request.container()};
  Updates updates("");
  for (const auto& plugin : parts_->roster.Ready()) {
    if (!plugin->known().Advance(container.id(), Stage::kStopped)) continue;
    api::StopContainerResponse response;
    TellOne(plugin, asked, &response);
    const absl::Status taken = updates.Take(plugin->name(), response.update(), {});
    if (!taken.ok()) {
      parts_->Tell(/*is_warning=*/true, plugin->name(), std::string(taken.message()));
    }
  }
  applier_->TellIgnored(updates.ignored());
  applier_->ApplyOrTell(updates.updates());
}

void Dispatcher::TellContainerRemoved(const api::PodSandbox& pod, const std::string& id) {
  api::RemoveContainerRequest request;
  *request.mutable_pod() = pod;
  if (const api::Container* kept = parts_->objects.Container(id); kept != nullptr) {
    *request.mutable_container() = *kept;
  }
  request.mutable_container()->set_id(id);
  for (const auto& plugin : parts_->roster.Ready()) {
    if (!plugin->known().Forget(id)) continue;
    TellOne(plugin, {api::REMOVE_CONTAINER, &request, &request.pod(), &request.container()},
            nullptr);
  }
  parts_->objects.Forget(id);
}

api::PodSandbox Dispatcher::PodMessage(const std::string& id) {
  if (absl::StatusOr<api::PodSandbox> now = parts_->view.Pod(id); now.ok()) {
    if (parts_->objects.Pod(id) != nullptr) parts_->objects.Keep(*now);
    return *std::move(now);
  }
  if (const api::PodSandbox* kept = parts_->objects.Pod(id); kept != nullptr) return *kept;
  api::PodSandbox unknown;
  unknown.set_id(id);
  return unknown;
}

void Dispatcher::Deliver(const Notification& notification) {
  switch (notification.kind) {
    case Notification::Kind::kSandboxStarted:
      parts_->objects.PodIsVisible(notification.sandbox_id);
      return;
    case Notification::Kind::kSandboxRemoved:
      return TellSandboxRemoved(notification.sandbox_id);
    case Notification::Kind::kMade:
      return applier_->ApplyKept(notification.container_id);
    default:
      return DeliverContainer(notification);
  }
}

void Dispatcher::DeliverContainer(const Notification& notification) {
  const std::string& id = notification.container_id;
  const api::PodSandbox pod = PodMessage(notification.sandbox_id);
  if (absl::StatusOr<api::Container> now = parts_->view.Container(id); now.ok()) {
    parts_->objects.Keep(*now);
  }
  const api::Container* const kept = parts_->objects.Container(id);
  if (kept == nullptr) return;  // no plugin knows it
  api::Container container = *kept;
  notification.moment.Set(&container);
  parts_->objects.Keep(container);
  if (notification.kind == Notification::Kind::kContainerCreated) {
    api::PostCreateContainerRequest request;
    *request.mutable_pod() = pod;
    *request.mutable_container() = std::move(container);
    TellStage({api::POST_CREATE_CONTAINER, &request, &request.pod(), &request.container()}, id,
              Stage::kCreated);
  } else if (notification.kind == Notification::Kind::kContainerStarted) {
    api::PostStartContainerRequest request;
    *request.mutable_pod() = pod;
    *request.mutable_container() = std::move(container);
    TellStage({api::POST_START_CONTAINER, &request, &request.pod(), &request.container()}, id,
              Stage::kRunning);
  } else if (notification.kind == Notification::Kind::kContainerStopped) {
    TellContainerStopped(pod, container);
  } else {
    TellContainerRemoved(pod, id);
  }
}

}  // namespace plimsoll::nri
