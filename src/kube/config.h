// The configuration of plimsoll-kube: a file and flags.
#ifndef PLIMSOLL_KUBE_CONFIG_H_
#define PLIMSOLL_KUBE_CONFIG_H_

#include <functional>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "kube/publish/publish_options.h"

namespace plimsoll::kube {

inline constexpr char kDefaultConfigPath[] = "/etc/plimsoll/plimsoll-kube.yaml";

// Keys have the members' names in camelCase (plimsoll-kube.yaml(5)).
struct KubeProgramConfig {
  std::string node_name;   // empty: $NODE_NAME, else the machine's host name
  std::string kubeconfig;  // empty: the service account of the pod that this runs in
  std::string runtime_socket = "/run/plimsoll/cluster/cluster.sock";
  std::string kubelet_root = "/var/lib/kubelet";
  std::string state_directory = "/var/lib/plimsoll-kube";
  std::string metrics_address;  // "127.0.0.1:9465"; empty: no metrics
  PublishOptions publish;
  std::string log_format = "text";  // "text", "json"
  std::string log_level = "info";   // "debug", "info", "warning", "error"
};

// INVALID_ARGUMENT names the place of each fault, a line each.
absl::StatusOr<KubeProgramConfig> ParseConfig(absl::string_view text, absl::string_view file);

// In force over the file's.
struct ConfigFlags {
  std::optional<std::string> config;  // --config; else kDefaultConfigPath, if it exists
  std::optional<std::string> node_name, kubeconfig, runtime_socket, kubelet_root, state_directory,
      metrics_address, log_level;
};

// Works like getenv(3).
using Environment = std::function<const char*(const char*)>;

// `fault` with the places of its keys in the file, as "FILE:LINE:COLUMN: " before each line, unless
// flags are in force over the file: a flag's value has no place.
absl::Status WithPlaces(const absl::Status& fault, const ConfigFlags& flags);

// Reads the file, puts the flags over it, and checks the whole.
absl::StatusOr<KubeProgramConfig> LoadConfig(const ConfigFlags& flags,
                                             const Environment& environment);

}  // namespace plimsoll::kube

#endif  // PLIMSOLL_KUBE_CONFIG_H_
