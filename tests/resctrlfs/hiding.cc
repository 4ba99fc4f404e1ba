#include "resctrlfs/hiding.h"

#include <cerrno>

namespace plimsoll::resctrlfs {

void HidingMembership::HideFor(absl::Duration age) {
  seen_.clear();
  hide_for_ = age;
}

void HidingMembership::HideNew() {
  seen_.clear();
  for (GroupId group : groups_) {
    for (pid_t thread : inner_.Members(group)) MarkSeen(thread);
  }
  hide_for_ = absl::InfiniteDuration();
}

void HidingMembership::ShowAll() {
  seen_.clear();
  hide_for_.reset();
}

Errno HidingMembership::Add(GroupId group) {
  const Errno error = inner_.Add(group);
  if (error == 0) groups_.insert(group);
  return error;
}

Errno HidingMembership::Remove(GroupId group, GroupId heir) {
  const Errno error = inner_.Remove(group, heir);
  if (error == 0) groups_.erase(group);
  return error;
}

Errno HidingMembership::MoveAll(GroupId from, GroupId to) {
  return inner_.MoveAll(from, to);
}

Errno HidingMembership::Move(pid_t thread, GroupId group) {
  if (!GroupOf(thread)) return ESRCH;
  if (hide_for_) MarkSeen(thread);
  return inner_.Move(thread, group);
}

void HidingMembership::SeenRunning(pid_t thread) {
  if (hide_for_) MarkSeen(thread);
}

std::optional<GroupId> HidingMembership::GroupOf(pid_t thread) {
  const std::optional<GroupId> group = inner_.GroupOf(thread);
  if (group && IsHidden(thread, *group)) return std::nullopt;
  return group;
}

std::vector<pid_t> HidingMembership::Members(GroupId group) {
  std::vector<pid_t> members = inner_.Members(group);
  std::erase_if(members, [&](pid_t thread) { return IsHidden(thread, group); });
  return members;
}

bool HidingMembership::IsHidden(pid_t thread, GroupId group) {
  if (!hide_for_ || group == kRootGroup) return false;
  const std::optional<linux::ProcessId> id = threads_.Identify(thread);
  if (!id || seen_.contains({thread, id->start_time_ticks})) return false;
  if (Threads::Age(*id) < *hide_for_ && !threads_.IsFrozen(thread)) return true;
  MarkSeen(thread);
  return false;
}

void HidingMembership::MarkSeen(pid_t thread) {
  const std::optional<linux::ProcessId> id = threads_.Identify(thread);
  if (id) seen_.insert({thread, id->start_time_ticks});
  if (seen_.size() % 1024 == 0) ForgetDead();
}

void HidingMembership::ForgetDead() {
  std::erase_if(seen_, [&](const Key& key) { return !threads_.Identify(key.first); });
}

}  // namespace plimsoll::resctrlfs
