// The cgroup v2 files that a class type may set, and their valid values.
//
// Excluded: memory.max, because lowering it live makes the kernel kill; io.max and io.weight, which
// are blockio's; cgroup.*, which moves and stops processes.
#ifndef PLIMSOLL_QOS_CGROUP_FILES_H_
#define PLIMSOLL_QOS_CGROUP_FILES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "qos/control_files.h"

namespace plimsoll::qos {

// Every allowed file with the kernel's default, in the order of writing.
const std::vector<ControlFile>& AllowedCgroupFiles();
// Null: the file is not allowed.
const ControlFile* FindCgroupFile(absl::string_view name);

// The value as the kernel will show it: "100M" (a Kubernetes quantity) of memory.high becomes
// "99999744", rounded down to whole pages as the kernel does; "50000" of cpu.max becomes "50000
// 100000". INVALID_ARGUMENT names the valid values or, for an unknown file, the files there are.
absl::StatusOr<std::string> CanonicalCgroupValue(absl::string_view file, absl::string_view value);

}  // namespace plimsoll::qos

#endif  // PLIMSOLL_QOS_CGROUP_FILES_H_
