// Makes the Nth action with external effects fail (base/fault_injection.h).
#ifndef PLIMSOLL_TESTS_FAULTS_INJECTOR_H_
#define PLIMSOLL_TESTS_FAULTS_INJECTOR_H_

#include <string>

#include "absl/strings/string_view.h"

namespace plimsoll::testing {

// The text of an injected error, which distinguishes it from a real one.
inline constexpr char kInjected[] = "injected fault";

struct Fired {
  bool fired = false;
  std::string action;       // "mount /run/x"
  bool is_cleanup = false;  // removes something: a call may go on without it
  bool elsewhere = false;   // on another thread than the arming one: the error may reach no caller
  bool undo_fired = false;
  std::string undo_action;
};

// The `nth` action from now on, counted from 1, fails once. With `undo_nth`, so does the removal of
// that number after it. Not while another fault is armed.
void Arm(int nth, int undo_nth = 0);
// Disarms; returns what has happened.
Fired Disarm();

}  // namespace plimsoll::testing

#endif  // PLIMSOLL_TESTS_FAULTS_INJECTOR_H_
