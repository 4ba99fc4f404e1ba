#include "agent/enforced_amounts.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "agent/enforcement_config.h"
#include "agent/manager_config.h"

namespace plimsoll::agent {
namespace {

constexpr char kPids[] = "pid";
constexpr char kCompressible[] = "-compressible";

}  // namespace

Allocatable AmountsOf(const resources::ResourceList& list) {
  Allocatable amounts;
  for (const auto& [resource, amount] : list) {
    const int64_t value = std::max<int64_t>(amount.Value(), 0);
    if (resource == "cpu") amounts.cpu_milli = std::max<int64_t>(amount.MilliValue(), 0);
    if (resource == "memory") amounts.memory_bytes = value;
    if (resource == kPids) amounts.pids = value;
    const auto pages = resources::HugepageSizeName(resource);
    if (pages.ok()) amounts.hugepages[*pages] += static_cast<uint64_t>(value);
  }
  return amounts;
}

Allocatable KubepodsAmounts(const resources::ResourceList& capacity,
                            const resources::ResourceList& reserved, int64_t max_pids) {
  resources::ResourceList left = capacity;
  if (max_pids > 0) left[kPids] = resources::Quantity::FromInt(max_pids);
  for (auto& [resource, amount] : left) {
    const auto taken = reserved.find(resource);
    if (taken == reserved.end()) continue;
    amount = taken->second > amount ? resources::Quantity::FromInt(0) : amount - taken->second;
  }
  return AmountsOf(left);
}

resources::ResourceList EnforcedReservation(const AgentConfig& config) {
  return Enforces(config, "pods") ? ReservedOf(config) : resources::ResourceList();
}

std::vector<ReservedGroup> ReservedGroupsOf(const AgentConfig& config) {
  std::vector<ReservedGroup> groups;
  for (const std::string& key : config.enforce_node_allocatable) {
    const bool is_system = absl::StartsWith(key, "system-reserved");
    if (!is_system && !absl::StartsWith(key, "kube-reserved")) continue;
    groups.push_back(
        {.key = key,
         .path = is_system ? config.system_reserved_cgroup : config.kube_reserved_cgroup,
         .amounts = AmountsOf(is_system ? SystemReservedOf(config) : KubeReservedOf(config)),
         .only_cpu = absl::EndsWith(key, kCompressible)});
  }
  return groups;
}

int64_t MaxPids(const FsRoot& host) {
  int64_t most = 0;
  for (const char* file : {"proc/sys/kernel/pid_max", "proc/sys/kernel/threads-max"}) {
    const auto text = host.Read(file);
    int64_t limit = 0;
    if (!text.ok() || !absl::SimpleAtoi(absl::StripAsciiWhitespace(*text), &limit)) continue;
    most = most == 0 ? limit : std::min(most, limit);
  }
  return most;
}

}  // namespace plimsoll::agent
