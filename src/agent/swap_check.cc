#include "agent/swap_check.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "agent/enforcement_config.h"
#include "agent/groups/open_cgroups.h"
#include "base/status.h"
#include "pod_runner/cri_requests/swap.h"

namespace plimsoll::agent {
namespace {

// The first kernel whose tmpfs knows noswap (2eb0f6ad7d5a, "shmem: add support to ignore swap").
constexpr std::pair<int, int> kFirstNoswap = {6, 4};

}  // namespace

absl::StatusOr<bool> IsSwapOn(const FsRoot& host) {
  const absl::StatusOr<std::string> swaps = host.Read("proc/swaps");
  if (absl::IsNotFound(swaps.status())) return false;
  PLIMSOLL_RETURN_IF_ERROR(swaps.status());
  // Below a headline each swap has a line.
  return absl::StrContains(absl::StripAsciiWhitespace(*swaps), '\n');
}

absl::Status CheckSwap(const AgentConfig& config, const FsRoot& host) {
  if (SwapBehaviorOf(config) == pod::SwapBehavior::kLimitedSwap) {
    PLIMSOLL_ASSIGN_OR_RETURN(const bool is_v2, HasCgroupV2Alone(host));
    if (!is_v2) {
      return absl::FailedPreconditionError(
          "memorySwap.swapBehavior: LimitedSwap needs cgroup v2 alone, and this machine has "
          "cgroup v1; set NoSwap");
    }
  }
  if (!config.fail_swap_on) return absl::OkStatus();
  PLIMSOLL_ASSIGN_OR_RETURN(const bool is_on, IsSwapOn(host));
  if (!is_on) return absl::OkStatus();
  return absl::FailedPreconditionError(
      "swap is on (/proc/swaps), which failSwapOn forbids: turn it off (swapoff -a), or set "
      "failSwapOn: false");
}

absl::Status CheckOomKill(const AgentConfig& config, const FsRoot& host) {
  if (config.single_process_oom_kill.value_or(true)) return absl::OkStatus();
  if (pod::HasUnifiedGroups(host)) return absl::OkStatus();
  return absl::FailedPreconditionError(
      "singleProcessOOMKill: false needs cgroup v2 alone, and this machine has cgroup v1, which "
      "kills one process of a container; leave it out, or set true");
}

bool HasTmpfsNoswap(absl::string_view release) {
  const std::vector<absl::string_view> parts = absl::StrSplit(release, absl::ByAnyChar(".-"));
  std::pair<int, int> version;
  return parts.size() >= 2 && absl::SimpleAtoi(parts[0], &version.first) &&
         absl::SimpleAtoi(parts[1], &version.second) && version >= kFirstNoswap;
}

}  // namespace plimsoll::agent
