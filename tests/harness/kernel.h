// The kernel's view, for tests to compare with Plimsoll's.
#ifndef PLIMSOLL_TESTS_HARNESS_KERNEL_H_
#define PLIMSOLL_TESTS_HARNESS_KERNEL_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "base/fs_root.h"
#include "linux/cgroup/cgroup.h"

namespace plimsoll::testing {

const FsRoot& Host();
linux::CgroupManager& Cgroups();

// Mount points of this mount namespace at or below `directory`.
std::vector<std::string> MountsBelow(const std::string& directory);
// Command lines of running processes that hold `text`; zombies don't count.
std::vector<std::string> ProcessesWith(const std::string& text);
// Groups at or below `path`, in any hierarchy.
bool CgroupExists(const std::string& path);

// Whether this is the emulated machine of tests/vm. Only for tests of durations.
bool IsEmulated();
// The timeout for an event that takes no longer than `limit` on a busy machine: five times as long
// in an emulated one, which is slow and has only what its host leaves it, and four times in a
// sanitizer's build.
absl::Duration Patience(absl::Duration limit);

// Polls until `condition` holds; false after `within`, which Patience extends.
bool Eventually(const std::function<bool()>& condition, absl::Duration within = absl::Seconds(20));

}  // namespace plimsoll::testing

#endif  // PLIMSOLL_TESTS_HARNESS_KERNEL_H_
