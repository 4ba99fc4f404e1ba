// Errors for people: what went wrong, and what to do next.
#ifndef PLIMSOLL_CLI_ERRORS_H_
#define PLIMSOLL_CLI_ERRORS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "pod/hint.h"

namespace plimsoll::cli {

// Exit codes of the program.
inline constexpr int kExitOk = 0;
inline constexpr int kExitError = 1;
inline constexpr int kExitUsage = 2;
// `doctor`: something differs.
inline constexpr int kExitDiffers = 3;
// `run` and `exec`: Plimsoll itself failed, so that it is not taken for the workload's own code.
inline constexpr int kExitOwnFailure = 125;
inline constexpr int kExitInterrupted = 130;

// Hints for the person at the command line.
using pod::WithHint;
// Marks an error as the caller's: what was typed can't be right, whatever the daemon says. The
// program then ends with kExitUsage.
absl::Status UsageError(absl::Status status);
bool IsUsageError(const absl::Status& status);

// `status` with "<verb> <object>: " in front, unless its message begins with the verb already: the
// daemon names what it failed at too.
absl::Status AnnotateOnce(const absl::Status& status, absl::string_view verb,
                          absl::string_view object);
// The attached hint, else one that follows from the code; empty when there is nothing useful.
std::string HintOf(const absl::Status& status);

// "plimsoll: <message>\n" and, if there is a hint, "  <hint>\n".
std::string FormatError(const absl::Status& status);

}  // namespace plimsoll::cli

#endif  // PLIMSOLL_CLI_ERRORS_H_
