// The newest topology, for any number of readers.
#ifndef PLIMSOLL_TOPOLOGY_PUBLISHER_H_
#define PLIMSOLL_TOPOLOGY_PUBLISHER_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "topology/zone.h"

namespace plimsoll::topology {

struct Edition {
  uint64_t number = 0;  // counts from 1; 0: none yet
  std::shared_ptr<const Topology> topology;
};

// Thread-safe. Keeps one edition and no queue: a reader that is slow finds the newest when it
// comes, and those in between are gone.
class Publisher {
 public:
  // True when it differs from the newest, and is the newest now.
  bool Publish(Topology topology);
  Edition Newest() const;

  // Calls `wake` at each new edition from now on, in the publishing thread, until Unsubscribe,
  // which waits for a call under way. It must be quick and must not call the publisher; Newest is
  // what it has been given.
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
