#include "agent/pods/life/living_context.h"

#include <cstdint>
#include <string>
#include <utility>

#include "agent/pods/allocation/place_book.h"
#include "base/status.h"
#include "pod_runner/cri_requests/host.h"
#include "pod_runner/cri_requests/swap.h"

namespace plimsoll::agent {
namespace {

// Kubernetes' SystemCriticalPriority; the API server gives it by these classes.
constexpr int64_t kSystemCritical = 2'000'000'000;

// plimsolld's runtime_name in the CRI.
constexpr char kPlimsolld[] = "plimsoll";

bool HasSystemPriority(const nlohmann::json& spec) {
  if (!spec.is_object()) return false;
  const auto priority = spec.find("priority");
  if (priority != spec.end() && priority->is_number_integer()) {
    return priority->get<int64_t>() >= kSystemCritical;
  }
  const auto name = spec.find("priorityClassName");
  return name != spec.end() &&
         (*name == "system-node-critical" || *name == "system-cluster-critical");
}

}  // namespace

bool IsCritical(const PodRecord& record) {
  if (!record.file.empty()) return true;
  const auto spec = record.object.find("spec");
  return spec != record.object.end() && HasSystemPriority(*spec);
}

absl::StatusOr<NodeAmounts> AmountsOf(const PodHost& host) {
  NodeAmounts amounts;
  if (host.node_amounts) amounts = host.node_amounts();
  if (amounts.memory_capacity_bytes <= 0) {
    PLIMSOLL_ASSIGN_OR_RETURN(amounts.memory_capacity_bytes, pod::MemoryCapacityBytes(host.root));
  }
  return amounts;
}

pod::SandboxLimits SandboxLimitsOf(const PodHost& host) {
  if (host.make_group) return pod::SandboxLimits::kSums;
  const std::string runtime = host.runtime_name ? host.runtime_name() : "";
  return runtime.empty() || runtime == kPlimsolld ? pod::SandboxLimits::kBounds
                                                  : pod::SandboxLimits::kSums;
}

absl::Status AddLiving(const PodHost& host, const PodRecord& record, const pod::Manifest& pod,
                       pod::PodContext& context) {
  std::map<std::string, pod::ContainerPlace> places;
  if (host.places != nullptr) {
    PLIMSOLL_ASSIGN_OR_RETURN(places, host.places->Places(pod, record.grant));
  }
  PLIMSOLL_ASSIGN_OR_RETURN(const NodeAmounts amounts, AmountsOf(host));
  context.memory_capacity_bytes = amounts.memory_capacity_bytes;
  context.swap_capacity_bytes = amounts.swap_capacity_bytes;
  context.swap = host.swap;
  context.swap_control = pod::SwapControlOf(host.root);
  context.is_critical = IsCritical(record);
  context.seccomp = host.seccomp;
  context.kills_whole_containers =
      !host.single_process_oom_kill && pod::HasUnifiedGroups(host.root);
  context.places = std::move(places);
  return absl::OkStatus();
}

}  // namespace plimsoll::agent
