// Update commands of runtime handlers: told a larger size before an update is made, a smaller one
// after it, and the size in force again if the update fails.
//
//   HandlerTurn turn(sandbox->turns, id);              one update of a pod at a time
//   updates.Tell(record, {wanted, &asked}, turn, &told)  before the kernel and the row
//   ...                                                the update
//   updates.Close(sandbox_id, is_made, &told)          within the turn
//   if (told.is_due) updates.TellInForce(sandbox_id, id)  after it
#ifndef PLIMSOLL_RUNTIME_HANDLER_UPDATES_H_
#define PLIMSOLL_RUNTIME_HANDLER_UPDATES_H_

#include <list>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "base/worker_pool.h"
#include "runtime/engine_options.h"
#include "runtime/handler_turns.h"
#include "runtime/objects.h"
#include "runtime/pod_handlers.h"
#include "runtime/pod_pictures.h"

namespace plimsoll::runtime {

struct PodSize;  // runtime/handlers/pod_size.h

// A file in the sandbox's place says that the handler may have been told values that aren't in
// force. The file outlives the daemon, and the next start tells the handler the values in force.
//
// Uses `run` and `events` of the options, Objects, PodPictures and PodHandlers. The arguments must
// outlive this object.
//
// Thread-safe. Commands may take minutes; a stop or removal calls them off (HandlerTurns). Its lock
// guards the turns that CallOffAll has called off. It is taken before the locks of Objects and of
// HandlerTurns, and held over no other.
class HandlerUpdates {
 public:
  HandlerUpdates(const EngineOptions& options, const Objects* objects, const PodPictures* pictures,
                 const PodHandlers* handlers)
      : options_(options), objects_(objects), pictures_(pictures), handlers_(handlers) {}

  // The sandbox `id`, if its updates take turns (PodHandlers::TakesTurns); else null.
  absl::StatusOr<std::shared_ptr<Sandbox>> SandboxThatTakesTurns(absl::string_view id) const;
  // The turns of the container's pod, for a CallOff; null: the pod is unknown.
  std::shared_ptr<HandlerTurns> TurnsOf(const Container& container) const;

  // An update: the pod's record after it, or the spec after it of a container.
  struct Wanted {
    const SandboxRecord& sandbox;
    const ContainerSpec* also = nullptr;  // see PodPictures::Of
  };
  // The handler's part in an update.
  struct Told {
    bool ran = false;        // the command was started before the update
    bool is_marked = false;  // the file is this update's
    bool is_less = false;    // the update makes the size smaller
    bool is_due = false;     // TellInForce is to be called, once the turn is over
  };
  // Runs the handler's update command, if it has one, with a size that holds the pod as it is and
  // as it is wanted. An update that makes the size smaller in all its parts needs no command before
  // it. FAILED_PRECONDITION if the command fails or the update is called off; DEADLINE_EXCEEDED.
  absl::Status Tell(const SandboxRecord& now, const Wanted& wanted, HandlerTurn& turn,
                    Told* told) const;
  // Ends the update's part within its turn. `is_made`: the update is in force.
  void Close(const std::string& sandbox_id, bool is_made, Told* told) const;
  // Tells the handler the values in force: after an update that made the size smaller, that failed,
  // or that was cut off. The caller holds no operation's lock. A failure becomes a warning of the
  // container, or of the pod if `container_id` is empty; the next update or start tries again.
  void TellInForce(const std::string& sandbox_id, const std::string& container_id) const;
  // After a restart: TellInForce in another thread, if the handler may have been told values that
  // aren't in force.
  void TellInForceLater(const std::string& sandbox_id);

  // Ends all update commands. Updates that need one fail from now on.
  void CallOffAll();

 private:
  // Runs the command with `size`. `ran`: whether it was started.
  absl::Status Run(const Handler& handler, const Wanted& wanted, const PodSize& size,
                   HandlerTurn& turn, bool* ran) const;
  // Runs the command with the size in force, if the handler has one.
  absl::Status TellSize(const SandboxRecord& record, HandlerTurn& turn) const;
  // Writes the command's input.
  absl::Status Mark(const Wanted& wanted, const PodSize& size) const;
  // The values told last are in force.
  void Unmark(const std::string& sandbox_id) const;

  const EngineOptions& options_;
  const Objects* const objects_;
  const PodPictures* const pictures_;
  const PodHandlers* const handlers_;
  absl::Mutex mutex_;
  std::list<CallOff> called_off_ ABSL_GUARDED_BY(mutex_);
  // Last, so that its threads end before what they use.
  WorkerPool tellers_{/*max_threads=*/4, /*max_queued=*/10000};
};

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_HANDLER_UPDATES_H_
