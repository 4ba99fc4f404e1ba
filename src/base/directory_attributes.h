// Owner, mode, times and attributes of one directory, given to another.
#ifndef PLIMSOLL_BASE_DIRECTORY_ATTRIBUTES_H_
#define PLIMSOLL_BASE_DIRECTORY_ATTRIBUTES_H_

#include <sys/types.h>

#include <functional>
#include <utility>

#include "absl/status/status.h"

namespace plimsoll {

// What the owner becomes; null leaves it.
using OwnerMap = std::function<std::pair<uid_t, gid_t>(uid_t, gid_t)>;

// Gives `to` the owner, mode (with setgid and sticky bits), modification time and user.* attributes
// of `from`, both open directories. Attributes of overlayfs stay behind, whatever their namespace:
// they speak of one layer alone. A file system without user.* attributes is no error.
absl::Status CopyDirectoryAttributes(int from, int to, const OwnerMap& owner = nullptr);

}  // namespace plimsoll

#endif  // PLIMSOLL_BASE_DIRECTORY_ATTRIBUTES_H_
