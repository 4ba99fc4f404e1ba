#include "pod_runner/cri_requests/swap.h"

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "pod_runner/cri_requests/pod_level.h"
#include "resources/requirements.h"

namespace plimsoll::pod {
namespace {

constexpr char kGroups[] = "sys/fs/cgroup";
constexpr char kSwapMax[] = "memory.swap.max";

// The root group has no such file. An agent in it, and one in a group without the memory
// controller, looks at the groups below the root: those of its pods are among them or below them.
bool HasSwapMax(const FsRoot& root) {
  std::vector<std::string> groups;
  const std::string own = root.Read("proc/self/cgroup").value_or("");
  for (absl::string_view line : absl::StrSplit(own, '\n')) {
    if (absl::ConsumePrefix(&line, "0::")) groups.emplace_back(line);
  }
  for (const std::string& name : root.List(kGroups).value_or(std::vector<std::string>())) {
    groups.push_back(absl::StrCat("/", name));
  }
  for (const std::string& group : groups) {
    if (!root.Exists(absl::StrCat(kGroups, group, "/memory.max"))) continue;
    return root.Exists(absl::StrCat(kGroups, group, "/", kSwapMax));
  }
  return false;
}

}  // namespace

bool HasUnifiedGroups(const FsRoot& root) {
  return root.Exists("sys/fs/cgroup/cgroup.controllers");
}

SwapControl SwapControlOf(const FsRoot& root) {
  if (HasUnifiedGroups(root)) {
    return HasSwapMax(root) ? SwapControl::kV2 : SwapControl::kNone;
  }
  return root.Exists("sys/fs/cgroup/memory/memory.memsw.limit_in_bytes") ? SwapControl::kV1
                                                                         : SwapControl::kNone;
}

bool MaySwap(const Manifest& pod, size_t index, const PodContext& context) {
  if (context.swap != SwapBehavior::kLimitedSwap || context.swap_control != SwapControl::kV2 ||
      context.is_critical || QosClassOf(pod) != resources::QosClass::kBurstable) {
    return false;
  }
  const resources::Requirements own = resources::WithDefaults(pod.containers[index].resources);
  const auto request = own.requests.find("memory");
  if (request == own.requests.end() || request->second.IsZero()) return false;
  const auto limit = own.limits.find("memory");
  return limit == own.limits.end() || limit->second != request->second;
}

void SetSwap(const Manifest& pod, size_t index, const PodContext& context,
             ::runtime::v1::LinuxContainerResources* out) {
  if (!context.swap) return;
  switch (context.swap_control) {
    case SwapControl::kNone:
      return;
    case SwapControl::kV1:
      out->set_memory_swap_limit_in_bytes(out->memory_limit_in_bytes());
      return;
    case SwapControl::kV2:
      break;
  }
  const int64_t bytes =
      MaySwap(pod, index, context)
          ? resources::LimitedSwapBytes(resources::WithDefaults(pod.containers[index].resources),
                                        resources::QosClass::kBurstable,
                                        context.memory_capacity_bytes, context.swap_capacity_bytes)
          : 0;
  (*out->mutable_unified())[kSwapMax] = absl::StrCat(bytes);
}

}  // namespace plimsoll::pod
