// plimsoll-agent, wired: the node, its pods, the directory of manifests, the API.
#ifndef PLIMSOLL_AGENT_AGENT_H_
#define PLIMSOLL_AGENT_AGENT_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "agent/config.h"
#include "service/logging.h"

namespace plimsoll::agent {

class Agent {
 public:
  // Starts everything. Waits a limited time for the node's first topology, and the API answers
  // meanwhile: without a topology the node is NotReady. FAILED_PRECONDITION: another agent uses the
  // state directory, or a kubelet runs on this machine. CANCELLED: `is_to_stop`, asked many times a
  // second of that wait, said so. `log` outlives this.
  static absl::StatusOr<std::unique_ptr<Agent>> Start(const AgentConfig& config,
                                                      const std::string& version, Log* log,
                                                      const std::function<bool()>& is_to_stop);
  // Pods run on.
  virtual ~Agent() = default;
};

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_AGENT_H_
