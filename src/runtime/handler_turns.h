// Whose turn it is to update a pod whose runtime handler is told of updates or has fixed resources.
//
//   HandlerTurn turn(sandbox->turns, container.id);       // an update
//   PLIMSOLL_RETURN_IF_ERROR(turn.status());
//
//   const CallOff call_off(sandbox->turns, container.id);  // a stop, before it takes a lock
#ifndef PLIMSOLL_RUNTIME_HANDLER_TURNS_H_
#define PLIMSOLL_RUNTIME_HANDLER_TURNS_H_

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "base/cancellation.h"

namespace plimsoll::runtime {

class HandlerTurn;

// Of one pod: its updates one at a time, since each is held against what the others have made of
// it, and its handler's command, which may take minutes. No stop and no removal waits for either:
// it calls the updates off. Thread-safe.
class HandlerTurns {
 public:
  explicit HandlerTurns(std::string pod) : pod_(std::move(pod)) {}

 private:
  friend class HandlerTurn;
  friend class CallOff;
  // Of the pod, or of that one of its containers.
  bool IsCalledOff(const std::string& id) const ABSL_SHARED_LOCKS_REQUIRED(mutex_);

  const std::string pod_;  // its id
  absl::Mutex mutex_;
  HandlerTurn* holder_ ABSL_GUARDED_BY(mutex_) = nullptr;
  std::map<std::string, int> called_off_ ABSL_GUARDED_BY(mutex_);  // by id: how often
};

// The turn of one update, from its construction, which waits for it, to its destruction.
class HandlerTurn {
 public:
  // `id`: what is updated, the pod or a container in it.
  HandlerTurn(std::shared_ptr<HandlerTurns> turns, std::string id);
  ~HandlerTurn();
  HandlerTurn(const HandlerTurn&) = delete;
  HandlerTurn& operator=(const HandlerTurn&) = delete;

  // FAILED_PRECONDITION once the update has been called off; before it had its turn, or since.
  absl::Status status() const;
  // For what is waited for meanwhile.
  Cancellation* cancellation() { return &cancellation_; }

 private:
  friend class CallOff;
  const std::shared_ptr<HandlerTurns> turns_;
  const std::string id_;
  Cancellation cancellation_;
};

// While there is one, updates of `id` are called off: the one under way, those that wait, and those
// that come. Of the pod's id: updates of its containers, too. It waits for nothing, unless asked
// to. Null `turns`: there is nothing to call off.
class CallOff {
 public:
  CallOff(std::shared_ptr<HandlerTurns> turns, std::string id);
  ~CallOff();
  CallOff(const CallOff&) = delete;
  CallOff& operator=(const CallOff&) = delete;

  // Returns when none that is called off has its turn any more: soon, unless the kernel keeps a
  // command that was killed. No lock of the engine's may be held that an update takes.
  void AwaitEnd() const;

 private:
  const std::shared_ptr<HandlerTurns> turns_;
  const std::string id_;
};

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_HANDLER_TURNS_H_
