#include "runtime/updates/quota_bounds.h"

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "resources/requirements.h"
#include "runtime/objects/state_machine.h"

namespace plimsoll::runtime {
namespace {

// In thousandths of a CPU; 0: no limit.
int64_t Limit(const linux::CgroupSettings& settings) {
  return resources::QuotaToMilliCpu(settings.cpu_quota_us.value_or(-1),
                                    settings.cpu_period_us.value_or(resources::kDefaultPeriodUs));
}

std::string Text(int64_t milli_cpu) {
  return milli_cpu == 0 ? "none" : resources::Quantity::FromMilli(milli_cpu).Canonical();
}

// True if the quota may be the reason of the refusal.
bool SetsQuota(const linux::CgroupSettings& wanted, const absl::Status& refused) {
  return ErrnoOf(refused) == EINVAL && wanted.cpu_quota_us.has_value();
}

}  // namespace

absl::Status NamePodsQuota(const linux::CgroupManager& cgroups, const std::string& pod,
                           const linux::CgroupSettings& wanted, const absl::Status& refused) {
  if (!SetsQuota(wanted, refused)) return refused;
  const absl::StatusOr<linux::CgroupSettings> has = cgroups.Read(pod);
  const int64_t most = has.ok() ? Limit(*has) : 0;
  const int64_t asked = Limit(wanted);
  if (most == 0 || (asked != 0 && asked <= most)) return refused;
  return absl::FailedPreconditionError(absl::StrCat("a CPU limit of ", Text(asked),
                                                    " is above the pod's limit, ", Text(most),
                                                    ": raise the pod's first"));
}

absl::Status NameContainersQuota(const linux::CgroupManager& cgroups, const std::string& pod_id,
                                 const std::vector<ContainerRecord>& containers,
                                 const linux::CgroupSettings& wanted, const absl::Status& refused) {
  if (!SetsQuota(wanted, refused)) return refused;
  const int64_t asked = Limit(wanted);
  if (asked == 0) return refused;
  for (const ContainerRecord& container : containers) {
    if (container.sandbox_id != pod_id || !HasProcess(container)) continue;
    const absl::StatusOr<linux::CgroupSettings> has = cgroups.Read(container.cgroup_path);
    if (!has.ok() || Limit(*has) <= asked) continue;
    return absl::FailedPreconditionError(absl::StrCat(
        "a CPU limit of ", Text(asked), " is below that of container \"", container.spec.name,
        "\", ", Text(Limit(*has)), ": lower the container's first"));
  }
  return refused;
}

}  // namespace plimsoll::runtime
