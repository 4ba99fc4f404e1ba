// What is particular to a sandbox's runtime handler: how large its virtual machine must be, what of
// it is fixed, and who is told before it changes.
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status.h"
#include "base/subprocess.h"
#include "runtime/engine_impl.h"
#include "runtime/handlers/handler.h"
#include "runtime/handlers/pod_size.h"
#include "runtime/pod_picture.h"
#include "runtime/sandbox_place.h"
#include "runtime/spec/json.h"

namespace plimsoll::runtime {
namespace {

using Json = nlohmann::ordered_json;

// What a virtual machine costs the host itself is not for the pod to have.
SandboxRecord WithoutOverhead(SandboxRecord sandbox) {
  sandbox.spec.overhead = linux::CgroupSettings();
  return sandbox;
}

KubernetesResources Written(const resources::Requirements& total) {
  KubernetesResources written;
  for (const auto& [name, amount] : total.requests) written.requests[name] = amount.Canonical();
  for (const auto& [name, amount] : total.limits) written.limits[name] = amount.Canonical();
  return written;
}

// Other than a container's, a pod's requests may be above its limits.
absl::StatusOr<resources::Requirements> ReadTotal(const KubernetesResources& written) {
  resources::Requirements total;
  for (const auto& [name, text] : written.requests) {
    PLIMSOLL_ASSIGN_OR_RETURN(total.requests[name], resources::Quantity::Parse(text));
  }
  for (const auto& [name, text] : written.limits) {
    PLIMSOLL_ASSIGN_OR_RETURN(total.limits[name], resources::Quantity::Parse(text));
  }
  return total;
}

// The device nodes of all containers, those of CDI devices too.
absl::StatusOr<std::vector<std::string>> NodesOf(const PodResources& pod, cdi::Registry* devices) {
  std::vector<std::string> nodes;
  for (const AnnouncedContainer& container : pod.containers) {
    for (const Device& device : container.devices) nodes.push_back(device.host_path);
    if (container.cdi_devices.empty() || devices == nullptr) continue;
    const absl::StatusOr<cdi::ContainerEdits> edits = devices->Resolve(container.cdi_devices);
    // To clients NOT_FOUND is the container's or the pod's end.
    if (absl::IsNotFound(edits.status())) {
      return absl::FailedPreconditionError(
          absl::StrCat("container ", container.name, ": ", edits.status().message(),
                       "; without it nobody can tell how large the pod's virtual machine must be: "
                       "put its file (back) there"));
    }
    if (!edits.ok()) return Annotate(edits.status(), absl::StrCat("container ", container.name));
    for (const cdi::DeviceNode& node : edits->device_nodes) {
      nodes.push_back(node.host_path.empty() ? node.path : node.host_path);
    }
  }
  return nodes;
}

absl::StatusOr<PodSize> SizeOf(const FsRoot& host, const Handler& handler, cdi::Registry* devices,
                               const PodPicture& picture) {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::vector<std::string> nodes, NodesOf(picture.now, devices));
  PLIMSOLL_ASSIGN_OR_RETURN(std::vector<VfioGroup> groups,
                            FindVfioGroups(host, nodes, handler.ports));
  return SizeFor(handler, picture.total, std::move(groups));
}

// -1 for one that has had none says nothing: so clients write what was never limited.
bool IsLifted(const std::optional<int64_t>& limit, const std::optional<int64_t>& had) {
  return limit.value_or(0) < 0 && had.value_or(-1) > 0;
}

// A limit of a group that is above what there is of the resource in all, or that it is to have no
// more. `had`: what is on record of it.
void AddGrowth(const linux::CgroupSettings& limits, const linux::CgroupSettings& had,
               const resources::Requirements& announced, std::vector<std::string>* growth) {
  const auto memory = announced.limits.find("memory");
  if (memory != announced.limits.end()) {
    const std::string were = absl::StrCat(", announced were ", memory->second.Canonical());
    if (IsLifted(limits.memory_limit_bytes, had.memory_limit_bytes)) {
      growth->push_back(
          absl::StrCat("no memory limit, on record are ", *had.memory_limit_bytes, " bytes", were));
    } else if (limits.memory_limit_bytes.value_or(-1) > memory->second.Value()) {
      growth->push_back(
          absl::StrCat("a memory limit of ", *limits.memory_limit_bytes, " bytes", were));
    }
  }
  const auto cpu = announced.limits.find("cpu");
  if (cpu == announced.limits.end()) return;
  const std::string were = absl::StrCat(", announced were ", cpu->second.Canonical());
  if (IsLifted(limits.cpu_quota_us, had.cpu_quota_us)) {
    growth->push_back(
        absl::StrCat("no CPU quota, on record are ", *had.cpu_quota_us, " microseconds", were));
  }
  if (limits.cpu_quota_us.value_or(-1) <= 0) return;
  const int64_t milli = resources::QuotaToMilliCpu(
      *limits.cpu_quota_us, limits.cpu_period_us.value_or(resources::kDefaultPeriodUs));
  if (milli > cpu->second.MilliValue()) {
    growth->push_back(absl::StrCat("a CPU quota of ", milli, "m", were));
  }
}

// Limits that are to be gone. `whose`: "", or "container web: ".
absl::Status AddLifted(const resources::Requirements& announced, const KubernetesResources& had,
                       const KubernetesResources& wanted, absl::string_view whose,
                       std::vector<std::string>* growth) {
  PLIMSOLL_ASSIGN_OR_RETURN(const resources::Requirements before, ReadTotal(had));
  PLIMSOLL_ASSIGN_OR_RETURN(const resources::Requirements after, ReadTotal(wanted));
  for (const std::string& lifted : LiftedLimits(announced, before, after)) {
    growth->push_back(absl::StrCat(whose, lifted));
  }
  return absl::OkStatus();
}

// The same of all that a pod announces: a container that isn't named any more needs nothing, except
// where nothing is left that is known of the whole.
absl::Status AddLifted(const resources::Requirements& announced, const SandboxSpec& had,
                       const SandboxSpec& wanted, std::vector<std::string>* growth) {
  for (std::string& lifted :
       LiftedLimits(announced, MakePicture(had, {}).total, MakePicture(wanted, {}).total)) {
    growth->push_back(std::move(lifted));
  }
  if (!growth->empty()) return absl::OkStatus();
  std::map<std::string, const KubernetesResources*> now;
  for (const AnnouncedContainer& each : wanted.pod_resources.containers) {
    now[each.name] = &each.kubernetes_resources;
  }
  for (const AnnouncedContainer& each : had.pod_resources.containers) {
    const auto found = now.find(each.name);
    if (found == now.end()) continue;
    PLIMSOLL_RETURN_IF_ERROR(AddLifted(announced, each.kubernetes_resources, *found->second,
                                       absl::StrCat("container ", each.name, ": "), growth));
  }
  return absl::OkStatus();
}

// What was said of a container when the sandbox was made, or since.
KubernetesResources AnnouncedOf(const SandboxSpec& pod, const std::string& container) {
  for (const AnnouncedContainer& each : pod.pod_resources.containers) {
    if (each.name == container) return each.kubernetes_resources;
  }
  return {};
}

absl::Status RefuseGrowth(const SandboxRecord& sandbox, const std::vector<std::string>& growth) {
  if (growth.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("runtime handler ", sandbox.spec.runtime_handler,
                   " has fixed resources: ", absl::StrJoin(growth, "; ")));
}

}  // namespace

