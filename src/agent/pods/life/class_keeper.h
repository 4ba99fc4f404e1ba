// Keeps a living pod in the classes that its fields ask for.
#ifndef PLIMSOLL_AGENT_PODS_LIFE_CLASS_KEEPER_H_
#define PLIMSOLL_AGENT_PODS_LIFE_CLASS_KEEPER_H_

#include <functional>
#include <map>
#include <set>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "agent/pods/classes/class_change.h"
#include "agent/pods/classes/class_requests.h"
#include "agent/pods/life/back_off.h"
#include "agent/pods/records/observed_pod.h"
#include "agent/pods/records/pod_record.h"
#include "agent/pods/status/event_log.h"
#include "base/clock.h"
#include "pod_runner/manifest/manifest.h"
#include "pod_runner/runtime_client/client.h"

namespace plimsoll::agent {

// Used by one thread at a time.
class ClassKeeper {
 public:
  // The parts of a PodHost that it uses.
  struct Means {
    pod::Client& client;
    Clock& clock;
    KubeEventLog& events;
    const std::function<absl::StatusOr<NodeClasses>()>& node;  // null: classes are left alone
    bool writes = true;  // updates of containers have requests and limits as written (KEP-4112)
  };
  struct Outcome {
    std::set<std::string> changed;  // ids of containers and sandboxes: read them again
    absl::Duration pause = absl::InfiniteDuration();  // until a failed call's retry
  };
  // Makes the calls of ClassUpdates. A failure is an event, and retried after a pause; one of a
  // runtime that is away is retried soon.
  Outcome Keep(const Means& means, const PodRecord& record, const pod::Manifest& pod,
               const ObservedPod& observed);

 private:
  struct LivingPod {
    const PodRecord& record;
    const pod::Manifest& manifest;
    const ObservedPod& observed;
  };
  // Returns how long to wait with the next call for it.
  absl::Duration Make(const Means& means, const LivingPod& pod, const ClassUpdate& update,
                      std::set<std::string>& changed);

  BackOff back_off_;
  std::map<std::string, absl::Time> retry_at_;  // by id and classes: another change is no retry
};

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_PODS_LIFE_CLASS_KEEPER_H_
