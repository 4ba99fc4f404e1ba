#include "runtime/cgroups/plugin_limits.h"

#include <map>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/oci/fit.h"

namespace plimsoll::runtime {
namespace {

using linux::CgroupSettings;

template <typename T>
void Take(const char* name, const std::string& field, const std::optional<T>& from,
          std::optional<T>* to) {
  if (field == absl::StrCat("linux.resources.", name)) *to = from;
}

template <typename T>
void Take(const char* name, const PluginChange& change, const std::map<std::string, T>& from,
          std::map<std::string, T>* to) {
  if (change.field != absl::StrCat("linux.resources.", name)) return;
  if (const auto value = from.find(change.key); value != from.end()) to->insert(*value);
}

}  // namespace

CgroupSettings SettingsBy(const std::vector<PluginChange>& changes,
                          const CgroupSettings& settings) {
  CgroupSettings taken;
  for (const PluginChange& change : changes) {
    const std::string& field = change.field;
    Take("cpu.shares", field, settings.cpu_shares, &taken.cpu_shares);
    Take("cpu.quota", field, settings.cpu_quota_us, &taken.cpu_quota_us);
    Take("cpu.period", field, settings.cpu_period_us, &taken.cpu_period_us);
    Take("cpu.cpus", field, settings.cpuset_cpus, &taken.cpuset_cpus);
    Take("cpu.mems", field, settings.cpuset_mems, &taken.cpuset_mems);
    Take("memory.limit", field, settings.memory_limit_bytes, &taken.memory_limit_bytes);
    Take("memory.swap", field, settings.memory_swap_limit_bytes, &taken.memory_swap_limit_bytes);
    Take("pids", field, settings.pids_limit, &taken.pids_limit);
    Take("hugepage_limits", change, settings.hugetlb_limits, &taken.hugetlb_limits);
    Take("unified", change, settings.unified, &taken.unified);
  }
  return taken;
}

absl::Status CheckPluginLimits(const ContainerSpec& before, const ResourceUpdate& wanted,
                               const ContainerRuntime& runtime) {
  for (const PluginChange& change : wanted.changed_by) {
    std::vector<std::string> lost;
    CgroupSettings one = SettingsBy({change}, wanted.cgroup);
    if (one != SettingsBy({change}, before.resources)) {
      // One of memory and swap that is the memory limit is held without swap accounting.
      if (one.memory_swap_limit_bytes) {
        const auto& limit = wanted.cgroup.memory_limit_bytes;
        one.memory_limit_bytes = limit.has_value() ? limit : before.resources.memory_limit_bytes;
      }
      FitSettings(one, runtime.machine(), &lost);
    }
    if (const int adj = wanted.oom_score_adj.value_or(before.oom_score_adj);
        change.field == "linux.oom_score_adj" && adj != before.oom_score_adj) {
      FitOomScoreAdj(adj, runtime.machine(), &lost);
    }
    if (lost.empty()) continue;
    return absl::FailedPreconditionError(
        absl::StrCat("plugin ", change.plugin, ": ", change.field, change.key.empty() ? "" : " ",
                     change.key, " can't be had here: ", absl::StrJoin(lost, "; ")));
  }
  return absl::OkStatus();
}

}  // namespace plimsoll::runtime
