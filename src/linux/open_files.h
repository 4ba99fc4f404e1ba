// What processes have open, by /proc.
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
  uint64_t sockets = 0;  // among them
  bool operator==(const OpenFiles&) const = default;
};

// Of all these processes together; those that are gone have none. nullopt when there are more than
// `most` descriptors and processes: to count them would take too long. `host` holds proc/.
absl::StatusOr<std::optional<OpenFiles>> CountOpenFiles(const FsRoot& host,
                                                        const std::vector<pid_t>& processes,
                                                        uint64_t most);

// How many descriptors exactly that process may have open (the soft limit). NOT_FOUND when it is
// gone.
absl::StatusOr<uint64_t> ReadMaxOpenFiles(const FsRoot& host, const ProcessId& id);
// From /proc/<pid>/limits. INTERNAL when it isn't told there as a number.
absl::StatusOr<uint64_t> ParseMaxOpenFiles(absl::string_view limits);

}  // namespace plimsoll::linux

#endif  // PLIMSOLL_LINUX_OPEN_FILES_H_
