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
  if (state.left == 0 || --state.left > 0) return absl::OkStatus();
  state.fired.fired = true;
  state.fired.action = absl::StrCat(verb, " ", object);
  state.fired.is_cleanup =
      verb == "remove" || verb == "unmount" || absl::string_view(object).substr(0, 6) == "DELETE";
  state.fired.elsewhere = gettid() != state.armed_by;
  return absl::InternalError(absl::StrCat(kInjected, ": ", state.fired.action));
}

}  // namespace

void Arm(int nth) {
  State& state = TheState();
  {
    absl::MutexLock lock(&state.mutex);
    state.left = nth;
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
  return state.fired;
}

}  // namespace plimsoll::testing
