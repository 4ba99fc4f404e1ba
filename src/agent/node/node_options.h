// The part of the agent's configuration that describes its node.
#ifndef PLIMSOLL_AGENT_NODE_NODE_OPTIONS_H_
#define PLIMSOLL_AGENT_NODE_NODE_OPTIONS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "resources/cpu_set.h"
#include "resources/quantity.h"

namespace plimsoll::agent {

// Amounts by resource: "cpu", "memory", "hugepages-2Mi", "ephemeral-storage", "pods".
using ResourceList = std::map<std::string, resources::Quantity>;

// Where the node's resources are learnt (`resourceDiscovery`).
enum class DiscoveryMode {
  kAuto,   // the runtime's topology; the machine's own where the runtime has no such call
  kCri,    // the runtime's topology only: without the call the node is NotReady
  kLocal,  // the machine's own
};
// "auto", "cri" or "local"; INVALID_ARGUMENT names these.
absl::StatusOr<DiscoveryMode> ParseDiscoveryMode(absl::string_view text);

struct NodeOptions {
  std::string name;                           // empty: the machine's host name
  std::map<std::string, std::string> labels;  // win over those that the node has by itself
  std::string address;                        // the node's IP address; empty: the machine's first
  ResourceList system_reserved;
  ResourceList kube_reserved;
  // reservedSystemCPUs: the number of those in the topology replaces the cpu of system_reserved.
  std::optional<resources::CpuSet> reserved_cpus;
  int64_t max_pods = 110;
  // The directory whose filesystem is the node's ephemeral storage.
  std::string state_directory;
  std::string agent_version;  // status.nodeInfo.kubeletVersion

  DiscoveryMode discovery = DiscoveryMode::kAuto;
  // Gate KubeletResourceDiscoveryFromCRI. Off: the machine's own topology.
  bool discovery_from_cri = true;
  // How long the start waits for the runtime's first topology.
  absl::Duration first_topology_limit = absl::Seconds(10);
  // Gate NodeResourceHotPlug (KEP-3953): the node's numbers follow its topology. Off: changes are
  // only logged.
  bool hot_plug = true;
  // True with a static CPU policy, which needs the numbers of all CPUs (KEP-5224 "kubelet").
  bool cpu_ids_required = false;
};

// INVALID_ARGUMENT names the option: a reserved resource that can't be reserved (all but cpu,
// memory, ephemeral-storage, hugepages-<size> and pid) or is negative, max_pods below 1, mode kCri
// while the gate is off, a name or label that Kubernetes does not take.
absl::Status CheckNodeOptions(const NodeOptions& options);

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_NODE_NODE_OPTIONS_H_
