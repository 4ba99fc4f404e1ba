// A remedy beside an error: a sentence that says how to mend it. The error's message is whole
// without the hint; a caller without a person at hand drops it.
#ifndef PLIMSOLL_POD_RUNNER_RUNTIME_CLIENT_HINT_H_
#define PLIMSOLL_POD_RUNNER_RUNTIME_CLIENT_HINT_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace plimsoll::pod {

// Attaches the hint. An error that has one keeps it, even an empty one: the innermost code knows
// most.
absl::Status WithHint(absl::Status status, absl::string_view hint);
// The attached hint; nullopt: nothing was attached.
std::optional<std::string> AttachedHint(const absl::Status& status);

}  // namespace plimsoll::pod

#endif  // PLIMSOLL_POD_RUNNER_RUNTIME_CLIENT_HINT_H_
