// Programs that are a part of Plimsoll and are not for users to call.
#ifndef PLIMSOLL_BASE_OWN_PROGRAM_H_
#define PLIMSOLL_BASE_OWN_PROGRAM_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace plimsoll {

// The path of e.g. "plimsoll-pause": beside the running program (a build tree), else in libexec,
// where it is installed. NOT_FOUND names the program and where it was looked for.
absl::StatusOr<std::string> FindOwnProgram(absl::string_view name);

}  // namespace plimsoll

#endif  // PLIMSOLL_BASE_OWN_PROGRAM_H_
