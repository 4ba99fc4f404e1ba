#include "runtime/engine.h"

#include <utility>

#include "base/status.h"
#include "linux/process.h"
#include "runtime/engine_impl.h"
#include "runtime/requests/asked_spec.h"

namespace plimsoll::runtime {

absl::StatusOr<std::unique_ptr<Engine>> Engine::Create(EngineOptions options) {
  PLIMSOLL_ASSIGN_OR_RETURN(std::string boot_id, linux::ReadBootId(options.host));
  auto engine = std::make_unique<EngineImpl>(std::move(options), std::move(boot_id));
  EngineParts& parts = engine->parts_;
  parts.classes.SaveReloads();
  parts.confinement.Load(engine->boot_id_);
  PLIMSOLL_RETURN_IF_ERROR(parts.ends.watcher.Start());
  PLIMSOLL_RETURN_IF_ERROR(engine->recovery_.Run());
  return engine;
}

absl::StatusOr<SandboxRecord> EngineImpl::GetSandbox(absl::string_view id) const {
  PLIMSOLL_ASSIGN_OR_RETURN(const auto sandbox, parts_.objects.FindSandbox(id));
  return sandbox->Snapshot();
}

absl::StatusOr<PodPicture> EngineImpl::Picture(absl::string_view id) const {
  PLIMSOLL_ASSIGN_OR_RETURN(const auto sandbox, parts_.objects.FindSandbox(id));
  return parts_.pictures.Of(sandbox->Snapshot(), nullptr);
}

std::vector<std::string> EngineImpl::Addresses(absl::string_view id) const {
  const auto sandbox = parts_.objects.FindSandbox(id);
  return sandbox.ok() ? parts_.networks.Addresses((*sandbox)->id) : std::vector<std::string>();
}

absl::StatusOr<ContainerRecord> EngineImpl::GetContainer(absl::string_view id) const {
  PLIMSOLL_ASSIGN_OR_RETURN(const auto container, parts_.objects.FindContainer(id));
  return container->Snapshot();
}

absl::StatusOr<std::string> EngineImpl::CreateContainer(absl::string_view sandbox_id,
                                                        const ContainerSpec& spec,
                                                        std::string client_config) {
  PLIMSOLL_ASSIGN_OR_RETURN(const auto sandbox, parts_.objects.FindSandbox(sandbox_id));
  absl::ReaderMutexLock operation(&sandbox->operation);
  return creation_.Create(sandbox, spec, std::move(client_config));
}

absl::StatusOr<EffectiveResources> EngineImpl::ReadResources(absl::string_view id) {
  PLIMSOLL_ASSIGN_OR_RETURN(const auto container, parts_.objects.FindContainer(id));
  return ReadEffective(parts_.options, *container);
}

absl::StatusOr<EffectiveResources> EngineImpl::ReadSandboxResources(absl::string_view id) const {
  PLIMSOLL_ASSIGN_OR_RETURN(const auto sandbox, parts_.objects.FindSandbox(id));
  return ReadEffective(parts_.options, *sandbox);
}

absl::StatusOr<std::map<std::string, qos::EffectiveClass>> EngineImpl::ContainerClasses(
    absl::string_view id, bool look) {
  PLIMSOLL_ASSIGN_OR_RETURN(const auto container, parts_.objects.FindContainer(id));
  return parts_.classes.EffectiveOf(container->Snapshot(), look);
}

absl::StatusOr<std::map<std::string, qos::EffectiveClass>> EngineImpl::SandboxClasses(
    absl::string_view id, bool look) {
  PLIMSOLL_ASSIGN_OR_RETURN(const auto sandbox, parts_.objects.FindSandbox(id));
  return parts_.classes.EffectiveOf(sandbox->Snapshot(), look);
}

absl::Status EngineImpl::UpdateSandboxClasses(absl::string_view id,
                                              const qos::ClassNames& classes) {
  PLIMSOLL_ASSIGN_OR_RETURN(const auto sandbox, parts_.objects.FindSandbox(id));
  absl::MutexLock operation(&sandbox->operation);
  return parts_.classes.Change(*sandbox, classes);
}

absl::Status EngineImpl::UpdateResources(absl::string_view id, const ResourceUpdate& update) {
  PLIMSOLL_ASSIGN_OR_RETURN(const auto container, parts_.objects.FindContainer(id));
  if (!parts_.plugin_hooks.IsActive()) return updates_.Update(container, update, update.cgroup);
  PLIMSOLL_RETURN_IF_ERROR(updates_.CheckNow(*container, update));
  return parts_.plugin_hooks.UpdateContainer(
      *container, update, [&](const ResourceUpdate& by_plugins) {
        ResourceUpdate wanted = by_plugins;
        wanted.kubernetes_resources = update.kubernetes_resources;
        wanted.shrink_memory = update.shrink_memory;
        return NamePlugins(updates_.Update(container, wanted, update.cgroup), wanted.changed_by);
      });
}

absl::Status EngineImpl::UpdateForPlugin(absl::string_view id, const ResourceUpdate& update) {
  PLIMSOLL_ASSIGN_OR_RETURN(const auto container, parts_.objects.FindContainer(id));
  ResourceUpdate wanted = update;
  wanted.kubernetes_resources.reset();  // the author's word, not a plugin's
  return updates_.Update(container, wanted, /*by_client=*/{});
}

absl::Status EngineImpl::UpdateSandboxResources(absl::string_view id, const SandboxUpdate& update) {
  PLIMSOLL_ASSIGN_OR_RETURN(const auto sandbox, parts_.objects.FindSandbox(id));
  return pod_updates_.Update(sandbox, update);
}

}  // namespace plimsoll::runtime
