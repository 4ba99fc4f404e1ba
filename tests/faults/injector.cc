#include "faults/injector.h"

#include <unistd.h>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "base/fault_injection.h"

namespace plimsoll::testing {
namespace {

struct State {
  absl::Mutex mutex;
  int left ABSL_GUARDED_BY(mutex) = 0;
  int undo_left ABSL_GUARDED_BY(mutex) = 0;
  pid_t armed_by ABSL_GUARDED_BY(mutex) = 0;
  Fired fired ABSL_GUARDED_BY(mutex);
};

State& TheState() {
  static State& state = *new State;
  return state;
}

absl::Status Hook(absl::string_view verb, absl::string_view object) {
  State& state = TheState();
  absl::MutexLock lock(&state.mutex);
  const std::string action = absl::StrCat(verb, " ", object);
  const bool is_cleanup = verb == "remove" || verb == "unmount" || object.substr(0, 6) == "DELETE";
  if (state.fired.fired) {
    if (!is_cleanup || state.undo_left == 0 || --state.undo_left > 0) return absl::OkStatus();
    state.fired.undo_fired = true;
    state.fired.undo_action = action;
  } else {
    if (state.left == 0 || --state.left > 0) return absl::OkStatus();
    state.fired.fired = true;
    state.fired.action = action;
    state.fired.is_cleanup = is_cleanup;
    state.fired.elsewhere = gettid() != state.armed_by;
  }
  return absl::InternalError(absl::StrCat(kInjected, ": ", action));
}

}  // namespace

void Arm(int nth, int undo_nth) {
  State& state = TheState();
  {
    absl::MutexLock lock(&state.mutex);
    state.left = nth;
    state.undo_left = undo_nth;
    state.armed_by = gettid();
    state.fired = Fired();
  }
  SetFaultHook(&Hook);
}

Fired Disarm() {
  SetFaultHook(nullptr);
  State& state = TheState();
  absl::MutexLock lock(&state.mutex);
  state.left = 0;
  state.undo_left = 0;
  return state.fired;
}

}  // namespace plimsoll::testing
