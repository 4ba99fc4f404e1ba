#include "runtime/cgroups/effective_resources.h"

#include <string>
#include <utility>

#include "base/status.h"
#include "linux/cgroup/validate.h"
#include "runtime/cgroups/group_settings.h"
#include "runtime/cgroups/last_values.h"
#include "runtime/cgroups/pod_group_settings.h"
#include "runtime/objects/state_machine.h"

namespace plimsoll::runtime {
namespace {

// cgroup v2 holds a weight, which stands for several numbers of shares. `id`: see ReportedShares.
void ReportShares(const EngineOptions& options, absl::string_view id,
                  const linux::CgroupSettings& asked, linux::CgroupSettings* read) {
  if (options.cgroups->layout() != linux::CgroupLayout::kV2 || !read->cpu_shares) return;
  read->cpu_shares = ReportedShares(*options.runtime, id, asked.cpu_shares, *read->cpu_shares);
}

// The resource members of a container's record. A list of statuses reads them for every container,
// and a copy of the whole record costs many times as much.
struct RecordedResources {
  bool has_process = false;
  std::string group;
  linux::CgroupSettings asked;
  linux::CgroupSettings last;  // of a refused container: the settings asked for
  int oom_score_adj = 0;

  static RecordedResources Of(const Container& container) {
    absl::MutexLock lock(&container.mutex);
    const ContainerRecord& record = container.record;
    const bool refused = IsRefused(record);
    return {
        .has_process = HasProcess(record),
        .group = record.cgroup_path,
        .asked = record.spec.resources,
        .last = refused ? record.spec.resources : record.last_resources.cgroup,
        .oom_score_adj = record.last_resources.oom_score_adj.value_or(record.spec.oom_score_adj)};
  }
};

}  // namespace

absl::StatusOr<EffectiveResources> ReadEffective(const EngineOptions& options,
                                                 Container& container) {
  RecordedResources recorded = RecordedResources::Of(container);
  absl::StatusOr<linux::CgroupSettings> now = absl::NotFoundError("it has ended");
  if (recorded.has_process) {
    now = ReadGroup(*options.cgroups, recorded.group, recorded.asked);
    SeeOomScore(options.host, container);
    // Looks again, since the group goes once the exit is on record. If there still is a process,
    // the reading is complete; else some of the files may have been gone.
    recorded = RecordedResources::Of(container);
  }
  EffectiveResources effective;
  effective.cgroup = std::move(recorded.last);
  effective.oom_score_adj = recorded.oom_score_adj;
  if (recorded.has_process && !absl::IsNotFound(now.status())) {
    PLIMSOLL_RETURN_IF_ERROR(now.status());
    effective.cgroup = *std::move(now);
    effective.live = true;
  }
  ReportShares(options, container.id, recorded.asked, &effective.cgroup);
  return effective;
}

absl::StatusOr<EffectiveResources> ReadEffective(const EngineOptions& options,
                                                 const Sandbox& sandbox) {
  const SandboxRecord record = sandbox.Snapshot();
  EffectiveResources effective;
  if (record.state != SandboxState::kReady) return effective;
  const linux::CgroupSettings asked = PodGroupSettings(record.spec);
  absl::StatusOr<linux::CgroupSettings> now =
      ReadGroup(*options.cgroups, record.cgroup_path, asked);
  if (absl::IsNotFound(now.status())) return effective;
  PLIMSOLL_RETURN_IF_ERROR(now.status());
  effective.cgroup = *std::move(now);
  effective.live = true;
  ReportShares(options, "", asked, &effective.cgroup);
  return effective;
}

}  // namespace plimsoll::runtime