absl::StatusOr<const Handler*> EngineImpl::HandlerOf(const SandboxRecord& sandbox) const {
  const std::string& name = sandbox.spec.runtime_handler;
  if (name.empty() || options_.handlers == nullptr) return nullptr;
  const auto found = options_.handlers->find(name);
  if (found != options_.handlers->end()) return &found->second;
  return absl::FailedPreconditionError(absl::StrCat("the runtime handler ", name, " of sandbox ",
                                                    sandbox.id, " is not configured (any more)"));
}

absl::Status EngineImpl::CheckSize(const SandboxRecord& sandbox) const {
  PLIMSOLL_ASSIGN_OR_RETURN(const Handler* handler, HandlerOf(sandbox));
  if (handler == nullptr || !handler->is_vm) return absl::OkStatus();
  const PodPicture picture = PictureOf(WithoutOverhead(sandbox), nullptr);
  return Annotate(SizeOf(options_.host, *handler, options_.devices, picture).status(),
                  absl::StrCat("pod ", sandbox.spec.pod_namespace, "/", sandbox.spec.name));
}

absl::Status EngineImpl::KeepAnnounced(const SandboxRecord& sandbox) const {
  PLIMSOLL_ASSIGN_OR_RETURN(const Handler* handler, HandlerOf(sandbox));
  if (handler == nullptr || !handler->is_fixed) return absl::OkStatus();
  const PodPicture picture = PictureOf(WithoutOverhead(sandbox), nullptr);
  if (picture.is == PictureIs::kAbsent) return absl::OkStatus();
  return options_.run.ReplaceFile(
      AnnouncedFileOf(sandbox.id),
      ToJson(PodResources{.containers = {}, .kubernetes_resources = Written(picture.total)}), 0600);
}

