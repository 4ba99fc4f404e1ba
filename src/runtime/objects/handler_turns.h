// Turns of updates of a pod whose runtime handler gets updates or has fixed resources.
//
//   HandlerTurn turn(sandbox->turns, container.id);       // an update
//   PLIMSOLL_RETURN_IF_ERROR(turn.status());
//
//   const CallOff call_off(sandbox->turns, container.id);  // a stop, before it takes a lock
#ifndef PLIMSOLL_RUNTIME_OBJECTS_HANDLER_TURNS_H_
#define PLIMSOLL_RUNTIME_OBJECTS_HANDLER_TURNS_H_

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "base/programs/cancellation.h"

namespace plimsoll::runtime {

class HandlerTurn;

// The turns of one pod: its updates run one at a time, since each is checked against the result of
// the one before. The handler's command in a turn may take minutes, but stops and removals call the
// updates off and don't wait. Thread-safe.
class HandlerTurns {
 public:
  explicit HandlerTurns(std::string pod) : pod_(std::move(pod)) {}

 private:
  friend class HandlerTurn;
  friend class CallOff;
  // Whether updates of `id`, the pod or a container in it, are called off.
  bool IsCalledOff(const std::string& id) const ABSL_SHARED_LOCKS_REQUIRED(mutex_);

  const std::string pod_;  // its id
  absl::Mutex mutex_;
  HandlerTurn* holder_ ABSL_GUARDED_BY(mutex_) = nullptr;
  std::map<std::string, int> called_off_ ABSL_GUARDED_BY(mutex_);  // number of CallOffs, by id
};

// The turn of one update, from its construction, which waits for it, to its destruction.
class HandlerTurn {
 public:
  // `id`: the pod or the container in it that is updated.
  HandlerTurn(std::shared_ptr<HandlerTurns> turns, std::string id);
  ~HandlerTurn();
  HandlerTurn(const HandlerTurn&) = delete;
  HandlerTurn& operator=(const HandlerTurn&) = delete;

  // FAILED_PRECONDITION once the update has been called off, before its turn or during it.
  absl::Status status() const;
  // Cancels waits during the turn when the update is called off.
  Cancellation* cancellation() { return &cancellation_; }

 private:
  friend class CallOff;
  const std::shared_ptr<HandlerTurns> turns_;
  const std::string id_;
  Cancellation cancellation_;
};

// While this object lives, updates of `id` are called off: the one under way, those waiting, and
// those to come. With the pod's id, updates of its containers too. The constructor doesn't wait for
// their end. Null `turns`: there is nothing to call off.
class CallOff {
 public:
  CallOff(std::shared_ptr<HandlerTurns> turns, std::string id);
  ~CallOff();
  CallOff(const CallOff&) = delete;
  CallOff& operator=(const CallOff&) = delete;

  // Waits until no called-off update has the turn: soon, unless the kernel keeps a killed command.
  // The caller may hold no lock of the engine that an update takes.
  void AwaitEnd() const;

 private:
  const std::shared_ptr<HandlerTurns> turns_;
  const std::string id_;
};

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_OBJECTS_HANDLER_TURNS_H_
