#include "linux/cgroup/freeze.h"

#include <functional>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/monotonic_time.h"
#include "base/status.h"
#include "linux/cgroup/files.h"

namespace plimsoll::linux {
namespace {

constexpr absl::Duration kFreezePause = absl::Microseconds(100);
// Time after which FreezeV1 thaws the group for a moment. It is doubled each time: many tasks on a
// busy machine take longer.
constexpr absl::Duration kFirstFreezeAttempt = absl::Milliseconds(5);
// Part of that time for which the group then runs: killed threads need a processor to end.
constexpr int kThawPart = 5;

// Calls `attempt` until it returns true; calls `thaw` when that doesn't happen in time.
absl::StatusOr<bool> Await(const std::string& group, absl::Time deadline,
                           const std::function<absl::StatusOr<bool>()>& attempt,
                           const std::function<absl::Status()>& thaw) {
  absl::Status trouble;
  while (true) {
    const absl::StatusOr<bool> frozen = attempt();
    if (frozen.ok() && *frozen) return true;
    trouble = frozen.status();
    if (!trouble.ok()) break;
    if (MonotonicNow() >= deadline) {
      trouble = absl::DeadlineExceededError(
          absl::StrCat("cgroup ", group, " could not be frozen in time; it runs again"));
      break;
    }
    absl::SleepFor(kFreezePause);
  }
  const absl::Status thawed = thaw();
  return thawed.ok() || absl::IsNotFound(thawed)
             ? trouble
             : absl::AbortedError(
                   absl::StrCat(trouble.message(), "; and thawing it failed: ", thawed.message()));
}

}  // namespace

absl::StatusOr<bool> FreezeV1(CgroupTree& freezer, const std::string& group, absl::Time deadline) {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string before, freezer.Read(group, "freezer.state"));
  if (before != "THAWED") return false;
  PLIMSOLL_RETURN_IF_ERROR(freezer.Write(group, "freezer.state", "FROZEN"));
  absl::Duration patience = kFirstFreezeAttempt;
  absl::Time attempt_end = MonotonicNow() + patience;
  return Await(
      group, deadline,
      [&]() -> absl::StatusOr<bool> {
        // Only a read makes the kernel check again whether all have stopped.
        PLIMSOLL_ASSIGN_OR_RETURN(const std::string state, freezer.Read(group, "freezer.state"));
        if (state == "FROZEN") return true;
        if (MonotonicNow() < attempt_end) return false;
        // A thread in execve waits for the others of its process, which SIGKILL doesn't end while
        // they are frozen (Linux 6.18).
        PLIMSOLL_RETURN_IF_ERROR(freezer.Write(group, "freezer.state", "THAWED"));
        absl::SleepFor(patience / kThawPart);
        PLIMSOLL_RETURN_IF_ERROR(freezer.Write(group, "freezer.state", "FROZEN"));
        patience *= 2;
        attempt_end = MonotonicNow() + patience;
        return false;
      },
      [&] { return freezer.Write(group, "freezer.state", "THAWED"); });
}

absl::StatusOr<bool> FreezeV2(CgroupTree& tree, const std::string& group, absl::Time deadline) {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string before, tree.Read(group, "cgroup.freeze"));
  if (before != "0") return false;
  PLIMSOLL_RETURN_IF_ERROR(tree.Write(group, "cgroup.freeze", "1"));
  return Await(
      group, deadline,
      [&]() -> absl::StatusOr<bool> {
        PLIMSOLL_ASSIGN_OR_RETURN(const std::string events, tree.Read(group, "cgroup.events"));
        return FindKey(events, "frozen") == 1u;
      },
      [&] { return tree.Write(group, "cgroup.freeze", "0"); });
}

}  // namespace plimsoll::linux
