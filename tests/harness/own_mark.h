// A number that identifies a test's own processes among the machine's.
#ifndef PLIMSOLL_TESTS_HARNESS_OWN_MARK_H_
#define PLIMSOLL_TESTS_HARNESS_OWN_MARK_H_

#include <unistd.h>

#include <string>

#include "absl/strings/str_cat.h"

namespace plimsoll::testing {

// "86401.0004711", for `sleep` or another program: no other process of the machine has it, not even
// another run of the same test. `which`, 1 to 9, distinguishes those of one test. As a duration it
// is a day, so that processes left by a failed test end by themselves.
inline std::string OwnMark(int which) {
  constexpr int kDay = 86'400;
  // The length is the same for every pid, of which there are at most four million: no number begins
  // with another.
  return absl::StrCat(kDay + which, ".", absl::Dec(getpid(), absl::kZeroPad7));
}

}  // namespace plimsoll::testing

#endif  // PLIMSOLL_TESTS_HARNESS_OWN_MARK_H_
