// Checks of settings that need no group.
#ifndef PLIMSOLL_LINUX_CGROUP_VALIDATE_H_
#define PLIMSOLL_LINUX_CGROUP_VALIDATE_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "linux/cgroup/settings.h"

namespace plimsoll::linux {

// INVALID_ARGUMENT names the field, its value and the valid ones.
absl::Status ValidateSettings(const CgroupSettings& settings);

// True for the kernel's list format, "0-3,8" (or empty).
bool IsCpuList(absl::string_view text);

}  // namespace plimsoll::linux

#endif  // PLIMSOLL_LINUX_CGROUP_VALIDATE_H_
