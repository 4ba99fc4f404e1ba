// Keeps plugins from running at the same time where the CNI specification forbids it ("Lifecycle &
// Ordering"): nothing beside another command for the same container, and no ADD or DEL beside a GC,
// which would take their work for garbage.
#ifndef PLIMSOLL_NETWORK_TURNS_H_
#define PLIMSOLL_NETWORK_TURNS_H_

#include <set>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace plimsoll::network {

// Thread-safe. Outlives its turns.
class Turns {
 public:
  // Ends when destroyed.
  class Turn {
   public:
    Turn(Turn&& other) noexcept : turns_(std::exchange(other.turns_, nullptr)), id_(other.id_) {}
    Turn& operator=(Turn&&) = delete;
    ~Turn() {
      if (turns_ != nullptr) turns_->End(id_);
    }

   private:
    friend class Turns;
    Turn(Turns* turns, std::string id) : turns_(turns), id_(std::move(id)) {}
    Turns* turns_;
    const std::string id_;  // empty: for all containers
  };

  // Waits until nobody has a turn for this container, or for all.
  [[nodiscard]] Turn Take(const std::string& id);
  // A turn for all containers. UNAVAILABLE: others are still running after `patience`. It doesn't
  // keep them from starting before it begins.
  absl::StatusOr<Turn> TakeAll(absl::Duration patience);

 private:
  void End(const std::string& id);

  absl::Mutex mutex_;
  bool is_for_all_ ABSL_GUARDED_BY(mutex_) = false;
  std::set<std::string> taken_ ABSL_GUARDED_BY(mutex_);  // containers' ids
};

}  // namespace plimsoll::network

#endif  // PLIMSOLL_NETWORK_TURNS_H_
