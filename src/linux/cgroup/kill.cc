#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "absl/algorithm/container.h"
#include "absl/cleanup/cleanup.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/monotonic_time.h"
#include "base/status.h"
#include "base/unique_fd.h"
#include "linux/cgroup/members.h"
#include "linux/cgroup/pinned_members.h"
#include "linux/process.h"

namespace plimsoll::linux {
namespace {

// The most time for freezing, in the first round and in later ones: a task in an uninterruptible
// sleep holds it up. Thousands of tasks take longer than the first.
constexpr absl::Duration kFirstFreezePatience = absl::Milliseconds(50);
constexpr absl::Duration kFreezePatience = absl::Seconds(1);
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

void Freeze(CgroupTree& freezer, const std::string& group, absl::Time give_up) {
  if (!freezer.Write(group, "freezer.state", "FROZEN").ok()) return;
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

// Kills those that are in the group now. `all`: also where descriptors are short, in several parts;
// needs a frozen group, in which no process ends or begins. Returns the last part.
absl::StatusOr<std::vector<Member>> SignalMembers(const CgroupTrees& trees,
                                                  const std::string& group, bool all,
                                                  absl::Time deadline) {
  absl::flat_hash_set<pid_t> done;
  const auto list_others = [&]() -> absl::StatusOr<std::vector<pid_t>> {
    PLIMSOLL_ASSIGN_OR_RETURN(std::vector<pid_t> pids, ListProcesses(trees, group, true));
    std::erase_if(pids, [&](pid_t pid) { return done.contains(pid); });
    return pids;
  };
  std::vector<Member> last;
  while (true) {
    std::vector<Member> part;
    {
      absl::StatusOr<std::vector<Member>> pinned = PinMembers(list_others);
      if (absl::IsNotFound(pinned.status()) && !done.empty()) return last;
      if (absl::IsResourceExhausted(pinned.status()) && !last.empty()) {
        last.clear();  // frees descriptors
        continue;
      }
      PLIMSOLL_RETURN_IF_ERROR(pinned.status());
      part = *std::move(pinned);
    }
    for (const Member& member : part) {
      const absl::Status status = SignalProcess(member.pidfd, SIGKILL);
      if (!absl::IsNotFound(status)) {
        PLIMSOLL_RETURN_IF_ERROR(Annotate(status, absl::StrCat("process ", member.pid)));
      }
      done.insert(member.pid);
    }
    if (part.empty()) return last;
    last = std::move(part);
    if (!all || MonotonicNow() >= deadline) return last;
  }
}

absl::StatusOr<std::vector<Member>> KillRound(const CgroupTrees& trees, CgroupTree* freezer,
                                              const std::string& group, absl::Time deadline,
                                              absl::Duration patience) {
  if (KillByFile(trees, group)) {
    auto killed = OpenMembers(trees, group);
    if (!absl::IsResourceExhausted(killed.status())) return killed;
    // Without a free descriptor no exit can be awaited: after a pause the next round lists who is
    // left.
    return std::vector<Member>();
  }
  const bool freezes = freezer != nullptr && freezer->Exists(group).value_or(false);
  if (freezes) Freeze(*freezer, group, std::min(deadline, MonotonicNow() + patience));
  const absl::Cleanup thaw = [&] {
    if (freezes) Thaw(*freezer, group);
  };
  return SignalMembers(trees, group, /*all=*/freezes, deadline);
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
      return absl::DeadlineExceededError(
          absl::StrCat("cgroup ", group, ": ", InWords(*pids), " still there after SIGKILL"));
    }
    // Freezing costs some milliseconds and helps only against processes that fork while being
    // killed.
    const auto members = KillRound(trees, round == 0 ? nullptr : freezer, group, deadline,
                                   round == 1 ? kFirstFreezePatience : kFreezePatience);
    if (absl::IsNotFound(members.status())) return absl::OkStatus();
    PLIMSOLL_RETURN_IF_ERROR(members.status());
    AwaitExit(*members, std::min(deadline, MonotonicNow() + kRound));
  }
}

}  // namespace plimsoll::linux
