#include "linux/cgroup/pinned_members.h"

#include <utility>

#include "absl/algorithm/container.h"
#include "base/status.h"
#include "linux/process.h"

namespace plimsoll::linux {

absl::StatusOr<std::vector<Member>> PinMembers(
    absl::FunctionRef<absl::StatusOr<std::vector<pid_t>>()> list) {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::vector<pid_t> listed, list());
  std::vector<Member> members;
  for (const pid_t pid : listed) {
    absl::StatusOr<UniqueFd> pidfd = OpenPidfd(pid);
    if (absl::IsNotFound(pidfd.status())) continue;
    // The rest comes with the next round.
    if (absl::IsResourceExhausted(pidfd.status()) && !members.empty()) break;
    PLIMSOLL_RETURN_IF_ERROR(pidfd.status());
    members.push_back({pid, *std::move(pidfd)});
  }
  PLIMSOLL_ASSIGN_OR_RETURN(std::vector<pid_t> again, list());
  absl::c_sort(again);
  std::erase_if(members,
                [&](const Member& member) { return !absl::c_binary_search(again, member.pid); });
  return members;
}

}  // namespace plimsoll::linux
