// The agent's pods, wired: their surroundings and their probes.
#ifndef PLIMSOLL_AGENT_POD_WIRING_H_
#define PLIMSOLL_AGENT_POD_WIRING_H_

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "agent/config.h"
#include "agent/counters/counters.h"
#include "agent/node_wiring.h"
#include "agent/pods/agent_pods.h"
#include "agent/pods/classes/class_requests.h"
#include "agent/pods/life/object_directory.h"
#include "agent/pods/life/pod_host.h"
#include "agent/pods/records/pod_store.h"
#include "agent/pods/status/event_log.h"
#include "agent/pods/status/pod_board.h"
#include "agent/pods_place.h"
#include "agent/probes/prober.h"
#include "agent/runtime.h"
#include "base/fs_root.h"
#include "pod_runner/manifest/manifest.h"
#include "service/logging.h"

namespace plimsoll::agent {

// Thread-safe after Start. End the place of the pods before this: workers use it.
class PodWiring {
 public:
  // References outlive this.
  struct Surroundings {
    const AgentConfig& config;
    Log* log;
    const FsRoot& root;  // "/"
    PodStore& store;
    ObjectDirectory* objects;  // null: there is none
    KubeEventLog& events;
    PodBoard& board;
    std::shared_ptr<Counters> counters;
    Runtime& runtime;
    NodeWiring& node;
    PodsPlace& pods;
  };
  // Goes on with the pods on record, and puts them into their place.
  static absl::StatusOr<std::unique_ptr<PodWiring>> Start(Surroundings around);

  const Prober& prober() const { return *prober_; }

 private:
  explicit PodWiring(Surroundings around) : around_(std::move(around)) {}

  absl::Status StartPods();
  void StartProber();
  PodHost Host();
  void AddGroups(PodHost& host);
  bool GateIsOn(const std::string& gate) const {
    return around_.config.feature_gates.enabled(gate);
  }
  void Warn(absl::string_view message) const;
  absl::StatusOr<ClassRequests> Classes(const pod::Manifest& pod) const;
  std::set<std::string> PodClassTypes() const;
  nlohmann::json NodeWithClasses() const;
  absl::StatusOr<std::optional<PodVerdict>> Admit(
      const pod::Manifest& pod, const std::vector<const pod::Manifest*>& others) const;

  const Surroundings around_;
  std::unique_ptr<Prober> prober_;
};

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_POD_WIRING_H_
