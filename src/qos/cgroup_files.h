// The cgroup v2 files that a class type may be made of, and what may be in them.
//
// Not among them: memory.max, to which the kernel answers by killing where a class would be changed
// live; io.max and io.weight, which are blockio's; cgroup.*, which moves and stops processes.
#ifndef PLIMSOLL_QOS_CGROUP_FILES_H_
#define PLIMSOLL_QOS_CGROUP_FILES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "qos/control_files.h"

namespace plimsoll::qos {

// Every one, with what the kernel has where nobody has written, in the order in which they are
// written.
const std::vector<ControlFile>& AllowedCgroupFiles();
// Null: not allowed.
const ControlFile* FindCgroupFile(absl::string_view name);

// The value as the kernel will show it: "100M" (a Kubernetes quantity) of memory.high becomes
// "99999744", rounded down to whole pages as the kernel does; "50000" of cpu.max "50000 100000".
// INVALID_ARGUMENT says what would be valid, or, for an unknown file, which files there are.
absl::StatusOr<std::string> CanonicalCgroupValue(absl::string_view file, absl::string_view value);

}  // namespace plimsoll::qos

#endif  // PLIMSOLL_QOS_CGROUP_FILES_H_
