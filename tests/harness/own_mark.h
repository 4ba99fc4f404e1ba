// A number by which a test finds its own processes among those of the machine.
#ifndef PLIMSOLL_TESTS_HARNESS_OWN_MARK_H_
#define PLIMSOLL_TESTS_HARNESS_OWN_MARK_H_

#include <unistd.h>

#include <string>

#include "absl/strings/str_cat.h"

namespace plimsoll::testing {

// Eight digits, for `sleep` or anything else: no other process of the machine has them, one of
// another run of the same test included. `which`, 1 to 9, tells those of one test apart.
inline std::string OwnMark(int which) {
  constexpr int kPids = 10'000'000;  // the kernel has four million at most
  return absl::StrCat(which * kPids + getpid());
}

}  // namespace plimsoll::testing

#endif  // PLIMSOLL_TESTS_HARNESS_OWN_MARK_H_
