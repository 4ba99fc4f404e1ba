#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "absl/algorithm/container.h"
#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "base/monotonic_time.h"
#include "base/status.h"
#include "base/unique_fd.h"
#include "linux/cgroup/members.h"
#include "linux/cgroup/pinned_members.h"
#include "linux/process.h"

namespace plimsoll::linux {
namespace {

// The most time for freezing: a task in an uninterruptible sleep holds it up.
constexpr absl::Duration kFreezePatience = absl::Milliseconds(50);
// Lists the group again at least this often, for processes forked meanwhile.
constexpr absl::Duration kRound = absl::Milliseconds(100);
constexpr absl::Duration kKillPause = absl::Milliseconds(1);

absl::StatusOr<std::vector<Member>> OpenMembers(const CgroupTrees& trees,
                                                const std::string& group) {
  return PinMembers([&] { return ListProcesses(trees, group, /*recursive=*/true); });
}

// Waits until all have exited or `deadline`.
void AwaitExit(const std::vector<Member>& members, absl::Time deadline) {
  bool waited = false;
  for (const Member& member : members) {
    struct pollfd exited = {.fd = member.pidfd.get(), .events = POLLIN, .revents = 0};
    while (!HasExited(member.pidfd)) {
      const int64_t left = absl::ToInt64Milliseconds(deadline - MonotonicNow());
      if (left <= 0) return;
      waited = true;
      poll(&exited, 1, static_cast<int>(left));
    }
  }
  // All were dead already and still listed: they are on their way out, or no pidfd could be opened.
  if (!waited) absl::SleepFor(kKillPause);
}

void Freeze(CgroupTree& freezer, const std::string& group, absl::Time deadline) {
  if (!freezer.Write(group, "freezer.state", "FROZEN").ok()) return;
  const absl::Time give_up = std::min(deadline, MonotonicNow() + kFreezePatience);
  while (MonotonicNow() < give_up) {
    const auto state = freezer.Read(group, "freezer.state");
    if (!state.ok() || *state == "FROZEN") return;
    absl::SleepFor(absl::Microseconds(200));
  }
}

// Thaws groups below too: one that is frozen by itself would never let its processes die.
void Thaw(CgroupTree& freezer, const std::string& group) {
  const auto groups = freezer.Subtree(group);
  if (!groups.ok()) return;
  for (auto each = groups->rbegin(); each != groups->rend(); ++each) {
    freezer.Write(*each, "freezer.state", "THAWED").IgnoreError();
  }
}

// True if the kernel kills the whole group itself (cgroup v2 since Linux 5.14).
bool KillByFile(const CgroupTrees& trees, const std::string& group) {
  return trees.size() == 1 && trees[0]->HasFile(group, "cgroup.kill") &&
         trees[0]->Write(group, "cgroup.kill", "1").ok();
}

absl::StatusOr<std::vector<Member>> KillRound(const CgroupTrees& trees, CgroupTree* freezer,
                                              const std::string& group, absl::Time deadline) {
  if (KillByFile(trees, group)) {
    auto killed = OpenMembers(trees, group);
    if (!absl::IsResourceExhausted(killed.status())) return killed;
    // Without a free descriptor no exit can be awaited: after a pause the next round lists who is
    // left.
    return std::vector<Member>();
  }
  const bool freezes = freezer != nullptr && freezer->Exists(group).value_or(false);
  if (freezes) Freeze(*freezer, group, deadline);
  const absl::Cleanup thaw = [&] {
    if (freezes) Thaw(*freezer, group);
  };
  PLIMSOLL_ASSIGN_OR_RETURN(auto members, OpenMembers(trees, group));
  for (const Member& member : members) {
    const absl::Status status = SignalProcess(member.pidfd, SIGKILL);
    if (!absl::IsNotFound(status)) {
      PLIMSOLL_RETURN_IF_ERROR(Annotate(status, absl::StrCat("process ", member.pid)));
    }
  }
  return members;
}

}  // namespace

absl::Status KillProcesses(const CgroupTrees& trees, CgroupTree* freezer, const std::string& group,
                           absl::Time deadline) {
  for (int round = 0;; ++round) {
    const auto pids = ListProcesses(trees, group, /*recursive=*/true);
    if (absl::IsNotFound(pids.status())) return absl::OkStatus();
    PLIMSOLL_RETURN_IF_ERROR(pids.status());
    if (pids->empty()) return absl::OkStatus();
    if (absl::c_linear_search(*pids, getpid())) {
      return absl::FailedPreconditionError(
          absl::StrCat("cgroup ", group, " holds this process itself; nothing in it was killed"));
    }
    if (MonotonicNow() >= deadline) {
      return absl::DeadlineExceededError(absl::StrCat("cgroup ", group, ": processes ",
                                                      absl::StrJoin(*pids, ", "),
                                                      " are still there after SIGKILL"));
    }
    // Freezing costs some milliseconds and helps only against processes that fork while being
    // killed.
    const auto members = KillRound(trees, round == 0 ? nullptr : freezer, group, deadline);
    if (absl::IsNotFound(members.status())) return absl::OkStatus();
    PLIMSOLL_RETURN_IF_ERROR(members.status());
    AwaitExit(*members, std::min(deadline, MonotonicNow() + kRound));
  }
}

}  // namespace plimsoll::linux
