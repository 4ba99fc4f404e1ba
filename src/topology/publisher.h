// The newest topology, for any number of readers.
#ifndef PLIMSOLL_TOPOLOGY_PUBLISHER_H_
#define PLIMSOLL_TOPOLOGY_PUBLISHER_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "topology/zones/zone.h"

namespace plimsoll::topology {

struct Edition {
  uint64_t number = 0;  // counts from 1; 0: none yet
  std::shared_ptr<const Topology> topology;
};

// Thread-safe. Keeps one edition and no queue: a slow reader finds the newest when it comes, and
// misses those in between.
class Publisher {
 public:
  // Makes `topology` the newest edition and returns true, unless it equals the present one.
  bool Publish(Topology topology);
  Edition Newest() const;

  // Calls `wake` with each new edition, which Newest returns from then on, in the publishing
  // thread. Ends with Unsubscribe, which waits for a call under way. `wake` must be quick and must
  // not call the publisher.
  int Subscribe(std::function<void(const Edition&)> wake);
  void Unsubscribe(int id);
  size_t subscribers() const;

 private:
  mutable absl::Mutex mutex_;
  Edition newest_ ABSL_GUARDED_BY(mutex_);
  std::map<int, std::function<void(const Edition&)>> wakes_ ABSL_GUARDED_BY(mutex_);
  int next_id_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace plimsoll::topology

#endif  // PLIMSOLL_TOPOLOGY_PUBLISHER_H_
