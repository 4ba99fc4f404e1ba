#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "nri/messages/parts.h"
#include "runtime/oci/spec_builder.h"
#include "runtime/oci/spec_mounts.h"

namespace plimsoll::nri {
namespace {

using Json = nlohmann::json;

// Namespaces that the container joins or gets; a plugin's word takes precedence. The path of a
// target container's PID namespace is known only when the container is made.
void FillNamespaces(const runtime::HookedPod& pod, const runtime::ContainerSpec& spec,
                    api::LinuxContainer* out) {
  std::map<std::string, std::string> namespaces = {{"mount", ""}};
  const auto join = [&](const char* type, const std::string& path) {
    if (!path.empty()) namespaces[type] = path;
  };
  join("user", pod.place.user_namespace);
  join("network", pod.place.network_namespace);
  join("ipc", pod.place.ipc_namespace);
  join("uts", pod.place.uts_namespace);
  switch (spec.security.namespaces.pid) {
    case runtime::NamespaceMode::kPod:
      join("pid", pod.place.pid_namespace);
      break;
    case runtime::NamespaceMode::kContainer:
    case runtime::NamespaceMode::kTarget:
      namespaces["pid"] = "";
      break;
    case runtime::NamespaceMode::kNode:
      break;
  }
  for (const runtime::NamespaceChange& change : spec.extras.namespaces) {
    if (change.of_host) {
      namespaces.erase(change.type);
    } else {
      namespaces[change.type] = change.path;
    }
  }
  for (const auto& [type, path] : namespaces) {
    api::LinuxNamespace* added = out->add_namespaces();
    added->set_type(type);
    added->set_path(path);
  }
}

void FillDevice(const Json& node, api::LinuxDevice* out) {
  out->set_path(node.value("path", ""));
  out->set_type(node.value("type", ""));
  out->set_major(node.value("major", int64_t{0}));
  out->set_minor(node.value("minor", int64_t{0}));
  out->mutable_file_mode()->set_value(node.value("fileMode", 0u));
  out->mutable_uid()->set_value(node.value("uid", 0u));
  out->mutable_gid()->set_value(node.value("gid", 0u));
}

void FillRule(const Json& rule, bool allow, api::LinuxDeviceCgroup* out) {
  out->set_allow(allow);
  out->set_type(rule.value("type", ""));
  if (rule.contains("major")) out->mutable_major()->set_value(rule["major"].get<int64_t>());
  if (rule.contains("minor")) out->mutable_minor()->set_value(rule["minor"].get<int64_t>());
  out->set_access(rule.value("access", ""));
}

void FillNamedDevices(const runtime::ContainerSpec& spec, const FsRoot& host,
                      api::LinuxContainer* out) {
  runtime::ContainerSpec only_devices;
  only_devices.devices = spec.devices;
  runtime::CreateRequest request;
  request.spec = &only_devices;
  runtime::SpecInput input;
  input.request = &request;
  input.host = &host;
  const absl::StatusOr<runtime::DeviceLists> lists = runtime::BuildDevices(input);
  if (!lists.ok()) return;  // the client's mistake, which the making of the container names
  for (const Json& node : lists->nodes) FillDevice(node, out->add_devices());
  for (const Json& rule : lists->rules) {
    const bool allow = rule.value("allow", false) || spec.security.privileged;
    FillRule(rule, allow, out->mutable_resources()->add_devices());
  }
}

void FillPluginsDevices(const runtime::ContainerSpec& spec, api::LinuxContainer* out) {
  for (const cdi::DeviceNode& node : spec.extras.edits.device_nodes) {
    api::LinuxDevice* added = out->add_devices();
    added->set_path(node.path);
    added->set_type(node.type);
    added->set_major(node.major.value_or(0));
    added->set_minor(node.minor.value_or(0));
    if (node.file_mode) added->mutable_file_mode()->set_value(*node.file_mode);
    if (node.uid) added->mutable_uid()->set_value(*node.uid);
    if (node.gid) added->mutable_gid()->set_value(*node.gid);
  }
}

void FillMoreMemory(const runtime::MoreMemory& more, api::LinuxMemory* out) {
  if (more.reservation_bytes) out->mutable_reservation()->set_value(*more.reservation_bytes);
  if (more.kernel_bytes) out->mutable_kernel()->set_value(*more.kernel_bytes);
  if (more.kernel_tcp_bytes) out->mutable_kernel_tcp()->set_value(*more.kernel_tcp_bytes);
  if (more.swappiness) out->mutable_swappiness()->set_value(*more.swappiness);
  if (more.disable_oom_killer) {
    out->mutable_disable_oom_killer()->set_value(*more.disable_oom_killer);
  }
  if (more.use_hierarchy) out->mutable_use_hierarchy()->set_value(*more.use_hierarchy);
}

void FillRealtime(const runtime::RealtimeCpu& realtime, api::LinuxCPU* out) {
  if (realtime.runtime_us) out->mutable_realtime_runtime()->set_value(*realtime.runtime_us);
  if (realtime.period_us) out->mutable_realtime_period()->set_value(*realtime.period_us);
}

// The held classes; while the container is being made, the requested ones.
qos::ClassNames ClassesOf(const runtime::ContainerRecord& record) {
  return record.classes.empty() ? record.spec.classes : NamesOf(record.classes);
}

void FillSeccompProfile(const runtime::SecurityProfile& profile, api::SecurityProfile* out) {
  switch (profile.type) {
    case runtime::SecurityProfile::Type::kRuntimeDefault:
      out->set_profile_type(api::SecurityProfile::RUNTIME_DEFAULT);
      break;
    case runtime::SecurityProfile::Type::kUnconfined:
      out->set_profile_type(api::SecurityProfile::UNCONFINED);
      break;
    case runtime::SecurityProfile::Type::kLocalhost:
      out->set_profile_type(api::SecurityProfile::LOCALHOST);
      out->set_localhost_ref(profile.localhost_path);
      break;
  }
}

void FillScheduler(const runtime::Scheduler& scheduler, api::LinuxScheduler* out) {
  api::LinuxSchedulerPolicy policy = api::LINUX_SCHED_NONE;
  api::LinuxSchedulerPolicy_Parse("LINUX_" + scheduler.policy, &policy);
  out->set_policy(policy);
  out->set_nice(scheduler.nice);
  out->set_priority(scheduler.priority);
  for (const std::string& name : scheduler.flags) {
    api::LinuxSchedulerFlag flag;
    if (api::LinuxSchedulerFlag_Parse("LINUX_" + name, &flag)) out->add_flags(flag);
  }
  out->set_runtime(scheduler.runtime_ns);
  out->set_deadline(scheduler.deadline_ns);
  out->set_period(scheduler.period_ns);
}

// The class by its other name. Each container with one is monitored.
void FillRdt(const std::string& class_name, api::LinuxContainer* out) {
  if (class_name.empty()) return;
  out->mutable_rdt()->mutable_clos_id()->set_value(class_name);
  out->mutable_rdt()->mutable_enable_monitoring()->set_value(true);
}

// Settings that only plugins make.
void FillExtras(const runtime::OciExtras& extras, api::LinuxContainer* out) {
  if (extras.io_priority) {
    api::IOPrioClass io_class = api::IOPRIO_CLASS_NONE;
    api::IOPrioClass_Parse(extras.io_priority->io_class, &io_class);
    out->mutable_io_priority()->set_class_(io_class);
    out->mutable_io_priority()->set_priority(extras.io_priority->priority);
  }
  if (!extras.seccomp_policy.empty()) {
    FillSeccompPolicy(extras.seccomp_policy, out->mutable_seccomp_policy());
  }
  for (const auto& [name, value] : extras.sysctls) (*out->mutable_sysctl())[name] = value;
  for (const auto& [device, name] : extras.net_devices) {
    (*out->mutable_net_devices())[device].set_name(name);
  }
  if (extras.scheduler) FillScheduler(*extras.scheduler, out->mutable_scheduler());
}

}  // namespace

void FillLinux(const runtime::HookedPod& pod, const runtime::ContainerRecord& record,
               const FsRoot* host, api::LinuxContainer* out) {
  const runtime::ContainerSpec& spec = record.spec;
  FillNamespaces(pod, spec, out);
  api::LinuxResources* resources = out->mutable_resources();
  *resources = MakeResources(spec.resources, ClassesOf(record));
  FillRdt(resources->rdt_class().value(), out);
  FillMoreMemory(spec.extras.memory, resources->mutable_memory());
  FillRealtime(spec.extras.realtime, resources->mutable_cpu());
  if (host != nullptr && !spec.devices.empty()) FillNamedDevices(spec, *host, out);
  FillPluginsDevices(spec, out);
  out->mutable_oom_score_adj()->set_value(spec.oom_score_adj);
  out->set_cgroups_path(GroupPath(record.cgroup_path));
  FillSeccompProfile(spec.security.seccomp, out->mutable_seccomp_profile());
  FillExtras(spec.extras, out);
}

}  // namespace plimsoll::nri
