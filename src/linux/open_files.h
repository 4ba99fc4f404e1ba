// Counts of open files and their limits, from /proc.
#ifndef PLIMSOLL_LINUX_OPEN_FILES_H_
#define PLIMSOLL_LINUX_OPEN_FILES_H_

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/fs_root.h"
#include "linux/process.h"

namespace plimsoll::linux {

struct OpenFiles {
  uint64_t descriptors = 0;
  uint64_t sockets = 0;  // included in the above
  bool operator==(const OpenFiles&) const = default;
};

// Counts the open files of all these processes together; ended ones have none. nullopt when there
// are more than `most` descriptors and processes, since counting would take too long. `host` holds
// proc/.
absl::StatusOr<std::optional<OpenFiles>> CountOpenFiles(const FsRoot& host,
                                                        const std::vector<pid_t>& processes,
                                                        uint64_t most);

// The number of descriptors that exactly that process may have open (the soft limit). NOT_FOUND
// when it has ended.
absl::StatusOr<uint64_t> ReadMaxOpenFiles(const FsRoot& host, const ProcessId& id);
// Parses /proc/<pid>/limits. INTERNAL when the limit isn't a number there.
absl::StatusOr<uint64_t> ParseMaxOpenFiles(absl::string_view limits);

}  // namespace plimsoll::linux

#endif  // PLIMSOLL_LINUX_OPEN_FILES_H_
