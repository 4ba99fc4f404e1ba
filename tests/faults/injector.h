// Makes the Nth action with effects outside of the process fail (base/fault_injection.h).
#ifndef PLIMSOLL_TESTS_FAULTS_INJECTOR_H_
#define PLIMSOLL_TESTS_FAULTS_INJECTOR_H_

#include <string>

#include "absl/strings/string_view.h"

namespace plimsoll::testing {

// What an injected error says, so that it can be told from a real one.
inline constexpr char kInjected[] = "injected fault";

struct Fired {
  bool fired = false;
  std::string action;       // "mount /run/x"
  bool is_cleanup = false;  // takes something away: a call may go on without it
  bool elsewhere = false;   // on another thread than the one that armed: nobody may be told
  bool undo_fired = false;
  std::string undo_action;
};

// The `nth` action from now on, counted from 1, fails once. With `undo_nth`, so does the one of
// that number after it that takes something away. Not while another is armed.
void Arm(int nth, int undo_nth = 0);
// No more faults; what has happened.
Fired Disarm();

}  // namespace plimsoll::testing

#endif  // PLIMSOLL_TESTS_FAULTS_INJECTOR_H_
