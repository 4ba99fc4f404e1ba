// Compares a container's log with its output.
#ifndef PLIMSOLL_TESTS_SOAK_CONTAINER_LOG_H_
#define PLIMSOLL_TESTS_SOAK_CONTAINER_LOG_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace plimsoll::testing {

// The lines of each stream, in the order in which they were written.
struct WrittenLines {
  std::vector<std::string> out;
  std::vector<std::string> err;
};

enum class LogEnd {
  kComplete,  // all of it must be in the log
  kCutOff,    // the writer was killed: the log has a prefix, whose last line may be incomplete
};

// `text`: the log's files joined, oldest first. The error names the first line that is missing,
// superfluous, out of order or different, or an entry that breaks the CRI's form or is older than
// the one before it.
absl::Status CheckLog(absl::string_view text, const WrittenLines& written, LogEnd end);

}  // namespace plimsoll::testing

#endif  // PLIMSOLL_TESTS_SOAK_CONTAINER_LOG_H_
