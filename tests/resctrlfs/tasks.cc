#include "resctrlfs/tasks.h"

#include <algorithm>
#include <cerrno>
#include <optional>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "resctrlfs/groups.h"
#include "resctrlfs/kernel_text.h"

namespace plimsoll::resctrlfs {
namespace {

Errno MoveThread(State* state, Group* group, pid_t named, const Writer& writer,
                 const MayMove& may_move) {
  const pid_t thread = named == 0 ? writer.thread : named;
  const std::optional<GroupId> now = state->members.GroupOf(thread);
  if (!now) return state->status.Refuse(ESRCH, "There is no thread ", thread);
  if (!may_move(writer.uid, thread)) {
    return state->status.Refuse(EPERM, "Thread ", thread, " is another user's");
  }
  if (*now == group->id) return 0;
  if (group->IsMonitor() && !absl::c_linear_search(WithMonitors(*group->parent), *now)) {
    return state->status.Refuse(EINVAL, "Thread ", thread,
                                " is not in the control group of this monitoring group");
  }
  const Errno error = state->members.Move(thread, group->id);
  if (error != 0) state->status.Refuse(error, "There is no thread ", thread);
  return error;
}

}  // namespace

std::string ShowTasks(State* state, const Group& group) {
  std::vector<pid_t> threads;
  for (GroupId id : WithMonitors(group)) {
    const std::vector<pid_t> members = state->members.Members(id);
    threads.insert(threads.end(), members.begin(), members.end());
  }
  absl::c_sort(threads);
  threads.erase(std::unique(threads.begin(), threads.end()), threads.end());
  std::string text;
  for (pid_t thread : threads) absl::StrAppend(&text, thread, "\n");
  return text;
}

Errno WriteTasks(State* state, Group* group, absl::string_view text, const Writer& writer,
                 const MayMove& may_move) {
  state->status.Clear();
  if (group->mode == Mode::kPseudoLocksetup) {
    return state->status.Refuse(EINVAL, "The group is being set up for pseudo-locking");
  }
  state->members.SeenRunning(writer.thread);
  std::optional<absl::string_view> rest = text;
  if (!state->layout.traits.several_ids && text.find(',') != absl::string_view::npos) {
    return EINVAL;
  }
  while (rest && !rest->empty() && rest->front() != '\n') {
    const absl::string_view piece = absl::StripAsciiWhitespace(NextPiece(&rest, ','));
    const std::optional<int> id = ParseInt(piece, 0);
    if (!id) return state->status.Refuse(EINVAL, "\"", piece, "\" is no thread id");
    if (*id < 0) return state->status.Refuse(EINVAL, "Thread id ", *id, " is negative");
    if (const Errno error = MoveThread(state, group, *id, writer, may_move); error != 0) {
      return state->status.Refuse(error, "Stopped at thread ", *id);
    }
  }
  return 0;
}

}  // namespace plimsoll::resctrlfs
