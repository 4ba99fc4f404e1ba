// A root filesystem with Debian's static busybox and links for the commands that tests use.
#ifndef PLIMSOLL_TESTS_HARNESS_BUSYBOX_IMAGE_H_
#define PLIMSOLL_TESTS_HARNESS_BUSYBOX_IMAGE_H_

#include <string>

#include "absl/status/status.h"
#include "base/fs_root.h"

namespace plimsoll::testing {

// Makes it in `directory`: bin/busybox and the links, etc/passwd and etc/group with the users root
// and app (1000, supplementary group 2000), tmp.
absl::Status MakeBusyboxRootfs(const FsRoot& directory);

}  // namespace plimsoll::testing

#endif  // PLIMSOLL_TESTS_HARNESS_BUSYBOX_IMAGE_H_
