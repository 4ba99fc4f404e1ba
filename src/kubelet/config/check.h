// Holds a kubelet's configuration and state against the pods' part of the node.
#ifndef PLIMSOLL_KUBELET_CONFIG_CHECK_H_
#define PLIMSOLL_KUBELET_CONFIG_CHECK_H_

#include <string>
#include <vector>

#include "kubelet/config/configuration.h"
#include "kubelet/config/cpu_state.h"
#include "kubelet/config/node_share.h"

namespace plimsoll::kubelet {

struct KubeletFinding {
  // kubelet gives pods what isn't theirs, or doesn't start. Otherwise: it gives them less than it
  // could, or what no configuration of kubelet's can change.
  bool is_conflict = true;
  std::string field;  // "reservedSystemCPUs", "cpu_manager_state"
  std::string message;
  bool operator==(const KubeletFinding&) const = default;
};

// `endpoint` is plimsolld's: "unix:///run/plimsoll/plimsoll.sock".
std::vector<KubeletFinding> CheckConfiguration(const Configuration& configuration,
                                               const KubeletShare& share,
                                               const std::string& endpoint);

// `state` is that of a kubelet with the configuration, running or not.
std::vector<KubeletFinding> CheckState(const CpuState& state, const Configuration& configuration,
                                       const KubeletShare& share);

}  // namespace plimsoll::kubelet

#endif  // PLIMSOLL_KUBELET_CONFIG_CHECK_H_
