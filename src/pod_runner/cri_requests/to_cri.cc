#include "pod_runner/cri_requests/to_cri.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status.h"
#include "pod_runner/cri_requests/env.h"
#include "pod_runner/cri_requests/pod_level.h"
#include "pod_runner/cri_requests/swap.h"
#include "pod_runner/cri_requests/to_cri_mounts.h"
#include "pod_runner/manifest/classes.h"
#include "pod_runner/runtime_client/labels.h"
#include "qos/pod_qos.h"
#include "resources/requirements.h"

namespace plimsoll::pod {
namespace {

using Role = resources::ContainerRequirements::Role;

// CRI's cpu_quota.
constexpr int64_t kNoQuota = -1;

constexpr char kOomGroup[] = "memory.oom.group";

const char* RoleName(Role role) {
  switch (role) {
    case Role::kContainer:
      return "container";
    case Role::kInit:
      return "init";
    case Role::kSidecar:
      return "sidecar";
  }
  return "";
}

// kubelet sends these with every container that is not privileged (pkg/securitycontext/util.go).
constexpr const char* kMaskedPaths[] = {"/proc/acpi",
                                        "/proc/asound",
                                        "/proc/interrupts",
                                        "/proc/kcore",
                                        "/proc/keys",
                                        "/proc/latency_stats",
                                        "/proc/sched_debug",
                                        "/proc/scsi",
                                        "/proc/timer_list",
                                        "/proc/timer_stats",
                                        "/sys/devices/virtual/powercap",
                                        "/sys/firmware"};
constexpr const char* kReadonlyPaths[] = {"/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys",
                                          "/proc/sysrq-trigger"};

void SetPortMappings(const Manifest& pod, cri::PodSandboxConfig* sandbox) {
  for (const ContainerManifest& container : pod.containers) {
    for (const HostPort& port : container.host_ports) {
      cri::PortMapping* mapping = sandbox->add_port_mappings();
      mapping->set_protocol(port.protocol == "UDP"    ? cri::UDP
                            : port.protocol == "SCTP" ? cri::SCTP
                                                      : cri::TCP);
      mapping->set_container_port(static_cast<int32_t>(port.container_port));
      mapping->set_host_port(static_cast<int32_t>(port.host_port));
      mapping->set_host_ip(port.host_ip);
    }
  }
}

void SetNamespaces(const Manifest& pod, const PodContext& context, cri::NamespaceOption* options) {
  options->set_network(pod.host_network ? cri::NODE : cri::POD);
  options->set_pid(pod.host_pid ? cri::NODE : pod.share_pid ? cri::POD : cri::CONTAINER);
  options->set_ipc(pod.host_ipc ? cri::NODE : cri::POD);
  if (pod.host_users) return;
  cri::UserNamespace* user = options->mutable_userns_options();
  user->set_mode(cri::POD);
  SetIds(context, user->add_uids());
  SetIds(context, user->add_gids());
}

void SetProfile(const SecurityProfile& profile, cri::SecurityProfile* out) {
  out->set_profile_type(profile.type == "RuntimeDefault" ? cri::SecurityProfile::RuntimeDefault
                        : profile.type == "Localhost"    ? cri::SecurityProfile::Localhost
                                                         : cri::SecurityProfile::Unconfined);
  out->set_localhost_ref(profile.localhost_profile);
}

void SetQuantities(const resources::Requirements& requirements, cri::KubernetesResources* out) {
  for (const auto& [name, amount] : requirements.requests) {
    (*out->mutable_requests())[name].set_string(amount.text());
  }
  for (const auto& [name, amount] : requirements.limits) {
    (*out->mutable_limits())[name].set_string(amount.text());
  }
}

// "ndots" of "ndots:5".
absl::string_view NameOfDnsOption(absl::string_view option) {
  return option.substr(0, option.find(':'));
}

void SetDns(const Manifest& pod, const PodContext& context, cri::DNSConfig* dns) {
  // Without a DNS of the pod's own, an empty config means the host's file.
  if (pod.dns_policy != "None" && pod.dns_servers.empty() && pod.dns_searches.empty() &&
      pod.dns_options.empty()) {
    return;
  }
  ResolvConf conf = pod.dns_policy == "None" ? ResolvConf() : context.host_dns;
  const auto append = [](const std::vector<std::string>& from, std::vector<std::string>& to) {
    for (const std::string& item : from) {
      if (std::find(to.begin(), to.end(), item) == to.end()) to.push_back(item);
    }
  };
  append(pod.dns_servers, conf.servers);
  append(pod.dns_searches, conf.searches);
  for (const std::string& option : pod.dns_options) {
    // The pod's own value of each name counts, as by kubelet.
    std::erase_if(conf.options, [&](const std::string& other) {
      return NameOfDnsOption(other) == NameOfDnsOption(option);
    });
    conf.options.push_back(option);
  }
  dns->mutable_servers()->Assign(conf.servers.begin(), conf.servers.end());
  dns->mutable_searches()->Assign(conf.searches.begin(), conf.searches.end());
  dns->mutable_options()->Assign(conf.options.begin(), conf.options.end());
}

void SetIdentity(const Manifest& pod, const PodSecurityFields& own,
                 cri::LinuxContainerSecurityContext* out) {
  const auto uid = own.run_as_user ? own.run_as_user : pod.security.run_as_user;
  const auto gid = own.run_as_group ? own.run_as_group : pod.security.run_as_group;
  if (uid) out->mutable_run_as_user()->set_value(*uid);
  if (gid) out->mutable_run_as_group()->set_value(*gid);
  for (const int64_t extra : pod.security.supplemental_groups) out->add_supplemental_groups(extra);
  if (pod.security.supplemental_groups_policy == "Strict") {
    out->set_supplemental_groups_policy(cri::Strict);
  }
}

absl::Status CheckIdentity(const Manifest& pod, const ContainerManifest& container) {
  const auto& own = container.security;
  const auto uid = own.run_as_user ? own.run_as_user : pod.security.run_as_user;
  const auto gid = own.run_as_group ? own.run_as_group : pod.security.run_as_group;
  const bool non_root = own.run_as_non_root.value_or(pod.security.run_as_non_root.value_or(false));
  const std::string where = absl::StrCat(pod.file, ": container ", container.name, ": ");
  if (non_root && uid && *uid == 0) {
    return absl::InvalidArgumentError(absl::StrCat(where, "runAsNonRoot contradicts runAsUser: 0"));
  }
  if (gid && !uid) {
    return absl::InvalidArgumentError(absl::StrCat(where, "runAsGroup needs runAsUser too"));
  }
  return absl::OkStatus();
}

void SetSelinux(const SelinuxParts& parts, cri::SELinuxOption* out) {
  out->set_user(parts.user);
  out->set_role(parts.role);
  out->set_type(parts.type);
  out->set_level(parts.level);
}

// The path of a Localhost profile is relative to the root of all, unless a pod on record has it
// from an older version. A privileged container has no filter, and so no default.
void SetSeccomp(const std::optional<SecurityProfile>& profile, const SeccompRules& rules,
                bool is_privileged, cri::LinuxContainerSecurityContext* out) {
  if (!profile) {
    if (rules.runtime_default && !is_privileged) {
      out->mutable_seccomp()->set_profile_type(cri::SecurityProfile::RuntimeDefault);
    }
    return;
  }
  SetProfile(*profile, out->mutable_seccomp());
  if (profile->type != "Localhost" || absl::StartsWith(profile->localhost_profile, "/")) return;
  out->mutable_seccomp()->set_localhost_ref(
      absl::StrCat(rules.profile_root, "/", profile->localhost_profile));
}

void SetSecurity(const Manifest& pod, const ContainerManifest& container, const PodContext& context,
                 cri::LinuxContainerSecurityContext* out) {
  const ContainerSecurity& own = container.security;
  SetNamespaces(pod, context, out->mutable_namespace_options());
  SetIdentity(pod, own, out);
  out->set_privileged(own.privileged);
  out->set_readonly_rootfs(own.read_only_root);
  out->set_no_new_privs(own.allow_privilege_escalation == false);
  for (const std::string& name : own.add_capabilities) {
    out->mutable_capabilities()->add_add_capabilities(name);
  }
  for (const std::string& name : own.drop_capabilities) {
    out->mutable_capabilities()->add_drop_capabilities(name);
  }
  if (!own.privileged) {
    for (const char* path : kMaskedPaths) out->add_masked_paths(path);
    for (const char* path : kReadonlyPaths) out->add_readonly_paths(path);
  }
  const auto& seccomp = own.seccomp ? own.seccomp : pod.security.seccomp;
  SetSeccomp(seccomp, context.seccomp, own.privileged, out);
  const auto& apparmor = own.apparmor ? own.apparmor : pod.security.apparmor;
  // A privileged container has no profile unless one is named for it.
  if (apparmor && (!own.privileged || apparmor->type == "Localhost")) {
    SetProfile(*apparmor, out->mutable_apparmor());
  }
  const auto& selinux = own.selinux ? own.selinux : pod.security.selinux;
  if (selinux) SetSelinux(*selinux, out->mutable_selinux_options());
}

// The container's annotation of that kind, else the pod's.
std::optional<std::string> AnnotationOf(const Manifest& pod, absl::string_view kind,
                                        absl::string_view container) {
  auto found = pod.annotations.find(absl::StrCat(kind, ".", container));
  if (found == pod.annotations.end()) found = pod.annotations.find(std::string(kind));
  if (found == pod.annotations.end()) return std::nullopt;
  return found->second;
}

// The managers' CPUs are others' exclusive ones never; the annotation could name any.
void SetPlace(const Manifest& pod, const std::string& container, const PodContext& context,
              cri::LinuxContainerResources* out) {
  const auto place = context.places.find(container);
  const bool is_placed = place != context.places.end() && !place->second.cpus.empty();
  if (is_placed) {
    out->set_cpuset_cpus(place->second.cpus);
  } else if (const auto cpus = AnnotationOf(pod, kCpusetAnnotation, container)) {
    out->set_cpuset_cpus(*cpus);
  }
  if (place == context.places.end()) return;
  out->set_cpuset_mems(place->second.memory_nodes);
  if (!place->second.exclusive) return;
  out->set_cpu_quota(kNoQuota);
  out->set_cpu_period(static_cast<int64_t>(resources::kDefaultPeriodUs));
}

// A pod with resources of its own shares them out: its quota goes once no container needs it.
bool HasOwnCpus(const Manifest& pod, const PodContext& context) {
  const auto is_exclusive = [&](const ContainerManifest& each) {
    const auto place = context.places.find(each.name);
    return place != context.places.end() && place->second.exclusive;
  };
  const auto& all = pod.containers;
  return pod.resources ? std::all_of(all.begin(), all.end(), is_exclusive)
                       : std::any_of(all.begin(), all.end(), is_exclusive);
}

std::vector<resources::ContainerRequirements> AllOf(const Manifest& pod) {
  std::vector<resources::ContainerRequirements> all;
  for (const ContainerManifest& container : pod.containers) {
    all.push_back({container.role, resources::WithDefaults(container.resources)});
  }
  return all;
}

absl::Status SetResources(const Manifest& pod,
                          const std::vector<resources::ContainerRequirements>& all, size_t index,
                          const PodContext& context, cri::LinuxContainerResources* out) {
  const std::string& name = pod.containers[index].name;
  absl::StatusOr<linux::CgroupSettings> settings =
      resources::ToCgroupSettings(LinuxRequirementsOf(pod, index));
  if (!settings.ok()) {
    return Annotate(settings.status(), absl::StrCat(pod.file, ": container ", name));
  }
  out->set_cpu_shares(static_cast<int64_t>(settings->cpu_shares.value_or(0)));
  out->set_cpu_quota(settings->cpu_quota_us.value_or(0));
  out->set_cpu_period(static_cast<int64_t>(settings->cpu_period_us.value_or(0)));
  out->set_memory_limit_in_bytes(settings->memory_limit_bytes.value_or(0));
  for (const auto& [size, bytes] : settings->hugetlb_limits) {
    cri::HugepageLimit* limit = out->add_hugepage_limits();
    limit->set_page_size(size);
    limit->set_limit(bytes);
  }
  out->set_oom_score_adj(OomScoreAdjOf(pod, all, index, context.memory_capacity_bytes));
  SetSwap(pod, index, context, out);
  if (context.kills_whole_containers) (*out->mutable_unified())[kOomGroup] = "1";
  SetPlace(pod, name, context, out);
  return absl::OkStatus();
}

GivenDevices DevicesOf(const std::string& container, const PodContext& context) {
  const auto given = context.devices.find(container);
  return given == context.devices.end() ? GivenDevices() : given->second;
}

void AddVariable(const std::string& name, const std::string& value, cri::ContainerConfig* config) {
  cri::KeyValue* out = config->add_envs();
  out->set_key(name);
  out->set_value(value);
}

// Follows kubelet: variables of devices come first, those of the manifest don't see them, the
// command does. `variables` has those of the manifest and gets those of devices.
absl::Status SetEnvironment(const GivenDevices& devices,
                            const std::vector<std::pair<std::string, std::string>>& of_manifest,
                            std::map<std::string, std::string>& variables, ProgramRoom& room,
                            cri::ContainerConfig* config) {
  for (const auto& [name, value] : of_manifest) variables[name] = value;  // the last of a name
  for (const auto& [name, value] : devices.env) {
    if (!variables.try_emplace(name, value).second) continue;
    PLIMSOLL_RETURN_IF_ERROR(Annotate(room.Take(name.size() + 1 + value.size()),
                                      absl::StrCat("variable ", name, " of a device")));
    AddVariable(name, value, config);
  }
  for (const auto& [name, value] : of_manifest) AddVariable(name, value, config);
  return absl::OkStatus();
}

absl::Status SetWords(const std::vector<std::string>& words, const char* field,
                      const std::map<std::string, std::string>& variables, ProgramRoom& room,
                      google::protobuf::RepeatedPtrField<std::string>* out) {
  for (size_t i = 0; i < words.size(); ++i) {
    absl::StatusOr<std::string> word = ExpandReferences(words[i], variables, room);
    absl::Status status = word.status();
    if (status.ok() && !IsText(*word)) {
      status = absl::InvalidArgumentError(
          "becomes bytes that are no UTF-8, by a variable; the CRI has text alone here. The "
          "program "
          "may read the variable itself");
    }
    if (status.ok()) status = room.Take(word->size());
    PLIMSOLL_RETURN_IF_ERROR(Annotate(status, absl::StrCat(field, "[", i, "]")));
    out->Add(*std::move(word));
  }
  return absl::OkStatus();
}

// Sets the variables and the words of the program, and puts the variables into `variables`.
absl::Status SetProgram(const Manifest& pod, const ContainerManifest& container,
                        const PodContext& context, const GivenDevices& devices,
                        std::map<std::string, std::string>& variables, ProgramRoom& room,
                        cri::ContainerConfig* config) {
  PLIMSOLL_ASSIGN_OR_RETURN(const auto environment,
                            ResolveEnvironment(pod, container, context, room));
  PLIMSOLL_RETURN_IF_ERROR(SetEnvironment(devices, environment, variables, room, config));
  PLIMSOLL_RETURN_IF_ERROR(
      SetWords(container.command, "command", variables, room, config->mutable_command()));
  return SetWords(container.args, "args", variables, room, config->mutable_args());
}

void SetDevices(const Manifest& pod, const std::string& name, const GivenDevices& given,
                cri::ContainerConfig* out) {
  for (const std::string& device : given.cdi_names) out->add_cdi_devices()->set_name(device);
  for (const HostDeviceNode& node : given.nodes) {
    cri::Device* device = out->add_devices();
    device->set_host_path(node.host_path);
    device->set_container_path(node.container_path);
    device->set_permissions(node.permissions);
  }
  for (const auto& [key, value] : given.annotations) (*out->mutable_annotations())[key] = value;
  const auto devices = AnnotationOf(pod, kCdiAnnotation, name);
  if (!devices) return;
  for (const absl::string_view device : absl::StrSplit(*devices, ',')) {
    out->add_cdi_devices()->set_name(std::string(absl::StripAsciiWhitespace(device)));
  }
}

absl::Status SetStopSignal(const Manifest& pod, const ContainerManifest& container,
                           cri::ContainerConfig* out) {
  const std::string& name = container.lifecycle.stop_signal;
  if (name.empty()) return absl::OkStatus();
  cri::Signal signal = cri::SIGNAL_RUNTIME_DEFAULT;
  if (!cri::Signal_Parse(absl::StrCat("SIGNAL_", name), &signal)) {
    return absl::InvalidArgumentError(absl::StrCat(pod.file, ": container ", container.name,
                                                   ": stopSignal ", name, " is no signal"));
  }
  out->set_stop_signal(signal);
  return absl::OkStatus();
}

// With a message the runtime reads no annotations, so the message carries their classes too.
// Without one the runtime may refuse annotations that its configuration doesn't permit.
void SetContainerClasses(const Manifest& pod, const ContainerManifest& container,
                         cri::ContainerConfig* out) {
  if (container.classes.empty()) return;
  auto& classes = *out->mutable_class_resources()->mutable_classes();
  for (const auto& [type, name] : ContainerClasses(pod, container)) {
    if (!AsksForDefault(name)) classes[type] = name;
  }
}

absl::StatusOr<cri::ContainerConfig> ContainerToCri(
    const Manifest& pod, const std::vector<resources::ContainerRequirements>& all, size_t index,
    const PodContext& context, ProgramRoom& room, std::vector<std::string>& sub_paths) {
  const ContainerManifest& container = pod.containers[index];
  cri::ContainerConfig config;
  PLIMSOLL_RETURN_IF_ERROR(CheckIdentity(pod, container));
  config.mutable_metadata()->set_name(container.name);
  config.mutable_image()->set_image(container.image);
  config.mutable_image()->set_user_specified_image(container.image);
  std::map<std::string, std::string> variables;
  const GivenDevices devices = DevicesOf(container.name, context);
  PLIMSOLL_RETURN_IF_ERROR(
      Annotate(SetProgram(pod, container, context, devices, variables, room, &config),
               absl::StrCat(pod.file, ": container ", container.name)));
  config.set_working_dir(container.working_dir);
  config.set_stdin(container.open_stdin);
  config.set_stdin_once(container.stdin_once);
  config.set_tty(container.tty);
  config.set_log_path(LogPathOf(container.name, 0));
  auto& labels = *config.mutable_labels();
  labels[kPodNameLabel] = pod.name;
  labels[kPodNamespaceLabel] = pod.pod_namespace;
  labels[kPodUidLabel] = context.uid;
  labels[kContainerNameLabel] = container.name;
  labels[kRoleLabel] = RoleName(container.role);
  PLIMSOLL_ASSIGN_OR_RETURN(sub_paths,
                            SetMounts(pod, container, context, variables, room, &config));
  SetDeviceMounts(devices, &config);
  PLIMSOLL_RETURN_IF_ERROR(
      SetResources(pod, all, index, context, config.mutable_linux()->mutable_resources()));
  SetDevices(pod, container.name, devices, &config);
  SetSecurity(pod, container, context, config.mutable_linux()->mutable_security_context());
  SetQuantities(all[index].requirements, config.mutable_kubernetes_resources());
  SetContainerClasses(pod, container, &config);
  PLIMSOLL_RETURN_IF_ERROR(SetStopSignal(pod, container, &config));
  return config;
}

void SetPodClasses(const Manifest& pod, const PodContext& context, const std::string& qos_class,
                   cri::PodSandboxConfig* sandbox) {
  const bool tells_qos = context.pod_class_types.contains(qos::kPodQos);
  if (!tells_qos && pod.classes.empty()) return;
  auto& classes = *sandbox->mutable_class_resources()->mutable_class_();
  for (const auto& [type, name] : PodClasses(pod)) {
    if (!AsksForDefault(name)) classes[type] = name;
  }
  if (tells_qos) classes[qos::kPodQos] = qos_class;
}

void SetPodResources(const Manifest& pod, const PodConfigs& configs, cri::PodResourceConfig* out) {
  *out = AllWrittenToCri(pod);
  for (size_t i = 0; i < pod.containers.size(); ++i) {
    cri::ContainerResourceConfig* container = out->mutable_containers(static_cast<int>(i));
    *container->mutable_mounts() = configs.containers[i].mounts();
    *container->mutable_devices() = configs.containers[i].devices();
    *container->mutable_cdi_devices() = configs.containers[i].cdi_devices();
  }
}

void SetNames(const Manifest& pod, const PodContext& context, cri::PodSandboxConfig* sandbox) {
  sandbox->mutable_metadata()->set_name(pod.name);
  sandbox->mutable_metadata()->set_namespace_(pod.pod_namespace);
  sandbox->mutable_metadata()->set_uid(context.uid);
  if (!pod.host_network) sandbox->set_hostname(HostnameOf(pod));
  for (const auto& [key, value] : pod.labels) (*sandbox->mutable_labels())[key] = value;
  (*sandbox->mutable_labels())[kPodNameLabel] = pod.name;
  (*sandbox->mutable_labels())[kPodNamespaceLabel] = pod.pod_namespace;
  (*sandbox->mutable_labels())[kPodUidLabel] = context.uid;
}

}  // namespace

absl::StatusOr<cri::LinuxContainerResources> LimitsToCri(const Manifest& pod, size_t index,
                                                         const PodContext& context) {
  cri::LinuxContainerResources limits;
  PLIMSOLL_RETURN_IF_ERROR(SetResources(pod, AllOf(pod), index, context, &limits));
  return limits;
}

absl::StatusOr<cri::LinuxContainerResources> GroupToCri(const Manifest& pod,
                                                        const PodContext& context) {
  cri::LinuxContainerResources group;
  PLIMSOLL_RETURN_IF_ERROR(SetGroup(pod, AllOf(pod), context.sandbox_limits, &group));
  if (HasOwnCpus(pod, context)) {
    group.set_cpu_quota(kNoQuota);
    group.set_cpu_period(static_cast<int64_t>(resources::kDefaultPeriodUs));
  }
  return group;
}

cri::KubernetesResources WrittenToCri(const Manifest& pod, size_t index) {
  cri::KubernetesResources written;
  SetQuantities(resources::WithDefaults(pod.containers[index].resources), &written);
  return written;
}

cri::PodResourceConfig AllWrittenToCri(const Manifest& pod) {
  cri::PodResourceConfig all;
  if (pod.resources) {
    SetQuantities(resources::WithDefaults(*pod.resources), all.mutable_kubernetes_resources());
  }
  for (size_t i = 0; i < pod.containers.size(); ++i) {
    cri::ContainerResourceConfig* container = all.add_containers();
    container->set_name(pod.containers[i].name);
    const Role role = pod.containers[i].role;
    container->set_type(role == Role::kInit      ? cri::ContainerResourceConfig::INIT_CONTAINER
                        : role == Role::kSidecar ? cri::ContainerResourceConfig::SIDECAR_CONTAINER
                                                 : cri::ContainerResourceConfig::CONTAINER);
    *container->mutable_kubernetes_resources() = WrittenToCri(pod, i);
  }
  return all;
}

absl::Status NamingProfileRoot(const absl::Status& status, const SeccompRules& rules) {
  const std::string opened = absl::StrCat("seccomp profile: open ", rules.profile_root, "/");
  if (!absl::IsNotFound(status) || !absl::StrContains(status.message(), opened)) return status;
  return AlsoSay(status, absl::StrCat("the root of profiles is ", rules.profile_root,
                                      " (--seccomp-profile-root of `plimsoll run`, "
                                      "seccompProfileRoot of the agent)"));
}

std::string HostnameOf(const Manifest& pod) {
  std::string name = (pod.hostname.empty() ? pod.name : pod.hostname).substr(0, 63);
  name.erase(name.find_last_not_of("-.") + 1);
  return name;
}

std::string LogPathOf(const std::string& container, uint32_t attempt) {
  return absl::StrCat(container, ".", attempt, ".log");
}

std::optional<uint32_t> LastLogged(const FsRoot& root, const std::string& log_directory,
                                   const std::string& container) {
  std::optional<uint32_t> last;
  for (const std::string& name : root.List(log_directory).value_or(std::vector<std::string>())) {
    const std::vector<absl::string_view> parts = absl::StrSplit(name, '.');
    uint32_t attempt = 0;
    if (parts.size() < 3 || parts[0] != container || parts[2] != "log") continue;
    if (!absl::SimpleAtoi(parts[1], &attempt)) continue;
    last = std::max(last.value_or(0), attempt);
  }
  return last;
}

absl::StatusOr<PodConfigs> ToCri(const Manifest& pod, const PodContext& context) {
  PodConfigs configs;
  const std::vector<resources::ContainerRequirements> all = AllOf(pod);
  bool privileged = false;
  size_t left = ProgramRoom::kMostPodBytes;
  for (size_t i = 0; i < all.size(); ++i) {
    std::vector<std::string> sub_paths;
    ProgramRoom room(std::min(ProgramRoom::OfProcess(), left));
    absl::StatusOr<cri::ContainerConfig> config =
        ContainerToCri(pod, all, i, context, room, sub_paths);
    PLIMSOLL_RETURN_IF_ERROR(config.status());
    left -= room.taken();
    privileged |= pod.containers[i].security.privileged;
    configs.containers.push_back(*std::move(config));
    configs.sub_paths.push_back(std::move(sub_paths));
  }
  configs.runtime_handler = pod.runtime_handler;

  cri::PodSandboxConfig& sandbox = configs.sandbox;
  SetNames(pod, context, &sandbox);
  sandbox.set_log_directory(context.log_directory);
  SetDns(pod, context, sandbox.mutable_dns_config());
  for (const auto& [key, value] : pod.annotations) (*sandbox.mutable_annotations())[key] = value;
  (*sandbox.mutable_annotations())[kGraceAnnotation] = absl::StrCat(pod.grace_period_s);
  const std::string qos_class = resources::QosClassName(QosClassOf(pod));
  (*sandbox.mutable_annotations())[kQosAnnotation] = qos_class;
  SetPodClasses(pod, context, qos_class, &sandbox);
  cri::LinuxSandboxSecurityContext* security = sandbox.mutable_linux()->mutable_security_context();
  if (pod.security.selinux) {
    SetSelinux(*pod.security.selinux, security->mutable_selinux_options());
  }
  SetNamespaces(pod, context, security->mutable_namespace_options());
  security->set_privileged(privileged);
  PLIMSOLL_ASSIGN_OR_RETURN(*sandbox.mutable_linux()->mutable_resources(),
                            GroupToCri(pod, context));
  for (const auto& [name, value] : pod.security.sysctls) {
    (*sandbox.mutable_linux()->mutable_sysctls())[name] = value;
  }
  SetPortMappings(pod, &sandbox);
  SetPodResources(pod, configs, sandbox.mutable_pod_resources());
  return configs;
}

}  // namespace plimsoll::pod
