// A number by which a test finds its own processes among those of the machine.
#ifndef PLIMSOLL_TESTS_HARNESS_OWN_MARK_H_
#define PLIMSOLL_TESTS_HARNESS_OWN_MARK_H_

#include <unistd.h>

#include <string>

#include "absl/strings/str_cat.h"

namespace plimsoll::testing {

// "86401.0004711", for `sleep` or anything else: no other process of the machine has it, one of
// another run of the same test included. `which`, 1 to 9, tells those of one test apart. As a
// duration it is a day, so that what a failed test leaves ends by itself.
inline std::string OwnMark(int which) {
  constexpr int kDay = 86'400;
  // As long for every pid, of which there are four million at most: none begins with another.
  return absl::StrCat(kDay + which, ".", absl::Dec(getpid(), absl::kZeroPad7));
}

}  // namespace plimsoll::testing

#endif  // PLIMSOLL_TESTS_HARNESS_OWN_MARK_H_
