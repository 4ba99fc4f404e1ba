#include "cri/messages/translate_sandbox.h"

#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "cri/messages/translate_id_mappings.h"
#include "cri/messages/translate_resources.h"
#include "cri/messages/validate.h"
#include "linux/namespaces/id_mapping.h"
#include "network/result.h"
#include "resources/quantity.h"
#include "runtime/announcement/messages.h"

namespace plimsoll::cri {
namespace {

namespace v1 = ::runtime::v1;

absl::Status AddMetadata(const v1::PodSandboxConfig& config, runtime::SandboxSpec* spec) {
  if (!config.has_metadata()) {
    return absl::InvalidArgumentError(
        "config.metadata is missing: a pod needs name, uid and "
        "namespace");
  }
  const v1::PodSandboxMetadata& metadata = config.metadata();
  PLIMSOLL_RETURN_IF_ERROR(CheckName("config.metadata.name", metadata.name()));
  PLIMSOLL_RETURN_IF_ERROR(CheckName("config.metadata.uid", metadata.uid()));
  PLIMSOLL_RETURN_IF_ERROR(CheckName("config.metadata.namespace", metadata.namespace_()));
  spec->name = metadata.name();
  spec->uid = metadata.uid();
  spec->pod_namespace = metadata.namespace_();
  spec->attempt = metadata.attempt();
  return absl::OkStatus();
}

absl::Status AddDns(const v1::DNSConfig& dns, runtime::SandboxSpec* spec) {
  for (const std::string& server : dns.servers()) {
    PLIMSOLL_RETURN_IF_ERROR(CheckWord("config.dns_config.servers", server));
    spec->dns_servers.push_back(server);
  }
  for (const std::string& search : dns.searches()) {
    PLIMSOLL_RETURN_IF_ERROR(CheckWord("config.dns_config.searches", search));
    spec->dns_searches.push_back(search);
  }
  for (const std::string& option : dns.options()) {
    PLIMSOLL_RETURN_IF_ERROR(CheckWord("config.dns_config.options", option));
    spec->dns_options.push_back(option);
  }
  return absl::OkStatus();
}

const char* ProtocolName(v1::Protocol protocol) {
  switch (protocol) {
    case v1::TCP:
      return "tcp";
    case v1::UDP:
      return "udp";
    case v1::SCTP:
      return "sctp";
    default:
      return nullptr;
  }
}

// Host ports are for the pod's network plugins; on the host's network a port is open by itself.
absl::Status AddPorts(const v1::PodSandboxConfig& config, runtime::SandboxSpec* spec) {
  for (const v1::PortMapping& port : config.port_mappings()) {
    if (port.container_port() < 0 || port.container_port() > 65535) {
      return Invalid("config.port_mappings.container_port", port.container_port(),
                     "must be from 0 to 65535");
    }
    if (port.host_port() < 0 || port.host_port() > 65535) {
      return Invalid("config.port_mappings.host_port", port.host_port(), "must be from 0 to 65535");
    }
    if (!port.host_ip().empty() && !network::IsAddress(port.host_ip())) {
      return Invalid("config.port_mappings.host_ip", port.host_ip(), "must be an IP address");
    }
    const char* protocol = ProtocolName(port.protocol());
    if (protocol == nullptr) {
      return Invalid("config.port_mappings.protocol", static_cast<int64_t>(port.protocol()),
                     "must be TCP (0), UDP (1) or SCTP (2)");
    }
    if (port.host_port() == 0 || spec->namespaces.network != runtime::NamespaceMode::kPod) continue;
    if (port.container_port() == 0) {
      return Invalid("config.port_mappings.container_port", port.container_port(),
                     "must be from 1 to 65535 where there is a host_port");
    }
    spec->network.port_mappings.push_back({.protocol = protocol,
                                           .container_port = port.container_port(),
                                           .host_port = port.host_port(),
                                           .host_ip = port.host_ip()});
  }
  return absl::OkStatus();
}

// Kubernetes' annotations, in bits per second, within the bounds that kubelet sets.
absl::Status AddBandwidth(const v1::PodSandboxConfig& config, const char* annotation,
                          std::optional<int64_t>* bits_per_second) {
  constexpr int64_t kLeast = 1000;
  constexpr int64_t kMost = 1'000'000'000'000'000;
  const auto found = config.annotations().find(annotation);
  if (found == config.annotations().end()) return absl::OkStatus();
  const auto quantity = resources::Quantity::Parse(found->second);
  if (!quantity.ok() || quantity->Value() < kLeast || quantity->Value() > kMost) {
    return Invalid(absl::StrCat("config.annotations[\"", annotation, "\"]"), found->second,
                   "must be a quantity of bits per second from 1k to 1P, as in 10M");
  }
  *bits_per_second = quantity->Value();
  return absl::OkStatus();
}

absl::Status CheckCgroupParent(const std::string& parent) {
  constexpr absl::string_view kField = "config.linux.cgroup_parent";
  if (parent.empty()) return absl::OkStatus();
  if (absl::StartsWith(parent, "/")) return CheckAbsolutePath(kField, parent);
  return CheckRelativePath(kField, parent);
}

absl::Status AddLinux(const v1::LinuxPodSandboxConfig& config, runtime::SandboxSpec* spec) {
  const v1::LinuxSandboxSecurityContext& security = config.security_context();
  PLIMSOLL_RETURN_IF_ERROR(CheckCgroupParent(config.cgroup_parent()));
  spec->cgroup_parent = config.cgroup_parent();
  PLIMSOLL_ASSIGN_OR_RETURN(
      spec->namespaces,
      NamespaceOptionsFrom(security.has_namespace_options(), security.namespace_options(),
                           "config.linux.security_context.namespace_options"));
  if (security.has_run_as_group() && !security.has_run_as_user()) {
    return Invalid("config.linux.security_context.run_as_group", security.run_as_group().value(),
                   "needs run_as_user");
  }
  for (const auto& [name, value] : config.sysctls()) {
    PLIMSOLL_RETURN_IF_ERROR(CheckWord("config.linux.sysctls", name));
    spec->sysctls[name] = value;
  }
  spec->privileged = security.privileged();
  spec->selinux = SelinuxOptionsFrom(security.selinux_options());
  PLIMSOLL_ASSIGN_OR_RETURN(spec->overhead,
                            CgroupSettingsFrom(config.overhead(), "config.linux.overhead"));
  PLIMSOLL_ASSIGN_OR_RETURN(spec->resources,
                            CgroupSettingsFrom(config.resources(), "config.linux.resources"));
  return absl::OkStatus();
}

runtime::NamespaceMode FromCri(v1::NamespaceMode mode) {
  switch (mode) {
    case v1::CONTAINER:
      return runtime::NamespaceMode::kContainer;
    case v1::NODE:
      return runtime::NamespaceMode::kNode;
    case v1::TARGET:
      return runtime::NamespaceMode::kTarget;
    default:
      return runtime::NamespaceMode::kPod;
  }
}

v1::NamespaceMode ToCri(runtime::NamespaceMode mode) {
  switch (mode) {
    case runtime::NamespaceMode::kContainer:
      return v1::CONTAINER;
    case runtime::NamespaceMode::kNode:
      return v1::NODE;
    case runtime::NamespaceMode::kTarget:
      return v1::TARGET;
    case runtime::NamespaceMode::kPod:
      return v1::POD;
  }
  return v1::POD;
}

absl::Status CheckPodOrNode(absl::string_view field, absl::string_view member,
                            v1::NamespaceMode mode) {
  if (mode == v1::POD || mode == v1::NODE) return absl::OkStatus();
  return Invalid(absl::StrCat(field, ".", member), static_cast<int64_t>(mode),
                 "must be POD (0) or NODE (2)");
}

// A process in a user namespace can neither mount nor change what belongs to the host's.
absl::Status CheckNothingOfTheHosts(const v1::NamespaceOption& options, absl::string_view field) {
  for (const auto& [member, mode] :
       {std::pair("network", options.network()), std::pair("pid", options.pid()),
        std::pair("ipc", options.ipc())}) {
    if (mode != v1::NODE) continue;
    return Invalid(absl::StrCat(field, ".", member), "NODE",
                   "must be the pod's own where userns_options.mode is POD: in a user namespace of "
                   "its own, a pod can't use the host's");
  }
  return absl::OkStatus();
}

absl::Status AddUserNamespace(const v1::NamespaceOption& options, absl::string_view field,
                              runtime::NamespaceOptions* out) {
  const v1::UserNamespace& user = options.userns_options();
  const std::string name = absl::StrCat(field, ".userns_options");
  PLIMSOLL_RETURN_IF_ERROR(CheckPodOrNode(field, "userns_options.mode", user.mode()));
  if (user.mode() == v1::NODE) {
    if (user.uids().empty() && user.gids().empty()) return absl::OkStatus();
    return Invalid(absl::StrCat(name, ".mode"), "NODE",
                   "is the host's user namespace; it has no uids and gids to map");
  }
  PLIMSOLL_RETURN_IF_ERROR(CheckNothingOfTheHosts(options, field));
  out->uid_mappings = IdMappingsFrom(user.uids());
  out->gid_mappings = IdMappingsFrom(user.gids());
  for (const auto& [member, mappings] :
       {std::pair(".uids", &out->uid_mappings), std::pair(".gids", &out->gid_mappings)}) {
    const std::string list = absl::StrCat(name, member);
    PLIMSOLL_RETURN_IF_ERROR(linux::CheckIdMappings(list, *mappings));
    if (mappings->size() > 1) {
      return absl::InvalidArgumentError(
          absl::StrCat(list, " has ", mappings->size(),
                       " mappings; there must be one: the ids of a pod are one range"));
    }
    if (linux::HostIdOf(*mappings, 0) == UINT32_MAX) {
      return absl::InvalidArgumentError(
          absl::StrCat(list, " must map id 0: a pod's user namespace needs its root"));
    }
    if (mappings->front().host_id != 0) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        list, " maps the host's id 0: the pod's root would be the host's, and a user ",
        "namespace must keep the two apart; must begin at a host_id above those of the ",
        "host's users, e.g. 65536"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<runtime::NamespaceOptions> NamespaceOptionsFrom(bool present,
                                                               const v1::NamespaceOption& options,
                                                               absl::string_view field) {
  runtime::NamespaceOptions result;
  if (!present) return result;
  PLIMSOLL_RETURN_IF_ERROR(CheckPodOrNode(field, "network", options.network()));
  PLIMSOLL_RETURN_IF_ERROR(CheckPodOrNode(field, "ipc", options.ipc()));
  if (!v1::NamespaceMode_IsValid(options.pid())) {
    return Invalid(absl::StrCat(field, ".pid"), static_cast<int64_t>(options.pid()),
                   "must be POD (0), CONTAINER (1), NODE (2) or TARGET (3)");
  }
  if (options.pid() == v1::TARGET) {
    PLIMSOLL_RETURN_IF_ERROR(CheckId(absl::StrCat(field, ".target_id"), options.target_id()));
  }
  if (options.has_userns_options()) {
    PLIMSOLL_RETURN_IF_ERROR(AddUserNamespace(options, field, &result));
  }
  result.network = FromCri(options.network());
  result.pid = FromCri(options.pid());
  result.ipc = FromCri(options.ipc());
  if (options.pid() == v1::TARGET) result.target_container_id = options.target_id();
  return result;
}

void FillNamespaceOptions(const runtime::NamespaceOptions& options, v1::NamespaceOption* out) {
  out->set_network(ToCri(options.network));
  out->set_pid(ToCri(options.pid));
  out->set_ipc(ToCri(options.ipc));
  out->set_target_id(options.target_container_id);
  if (!options.has_user_namespace()) return;
  v1::UserNamespace* user = out->mutable_userns_options();
  user->set_mode(v1::POD);
  runtime::FillIdMappings(options.uid_mappings, user->mutable_uids());
  runtime::FillIdMappings(options.gid_mappings, user->mutable_gids());
}

linux::SelinuxOptions SelinuxOptionsFrom(const v1::SELinuxOption& message) {
  return {message.user(), message.role(), message.type(), message.level()};
}

absl::StatusOr<runtime::SandboxSpec> SandboxSpecFrom(const v1::PodSandboxConfig& config) {
  runtime::SandboxSpec spec;
  PLIMSOLL_RETURN_IF_ERROR(CheckNoWindows("config.windows", config.has_windows(), "config.linux"));
  PLIMSOLL_RETURN_IF_ERROR(AddMetadata(config, &spec));
  PLIMSOLL_RETURN_IF_ERROR(CheckHostname("config.hostname", config.hostname()));
  spec.hostname = config.hostname();
  if (!config.log_directory().empty()) {
    PLIMSOLL_RETURN_IF_ERROR(CheckAbsolutePath("config.log_directory", config.log_directory()));
    spec.log_directory = config.log_directory();
  }
  PLIMSOLL_RETURN_IF_ERROR(AddDns(config.dns_config(), &spec));
  PLIMSOLL_RETURN_IF_ERROR(AddLinux(config.linux(), &spec));
  PLIMSOLL_RETURN_IF_ERROR(AddPorts(config, &spec));
  PLIMSOLL_RETURN_IF_ERROR(AddBandwidth(config, "kubernetes.io/ingress-bandwidth",
                                        &spec.network.ingress_bits_per_second));
  PLIMSOLL_RETURN_IF_ERROR(
      AddBandwidth(config, "kubernetes.io/egress-bandwidth", &spec.network.egress_bits_per_second));
  return spec;
}

v1::PodSandboxState ToCri(runtime::SandboxState state) {
  return state == runtime::SandboxState::kReady ? v1::SANDBOX_READY : v1::SANDBOX_NOTREADY;
}

void FillSandbox(const runtime::SandboxRecord& record, const v1::PodSandboxConfig& config,
                 v1::PodSandbox* out) {
  out->set_id(record.id);
  *out->mutable_metadata() = config.metadata();
  out->set_state(ToCri(record.state));
  out->set_created_at(record.created_unix_nanos);
  *out->mutable_labels() = config.labels();
  *out->mutable_annotations() = config.annotations();
  out->set_runtime_handler(record.spec.runtime_handler);
}

void FillSandboxStatus(const runtime::SandboxRecord& record, const v1::PodSandboxConfig& config,
                       v1::PodSandboxStatus* out) {
  out->set_id(record.id);
  *out->mutable_metadata() = config.metadata();
  out->set_state(ToCri(record.state));
  out->set_created_at(record.created_unix_nanos);
  out->mutable_network();  // no address: host network, or loopback alone
  FillNamespaceOptions(record.spec.namespaces,
                       out->mutable_linux()->mutable_namespaces()->mutable_options());
  *out->mutable_labels() = config.labels();
  *out->mutable_annotations() = config.annotations();
  out->set_runtime_handler(record.spec.runtime_handler);
}

void FillAddresses(const std::vector<std::string>& addresses, v1::PodSandboxStatus* out) {
  v1::PodSandboxNetworkStatus* network = out->mutable_network();
  for (const std::string& address : addresses) {
    if (network->ip().empty()) {
      network->set_ip(address);
    } else {
      network->add_additional_ips()->set_ip(address);
    }
  }
}

}  // namespace plimsoll::cri
