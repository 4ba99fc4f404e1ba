// Control files of cgroup v2 that hold a line for each device or kind.
#ifndef PLIMSOLL_LINUX_CGROUP_LINE_FILES_H_
#define PLIMSOLL_LINUX_CGROUP_LINE_FILES_H_

#include <optional>

#include "absl/strings/string_view.h"

namespace plimsoll::linux {

// The words that set a line of `file` back to the kernel's default: "8:0 target=0" takes a device
// out of io.latency. nullopt when `file` has no such lines ("memory.max").
std::optional<absl::string_view> LineReset(absl::string_view file);

}  // namespace plimsoll::linux

#endif  // PLIMSOLL_LINUX_CGROUP_LINE_FILES_H_
