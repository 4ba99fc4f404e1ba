#include "nri/engine_view.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "nri/messages/messages.h"
#include "runtime/objects/sandbox_place.h"

namespace plimsoll::nri {
namespace {

bool IsAlive(const runtime::SandboxRecord& record) {
  return record.state == runtime::SandboxState::kReady ||
         record.state == runtime::SandboxState::kNotReady;
}

// nullopt: plugins aren't told of a container in this state.
std::optional<Stage> StageOf(runtime::ContainerState state) {
  switch (state) {
    case runtime::ContainerState::kCreated:
      return Stage::kCreated;
    case runtime::ContainerState::kRunning:
      return Stage::kRunning;
    default:
      return std::nullopt;
  }
}

absl::Status NoEngine() {
  return absl::NotFoundError("there is no engine yet");
}

}  // namespace

runtime::HookedPod EngineView::Hooked(const runtime::Engine& engine,
                                      runtime::SandboxRecord record) const {
  runtime::HookedPod pod;
  pod.addresses = engine.Addresses(record.id);
  if (run_) pod.place = runtime::PlaceOf(*run_, record.id, record.spec);
  if (auto picture = engine.Picture(record.id); picture.ok()) pod.picture = *std::move(picture);
  pod.record = std::move(record);
  return pod;
}

absl::StatusOr<api::PodSandbox> EngineView::Pod(const std::string& id) const {
  const runtime::Engine* const engine = engine_->load();
  if (engine == nullptr) return NoEngine();
  PLIMSOLL_ASSIGN_OR_RETURN(runtime::SandboxRecord record, engine->GetSandbox(id));
  return MakePod(Hooked(*engine, std::move(record)));
}

api::Container EngineView::MessageOf(const runtime::HookedPod& pod,
                                     const runtime::HookedContainer& container) const {
  return MakeContainer(pod, container, &host_);
}

api::Container EngineView::MessageOf(const runtime::HookedPod& pod,
                                     runtime::ContainerRecord record) const {
  std::optional<image::Image> image;
  if (images_ != nullptr) {
    if (auto found = images_->Find(record.image_id); found.ok()) image = *std::move(found);
  }
  return MessageOf(pod, runtime::HookedContainer{std::move(record),
                                                 image.has_value() ? &image->config : nullptr});
}

absl::StatusOr<api::Container> EngineView::Container(const std::string& id) const {
  const runtime::Engine* const engine = engine_->load();
  if (engine == nullptr) return NoEngine();
  PLIMSOLL_ASSIGN_OR_RETURN(runtime::ContainerRecord record, engine->GetContainer(id));
  PLIMSOLL_ASSIGN_OR_RETURN(runtime::SandboxRecord sandbox, engine->GetSandbox(record.sandbox_id));
  return MessageOf(Hooked(*engine, std::move(sandbox)), std::move(record));
}

SeenObjects EngineView::Look() const {
  SeenObjects picture;
  const runtime::Engine* const engine = engine_->load();
  if (engine == nullptr) return picture;
  for (runtime::SandboxRecord& record : engine->ListSandboxes()) {
    if (!IsAlive(record)) continue;
    const Stage stage =
        record.state == runtime::SandboxState::kReady ? Stage::kCreated : Stage::kStopped;
    const runtime::HookedPod pod = Hooked(*engine, std::move(record));
    picture.pods.push_back({MakePod(pod), stage});
    for (runtime::ContainerRecord& container : engine->ListContainersOf(pod.record.id)) {
      const std::optional<Stage> is = StageOf(container.state);
      if (!is.has_value()) continue;
      picture.containers.push_back({MessageOf(pod, std::move(container)), *is});
    }
  }
  return picture;
}

}  // namespace plimsoll::nri