absl::Status EngineImpl::ApplyHandler(const SandboxRecord& sandbox, ContainerSpec* made,
                                      CreateRequest* request) const {
  PLIMSOLL_ASSIGN_OR_RETURN(const Handler* handler, HandlerOf(sandbox));
  if (handler == nullptr) return absl::OkStatus();
  request->program = handler->program;
  if (!handler->is_vm) return absl::OkStatus();
  const PodPicture picture = PictureOf(WithoutOverhead(sandbox), made);
  PLIMSOLL_ASSIGN_OR_RETURN(const PodSize size,
                            SizeOf(options_.host, *handler, options_.devices, picture));
  for (auto& [name, value] : AnnotationsFor(*handler, size)) made->annotations[name] = value;
  return absl::OkStatus();
}

absl::Status EngineImpl::CheckAnnounced(const SandboxRecord& sandbox,
                                        const std::string& difference) const {
  PLIMSOLL_ASSIGN_OR_RETURN(const Handler* handler, HandlerOf(sandbox));
  if (handler == nullptr || !handler->is_fixed || difference.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(difference, "; runtime handler ",
                                                    sandbox.spec.runtime_handler,
                                                    " has fixed resources: make the pod anew"));
}

absl::StatusOr<std::optional<resources::Requirements>> EngineImpl::HeldTo(
    const SandboxRecord& sandbox) const {
  PLIMSOLL_ASSIGN_OR_RETURN(const Handler* handler, HandlerOf(sandbox));
  if (handler == nullptr || !handler->is_fixed) return std::nullopt;
  const absl::StatusOr<std::string> text = options_.run.Read(AnnouncedFileOf(sandbox.id));
  if (absl::IsNotFound(text.status())) return std::nullopt;  // nothing was announced
  PLIMSOLL_RETURN_IF_ERROR(text.status());
  PLIMSOLL_ASSIGN_OR_RETURN(const PodResources kept, PodResourcesFromJson(*text));
  return ReadTotal(kept.kubernetes_resources);
}

absl::Status EngineImpl::CheckFixed(const SandboxRecord& sandbox, const ContainerSpec& had,
                                    const ContainerSpec& wanted,
                                    const linux::CgroupSettings& limits) const {
  PLIMSOLL_ASSIGN_OR_RETURN(const auto announced, HeldTo(sandbox));
  if (!announced.has_value()) return absl::OkStatus();
  std::vector<std::string> growth =
      GrowthOver(*announced, PictureOf(WithoutOverhead(sandbox), &wanted).total);
  if (wanted.kubernetes_resources != had.kubernetes_resources) {
    const KubernetesResources before = had.kubernetes_resources.empty()
                                           ? AnnouncedOf(sandbox.spec, had.name)
                                           : had.kubernetes_resources;
    PLIMSOLL_RETURN_IF_ERROR(
        AddLifted(*announced, before, wanted.kubernetes_resources, "", &growth));
  }
  AddGrowth(limits, had.resources, *announced, &growth);
  return RefuseGrowth(sandbox, growth);
}

