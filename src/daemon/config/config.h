// The daemon's configuration: a plain struct, filled from a YAML file and from command line flags.
//
//   PLIMSOLL_ASSIGN_OR_RETURN(Config config, LoadConfig("/etc/plimsoll/plimsolld.yaml"));
//   PLIMSOLL_RETURN_IF_ERROR(SetOption(config, "log.level", "debug"));
//   PLIMSOLL_RETURN_IF_ERROR(ValidateConfig(config));
//
// packaging/plimsolld.yaml names every key with its default; a test holds it against this.
#ifndef PLIMSOLL_DAEMON_CONFIG_CONFIG_H_
#define PLIMSOLL_DAEMON_CONFIG_CONFIG_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "nri/config.h"
#include "qos/classes_config.h"
#include "runtime/handlers/handler.h"
#include "service/feature_gates.h"
#include "topology/partition_config.h"

namespace plimsoll::daemon {

inline constexpr char kDefaultConfigPath[] = "/etc/plimsoll/plimsolld.yaml";

struct LogConfig {
  std::string level = "info";   // debug, info, warning, error
  std::string format = "text";  // text, json
  bool operator==(const LogConfig&) const = default;
};

// Pods' networks (CNI).
struct PodNetworkConfig {
  std::string config_dir = "/etc/cni/net.d";  // empty: pods have loopback alone
  std::vector<std::string> plugin_dirs = {"/opt/cni/bin", "/usr/lib/cni", "/usr/libexec/cni"};
  int plugin_timeout = 60;              // seconds, for each execution
  std::vector<std::string> interfaces;  // interfaces whose addresses are the pod's; empty: all
  bool collect_garbage = false;
  bool unprivileged_ports = true;  // any user of a pod may listen at ports below 1024
  bool unprivileged_ping = true;   // and send ICMP echo requests
  bool operator==(const PodNetworkConfig&) const = default;
};

// Exec, attach and port-forward.
struct StreamingConfig {
  std::string address = "127.0.0.1:0";  // port 0: a free one; empty: no streaming server
  std::string certificate;              // absolute paths of PEM files, for TLS; both or none
  std::string key;
  int idle_timeout = 4 * 60 * 60;  // seconds
  int creation_timeout = 30;       // seconds
  bool operator==(const StreamingConfig&) const = default;
};

// The value of kube.socket_group that means plimsoll-kube's own group, if there is one.
inline constexpr char kAutomaticGroup[] = "auto";

// The socket for plimsoll-kube.
struct KubeConfig {
  std::string socket = "auto";  // absolute path; auto: cluster/cluster.sock in run_dir; empty: none
  // The group that may use it beside root; auto: plimsoll-kube, where this machine has that group;
  // empty: root only.
  std::string socket_group = kAutomaticGroup;
  bool operator==(const KubeConfig&) const = default;
};

// Kubelet's local sockets, asked about pods whose client passes no resources down.
struct KubeletConfig {
  std::string root = "/var/lib/kubelet";
  std::string pods = "auto";  // auto: asked where they exist; off
  bool operator==(const KubeletConfig&) const = default;
};

struct Config {
  std::string address;       // "unix:///run/a.sock"; empty: plimsoll.sock in run_dir
  std::string socket_group;  // the group that may use the socket beside root; empty: root only
  std::string state_dir = "/var/lib/plimsoll";
  std::string run_dir = "/run/plimsoll";
  LogConfig log;
  std::string metrics_address;  // "127.0.0.1:9464"; empty: no metrics endpoint
  std::string crun;             // absolute path; empty: found in PATH
  // Directories of CDI specs; a later one overrides an earlier one.
  std::vector<std::string> cdi_spec_dirs = {"/etc/cdi", "/var/run/cdi"};
  PodNetworkConfig network;
  StreamingConfig streaming;
  KubeConfig kube;
  KubeletConfig kubelet;
  nri::NriSettings nri;  // `policies`: in the file only
  std::string cgroup_parent = "/plimsoll";
  std::string cgroup_driver = "auto";           // auto, cgroupfs, systemd
  std::string restrict_oom_score_adj = "auto";  // auto, true, false
  std::string image_volumes = "exec";           // exec, noexec
  std::string volumes = "mount";                // mount, ignore: VOLUME of images
  std::string exec = "direct";                  // direct, crun
  int workers = 64;
  int event_log_capacity = 4096;
  std::vector<std::string> insecure_registries;  // "host" or "host:port", reached by plain HTTP
  // Absolute path of a containers-registries.conf(5); empty: /etc/containers/registries.conf.
  std::string registries_file;
  // Image names, where a final "*" stands for anything; clients never see them as garbage.
  std::vector<std::string> pinned_images;
  // A present layer may be used for any registry that names it.
  bool share_layers = false;
  FeatureGates feature_gates;
  // In the file only.
  qos::ClassesConfig classes;
  topology::NodeResourcesConfig node_resources;
  runtime::HandlerMap runtime_handlers;  // beside the default one, which has no name

  bool operator==(const Config&) const = default;
};

// Strict: INVALID_ARGUMENT "<file>:<line>:<column>: <fault and remedy>" for text that is not YAML,
// an unknown or repeated key, a value of a wrong type or out of range.
absl::StatusOr<Config> ParseConfig(absl::string_view text, absl::string_view file);
// Parses a file like ParseConfig. The error for an unreadable file names it and the reason.
absl::StatusOr<Config> LoadConfig(const std::string& path);

// Sets the option that the file's key `key` ("log.level") sets, as its command line flag does.
// Values of a list are separated by commas and replace the list.
absl::Status SetOption(Config& config, absl::string_view key, absl::string_view value);

struct OptionName {
  const char* key;
  const char* help;
};
// Every key of the file, in the order of the documentation.
std::vector<OptionName> OptionNames();

// Checks that need the whole configuration or this machine: directories are apart, group and
// programs exist.
absl::Status ValidateConfig(const Config& config);
// INVALID_ARGUMENT where only the scheduler gives classes and no socket could tell them.
absl::Status CheckScheduler(const Config& config);

// The socket's path.
std::string SocketPath(const Config& config);
// In run_dir, by default: the socket for plimsoll-kube alone, for clients that mount its directory.
inline constexpr char kClusterSocketDirectory[] = "cluster";
// That of the socket for plimsoll-kube; empty: there is none.
std::string ClusterSocketPath(const Config& config);
// That of the Node Resource Interface, where its plugins look for it if this is the machine's own
// daemon; empty: there is none.
std::string NriSocketPath(const Config& config);

}  // namespace plimsoll::daemon

#endif  // PLIMSOLL_DAEMON_CONFIG_CONFIG_H_
