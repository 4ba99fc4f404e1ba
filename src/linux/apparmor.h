// AppArmor: Documentation/admin-guide/LSM/apparmor.rst, apparmor(7).
#ifndef PLIMSOLL_LINUX_APPARMOR_H_
#define PLIMSOLL_LINUX_APPARMOR_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/fs_root.h"

namespace plimsoll::linux {

// True when the kernel has AppArmor and it is switched on. `root` holds sys/.
bool HasAppArmor(const FsRoot& root);

// True when a profile of this name is loaded. FAILED_PRECONDITION where the list can't be read
// (securityfs isn't mounted).
absl::StatusOr<bool> IsProfileLoaded(const FsRoot& root, absl::string_view name);

}  // namespace plimsoll::linux

#endif  // PLIMSOLL_LINUX_APPARMOR_H_
