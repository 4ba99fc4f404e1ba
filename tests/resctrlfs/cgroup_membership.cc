#include "resctrlfs/cgroup_membership.h"

#include <cerrno>
#include <set>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/status.h"

namespace plimsoll::resctrlfs {
namespace {

std::string DirectoryOf(GroupId group) {
  return group == kRootGroup ? "." : absl::StrCat("group", group);
}

constexpr int kMostReadings = 8;

Errno ErrnoFrom(const absl::Status& status) {
  if (status.ok()) return 0;
  const int error = ErrnoOf(status);
  return error == 0 ? EIO : error;
}

}  // namespace

Errno CgroupMembership::Add(GroupId group) {
  return ErrnoFrom(hierarchy_.root().MakeDirs(DirectoryOf(group)));
}

Errno CgroupMembership::Remove(GroupId group, GroupId heir) {
  if (const Errno error = MoveAll(group, heir); error != 0) return error;
  return ErrnoFrom(hierarchy_.Remove(DirectoryOf(group)));
}

Errno CgroupMembership::Move(pid_t thread, GroupId group) {
  return ErrnoFrom(hierarchy_.root().Write(DirectoryOf(group) + "/tasks", absl::StrCat(thread)));
}

Errno CgroupMembership::MoveAll(GroupId from, GroupId to) {
  return ErrnoFrom(hierarchy_.MoveAll(DirectoryOf(from), DirectoryOf(to)));
}

std::optional<GroupId> CgroupMembership::GroupOf(pid_t thread) {
  const auto path = threads_.CgroupOf(thread, absl::StrCat("name=", hierarchy_.name()));
  if (!path) return std::nullopt;
  absl::string_view name = *path;
  GroupId group = kRootGroup;
  if (absl::ConsumePrefix(&name, "/group") && absl::SimpleAtoi(name, &group)) return group;
  return kRootGroup;
}

std::vector<pid_t> CgroupMembership::Members(GroupId group) {
  // Unlike resctrl, cgroup v1 counts a group's threads first and then lists that many
  // (kernel/cgroup/cgroup-v1.c, pidlist_array_load): threads forked in between push others off the
  // end. So read until a reading adds no thread.
  std::set<pid_t> members;
  for (int reading = 0; reading < kMostReadings; ++reading) {
    const size_t before = members.size();
    const absl::StatusOr<std::string> text = hierarchy_.root().Read(DirectoryOf(group) + "/tasks");
    if (!text.ok()) break;
    for (absl::string_view line : absl::StrSplit(*text, '\n', absl::SkipEmpty())) {
      pid_t thread = 0;
      // 0 is a thread unknown to this process's PID namespace.
      if (absl::SimpleAtoi(line, &thread) && thread != 0) members.insert(thread);
    }
    if (reading > 0 && members.size() == before) break;
  }
  return {members.begin(), members.end()};
}

}  // namespace plimsoll::resctrlfs
