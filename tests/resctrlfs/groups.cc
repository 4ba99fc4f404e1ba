#include "resctrlfs/groups.h"

#include <algorithm>
#include <cerrno>
#include <memory>
#include <optional>
#include <utility>

namespace plimsoll::resctrlfs {
namespace {

std::optional<int> FreeClosid(const State& state) {
  const ClosidModes modes = state.Modes();
  for (size_t closid = 0; closid < modes.size(); ++closid) {
    if (!modes[closid]) return static_cast<int>(closid);
  }
  return std::nullopt;
}

// Takes a RMID and makes a place for its threads.
Errno Furnish(State* state, Group* group) {
  if (state->CanMonitor()) {
    if (const Errno error = state->rmids.Take(&group->rmid); error != 0) {
      return state->status.Refuse(error, "No RMID is free");
    }
  }
  const Errno error = state->members.Add(group->id);
  if (error != 0 && state->CanMonitor()) state->rmids.Free(group->rmid);
  return error;
}

void Unfurnish(State* state, const Group& group) {
  // A group in mode pseudo-locksetup has given it up already.
  if (state->CanMonitor() && group.mode != Mode::kPseudoLocksetup) state->rmids.Free(group.rmid);
  state->counters.Forget(group.id);
}

void Erase(std::vector<std::unique_ptr<Group>>* groups, const Group* group) {
  std::erase_if(*groups, [&](const auto& entry) { return entry.get() == group; });
}

}  // namespace

Errno MakeControlGroup(State* state, const std::string& name, Group** made) {
  state->status.Clear();
  auto group = std::make_unique<Group>();
  group->id = state->next_id++;
  group->name = name;
  group->mbps_event = state->root.mbps_event;
  const std::optional<int> closid = FreeClosid(*state);
  if (!closid) return state->status.Refuse(ENOSPC, "No CLOSID is free");
  group->closid = *closid;
  if (const Errno error = Furnish(state, group.get()); error != 0) return error;
  if (const absl::Status status = state->controls.Initialise(state->Modes(), *closid);
      !status.ok()) {
    Unfurnish(state, *group);
    if (const Errno error = state->members.Remove(group->id, kRootGroup); error != 0) return error;
    return state->status.Refuse(ENOSPC, status.message());
  }
  *made = group.get();
  state->groups.push_back(std::move(group));
  return 0;
}

Errno MakeMonitorGroup(State* state, Group* parent, const std::string& name, Group** made) {
  state->status.Clear();
  if (parent->mode == Mode::kPseudoLocksetup) {
    return state->status.Refuse(EINVAL, "The group is being set up for pseudo-locking");
  }
  auto group = std::make_unique<Group>();
  group->id = state->next_id++;
  group->name = name;
  group->parent = parent;
  group->closid = parent->closid;
  if (const Errno error = Furnish(state, group.get()); error != 0) return error;
  *made = group.get();
  parent->monitors.push_back(std::move(group));
  return 0;
}

Errno RemoveGroup(State* state, Group* group) {
  if (group->IsMonitor()) {
    if (const Errno error = state->members.Remove(group->id, group->parent->id); error != 0) {
      return error;
    }
    Unfurnish(state, *group);
    Erase(&group->parent->monitors, group);
    return 0;
  }
  while (!group->monitors.empty()) {
    const Group& monitor = *group->monitors.back();
    if (const Errno error = state->members.Remove(monitor.id, kRootGroup); error != 0) return error;
    Unfurnish(state, monitor);
    group->monitors.pop_back();
  }
  if (const Errno error = state->members.Remove(group->id, kRootGroup); error != 0) return error;
  state->root.cpus = state->root.cpus.Union(group->cpus);
  Unfurnish(state, *group);
  Erase(&state->groups, group);
  return 0;
}

Errno MoveMonitorGroup(State* state, Group* group, Group* new_parent, const std::string& new_name) {
  state->status.Clear();
  if (!state->layout.traits.moves_mon_groups) return EPERM;
  if (new_parent != group->parent) {
    if (!group->cpus.Empty()) {
      return state->status.Refuse(EPERM, "A monitoring group with CPUs can't be moved");
    }
    auto& from = group->parent->monitors;
    const auto found = std::find_if(from.begin(), from.end(),
                                    [&](const auto& entry) { return entry.get() == group; });
    new_parent->monitors.push_back(std::move(*found));
    from.erase(found);
    group->parent = new_parent;
    group->closid = new_parent->closid;
  }
  group->name = new_name;
  return 0;
}

std::vector<GroupId> WithMonitors(const Group& group) {
  std::vector<GroupId> ids = {group.id};
  for (const auto& monitor : group.monitors) ids.push_back(monitor->id);
  return ids;
}

}  // namespace plimsoll::resctrlfs
