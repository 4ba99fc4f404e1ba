// Holds a container's log against what the container wrote.
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
  kComplete,  // all of it must be there
  kCutOff,    // the writer was killed: a beginning of it, of which the last line may be a part
};

// `text`: the log's files one after another, oldest first. An error names the first line that is
// missing, too many, out of order or not what was written, and an entry that is not of the CRI's
// form or older than the one before it.
absl::Status CheckLog(absl::string_view text, const WrittenLines& written, LogEnd end);

}  // namespace plimsoll::testing

#endif  // PLIMSOLL_TESTS_SOAK_CONTAINER_LOG_H_
