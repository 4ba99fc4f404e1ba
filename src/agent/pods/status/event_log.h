// The agent's events as Kubernetes' v1 Events, the latest of them.
#ifndef PLIMSOLL_AGENT_PODS_STATUS_EVENT_LOG_H_
#define PLIMSOLL_AGENT_PODS_STATUS_EVENT_LOG_H_

#include <cstddef>
#include <cstdint>
#include <list>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "agent/pods/records/pod_key.h"
#include "base/clock.h"

namespace plimsoll::agent {

// The object that an event is about.
struct InvolvedObject {
  std::string kind = "Pod";  // or "Node"
  PodKey key;                // a node's namespace is empty
  std::string uid;
  std::string container;  // empty: the whole pod
};

// Thread-safe. An event that repeats an earlier one counts it up. Beyond the limit the oldest goes;
// beyond a tenth of it for one object, that object's oldest, so that no object drives out all
// others' events.
class KubeEventLog {
 public:
  explicit KubeEventLog(Clock& clock, std::string node, size_t limit = 1000)
      : clock_(clock), node_(std::move(node)), limit_(limit) {}

  // `type`: "Normal" or "Warning"; `reason`: kubelet's word, "BackOff".
  void Add(const InvolvedObject& subject, absl::string_view type, absl::string_view reason,
           absl::string_view message);
  // By last occurrence, oldest first; of one pod, or of everything.
  std::vector<nlohmann::json> List(const std::optional<PodKey>& pod) const;

 private:
  struct Entry {
    InvolvedObject subject;
    std::string type, reason, message;
    absl::Time first, last;
    int64_t count = 1;
    uint64_t number = 0;  // makes its name unique
  };
  nlohmann::json ObjectOf(const Entry& entry) const;
  // After an event about the subject.
  void Trim(const InvolvedObject& subject) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Clock& clock_;
  const std::string node_;
  const size_t limit_;
  mutable absl::Mutex mutex_;
  std::list<Entry> entries_ ABSL_GUARDED_BY(mutex_);
  uint64_t next_ ABSL_GUARDED_BY(mutex_) = 1;
};

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_PODS_STATUS_EVENT_LOG_H_
