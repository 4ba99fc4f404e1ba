#include "nri/adjust/fields.h"

#include <algorithm>
#include <iterator>

namespace plimsoll::nri {
namespace {

// Sorted by path.
constexpr Field kFields[] = {
    {"CDI_devices", api::CdiDevices, Merge::kList, "name"},
    {"annotations", api::Annotations, Merge::kRemovableList, "key"},
    {"args", api::Args, Merge::kArgs, nullptr},
    {"env", api::Env, Merge::kRemovableList, "key"},
    {"hooks", api::None, Merge::kGroup, nullptr},
    {"hooks.create_container", api::OciHooks, Merge::kAppend, "path"},
    {"hooks.create_runtime", api::OciHooks, Merge::kAppend, "path"},
    {"hooks.poststart", api::OciHooks, Merge::kAppend, "path"},
    {"hooks.poststop", api::OciHooks, Merge::kAppend, "path"},
    {"hooks.prestart", api::OciHooks, Merge::kAppend, "path"},
    {"hooks.start_container", api::OciHooks, Merge::kAppend, "path"},
    {"linux", api::None, Merge::kGroup, nullptr},
    {"linux.cgroups_path", api::CgroupsPath, Merge::kWhole, nullptr},
    {"linux.devices", api::Devices, Merge::kRemovableList, "path"},
    {"linux.io_priority", api::IoPriority, Merge::kWhole, nullptr},
    {"linux.memory_policy", api::MemoryPolicy, Merge::kWhole, nullptr},
    {"linux.namespaces", api::Namespace, Merge::kRemovableList, "type"},
    {"linux.net_devices", api::LinuxNetDevices, Merge::kRemovableList, "key"},
    {"linux.oom_score_adj", api::OomScoreAdj, Merge::kWhole, nullptr},
    {"linux.rdt", api::None, Merge::kGroup, nullptr},
    {"linux.rdt.clos_id", api::RdtClosID, Merge::kWhole, nullptr},
    {"linux.rdt.enable_monitoring", api::RdtEnableMonitoring, Merge::kWhole, nullptr},
    {"linux.rdt.remove", api::None, Merge::kRemoveRdt, nullptr},
    {"linux.rdt.schemata", api::RdtSchemata, Merge::kWhole, nullptr},
    {"linux.resources", api::None, Merge::kGroup, nullptr},
    {"linux.resources.blockio_class", api::BlockioClass, Merge::kWhole, nullptr},
    {"linux.resources.cpu", api::None, Merge::kGroup, nullptr},
    {"linux.resources.cpu.cpus", api::CPUSetCPUs, Merge::kWhole, nullptr},
    {"linux.resources.cpu.mems", api::CPUSetMems, Merge::kWhole, nullptr},
    {"linux.resources.cpu.period", api::CPUPeriod, Merge::kWhole, nullptr},
    {"linux.resources.cpu.quota", api::CPUQuota, Merge::kWhole, nullptr},
    {"linux.resources.cpu.realtime_period", api::CPURealtimePeriod, Merge::kWhole, nullptr},
    {"linux.resources.cpu.realtime_runtime", api::CPURealtimeRuntime, Merge::kWhole, nullptr},
    {"linux.resources.cpu.shares", api::CPUShares, Merge::kWhole, nullptr},
    {"linux.resources.devices", api::None, Merge::kList, nullptr},
    {"linux.resources.hugepage_limits", api::HugepageLimits, Merge::kList, "page_size"},
    {"linux.resources.memory", api::None, Merge::kGroup, nullptr},
    {"linux.resources.memory.disable_oom_killer", api::MemDisableOomKiller, Merge::kWhole, nullptr},
    {"linux.resources.memory.kernel", api::MemKernelLimit, Merge::kWhole, nullptr},
    {"linux.resources.memory.kernel_tcp", api::MemTCPLimit, Merge::kWhole, nullptr},
    {"linux.resources.memory.limit", api::MemLimit, Merge::kWhole, nullptr},
    {"linux.resources.memory.reservation", api::MemReservation, Merge::kWhole, nullptr},
    {"linux.resources.memory.swap", api::MemSwapLimit, Merge::kWhole, nullptr},
    {"linux.resources.memory.swappiness", api::MemSwappiness, Merge::kWhole, nullptr},
    {"linux.resources.memory.use_hierarchy", api::MemUseHierarchy, Merge::kWhole, nullptr},
    {"linux.resources.pids", api::PidsLimit, Merge::kWhole, nullptr},
    {"linux.resources.rdt_class", api::RdtClass, Merge::kWhole, nullptr},
    {"linux.resources.unified", api::CgroupsUnified, Merge::kList, "key"},
    {"linux.scheduler", api::LinuxSched, Merge::kWhole, nullptr},
    {"linux.seccomp_policy", api::SeccompPolicy, Merge::kWhole, nullptr},
    {"linux.sysctl", api::Sysctl, Merge::kRemovableList, "key"},
    {"mounts", api::Mounts, Merge::kRemovableList, "destination"},
    {"rlimits", api::Rlimits, Merge::kList, "type"},
};

}  // namespace

absl::Span<const Field> AllFields() {
  return kFields;
}

const Field* FindField(absl::string_view path) {
  const Field* found = std::lower_bound(
      std::begin(kFields), std::end(kFields), path,
      [](const Field& field, absl::string_view asked) { return field.path < asked; });
  return found != std::end(kFields) && found->path == path ? found : nullptr;
}

}  // namespace plimsoll::nri
