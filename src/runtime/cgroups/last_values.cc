#include "runtime/cgroups/last_values.h"

#include <optional>

#include "linux/process.h"
#include "runtime/cgroups/group_settings.h"
#include "runtime/objects/state_machine.h"

namespace plimsoll::runtime {

bool SeeOomScore(const FsRoot& host, Container& container) {
  linux::ProcessId init;
  {
    absl::MutexLock lock(&container.mutex);
    init = container.record.init;
  }
  const absl::StatusOr<int> adj = linux::ReadOomScoreAdj(host, init);
  if (!adj.ok()) return false;
  absl::MutexLock lock(&container.mutex);
  std::optional<int>& last = container.record.last_resources.oom_score_adj;
  if (!IsLive(container.record.state) || last == *adj) return false;
  last = *adj;
  return true;
}

bool SeeGroup(const linux::CgroupManager& cgroups, Container& container) {
  if (!cgroups.EndsWithProcesses()) return false;
  const ContainerRecord record = container.Snapshot();
  const auto now = ReadGroup(cgroups, record.cgroup_path, record.spec.resources);
  if (!now.ok()) return false;
  absl::MutexLock lock(&container.mutex);
  linux::CgroupSettings& last = container.record.last_resources.cgroup;
  if (!IsLive(container.record.state) || last == *now) return false;
  last = *now;
  return true;
}

}  // namespace plimsoll::runtime
