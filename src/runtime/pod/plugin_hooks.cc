#include "runtime/pod/plugin_hooks.h"

#include <optional>
#include <utility>

#include "absl/synchronization/mutex.h"
#include "base/status.h"
#include "runtime/objects/sandbox_place.h"
#include "runtime/objects/state_machine.h"
#include "runtime/requests/asked_spec.h"

namespace plimsoll::runtime {
namespace {

// A container with its image, if that is still there.
class WithImage {
 public:
  WithImage(const image::ImageService& images, ContainerRecord record) {
    const absl::StatusOr<image::Image> found = images.Find(record.image_id);
    if (found.ok()) config_ = found->config;
    hooked_.record = std::move(record);
    hooked_.image = config_.has_value() ? &*config_ : nullptr;
  }
  WithImage(const WithImage&) = delete;
  WithImage& operator=(const WithImage&) = delete;
  const HookedContainer& hooked() const { return hooked_; }

 private:
  std::optional<image::ImageConfig> config_;
  HookedContainer hooked_;
};

}  // namespace

bool PluginHooks::IsActive() const {
  return options_.hooks != nullptr && options_.hooks->Active();
}

HookedPod PluginHooks::PodOf(const SandboxRecord& record, const ContainerSpec* also) const {
  HookedPod pod;
  pod.record = record;
  pod.addresses = networks_->Addresses(record.id);
  pod.place = PlaceOf(options_.run, record.id, record.spec);
  pod.picture = pictures_->Of(record, also);
  return pod;
}

absl::Status PluginHooks::UpdateSandbox(const SandboxRecord& record,
                                        const SandboxUpdate& update) const {
  if (!IsActive()) return absl::OkStatus();
  return options_.hooks->UpdateSandbox(PodOf(record, nullptr), update);
}

void PluginHooks::SandboxUpdated(const SandboxRecord& record) const {
  if (IsActive()) options_.hooks->SandboxUpdated(PodOf(record, nullptr));
}

void PluginHooks::StopSandbox(Sandbox& sandbox) const {
  if (!IsActive()) return;
  SandboxRecord record;
  {
    absl::MutexLock lock(&sandbox.mutex);
    if (std::exchange(sandbox.stop_told, true)) return;
    record = sandbox.record;
  }
  options_.hooks->StopSandbox(PodOf(record, nullptr));
}

absl::Status PluginHooks::StartContainer(const Container& container) const {
  if (!IsActive()) return absl::OkStatus();
  const ContainerRecord record = container.Snapshot();
  const bool can_start = record.state == ContainerState::kCreated && !IsRefused(record);
  const auto sandbox = objects_->FindSandbox(container.sandbox_id);
  if (!can_start || !sandbox.ok()) return absl::OkStatus();
  const WithImage with_image(*options_.images, record);
  return options_.hooks->StartContainer(PodOf((*sandbox)->Snapshot(), nullptr),
                                        with_image.hooked());
}

absl::Status PluginHooks::UpdateContainer(const Container& container, const ResourceUpdate& update,
                                          Hooks::ApplyFn apply) const {
  // Without its row a pod can't be shown to plugins. Its containers can be updated all the same.
  const auto sandbox = objects_->FindSandbox(container.sandbox_id);
  if (!IsActive() || !sandbox.ok()) return apply(update);
  const WithImage with_image(*options_.images, container.Snapshot());
  return options_.hooks->UpdateContainer(PodOf((*sandbox)->Snapshot(), nullptr),
                                         with_image.hooked(), update, apply);
}

bool PluginMaking::Begin(const std::string& id, Asked kind) {
  Hooks* const hooks = hooks_.options_.hooks;
  if (hooks == nullptr) return false;
  id_ = id;
  making_ = hooks->Making(id);
  if (!hooks->Active()) return false;
  asked_ = kind;
  return true;
}

absl::Status PluginMaking::RunSandbox(const SandboxRecord& record) {
  if (!Begin(record.id, Asked::kSandbox)) return absl::OkStatus();
  return hooks_.options_.hooks->RunSandbox(hooks_.PodOf(record, nullptr));
}

absl::StatusOr<ContainerSpec> PluginMaking::CreateContainer(const SandboxRecord& sandbox,
                                                            const ContainerRecord& record,
                                                            const image::ImageConfig& image) {
  if (!Begin(record.id, Asked::kContainer)) return record.spec;
  PLIMSOLL_ASSIGN_OR_RETURN(ContainerSpec adjusted, hooks_.options_.hooks->CreateContainer(
                                                        hooks_.PodOf(sandbox, &record.spec),
                                                        {.record = record, .image = &image}));
  return TakeAdjusted(record.spec, std::move(adjusted));
}

PluginMaking::~PluginMaking() {
  if (is_done_) return;
  if (asked_ == Asked::kSandbox) hooks_.options_.hooks->UndoSandbox(id_);
  if (asked_ == Asked::kContainer) hooks_.options_.hooks->UndoContainer(id_);
}

}  // namespace plimsoll::runtime
