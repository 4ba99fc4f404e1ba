// Copies owner, mode, times and attributes from one directory to another.
#ifndef PLIMSOLL_BASE_DIRECTORY_ATTRIBUTES_H_
#define PLIMSOLL_BASE_DIRECTORY_ATTRIBUTES_H_

#include <sys/types.h>

#include <functional>
#include <utility>

#include "absl/status/status.h"

namespace plimsoll {

// Maps the owner and group of `from` to those of `to`; null keeps those of `to`.
using OwnerMap = std::function<std::pair<uid_t, gid_t>(uid_t, gid_t)>;

// Gives `to` the owner, mode (with setgid and sticky bits), modification time and user.* attributes
// of `from`, both open directories. Attributes of overlayfs are not copied, whatever their
// namespace: they describe one layer alone. A file system without user.* attributes is no error.
absl::Status CopyDirectoryAttributes(int from, int to, const OwnerMap& owner = nullptr);

}  // namespace plimsoll

#endif  // PLIMSOLL_BASE_DIRECTORY_ATTRIBUTES_H_
