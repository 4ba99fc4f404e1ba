#include "harness/kernel.h"

#include <algorithm>
#include <cstdlib>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/time/clock.h"
#include "base/monotonic_time.h"
#include "linux/namespaces/mounts.h"

namespace plimsoll::testing {

const FsRoot& Host() {
  static const FsRoot& host = *new FsRoot(*FsRoot::Open("/"));
  return host;
}

linux::CgroupManager& Cgroups() {
  static linux::CgroupManager& cgroups = *linux::CgroupManager::Detect(Host())->release();
  return cgroups;
}

std::vector<std::string> MountsBelow(const std::string& directory) {
  std::vector<std::string> found;
  const auto mounts = linux::ReadMounts(Host());
  if (!mounts.ok()) return {std::string(mounts.status().message())};
  for (const linux::MountInfo& mount : *mounts) {
    if (mount.mount_point == directory ||
        absl::StartsWith(mount.mount_point, absl::StrCat(directory, "/"))) {
      found.push_back(mount.mount_point);
    }
  }
  return found;
}

std::vector<std::string> ProcessesWith(const std::string& text) {
  std::vector<std::string> found;
  const std::vector<std::string> names = *Host().List("proc");
  for (const std::string& name : names) {
    if (name.empty() || !std::all_of(name.begin(), name.end(), absl::ascii_isdigit)) continue;
    const auto read = Host().Read(absl::StrCat("proc/", name, "/cmdline"));
    if (!read.ok()) continue;  // it has just ended
    const std::string line = absl::StrReplaceAll(*read, {{std::string(1, '\0'), " "}});
    if (absl::StrContains(line, text)) found.push_back(absl::StrCat(name, ": ", line));
  }
  return found;
}

bool CgroupExists(const std::string& path) {
  return Cgroups().Exists(path).value();
}

bool IsEmulated() {
  return getenv("PLIMSOLL_VM") != nullptr;
}

absl::Duration Patience(absl::Duration limit) {
  return limit * PLIMSOLL_PATIENCE * (IsEmulated() ? 5 : 1);
}

bool Eventually(const std::function<bool()>& condition, absl::Duration within) {
  const absl::Time deadline = MonotonicNow() + Patience(within);
  while (!condition()) {
    if (MonotonicNow() > deadline) return false;
    absl::SleepFor(absl::Milliseconds(10));
  }
  return true;
}

}  // namespace plimsoll::testing
