#include "resctrlfs/threads.h"

#include <time.h>
#include <unistd.h>

#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "linux/namespaces/mounts.h"

namespace plimsoll::resctrlfs {

Threads::Threads(FsRoot host) : host_(std::move(host)) {
  const absl::StatusOr<std::vector<linux::MountInfo>> mounts = linux::ReadMounts(host_);
  if (!mounts.ok()) return;
  for (const linux::MountInfo& mount : *mounts) {
    if (mount.fs_type == "cgroup2" && unified_.empty()) unified_ = mount.mount_point;
    if (mount.fs_type == "cgroup" && absl::c_linear_search(mount.super_options, "freezer")) {
      freezer_ = mount.mount_point;
    }
  }
}

std::optional<linux::ProcessId> Threads::Identify(pid_t thread) const {
  absl::StatusOr<linux::ProcessId> id = linux::IdentifyProcess(host_, thread);
  return id.ok() ? std::optional(*id) : std::nullopt;
}

absl::Duration Threads::Age(const linux::ProcessId& thread) {
  timespec now = {};
  clock_gettime(CLOCK_BOOTTIME, &now);
  const absl::Duration started = absl::Seconds(1) * thread.start_time_ticks / sysconf(_SC_CLK_TCK);
  return absl::DurationFromTimespec(now) - started;
}

std::optional<std::string> Threads::CgroupOf(pid_t thread, absl::string_view hierarchy) const {
  const absl::StatusOr<std::string> text = host_.Read(absl::StrCat("proc/", thread, "/cgroup"));
  if (!text.ok()) return std::nullopt;
  for (absl::string_view line : absl::StrSplit(*text, '\n', absl::SkipEmpty())) {
    const std::vector<absl::string_view> fields = absl::StrSplit(line, absl::MaxSplits(':', 2));
    if (fields.size() != 3) continue;
    const std::vector<absl::string_view> controllers = absl::StrSplit(fields[1], ',');
    if (absl::c_linear_search(controllers, hierarchy)) return std::string(fields[2]);
  }
  return std::nullopt;
}

bool Threads::IsFrozen(pid_t thread) const {
  if (!freezer_.empty()) {
    if (const auto path = CgroupOf(thread, "freezer"); path && *path != "/") {
      const auto state = host_.Read(absl::StrCat(freezer_, *path, "/freezer.state"));
      if (state.ok() && absl::StartsWith(*state, "FROZEN")) return true;
    }
  }
  if (!unified_.empty()) {
    if (const auto path = CgroupOf(thread, ""); path && *path != "/") {
      const auto events = host_.Read(absl::StrCat(unified_, *path, "/cgroup.events"));
      if (events.ok() && absl::StrContains(*events, "frozen 1")) return true;
    }
  }
  return false;
}

bool Threads::MayMove(uid_t uid, pid_t thread) const {
  if (uid == 0) return true;
  const absl::StatusOr<std::string> text = host_.Read(absl::StrCat("proc/", thread, "/status"));
  if (!text.ok()) return false;
  for (absl::string_view line : absl::StrSplit(*text, '\n')) {
    if (!absl::ConsumePrefix(&line, "Uid:")) continue;
    // Real, effective, saved, file system.
    const std::vector<absl::string_view> ids =
        absl::StrSplit(line, absl::ByAnyChar("\t "), absl::SkipEmpty());
    const std::string wanted = absl::StrCat(uid);
    return ids.size() == 4 && (ids[0] == wanted || ids[2] == wanted);
  }
  return false;
}

}  // namespace plimsoll::resctrlfs
