// Pods that a node has too little for: its capacity has shrunk under them.
#ifndef PLIMSOLL_AGENT_PODS_ADMISSION_CAPACITY_CHECK_H_
#define PLIMSOLL_AGENT_PODS_ADMISSION_CAPACITY_CHECK_H_

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "agent/pods/life/pod_table.h"
#include "agent/pods/records/pod_record.h"
#include "agent/pods/status/event_log.h"
#include "pod_runner/manifest/manifest.h"
#include "resources/requirements.h"

namespace plimsoll::agent {

// A pod that has not ended.
struct ActivePod {
  const pod::Manifest* manifest = nullptr;
  absl::Time created;
};
// A pod that has no room, by its place in the list, and the first resource, by name, that it would
// have to give back.
struct SurplusPod {
  size_t index = 0;
  PodVerdict verdict;  // "Evicted", with kubelet's words
};

// The pods without which the others fit: the lowest QoS class first, of one class the newest first.
// A pod that requests nothing of what is short stays. Only resources that a topology has count
// (cpu, memory, ephemeral-storage, huge pages, pods): devices come and go with their plugins.
std::vector<SurplusPod> SurplusOf(const std::vector<ActivePod>& pods,
                                  const resources::ResourceList& allocatable);

// Looks whether the pods still fit, once for each change of the node's allocatable resources. Used
// by one thread at a time.
class CapacityCheck {
 public:
  // `evicts`: surplus pods fail; else they stay. Both with an event. `events` outlives this.
  CapacityCheck(KubeEventLog& events, bool evicts) : events_(events), evicts_(evicts) {}

  struct Outcome {
    std::vector<std::string> evicted;  // uids of the pods that are evicted now
    absl::Status status;               // the first error: a pod could not be put on record
  };
  // Does nothing while a pod of before has not been looked at, or the node has no resources yet:
  // call it again later. After an error the other pods are evicted all the same, and the next call
  // tries again.
  Outcome Look(const std::vector<PodTable::Worker>& pods,
               const resources::ResourceList& allocatable);

 private:
  KubeEventLog& events_;
  const bool evicts_;
  std::optional<resources::ResourceList> checked_;
};

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_PODS_ADMISSION_CAPACITY_CHECK_H_
