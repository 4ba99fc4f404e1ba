#include "runtime/requests/picture_parts.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace plimsoll::runtime {
namespace {

using resources::Quantity;
using Role = resources::ContainerRequirements::Role;

// "2MB" -> "hugepages-2Mi".
std::string HugepageResource(const std::string& size) {
  return absl::StrCat("hugepages-", size.substr(0, size.size() - 1), "i");
}

}  // namespace

Role RoleOf(AnnouncedContainer::Type type) {
  switch (type) {
    case AnnouncedContainer::Type::kInit:
      return Role::kInit;
    case AnnouncedContainer::Type::kSidecar:
      return Role::kSidecar;
    case AnnouncedContainer::Type::kContainer:
      return Role::kContainer;
  }
  return Role::kContainer;
}

resources::Requirements ReadWritten(const KubernetesResources& written) {
  absl::StatusOr<resources::Requirements> parsed = ParseResources(written);
  return parsed.ok() ? resources::WithDefaults(*std::move(parsed)) : resources::Requirements();
}

absl::StatusOr<resources::Requirements> ReadTotal(const KubernetesResources& written) {
  resources::Requirements total;
  for (const auto& [name, text] : written.requests) {
    PLIMSOLL_ASSIGN_OR_RETURN(total.requests[name], Quantity::Parse(text));
  }
  for (const auto& [name, text] : written.limits) {
    PLIMSOLL_ASSIGN_OR_RETURN(total.limits[name], Quantity::Parse(text));
  }
  return total;
}

resources::Requirements GuessFrom(const linux::CgroupSettings& settings) {
  resources::Requirements guess;
  if (settings.cpu_shares.has_value()) {
    const int64_t milli = resources::SharesToMilliCpu(*settings.cpu_shares);
    if (milli > 0) guess.requests["cpu"] = Quantity::FromMilli(milli);
  }
  if (settings.cpu_quota_us.value_or(-1) > 0) {
    guess.limits["cpu"] = Quantity::FromMilli(resources::QuotaToMilliCpu(
        *settings.cpu_quota_us, settings.cpu_period_us.value_or(resources::kDefaultPeriodUs)));
  }
  if (settings.memory_limit_bytes.value_or(-1) > 0) {
    guess.limits["memory"] =
        Quantity::FromInt(*settings.memory_limit_bytes, Quantity::Format::kBinarySi);
  }
  for (const auto& [size, bytes] : settings.hugetlb_limits) {
    if (bytes == 0 || size.size() < 3) continue;
    guess.limits[HugepageResource(size)] =
        Quantity::FromInt(static_cast<int64_t>(bytes), Quantity::Format::kBinarySi);
  }
  return resources::WithDefaults(std::move(guess));
}

KubernetesResources InWriting(const resources::Requirements& requirements) {
  KubernetesResources written;
  for (const auto& [name, amount] : requirements.requests) {
    written.requests[name] = amount.Canonical();
  }
  for (const auto& [name, amount] : requirements.limits) written.limits[name] = amount.Canonical();
  return written;
}

AnnouncedContainer AsAnnounced(const ContainerSpec& made) {
  AnnouncedContainer container = {.name = made.name, .type = AnnouncedContainer::Type::kContainer};
  container.kubernetes_resources = made.kubernetes_resources.empty()
                                       ? InWriting(GuessFrom(made.resources))
                                       : made.kubernetes_resources;
  for (const Mount& mount : made.mounts) container.mounts.push_back(mount);
  container.devices = made.devices;
  container.cdi_devices = made.cdi_devices;
  return container;
}

}  // namespace plimsoll::runtime
