// For tests: a process and its forks, in a cgroup that can be frozen.
#ifndef PLIMSOLL_TESTS_RESCTRLFS_FREEZER_H_
#define PLIMSOLL_TESTS_RESCTRLFS_FREEZER_H_

#include <unistd.h>

#include <memory>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/fs_root.h"

namespace plimsoll::resctrlfs {

class Freezer {
 public:
  // A freezer with `pid` in it; null where the machine has none.
  static std::unique_ptr<Freezer> Make(pid_t pid) {
    auto root = FsRoot::Open("/sys/fs/cgroup");
    if (!root.ok()) return nullptr;
    const bool v1 = root->Exists("freezer/tasks");
    if (!v1 && !root->Exists("cgroup.procs")) return nullptr;
    const std::string top = v1 ? "freezer/" : "";
    const std::string group = absl::StrCat(top, "plimsoll-test-resctrlfs-", getpid());
    std::unique_ptr<Freezer> freezer(new Freezer(*std::move(root), top, group, v1));
    const bool made = freezer->root_.MakeDirs(group).ok() &&
                      freezer->root_.Write(group + "/cgroup.procs", absl::StrCat(pid)).ok();
    return made ? std::move(freezer) : nullptr;
  }
  // Moves its processes back to the top.
  ~Freezer() {
    Thaw();
    const absl::Time deadline = absl::Now() + absl::Seconds(20);
    while (!root_.RemoveDir(group_).ok() && absl::Now() < deadline) {
      const auto text = root_.Read(group_ + "/cgroup.procs");
      if (!text.ok() || text->empty()) continue;
      root_.Write(top_ + "cgroup.procs", text->substr(0, text->find('\n'))).IgnoreError();
    }
  }

  bool Freeze() {
    return v1_ ? Set("freezer.state", "FROZEN", "freezer.state", "FROZEN")
               : Set("cgroup.freeze", "1", "cgroup.events", "frozen 1");
  }
  bool Thaw() {
    return v1_ ? Set("freezer.state", "THAWED", "freezer.state", "THAWED")
               : Set("cgroup.freeze", "0", "cgroup.events", "frozen 0");
  }

 private:
  Freezer(FsRoot root, std::string top, std::string group, bool v1)
      : root_(std::move(root)), top_(std::move(top)), group_(std::move(group)), v1_(v1) {}

  // Writes, and waits until the kernel shows the result.
  bool Set(const char* file, const char* value, const char* shown_in, const char* shown) {
    if (!root_.Write(absl::StrCat(group_, "/", file), value).ok()) return false;
    const absl::Time deadline = absl::Now() + absl::Seconds(20);
    while (absl::Now() < deadline) {
      const auto text = root_.Read(absl::StrCat(group_, "/", shown_in));
      if (text.ok() && absl::StrContains(*text, shown)) return true;
    }
    return false;
  }

  FsRoot root_;
  std::string top_;
  std::string group_;
  bool v1_;
};

}  // namespace plimsoll::resctrlfs

#endif  // PLIMSOLL_TESTS_RESCTRLFS_FREEZER_H_
