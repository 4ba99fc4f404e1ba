// Pods and containers in the making: begun and not visible yet.
#ifndef PLIMSOLL_NRI_MAKINGS_H_
#define PLIMSOLL_NRI_MAKINGS_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/synchronization/mutex.h"
#include "base/steady_news.h"
#include "base/steady_time.h"
#include "nri/adjust/adjust.h"

namespace plimsoll::nri {

// A making is unhooked until its hook is called: a plugin that joins can't be told of it, so it
// waits for its end. Thread-safe.
class Makings {
 public:
  // `ended` is called after each making that had updates kept, in the thread of its end, which may
  // have the engine's locks.
  explicit Makings(std::function<void(const std::string& id)> ended);
  // `ended` isn't called any more.
  ~Makings();
  Makings(const Makings&) = delete;
  Makings& operator=(const Makings&) = delete;

  // The making ends with the last copy, which may outlive this object.
  std::shared_ptr<void> Begin(const std::string& id);
  // The object's hook has been called.
  void MarkHooked(const std::string& id);
  // No plugin is left that was told of any.
  void ForgetHooked();
  // Waits until no making that is unhooked now is left, or `until`, or `give_up` returns true after
  // the wait was woken. True in the first case.
  bool AwaitUnhooked(SteadyTime until, absl::FunctionRef<bool()> give_up);
  void Wake();

  // Keeps an update for the time when the container is visible. False: it isn't in the making, or
  // has too many kept already.
  bool Keep(const AskedUpdate& update);
  // Takes the updates that were kept for a making that has ended.
  std::vector<AskedUpdate> TakeKept(const std::string& id);
  // The same for all makings that have ended, when calls of `ended` were lost.
  std::vector<AskedUpdate> TakeAllEnded();
  // Drops them: the making was undone.
  void DropKept(const std::string& id);

 private:
  struct State;
  const std::shared_ptr<State> state_;
};

}  // namespace plimsoll::nri

#endif  // PLIMSOLL_NRI_MAKINGS_H_
