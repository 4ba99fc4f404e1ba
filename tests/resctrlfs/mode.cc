#include "resctrlfs/mode.h"

#include <cerrno>

#include "absl/strings/strip.h"

namespace plimsoll::resctrlfs {
namespace {

absl::string_view NameOf(Mode mode) {
  switch (mode) {
    case Mode::kShareable:
      return "shareable";
    case Mode::kExclusive:
      return "exclusive";
    case Mode::kPseudoLocksetup:
      return "pseudo-locksetup";
  }
  return "";
}

Errno CheckExclusive(State* state, const Group& group) {
  const ClosidModes modes = state->Modes();
  bool has_cache = false;
  for (size_t s = 0; s < state->controls.schemas().size(); ++s) {
    const Schema& schema = state->controls.schemas()[s];
    if (!schema.IsCache()) continue;
    has_cache = true;
    for (size_t i = 0; i < schema.ids.size(); ++i) {
      const uint32_t mask = schema.values[i][static_cast<size_t>(group.closid)];
      if (state->controls.Overlaps(modes, s, i, mask, group.closid, false)) {
        return state->status.Refuse(EINVAL, "The schemata has bits that others use");
      }
    }
  }
  if (!has_cache) return state->status.Refuse(EINVAL, "There is no cache to be exclusive in");
  return 0;
}

Errno EnterPseudoLocksetup(State* state, Group* group) {
  if (group->IsRoot()) {
    return state->status.Refuse(EINVAL, "The root group can't be pseudo-locked");
  }
  if (state->layout.options.cdp || state->layout.options.cdpl2) {
    return state->status.Refuse(EINVAL, "Pseudo-locking does not go with CDP");
  }
  if (!group->monitors.empty()) {
    return state->status.Refuse(EINVAL, "The group has monitoring groups");
  }
  if (!state->members.Members(group->id).empty()) {
    return state->status.Refuse(EINVAL, "The group has threads");
  }
  if (!group->cpus.Empty()) return state->status.Refuse(EINVAL, "The group has CPUs");
  if (state->CanMonitor()) state->rmids.Free(group->rmid);
  return 0;
}

Errno LeavePseudoLocksetup(State* state, Group* group) {
  if (group->mode != Mode::kPseudoLocksetup || !state->CanMonitor()) return 0;
  const Errno error = state->rmids.Take(&group->rmid);
  return error == 0 ? 0 : state->status.Refuse(error, "No RMID is free");
}

}  // namespace

std::string ShowMode(const Group& group) {
  return std::string(NameOf(group.mode)) + "\n";
}

Errno WriteMode(State* state, Group* group, absl::string_view text) {
  if (!absl::ConsumeSuffix(&text, "\n")) return EINVAL;
  state->status.Clear();
  if (text == NameOf(group->mode)) return 0;
  Errno error = 0;
  if (text == NameOf(Mode::kShareable)) {
    error = LeavePseudoLocksetup(state, group);
    if (error == 0) group->mode = Mode::kShareable;
  } else if (text == NameOf(Mode::kExclusive)) {
    error = CheckExclusive(state, *group);
    if (error == 0) error = LeavePseudoLocksetup(state, group);
    if (error == 0) group->mode = Mode::kExclusive;
  } else if (text == NameOf(Mode::kPseudoLocksetup)) {
    error = EnterPseudoLocksetup(state, group);
    if (error == 0) group->mode = Mode::kPseudoLocksetup;
  } else {
    error = state->status.Refuse(EINVAL, "There is no mode \"", text, "\"");
  }
  return error;
}

}  // namespace plimsoll::resctrlfs
