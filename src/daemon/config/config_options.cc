#include "daemon/config/config_options.h"

#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/status.h"
#include "base/text/listen_address.h"
#include "daemon/config/plugin_policies.h"
#include "image/names/reference.h"
#include "linux/cgroup/cgroup.h"

namespace plimsoll::daemon {
namespace {

absl::Status Expected(absl::string_view what, const std::string& found) {
  return absl::InvalidArgumentError(absl::StrCat("expected ", what, ", found '", found, "'"));
}

absl::Status SetChoice(std::string& member, const std::string& value,
                       const std::vector<const char*>& choices) {
  for (const char* choice : choices) {
    if (value == choice) {
      member = value;
      return absl::OkStatus();
    }
  }
  return Expected(absl::StrCat("one of ", absl::StrJoin(choices, ", ")), value);
}

absl::Status SetInteger(int& member, const std::string& value, int least, int most) {
  int number = 0;
  if (!absl::SimpleAtoi(value, &number) || number < least || number > most) {
    return Expected(absl::StrCat("an integer from ", least, " to ", most), value);
  }
  member = number;
  return absl::OkStatus();
}

// Absolute, without "." and ".." and not "/" itself: the daemon makes and removes files below it.
bool IsPlainAbsolutePath(absl::string_view path) {
  if (!absl::StartsWith(path, "/") || path.find_first_not_of('/') == absl::string_view::npos) {
    return false;
  }
  for (absl::string_view part : absl::StrSplit(path, '/')) {
    if (part == "." || part == "..") return false;
  }
  return true;
}

absl::Status SetDirectory(std::string& member, const std::string& value) {
  if (!IsPlainAbsolutePath(value)) {
    return Expected("the absolute path of a directory (without '.' and '..')", value);
  }
  member = std::string(absl::StripSuffix(value, "/"));
  return absl::OkStatus();
}

absl::Status SetProgram(std::string& member, const std::string& value) {
  if (!value.empty() && !IsPlainAbsolutePath(value)) {
    return Expected("the absolute path of a program, or nothing to look in PATH", value);
  }
  member = value;
  return absl::OkStatus();
}

absl::Status SetAddress(Config& config, const std::string& value) {
  absl::string_view path = value;
  if (!value.empty() && (!absl::ConsumePrefix(&path, "unix://") || !IsPlainAbsolutePath(path))) {
    return Expected("unix:// and an absolute path, as in unix:///run/plimsoll/plimsoll.sock",
                    value);
  }
  config.address = value;
  return absl::OkStatus();
}

absl::Status SetMetricsAddress(Config& config, const std::string& value) {
  if (!value.empty() && !CheckListenAddress(value).ok()) {
    return Expected("an IP address and a port, as in 127.0.0.1:9464, or nothing for no metrics",
                    value);
  }
  config.metrics_address = value;
  return absl::OkStatus();
}

absl::Status SetStreamingAddress(Config& config, const std::string& value) {
  if (!value.empty() && !CheckListenAddress(value, /*least_port=*/0).ok()) {
    return Expected(
        "an IP address and a port, as in 127.0.0.1:0 (0 for a free one), or nothing for no streams",
        value);
  }
  config.streaming.address = value;
  return absl::OkStatus();
}

absl::Status SetFile(std::string& member, const std::string& value) {
  if (!value.empty() && !IsPlainAbsolutePath(value)) {
    return Expected("the absolute path of a file, or nothing", value);
  }
  member = value;
  return absl::OkStatus();
}

absl::Status SetClusterSocket(Config& config, const std::string& value) {
  if (!value.empty() && value != "auto" && !IsPlainAbsolutePath(value)) {
    return Expected("auto, the absolute path of a socket, or nothing for none", value);
  }
  config.kube.socket = value;
  return absl::OkStatus();
}

absl::Status SetNriSocket(Config& config, const std::string& value) {
  if (value != "auto" && !IsPlainAbsolutePath(value)) {
    return Expected("auto or the absolute path of a socket (nri.external: false for none)", value);
  }
  config.nri.socket = value;
  return absl::OkStatus();
}

absl::Status AddRequiredPlugin(Config& config, const std::string& value) {
  PLIMSOLL_RETURN_IF_ERROR(CheckPluginName(value));
  config.nri.validator.required_plugins.push_back(value);
  return absl::OkStatus();
}

absl::Status SetToleration(Config& config, const std::string& value) {
  if (value.find_first_of(" \t\n=,") != std::string::npos) {
    return Expected("an annotation's name, or nothing for none", value);
  }
  config.nri.validator.tolerate_missing_annotation = value;
  return absl::OkStatus();
}

// A directory that may be none.
absl::Status SetOptionalDirectory(std::string& member, const std::string& value) {
  if (!value.empty()) return SetDirectory(member, value);
  member.clear();
  return absl::OkStatus();
}

absl::Status SetCgroupParent(Config& config, const std::string& value) {
  const absl::StatusOr<std::string> path = linux::NormalizeCgroupPath(value);
  if (!path.ok() || *path == "/" || !absl::StartsWith(value, "/")) {
    return Expected("the path of a control group, as in /plimsoll", value);
  }
  config.cgroup_parent = *path;
  return absl::OkStatus();
}

absl::Status AddInsecureRegistry(Config& config, const std::string& value) {
  if (value.empty() || value.find_first_of("/@ \t") != std::string::npos) {
    return Expected("a registry's host or host:port, as in registry.local:5000", value);
  }
  config.insecure_registries.push_back(value);
  return absl::OkStatus();
}

absl::Status SetRegistriesFile(Config& config, const std::string& value) {
  if (!value.empty() && !IsPlainAbsolutePath(value)) {
    return Expected("the absolute path of a file, or nothing for /etc/containers/registries.conf",
                    value);
  }
  config.registries_file = value;
  return absl::OkStatus();
}

absl::Status AddPinnedImage(Config& config, const std::string& value) {
  absl::string_view name = value;
  const bool is_pattern = absl::ConsumeSuffix(&name, "*");
  if (name.empty() || name.find('*') != absl::string_view::npos ||
      !(is_pattern || image::IsImageId(name) || image::ParseReference(name).ok())) {
    return Expected(
        "an image's name or id, or the beginning of a full name and *, as in "
        "registry.local/base/*",
        value);
  }
  config.pinned_images.push_back(value);
  return absl::OkStatus();
}

absl::Status AddCdiDirectory(Config& config, const std::string& value) {
  std::string directory;
  PLIMSOLL_RETURN_IF_ERROR(SetDirectory(directory, value));
  config.cdi_spec_dirs.push_back(std::move(directory));
  return absl::OkStatus();
}

absl::Status AddPluginDirectory(Config& config, const std::string& value) {
  std::string directory;
  PLIMSOLL_RETURN_IF_ERROR(SetDirectory(directory, value));
  // CNI_PATH separates them by colons.
  if (directory.find(':') != std::string::npos) return Expected("a path without ':'", value);
  config.network.plugin_dirs.push_back(std::move(directory));
  return absl::OkStatus();
}

absl::Status AddInterface(Config& config, const std::string& value) {
  constexpr size_t kMostBytes = 15;  // IFNAMSIZ, without its NUL
  if (value.empty() || value.size() > kMostBytes ||
      value.find_first_of("/: \t") != std::string::npos) {
    return Expected("an interface's name, as in eth0", value);
  }
  config.network.interfaces.push_back(value);
  return absl::OkStatus();
}

absl::Status SetBool(bool& member, const std::string& value) {
  if (value != "true" && value != "false") return Expected("true or false", value);
  member = value == "true";
  return absl::OkStatus();
}

constexpr Option kOptions[] = {
    {"address", OptionKind::kText, SetAddress,
     "the CRI's socket, unix:// and a path; empty: plimsoll.sock in run_dir"},
    {"socket_group", OptionKind::kText,
     [](Config& config, const std::string& value) {
       config.socket_group = value;
       return absl::OkStatus();
     },
     "group that may use the socket (root-equivalent); empty: root only"},
    {"state_dir", OptionKind::kText,
     [](Config& config, const std::string& value) { return SetDirectory(config.state_dir, value); },
     "images, writable layers and the database; survives a reboot"},
    {"run_dir", OptionKind::kText,
     [](Config& config, const std::string& value) { return SetDirectory(config.run_dir, value); },
     "pinned namespaces and sockets; does not survive a reboot"},
    {"log.level", OptionKind::kText,
     [](Config& config, const std::string& value) {
       return SetChoice(config.log.level, value, {"debug", "info", "warning", "error"});
     },
     "debug, info, warning or error"},
    {"log.format", OptionKind::kText,
     [](Config& config, const std::string& value) {
       return SetChoice(config.log.format, value, {"text", "json"});
     },
     "text or json"},
    {"metrics.address", OptionKind::kText, SetMetricsAddress,
     "IP address and port of the Prometheus endpoint; empty: none"},
    {"crun", OptionKind::kText,
     [](Config& config, const std::string& value) { return SetProgram(config.crun, value); },
     "path of the OCI runtime, crun or another; empty: crun from PATH"},
    {"cdi_spec_dirs", OptionKind::kTextList, AddCdiDirectory,
     "directories of CDI devices' specifications, a later one before an earlier one",
     [](Config& config) { config.cdi_spec_dirs.clear(); }},
    {"network.config_dir", OptionKind::kText,
     [](Config& config, const std::string& value) {
       return SetOptionalDirectory(config.network.config_dir, value);
     },
     "directory of CNI configurations, the first one is the pods' network; empty: none"},
    {"network.plugin_dirs", OptionKind::kTextList, AddPluginDirectory,
     "directories of CNI plugins, an earlier one before a later one",
     [](Config& config) { config.network.plugin_dirs.clear(); }},
    {"network.plugin_timeout", OptionKind::kInteger,
     [](Config& config, const std::string& value) {
       return SetInteger(config.network.plugin_timeout, value, 1, 600);
     },
     "seconds that a CNI plugin may take"},
    {"network.interfaces", OptionKind::kTextList, AddInterface,
     "interfaces whose addresses are reported as a pod's; none: all of the pod's",
     [](Config& config) { config.network.interfaces.clear(); }},
    {"network.collect_garbage", OptionKind::kText,
     [](Config& config, const std::string& value) {
       return SetBool(config.network.collect_garbage, value);
     },
     "at the start, have CNI plugins release everything that belongs to no pod of this daemon: "
     "true or false"},
    {"network.unprivileged_ports", OptionKind::kText,
     [](Config& config, const std::string& value) {
       return SetBool(config.network.unprivileged_ports, value);
     },
     "let every user of a pod with a network of its own listen at ports below 1024: true or false"},
    {"network.unprivileged_ping", OptionKind::kText,
     [](Config& config, const std::string& value) {
       return SetBool(config.network.unprivileged_ping, value);
     },
     "let every user of a pod with a network of its own send ICMP echo requests: true or false"},
    {"streaming.address", OptionKind::kText, SetStreamingAddress,
     "IP address and port for exec, attach and port-forward; port 0: a free one; empty: none"},
    {"streaming.certificate", OptionKind::kText,
     [](Config& config, const std::string& value) {
       return SetFile(config.streaming.certificate, value);
     },
     "PEM file of a certificate chain, for TLS; empty: none"},
    {"streaming.key", OptionKind::kText,
     [](Config& config, const std::string& value) { return SetFile(config.streaming.key, value); },
     "PEM file of the certificate's key"},
    {"streaming.idle_timeout", OptionKind::kInteger,
     [](Config& config, const std::string& value) {
       return SetInteger(config.streaming.idle_timeout, value, 1, 7 * 24 * 60 * 60);
     },
     "seconds after which an idle stream is ended"},
    {"streaming.creation_timeout", OptionKind::kInteger,
     [](Config& config, const std::string& value) {
       return SetInteger(config.streaming.creation_timeout, value, 1, 600);
     },
     "seconds that a client has to open its streams"},
    {"kube.socket", OptionKind::kText, SetClusterSocket,
     "the socket for plimsoll-kube: a path; auto: cluster/cluster.sock in run_dir; empty: none"},
    {"kube.socket_group", OptionKind::kText,
     [](Config& config, const std::string& value) {
       config.kube.socket_group = value;
       return absl::OkStatus();
     },
     "group that may use that socket; auto: plimsoll-kube if there is such a group; empty: root "
     "only"},
    {"kubelet.root", OptionKind::kText,
     [](Config& config, const std::string& value) {
       return SetDirectory(config.kubelet.root, value);
     },
     "kubelet's root directory, with its local sockets"},
    {"kubelet.pods", OptionKind::kText,
     [](Config& config, const std::string& value) {
       return SetChoice(config.kubelet.pods, value, {"auto", "off"});
     },
     "ask kubelet's sockets about pods whose client passes no resources of the whole pod down: "
     "auto "
     "or off"},
    {"nri.enabled", OptionKind::kText,
     [](Config& config, const std::string& value) { return SetBool(config.nri.enabled, value); },
     "whether there is a Node Resource Interface, for plugins that adjust pods: true or false"},
    {"nri.socket", OptionKind::kText, SetNriSocket,
     "its socket: a path; auto: /var/run/nri/nri.sock, or nri/nri.sock in a run_dir of one's own"},
    {"nri.external", OptionKind::kText,
     [](Config& config, const std::string& value) { return SetBool(config.nri.external, value); },
     "whether plugins that the daemon has not started may connect: true or false"},
    {"nri.plugin_dir", OptionKind::kText,
     [](Config& config, const std::string& value) {
       return SetOptionalDirectory(config.nri.plugin_dir, value);
     },
     "directory of plugins that the daemon starts; empty: none"},
    {"nri.config_dir", OptionKind::kText,
     [](Config& config, const std::string& value) {
       return SetOptionalDirectory(config.nri.config_dir, value);
     },
     "directory of plugins' configurations; empty: none"},
    {"nri.registration_timeout_ms", OptionKind::kInteger,
     [](Config& config, const std::string& value) {
       return SetInteger(config.nri.registration_timeout_ms, value, 10, 600000);
     },
     "milliseconds that a plugin has to register"},
    {"nri.request_timeout_ms", OptionKind::kInteger,
     [](Config& config, const std::string& value) {
       return SetInteger(config.nri.request_timeout_ms, value, 10, 600000);
     },
     "milliseconds that a plugin has to answer a request"},
    {"nri.default_policy.required", OptionKind::kText,
     [](Config& config, const std::string& value) {
       return SetBool(config.nri.default_policy.required, value);
     },
     "whether a request fails with a plugin, unless nri.plugins says otherwise: true or false"},
    {"nri.default_policy.strikes", OptionKind::kInteger,
     [](Config& config, const std::string& value) {
       return SetInteger(config.nri.default_policy.strikes, value, 0, 1000);
     },
     "failures in a row that end the connection of a plugin; 0: the first one does"},
    {"nri.validator.reject_oci_hooks", OptionKind::kText,
     [](Config& config, const std::string& value) {
       return SetBool(config.nri.validator.reject_oci_hooks, value);
     },
     "refuse containers to which a plugin adds hooks of the OCI runtime: true or false"},
    {"nri.validator.reject_runtime_default_seccomp", OptionKind::kText,
     [](Config& config, const std::string& value) {
       return SetBool(config.nri.validator.reject_runtime_default_seccomp, value);
     },
     "refuse containers whose seccomp profile RuntimeDefault a plugin changes: true or false"},
    {"nri.validator.reject_unconfined_seccomp", OptionKind::kText,
     [](Config& config, const std::string& value) {
       return SetBool(config.nri.validator.reject_unconfined_seccomp, value);
     },
     "refuse containers to which a plugin gives a seccomp profile that had none: true or false"},
    {"nri.validator.reject_custom_seccomp", OptionKind::kText,
     [](Config& config, const std::string& value) {
       return SetBool(config.nri.validator.reject_custom_seccomp, value);
     },
     "refuse containers whose own seccomp profile a plugin changes: true or false"},
    {"nri.validator.reject_namespaces", OptionKind::kText,
     [](Config& config, const std::string& value) {
       return SetBool(config.nri.validator.reject_namespaces, value);
     },
     "refuse containers whose namespaces a plugin changes: true or false"},
    {"nri.validator.reject_sysctls", OptionKind::kText,
     [](Config& config, const std::string& value) {
       return SetBool(config.nri.validator.reject_sysctls, value);
     },
     "refuse containers whose sysctls a plugin changes: true or false"},
    {"nri.validator.required_plugins", OptionKind::kTextList, AddRequiredPlugin,
     "plugins without whose word no container is made",
     [](Config& config) { config.nri.validator.required_plugins.clear(); }},
    {"nri.validator.tolerate_missing_annotation", OptionKind::kText, SetToleration,
     "annotation of a pod that does without those plugins; empty: none"},
    {"cgroup_parent", OptionKind::kText, SetCgroupParent,
     "control group of pods that name none of their own"},
    {"cgroup_driver", OptionKind::kText,
     [](Config& config, const std::string& value) {
       return SetChoice(config.cgroup_driver, value, {"auto", "cgroupfs", "systemd"});
     },
     "manager of control groups, as reported to kubelet: auto, cgroupfs or systemd"},
    {"restrict_oom_score_adj", OptionKind::kText,
     [](Config& config, const std::string& value) {
       return SetChoice(config.restrict_oom_score_adj, value, {"auto", "true", "false"});
     },
     "raise oom_score_adj to the daemon's own if a lower one is not permitted: auto, true or "
     "false"},
    {"image_volumes", OptionKind::kText,
     [](Config& config, const std::string& value) {
       return SetChoice(config.image_volumes, value, {"exec", "noexec"});
     },
     "whether programs in images mounted as volumes may run: exec or noexec"},
    {"volumes", OptionKind::kText,
     [](Config& config, const std::string& value) {
       return SetChoice(config.volumes, value, {"mount", "ignore"});
     },
     "whether containers have the volumes that their image declares (VOLUME): mount or ignore"},
    {"exec", OptionKind::kText,
     [](Config& config, const std::string& value) {
       return SetChoice(config.exec, value, {"direct", "crun"});
     },
     "the program that starts commands in a container: direct (plimsoll-exec) or crun"},
    {"workers", OptionKind::kInteger,
     [](Config& config, const std::string& value) {
       return SetInteger(config.workers, value, 1, 1024);
     },
     "threads for each of four kinds of waiting calls: for commands (exec), for the end of "
     "containers, for registries, for networks of new pods"},
    {"event_log.capacity", OptionKind::kInteger,
     [](Config& config, const std::string& value) {
       return SetInteger(config.event_log_capacity, value, 1, 1000000);
     },
     "events that are kept for plimsoll events"},
    {"registries.insecure", OptionKind::kTextList, AddInsecureRegistry,
     "registries that may speak plain HTTP or have an unchecked certificate",
     [](Config& config) { config.insecure_registries.clear(); }},
    {"registries.file", OptionKind::kText, SetRegistriesFile,
     "path of a containers-registries.conf(5); empty: /etc/containers/registries.conf"},
    {"images.pinned", OptionKind::kTextList, AddPinnedImage,
     "images that clients must not collect as garbage; * at the end of a name stands for anything",
     [](Config& config) { config.pinned_images.clear(); }},
    {"images.share_layers", OptionKind::kText,
     [](Config& config, const std::string& value) { return SetBool(config.share_layers, value); },
     "use a layer that is here for every registry whose image names it, without fetching it: "
     "true or false"},
    {"feature_gates", OptionKind::kGates,
     [](Config& config, const std::string& value) { return config.feature_gates.Set(value); },
     "Name=true,Name=false"},
};

}  // namespace

absl::Span<const Option> Options() {
  return kOptions;
}

}  // namespace plimsoll::daemon
