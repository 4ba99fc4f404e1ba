// How runtime handlers hear of updates: the command that is told before an update is made, and told
// back where the update wasn't.
//
//   HandlerTurn turn(sandbox->turns, id);              one update of a pod at a time
//   updates.Tell(record, &asked, turn, &told)          before the kernel and the row
//   ...                                                the update
//   updates.ToldWhatHolds(sandbox_id)                  it is made
//   if (told) updates.TellBack(sandbox_id, id)         it failed
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

// A file in the sandbox's place says that the handler may know something else than what holds; it
// outlives the daemon, and the next start tells the handler what holds.
//
// Uses `run` and `events` of the options, Objects, PodPictures and PodHandlers. The arguments must
// outlive it.
//
// Thread-safe. Commands may take minutes; a stop or removal calls them off (HandlerTurns). Its lock
// guards the turns that CallOffAll has called off. It is taken before the locks of Objects and of
// HandlerTurns, and held over no other.
class HandlerUpdates {
 public:
  HandlerUpdates(const EngineOptions& options, const Objects* objects, const PodPictures* pictures,
                 const PodHandlers* handlers)
      : options_(options), objects_(objects), pictures_(pictures), handlers_(handlers) {}

  // Null: there is no sandbox with that id whose updates take turns.
  absl::StatusOr<std::shared_ptr<Sandbox>> SandboxThatTakesTurns(absl::string_view id) const;
  // The turns of the container's pod, for a CallOff; null: its pod is not known.
  std::shared_ptr<HandlerTurns> TurnsOf(const Container& container) const;

  // Runs the handler's update command, if it has one. `also` as with PodPictures::Of. `ran`: it was
  // started, whatever it came to. FAILED_PRECONDITION of a command that fails or an update that is
  // called off, DEADLINE_EXCEEDED.
  absl::Status Tell(const SandboxRecord& sandbox, const ContainerSpec* also, HandlerTurn& turn,
                    bool* ran) const;
  // What the handler was told last is what holds.
  void ToldWhatHolds(const std::string& sandbox_id) const;
  // Tells the handler what holds, after an update that failed or was cut off. No operation's lock
  // is held. What fails is told as a warning of the container, or of the pod where the id is empty.
  void TellBack(const std::string& sandbox_id, const std::string& container_id) const;
  // After a restart: the same in another thread, if the handler may know something else.
  void TellBackLater(const std::string& sandbox_id);

  // Updates that wait for a command, or would, fail from now on, and the command is ended.
  void CallOffAll();

 private:
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
