#include "runtime/pod/pod_handlers.h"

#include <limits>
#include <map>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status.h"
#include "base/text/human_bytes.h"
#include "runtime/handlers/handler.h"
#include "runtime/handlers/pod_size.h"
#include "runtime/objects/sandbox_place.h"
#include "runtime/requests/kept_devices.h"
#include "runtime/requests/machine_needs.h"
#include "runtime/requests/picture_parts.h"
#include "runtime/requests/pod_picture.h"
#include "runtime/spec/json.h"

namespace plimsoll::runtime {
namespace {

// The overhead of a virtual machine is spent on the host; the pod can't use it.
SandboxRecord WithoutOverhead(SandboxRecord sandbox) {
  sandbox.spec.overhead = linux::CgroupSettings();
  return sandbox;
}

// The record to which a pod with fixed resources is held. Kubelet's word is no promise of the
// client's: it may be newer than the pod's resources here.
SandboxRecord AsPromised(SandboxRecord sandbox) {
  sandbox.spec.facts.reset();
  return WithoutOverhead(std::move(sandbox));
}

// Leaves out CDI devices of kubelet's word that can't be looked up: those of a driver that adds
// them later, or of another mechanism.
void LeaveOutUnknown(cdi::Registry* registry, const PictureSources& sources, PodResources* pod) {
  for (AnnouncedContainer& each : pod->containers) {
    const auto known = sources.containers.find(each.name);
    if (known == sources.containers.end() || known->second.cdi_devices != SaidBy::kKubelet) {
      continue;
    }
    std::erase_if(each.cdi_devices, [registry](const std::string& name) {
      return registry != nullptr && !registry->Resolve({name}).ok();
    });
  }
}

// Adds the devices that plugins gave the containers: a picture has only those that were asked for,
// but a virtual machine needs a port for each.
void AddDevicesByPlugins(const std::vector<ContainerSpec>& specs, PodResources* pod) {
  for (const ContainerSpec& spec : specs) {
    const auto each = absl::c_find_if(
        pod->containers, [&spec](const AnnouncedContainer& one) { return one.name == spec.name; });
    if (each == pod->containers.end()) continue;
    for (const cdi::DeviceNode& node : spec.extras.edits.device_nodes) {
      const std::string& on_host = node.host_path.empty() ? node.path : node.host_path;
      each->devices.push_back({node.path, on_host, node.permissions});
    }
    if (!spec.asked.has_value()) continue;
    for (const DeviceMapping& device : spec.devices) {
      if (!absl::c_linear_search(spec.asked->devices, device)) each->devices.push_back(device);
    }
    for (const std::string& device : spec.cdi_devices) {
      if (absl::c_linear_search(spec.asked->cdi_devices, device)) continue;
      each->cdi_devices.push_back(device);
    }
  }
}

// Whether a limit is lifted. Clients write -1 also where there never was a limit: that lifts
// nothing.
bool IsLifted(const std::optional<int64_t>& limit, const std::optional<int64_t>& had) {
  return limit.value_or(0) < 0 && had.value_or(-1) > 0;
}

// Adds limits of a group that exceed what the pod announced in all, and limits that are lifted.
// `had`: those on record.
void AddGrowth(const linux::CgroupSettings& limits, const linux::CgroupSettings& had,
               const resources::Requirements& announced, std::vector<std::string>* growth) {
  const auto memory = announced.limits.find("memory");
  if (memory != announced.limits.end()) {
    const std::string were = absl::StrCat(", announced were ", memory->second.Canonical());
    if (IsLifted(limits.memory_limit_bytes, had.memory_limit_bytes)) {
      growth->push_back(absl::StrCat("no memory limit, on record are ",
                                     BytesInWords(static_cast<uint64_t>(*had.memory_limit_bytes)),
                                     were));
    } else if (limits.memory_limit_bytes.value_or(-1) > memory->second.Value()) {
      growth->push_back(
          absl::StrCat("a memory limit of ",
                       BytesInWords(static_cast<uint64_t>(*limits.memory_limit_bytes)), were));
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

// Adds limits that are lifted. `whose`: "", or "container web: ".
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

// The same for all that a pod announces: by its totals and, if those show no lifted limit (a total
// may be unknown), container by container. A container that isn't named any more needs nothing.
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

// A container's written resources, with limits raised to those of its group. A resource without a
// written limit gets none: the group's limit can only lower it.
KubernetesResources InForce(KubernetesResources written, const linux::CgroupSettings& group) {
  const absl::StatusOr<resources::Requirements> parsed = ParseResources(written);
  if (!parsed.ok()) return written;
  const auto memory = parsed->limits.find("memory");
  if (memory != parsed->limits.end() &&
      group.memory_limit_bytes.value_or(-1) > memory->second.Value()) {
    written.limits["memory"] = resources::Quantity::FromInt(*group.memory_limit_bytes,
                                                            resources::Quantity::Format::kBinarySi)
                                   .Canonical();
  }
  const auto cpu = parsed->limits.find("cpu");
  if (cpu == parsed->limits.end() || group.cpu_quota_us.value_or(-1) <= 0) return written;
  // Compared as quotas: the kernel takes none below a hundredth of a CPU.
  const std::optional<int64_t> quota = resources::MilliCpuToQuota(cpu->second.MilliValue());
  const int64_t milli = resources::QuotaToMilliCpu(
      *group.cpu_quota_us, group.cpu_period_us.value_or(resources::kDefaultPeriodUs));
  if (quota.has_value() &&
      milli > resources::QuotaToMilliCpu(*quota, resources::kDefaultPeriodUs)) {
    written.limits["cpu"] = absl::StrCat(milli, "m");
  }
  return written;
}

// The pod's total of written resources, with limits raised to those of the containers' groups.
resources::Requirements InForce(const SandboxSpec& pod, std::vector<ContainerSpec> containers) {
  for (ContainerSpec& spec : containers) {
    spec.kubernetes_resources = InForce(WrittenNow(pod, spec), spec.resources);
    spec.said.resources = std::numeric_limits<uint64_t>::max();  // later than any word
  }
  return MakePicture(pod, containers).total;
}

// Adds limits that exceed both what was announced and what they were before.
void AddGrowthInAll(const resources::Requirements& announced, const resources::Requirements& had,
                    const resources::Requirements& wanted, std::vector<std::string>* growth) {
  for (const auto& [name, amount] : wanted.limits) {
    const auto most = announced.limits.find(name);
    const auto before = had.limits.find(name);
    if (most == announced.limits.end() || amount <= most->second) continue;
    if (before != had.limits.end() && amount <= before->second) continue;
    growth->push_back(absl::StrCat("limits of ", name, " would be ", amount.Canonical(),
                                   " in all in the kernel, announced were ",
                                   most->second.Canonical()));
  }
}

absl::Status RefuseGrowth(const SandboxRecord& sandbox, const std::vector<std::string>& growth) {
  if (growth.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("runtime handler ", sandbox.spec.runtime_handler,
                   " has fixed resources: ", absl::StrJoin(growth, "; ")));
}

}  // namespace

absl::StatusOr<const Handler*> PodHandlers::Find(const SandboxRecord& sandbox) const {
  const std::string& name = sandbox.spec.runtime_handler;
  if (name.empty() || options_.handlers == nullptr) return nullptr;
  const auto found = options_.handlers->find(name);
  if (found != options_.handlers->end()) return &found->second;
  return absl::FailedPreconditionError(absl::StrCat("the runtime handler ", name, " of sandbox ",
                                                    sandbox.id, " is not configured (any more)"));
}

absl::StatusOr<std::vector<std::string>> PodHandlers::NodesOf(const std::string& sandbox_id,
                                                              const PodResources& pod,
                                                              const CreateRequest* request) const {
  const std::string file = KeptDevicesFileOf(sandbox_id);
  absl::MutexLock lock(&kept_devices_mutex_);
  KeptDevices before;
  const absl::StatusOr<std::string> text = options_.run.Read(file);
  // If the file can't be read, or an earlier version wrote none, the nodes are looked up again.
  if (text.ok()) before = KeptDevices::FromJson(*text).value_or(KeptDevices());
  KeptDevices kept = before;
  if (request != nullptr && !request->spec->cdi_devices.empty()) {
    kept.Set(request->spec->cdi_devices, request->edits);
  }
  PLIMSOLL_ASSIGN_OR_RETURN(std::vector<std::string> nodes, kept.NodesOf(pod, options_.devices));
  if (kept == before) return nodes;
  const absl::Status written = options_.run.ReplaceFile(file, kept.ToJson(), 0600);
  // NOT_FOUND: the sandbox has no place yet.
  if (!absl::IsNotFound(written)) PLIMSOLL_RETURN_IF_ERROR(written);
  return nodes;
}

resources::Requirements PodHandlers::NeedsOf(const SandboxRecord& sandbox) const {
  const SandboxRecord pod = WithoutOverhead(sandbox);
  return MachineNeeds(pod.spec, pictures_->Of(pod, nullptr), pictures_->LivingSpecs(pod, nullptr));
}

absl::StatusOr<PodSize> PodHandlers::SizeOf(const Handler& handler, const SandboxRecord& sandbox,
                                            const ContainerSpec* also,
                                            const CreateRequest* request) const {
  const SandboxRecord pod = WithoutOverhead(sandbox);
  PodPicture picture = pictures_->Of(pod, also);
  const resources::Requirements needs =
      MachineNeeds(pod.spec, picture, pictures_->LivingSpecs(pod, also));
  AddDevicesByPlugins(pictures_->NewestSpecs(sandbox, also), &picture.now);
  absl::StatusOr<std::vector<std::string>> nodes = NodesOf(sandbox.id, picture.now, request);
  if (!nodes.ok()) {
    LeaveOutUnknown(options_.devices, picture.sources, &picture.now);
    nodes = NodesOf(sandbox.id, picture.now, request);
  }
  PLIMSOLL_RETURN_IF_ERROR(nodes.status());
  PLIMSOLL_ASSIGN_OR_RETURN(std::vector<VfioGroup> groups,
                            FindVfioGroups(options_.host, *nodes, handler.ports));
  return SizeFor(handler, needs, std::move(groups));
}

absl::Status PodHandlers::CheckSize(const SandboxRecord& sandbox) const {
  PLIMSOLL_ASSIGN_OR_RETURN(const Handler* handler, Find(sandbox));
  if (handler == nullptr || !handler->is_vm) return absl::OkStatus();
  return Annotate(SizeOf(*handler, sandbox, nullptr).status(),
                  absl::StrCat("pod ", sandbox.spec.pod_namespace, "/", sandbox.spec.name));
}

std::string PodHandlers::DropUnusableFacts(SandboxRecord* sandbox) const {
  if (!sandbox->spec.facts.has_value()) return "";
  const absl::Status size = CheckSize(*sandbox);
  if (size.ok()) return "";
  sandbox->spec.facts.reset();
  return absl::StrCat("kubelet's word about the pod is not used: ", size.message());
}

absl::Status PodHandlers::KeepAnnounced(const SandboxRecord& sandbox) const {
  PLIMSOLL_ASSIGN_OR_RETURN(const Handler* handler, Find(sandbox));
  if (handler == nullptr) return absl::OkStatus();
  // SizeOf keeps the CDI devices' nodes, now that the sandbox has a place for them.
  if (handler->is_vm) PLIMSOLL_RETURN_IF_ERROR(SizeOf(*handler, sandbox, nullptr).status());
  if (!handler->is_fixed) return absl::OkStatus();
  const PodPicture picture = pictures_->Of(AsPromised(sandbox), nullptr);
  if (picture.is == PictureIs::kAbsent) return absl::OkStatus();
  return options_.run.ReplaceFile(
      AnnouncedFileOf(sandbox.id),
      ToJson(PodResources{.containers = {}, .kubernetes_resources = InWriting(picture.total)}),
      0600);
}

absl::Status PodHandlers::ApplyTo(const SandboxRecord& sandbox, ContainerSpec* made,
                                  CreateRequest* request) const {
  PLIMSOLL_ASSIGN_OR_RETURN(const Handler* handler, Find(sandbox));
  if (handler == nullptr) return absl::OkStatus();
  request->program = handler->program;
  if (!handler->is_vm) return absl::OkStatus();
  PLIMSOLL_ASSIGN_OR_RETURN(const PodSize size, SizeOf(*handler, sandbox, made, request));
  for (auto& [name, value] : AnnotationsFor(*handler, size)) made->annotations[name] = value;
  return absl::OkStatus();
}

absl::Status PodHandlers::CheckAnnounced(const SandboxRecord& sandbox,
                                         const std::string& difference) const {
  PLIMSOLL_ASSIGN_OR_RETURN(const Handler* handler, Find(sandbox));
  if (handler == nullptr || !handler->is_fixed || difference.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(difference, "; runtime handler ",
                                                    sandbox.spec.runtime_handler,
                                                    " has fixed resources: make the pod again"));
}

absl::StatusOr<std::optional<resources::Requirements>> PodHandlers::HeldTo(
    const SandboxRecord& sandbox) const {
  PLIMSOLL_ASSIGN_OR_RETURN(const Handler* handler, Find(sandbox));
  if (handler == nullptr || !handler->is_fixed) return std::nullopt;
  const absl::StatusOr<std::string> text = options_.run.Read(AnnouncedFileOf(sandbox.id));
  if (absl::IsNotFound(text.status())) return std::nullopt;  // nothing was announced
  PLIMSOLL_RETURN_IF_ERROR(text.status());
  PLIMSOLL_ASSIGN_OR_RETURN(const PodResources kept, PodResourcesFromJson(*text));
  return ReadTotal(kept.kubernetes_resources);
}

absl::Status PodHandlers::CheckFixed(const SandboxRecord& sandbox, const ContainerSpec& had,
                                     const ContainerSpec& wanted,
                                     const linux::CgroupSettings& limits) const {
  PLIMSOLL_ASSIGN_OR_RETURN(const auto announced, HeldTo(sandbox));
  if (!announced.has_value()) return absl::OkStatus();
  std::vector<std::string> growth =
      GrowthOver(*announced, pictures_->Of(AsPromised(sandbox), &wanted).total);
  if (wanted.said != had.said) {
    PLIMSOLL_RETURN_IF_ERROR(AddLifted(*announced, WrittenNow(sandbox.spec, had),
                                       wanted.kubernetes_resources, "", &growth));
  }
  AddGrowth(limits, had.resources, *announced, &growth);
  if (growth.empty()) {
    const SandboxRecord pod = AsPromised(sandbox);
    AddGrowthInAll(*announced, InForce(pod.spec, pictures_->NewestSpecs(pod, &had)),
                   InForce(pod.spec, pictures_->NewestSpecs(pod, &wanted)), &growth);
  }
  return RefuseGrowth(sandbox, growth);
}

absl::Status PodHandlers::CheckFixed(const SandboxRecord& had, const SandboxRecord& wanted,
                                     const linux::CgroupSettings& limits) const {
  PLIMSOLL_ASSIGN_OR_RETURN(const auto announced, HeldTo(had));
  if (!announced.has_value()) return absl::OkStatus();
  const SandboxRecord without = AsPromised(wanted);
  std::vector<std::string> growth = GrowthOver(*announced, pictures_->Of(without, nullptr).total);
  // An announcement for an existing container holds from the container's next attempt on.
  if (growth.empty()) growth = GrowthOver(*announced, MakePicture(without.spec, {}).total);
  if (growth.empty()) {
    PLIMSOLL_RETURN_IF_ERROR(AddLifted(*announced, AsPromised(had).spec, without.spec, &growth));
  }
  AddGrowth(limits, had.spec.resources, *announced, &growth);
  return RefuseGrowth(had, growth);
}

absl::StatusOr<bool> PodHandlers::TakesTurns(const SandboxRecord& sandbox) const {
  const absl::StatusOr<const Handler*> handler = Find(sandbox);
  if (handler.ok()) {
    return *handler != nullptr && ((*handler)->is_fixed || !(*handler)->update_command.empty());
  }
  // The handler is not configured any more, and so has no command. Fixed resources stay fixed.
  PLIMSOLL_ASSIGN_OR_RETURN(const bool is_held, options_.run.Has(AnnouncedFileOf(sandbox.id)));
  if (is_held) return handler.status();
  return false;
}

}  // namespace plimsoll::runtime
