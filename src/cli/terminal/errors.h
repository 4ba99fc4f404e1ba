// Errors for people: the problem, and the next step.
#ifndef PLIMSOLL_CLI_TERMINAL_ERRORS_H_
#define PLIMSOLL_CLI_TERMINAL_ERRORS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "pod_runner/runtime_client/hint.h"

namespace plimsoll::cli {

// Exit codes of the program.
inline constexpr int kExitOk = 0;
inline constexpr int kExitError = 1;
inline constexpr int kExitUsage = 2;
// `doctor`: the machine differs from the record.
inline constexpr int kExitDiffers = 3;
// `run` and `exec`: a failure of Plimsoll's own. It must not look like the workload's exit code.
inline constexpr int kExitOwnFailure = 125;
inline constexpr int kExitInterrupted = 130;

// Hints for the person at the command line.
using pod::WithHint;
// Marks an error as the caller's: no daemon would accept the command line. The program then ends
// with kExitUsage.
absl::Status UsageError(absl::Status status);
bool IsUsageError(const absl::Status& status);

// `status` with "<verb> <object>: " in front, unless its message begins with the verb: the daemon's
// messages often do.
absl::Status AnnotateOnce(const absl::Status& status, absl::string_view verb,
                          absl::string_view object);
// The attached hint, else a hint for the code; empty: there is none.
std::string HintOf(const absl::Status& status);

// "plimsoll: <message>\n" and, if there is a hint, "  <hint>\n".
std::string FormatError(const absl::Status& status);

}  // namespace plimsoll::cli

#endif  // PLIMSOLL_CLI_TERMINAL_ERRORS_H_
