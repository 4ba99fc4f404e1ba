// The sizes of huge pages that the kernel has.
#ifndef PLIMSOLL_LINUX_HUGE_PAGE_SIZES_H_
#define PLIMSOLL_LINUX_HUGE_PAGE_SIZES_H_

#include <optional>
#include <set>
#include <string>

#include "base/fs_root.h"

namespace plimsoll::linux {

// Spelled as in control files: "2MB", "1GB"; none with a kernel without huge pages. nullopt where
// they can't be read, as without sysfs.
std::optional<std::set<std::string>> ReadHugePageSizes(const FsRoot& host);

}  // namespace plimsoll::linux

#endif  // PLIMSOLL_LINUX_HUGE_PAGE_SIZES_H_
