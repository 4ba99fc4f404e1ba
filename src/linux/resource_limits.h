// Names of resource limits: setrlimit(2).
#ifndef PLIMSOLL_LINUX_RESOURCE_LIMITS_H_
#define PLIMSOLL_LINUX_RESOURCE_LIMITS_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace plimsoll::linux {

// The number of "RLIMIT_NOFILE", as setrlimit takes it.
std::optional<int> ParseResourceLimit(absl::string_view name);

std::vector<std::string> ResourceLimitNames();

}  // namespace plimsoll::linux

#endif  // PLIMSOLL_LINUX_RESOURCE_LIMITS_H_
