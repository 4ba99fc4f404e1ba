#include "resctrlfs/hierarchy.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/status.h"
#include "base/unique_fd.h"

namespace plimsoll::resctrlfs {
namespace {

constexpr absl::Duration kPatience = absl::Seconds(40);
constexpr absl::Duration kLongestPause = absl::Milliseconds(100);

// Calls `done` until it is OK or patience ends.
template <typename Done>
absl::Status Insist(const Done& done) {
  const absl::Time deadline = absl::Now() + kPatience;
  for (absl::Duration pause = absl::Milliseconds(2);; pause = std::min(2 * pause, kLongestPause)) {
    const absl::Status status = done();
    if (status.ok() || absl::Now() >= deadline) return status;
    absl::SleepFor(pause);
  }
}

absl::StatusOr<UniqueFd> MountDetached(const std::string& name) {
  const UniqueFd context(fsopen("cgroup", FSOPEN_CLOEXEC));
  if (!context.valid()) return ErrnoStatus(errno, "fsopen cgroup");
  if (fsconfig(context.get(), FSCONFIG_SET_FLAG, "none", nullptr, 0) != 0 ||
      fsconfig(context.get(), FSCONFIG_SET_STRING, "name", name.c_str(), 0) != 0 ||
      fsconfig(context.get(), FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) != 0) {
    return ErrnoStatus(errno, absl::StrCat("make cgroup hierarchy name=", name));
  }
  UniqueFd mount(fsmount(context.get(), FSMOUNT_CLOEXEC, 0));
  if (!mount.valid()) return ErrnoStatus(errno, absl::StrCat("mount cgroup hierarchy ", name));
  return mount;
}

}  // namespace

absl::StatusOr<Hierarchy> Hierarchy::Open(const std::string& name) {
  PLIMSOLL_ASSIGN_OR_RETURN(const UniqueFd mount, MountDetached(name));
  PLIMSOLL_ASSIGN_OR_RETURN(FsRoot root,
                            FsRoot::Open(absl::StrCat("/proc/self/fd/", mount.get(), "/.")));
  return Hierarchy(name, std::move(root));
}

bool Hierarchy::Exists(const FsRoot& host, const std::string& name) {
  const absl::StatusOr<std::string> text = host.Read("proc/self/cgroup");
  return text.ok() && absl::StrContains(*text, absl::StrCat(":name=", name, ":"));
}

absl::Status Hierarchy::MoveAll(const std::string& from, const std::string& to) const {
  // Forks outrun a single pass, but not passes for ever, because their parents have moved.
  return Insist([&]() -> absl::Status {
    PLIMSOLL_ASSIGN_OR_RETURN(const std::string text, root_.Read(absl::StrCat(from, "/tasks")));
    if (text.empty()) return absl::OkStatus();
    for (absl::string_view thread : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
      const absl::Status moved = root_.Write(absl::StrCat(to, "/tasks"), thread);
      if (!moved.ok() && ErrnoOf(moved) != ESRCH) return moved;
    }
    return absl::UnavailableError(absl::StrCat("cgroup ", name_, "/", from, " keeps filling up"));
  });
}

absl::Status Hierarchy::Remove(const std::string& group) const {
  return Insist([&] { return root_.RemoveDir(group); });
}

absl::Status Hierarchy::Destroy(const FsRoot& host, const std::string& name) {
  // An unmounted hierarchy only goes once the kernel has also freed its groups, some time after
  // their removal and without notice: mounting and unmounting asks again.
  return Insist([&]() -> absl::Status {
    if (!Exists(host, name)) return absl::OkStatus();
    PLIMSOLL_ASSIGN_OR_RETURN(const Hierarchy hierarchy, Open(name));
    PLIMSOLL_ASSIGN_OR_RETURN(const std::vector<std::string> entries, hierarchy.root().List("."));
    for (const std::string& entry : entries) {
      PLIMSOLL_ASSIGN_OR_RETURN(const struct stat status, hierarchy.root().Stat(entry));
      if (!S_ISDIR(status.st_mode)) continue;
      PLIMSOLL_RETURN_IF_ERROR(hierarchy.MoveAll(entry, "."));
      PLIMSOLL_RETURN_IF_ERROR(hierarchy.Remove(entry));
    }
    return absl::UnavailableError(absl::StrCat("cgroup hierarchy ", name, " does not go away"));
  });
}

}  // namespace plimsoll::resctrlfs
