// The final status on the error stream of an exec or attach.
#ifndef PLIMSOLL_TESTS_HARNESS_STREAM_STATUS_H_
#define PLIMSOLL_TESTS_HARNESS_STREAM_STATUS_H_

#include <string>

namespace plimsoll::testing {

// The exit code in a metav1.Status (protocols v4 and v5); -1: it has none.
int ExitCodeOf(const std::string& status);

}  // namespace plimsoll::testing

#endif  // PLIMSOLL_TESTS_HARNESS_STREAM_STATUS_H_
