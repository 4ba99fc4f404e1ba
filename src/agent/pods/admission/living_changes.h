// Changes of living pods' specs: which are taken, and when the node has room for them (kubelet's
// allocation manager).
#ifndef PLIMSOLL_AGENT_PODS_ADMISSION_LIVING_CHANGES_H_
#define PLIMSOLL_AGENT_PODS_ADMISSION_LIVING_CHANGES_H_

#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "agent/pods/life/pod_host.h"
#include "agent/pods/life/pod_table.h"
#include "pod_runner/manifest/manifest.h"

namespace plimsoll::agent {

// Pods that come or change together with one, as they will be.
struct ChangedTogether {
  std::map<std::string, const pod::Manifest*> living;  // by uid
  std::vector<const pod::Manifest*> fresh;
};

// The caller holds the lock that orders which pods there are and what they have.
class LivingChanges {
 public:
  // See AgentPods.
  using Admit = std::function<absl::StatusOr<std::optional<PodVerdict>>(
      const pod::Manifest& pod, const std::vector<const pod::Manifest*>& others)>;

  // All outlive this.
  LivingChanges(const PodHost& host, const Admit& admit, PodTable& table)
      : host_(host), admit_(admit), table_(table) {}

  // Whether the pod may change to `object`; `manifest` is `object` parsed. `together` counts
  // already, in place of what these pods have.
  //
  // FAILED_PRECONDITION: a field differs that stays for life, the pod has ended, or amounts differ
  // while gate InPlacePodVerticalScaling is off. INVALID_ARGUMENT as CheckResize. Errors of
  // PodHost::check_classes.
  absl::Status Check(const PodWorker& pod, const nlohmann::json& object,
                     const pod::Manifest& manifest, const ChangedTogether& together = {}) const;
  // Puts the change on record after Check. One that the node has no room for waits
  // (PodResizePending). Errors of PodWorker::Put.
  absl::Status Put(PodWorker& pod, const nlohmann::json& object, const pod::Manifest& manifest);
  // Tries those that wait, the oldest pod first. After room came about. With gate
  // InPlacePodVerticalScaling off they go on waiting.
  void Retry();

 private:
  // The pods that have not ended, without one.
  struct Others {
    std::vector<std::shared_ptr<const pod::Manifest>> kept;
    std::vector<const pod::Manifest*> list;  // of `kept`
  };
  Others OthersOf(const PodWorker& pod, const ChangedTogether& together) const;
  // nullopt: the node has room. Else "Deferred" or "Infeasible".
  std::optional<PodVerdict> Judge(const PodWorker& pod, const pod::Manifest& wanted) const;
  std::optional<PodVerdict> JudgeByManagers(const PodWorker& pod,
                                            const pod::Manifest& wanted) const;
  void Tell(const PodRecord& record, const char* type, const char* reason,
            absl::string_view message);

  const PodHost& host_;
  const Admit& admit_;
  PodTable& table_;
};

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_PODS_ADMISSION_LIVING_CHANGES_H_
