// The number of holders that drifted from their classes, counted at a bounded cost.
#ifndef PLIMSOLL_QOS_DRIFT_WATCH_H_
#define PLIMSOLL_QOS_DRIFT_WATCH_H_

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "qos/registry.h"

namespace plimsoll::qos {

// Looking at a holder costs some reads of kernel files for each of its types. So each call looks at
// as many as there is time for, in the order of their ids. A change under way looks like drift:
// only a difference seen twice in a row counts. Thread-safe.
class DriftWatch {
 public:
  // `registry` must outlive it.
  explicit DriftWatch(const Registry* registry) : registry_(*registry) {}

  using Key = std::tuple<Level, std::string, std::string>;  // of a class: level, type, class
  // Looks for that long, at one holder at least and at none twice. Returns the number of drifted
  // holders of each class, by the last looks at each; classes without any are left out.
  std::map<Key, uint64_t> Look(absl::Duration budget);
  // Holders of drifted classes, one sentence each, `most` of a class at most. Looks at nothing.
  std::map<Key, std::vector<std::string>> Drifted(size_t most) const;
  // Whether a difference was seen once: another look decides whether it counts.
  bool HasNew() const;

 private:
  struct Seen {
    std::map<Key, std::string> differs;  // in the last look, with the sentence
    std::map<Key, std::string> drifted;  // in the last two
  };

  void LookAt(const Target& target) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Registry& registry_;
  mutable absl::Mutex mutex_;
  std::map<std::string, Seen> seen_ ABSL_GUARDED_BY(mutex_);  // by id
  std::string last_ ABSL_GUARDED_BY(mutex_);                  // the id that was looked at last
};

}  // namespace plimsoll::qos

#endif  // PLIMSOLL_QOS_DRIFT_WATCH_H_
