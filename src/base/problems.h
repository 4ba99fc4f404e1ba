// Several errors reported as one.
#ifndef PLIMSOLL_BASE_PROBLEMS_H_
#define PLIMSOLL_BASE_PROBLEMS_H_

#include "absl/status/status.h"

namespace plimsoll {

// Both errors' messages, each on lines of its own, with the code and hint of the first. An OK
// status adds nothing.
absl::Status AlsoTell(const absl::Status& first, const absl::Status& second);

}  // namespace plimsoll

#endif  // PLIMSOLL_BASE_PROBLEMS_H_
