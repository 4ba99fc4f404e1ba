// Update commands of runtime handlers: a larger size is reported before an update, a smaller one
// after it, and the current size again if the update fails.
//
//   HandlerTurn turn(sandbox->turns, id);              one update of a pod at a time
//   updates.ReportBefore(record, {wanted, &asked}, turn, &report)  before the kernel and the row
//   ...                                                the update
//   updates.Close(sandbox_id, is_made, &report)        within the turn
//   if (report.is_due) updates.ReportCurrent(sandbox_id, id)  after it
#ifndef PLIMSOLL_RUNTIME_UPDATES_HANDLER_UPDATES_H_
#define PLIMSOLL_RUNTIME_UPDATES_HANDLER_UPDATES_H_

#include <list>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "base/worker_pool.h"
#include "runtime/objects/engine_options.h"
#include "runtime/objects/handler_turns.h"
#include "runtime/objects/objects.h"
#include "runtime/pod/pod_handlers.h"
#include "runtime/pod/pod_pictures.h"

namespace plimsoll::runtime {

struct PodSize;  // runtime/handlers/pod_size.h

// A file in the sandbox's directory marks that the handler may have a size that isn't current. The
// file outlives the daemon, and the next start reports the current size.
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
  // The reports of one update.
  struct SizeReport {
    bool ran = false;        // the command was started before the update
    bool is_marked = false;  // the file is this update's
    bool is_less = false;    // the update makes the size smaller
    bool is_due = false;     // ReportCurrent is to be called, once the turn is over
  };
  // Runs the handler's update command, if it has one, with a size that holds the pod as it is and
  // as it is wanted. An update that makes the size smaller in all its parts needs no command before
  // it. FAILED_PRECONDITION if the command fails or the update is called off; DEADLINE_EXCEEDED.
  absl::Status ReportBefore(const SandboxRecord& now, const Wanted& wanted, HandlerTurn& turn,
                            SizeReport* report) const;
  // Ends the update's part within its turn. `is_made`: the update has been applied.
  void Close(const std::string& sandbox_id, bool is_made, SizeReport* report) const;
  // Reports the current size after an update that made it smaller, that failed, or that was cut
  // off. The caller holds no operation's lock. A failure becomes a warning of the container, or of
  // the pod if `container_id` is empty; the next update or start tries again.
  void ReportCurrent(const std::string& sandbox_id, const std::string& container_id) const;
  // After a restart: ReportCurrent in another thread, if the file says so.
  void ReportCurrentLater(const std::string& sandbox_id);

  // Ends all update commands. Updates that need one fail from now on.
  void CallOffAll();

 private:
  // Runs the command with `size`. `ran`: whether it was started.
  absl::Status Run(const Handler& handler, const Wanted& wanted, const PodSize& size,
                   HandlerTurn& turn, bool* ran) const;
  // Runs the command with the current size, if the handler has a command.
  absl::Status ReportSize(const SandboxRecord& record, HandlerTurn& turn) const;
  // Writes the command's input.
  absl::Status Mark(const Wanted& wanted, const PodSize& size) const;
  // The size reported last is the current one.
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

#endif  // PLIMSOLL_RUNTIME_UPDATES_HANDLER_UPDATES_H_