absl::Status EngineImpl::CheckFixed(const SandboxRecord& had, const SandboxRecord& wanted,
                                    const linux::CgroupSettings& limits) const {
  PLIMSOLL_ASSIGN_OR_RETURN(const auto announced, HeldTo(had));
  if (!announced.has_value()) return absl::OkStatus();
  const SandboxRecord without = WithoutOverhead(wanted);
  std::vector<std::string> growth = GrowthOver(*announced, PictureOf(without, nullptr).total);
  // What is announced for containers that are there holds from their next attempt on.
  if (growth.empty()) growth = GrowthOver(*announced, MakePicture(without.spec, {}).total);
  if (growth.empty()) {
    PLIMSOLL_RETURN_IF_ERROR(
        AddLifted(*announced, WithoutOverhead(had).spec, without.spec, &growth));
  }
  AddGrowth(limits, had.spec.resources, *announced, &growth);
  return RefuseGrowth(had, growth);
}

absl::StatusOr<bool> EngineImpl::TakesTurns(const SandboxRecord& sandbox) const {
  const absl::StatusOr<const Handler*> handler = HandlerOf(sandbox);
  if (handler.ok()) {
    return *handler != nullptr && ((*handler)->is_fixed || !(*handler)->update_command.empty());
  }
  // It is not configured any more, and so has no command. That its resources were fixed still
  // holds.
  PLIMSOLL_ASSIGN_OR_RETURN(const bool is_held, options_.run.Has(AnnouncedFileOf(sandbox.id)));
  if (is_held) return handler.status();
  return false;
}

absl::StatusOr<std::shared_ptr<Sandbox>> EngineImpl::SandboxThatTakesTurns(
    absl::string_view id) const {
  const absl::StatusOr<std::shared_ptr<Sandbox>> sandbox = FindSandbox(id);
  if (!sandbox.ok()) return nullptr;
  PLIMSOLL_ASSIGN_OR_RETURN(const bool takes_turns, TakesTurns((*sandbox)->Snapshot()));
  return takes_turns ? *sandbox : nullptr;
}

absl::Status EngineImpl::TellHandler(const SandboxRecord& sandbox, const ContainerSpec* also,
                                     bool* ran) const {
  PLIMSOLL_ASSIGN_OR_RETURN(const Handler* handler, HandlerOf(sandbox));
  if (handler == nullptr || handler->update_command.empty()) return absl::OkStatus();
  const PodPicture size_of = PictureOf(WithoutOverhead(sandbox), also);
  PLIMSOLL_ASSIGN_OR_RETURN(const PodSize size,
                            SizeOf(options_.host, *handler, options_.devices, size_of));
  Json told = {{"id", sandbox.id},
               {"name", sandbox.spec.name},
               {"namespace", sandbox.spec.pod_namespace},
               {"uid", sandbox.spec.uid},
               {"runtime_handler", sandbox.spec.runtime_handler}};
  told["size"] = Json::parse(ToJson(size), nullptr, /*allow_exceptions=*/false);
  told.update(Json::parse(ToJson(PictureOf(sandbox, also)), nullptr, /*allow_exceptions=*/false));
  const std::string file = WantedFileOf(sandbox.id);
  PLIMSOLL_RETURN_IF_ERROR(options_.run.ReplaceFile(
      file, told.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n", 0600));
  const absl::Cleanup remove = [&] { options_.run.RemoveFile(file).IgnoreError(); };
  Command command;
  command.argv = handler->update_command;
  command.argv.push_back(options_.run.PathOf(file));
  const absl::Status done =
      RunChecked(std::move(command), {.timeout = absl::Seconds(handler->update_timeout_seconds)})
          .status();
  // A command that fails may have acted before; one that could not be started has its errno.
  if (ran != nullptr) *ran = ErrnoOf(done) == 0;
  if (done.ok()) return absl::OkStatus();
  const std::string why = absl::StrCat("the update command of runtime handler ",
                                       sandbox.spec.runtime_handler, ": ", done.message());
  return absl::IsDeadlineExceeded(done) ? absl::DeadlineExceededError(why)
                                        : absl::FailedPreconditionError(why);
}

}  // namespace plimsoll::runtime
