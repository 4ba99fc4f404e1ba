#include "daemon/cgroup_driver.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/status.h"
#include "linux/cgroup/files.h"
#include "systemd/cgroups.h"
#include "systemd/unit_name.h"
#include "systemd/units.h"

namespace plimsoll::daemon {
namespace {

bool IsSliceInItsPlace(const std::string& group) {
  const auto unit = systemd::UnitOf(group);
  return unit.has_value() && systemd::IsSlice(*unit);
}

// Sets `monitors` and `own`. Under systemd, `systemctl kill` reaches all processes of the unit's
// group, and systemd warns of those that outlive the unit; so monitors go to the pods' side. On v1
// this would mean writing to too many hierarchies.
void FindMonitorGroup(const FsRoot& host, CgroupSetup* driver) {
  if (driver->cgroups->layout() != linux::CgroupLayout::kV2) return;
  const absl::StatusOr<std::string> text = host.Read("proc/self/cgroup");
  if (!text.ok()) return;
  const absl::StatusOr<std::string> own = linux::ParseOwnGroup(*text, "");
  if (!own.ok() || !absl::EndsWith(*own, ".service")) return;
  driver->own = *own;
  driver->monitors =
      absl::StrCat(driver->pod_parent, driver->systemd ? "/plimsoll-monitors.scope" : "/monitors");
}

// The reason why `auto` isn't systemd on a machine that runs systemd.
std::string Warning(const Config& config, linux::CgroupLayout layout) {
  const std::string why =
      layout != linux::CgroupLayout::kV2
          ? absl::StrCat("control groups are of layout ", LayoutName(layout),
                         " and the driver needs cgroup v2 alone")
      : !PodParent(config, /*systemd=*/true).ok()
          ? absl::StrCat("cgroup_parent ", config.cgroup_parent, " can't be a slice")
          : "there is no system bus (Debian: apt-get install dbus)";
  return absl::StrCat("systemd runs this machine, but the cgroup driver is cgroupfs, since ", why,
                      "; kubelet's cgroupDriver has to be the same");
}

absl::Status Refused(const absl::Status& why) {
  return absl::FailedPreconditionError(
      absl::StrCat("cgroup_driver systemd: ", why.message(), "; or set cgroup_driver to cgroupfs"));
}

}  // namespace

const char* LayoutName(linux::CgroupLayout layout) {
  switch (layout) {
    case linux::CgroupLayout::kV1:
      return "v1";
    case linux::CgroupLayout::kHybrid:
      return "hybrid";
    case linux::CgroupLayout::kV2:
      return "v2";
  }
  return "unknown";
}

absl::StatusOr<std::string> PodParent(const Config& config, bool systemd) {
  const std::string& parent = config.cgroup_parent;
  if (!systemd || IsSliceInItsPlace(parent)) return parent;
  // "/plimsoll" works as a parent for both drivers.
  const std::string slice = absl::StrCat(parent, ".slice");
  if (!absl::StrContains(parent, "-") && !absl::EndsWith(parent, ".slice") &&
      IsSliceInItsPlace(slice)) {
    return slice;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("cgroup_parent ", parent,
                   " must be a slice in its place, as in /pods.slice/pods-mine.slice, or one word "
                   "that becomes one, as in /plimsoll"));
}

bool WantsSystemd(const FsRoot& host, const Config& config, linux::CgroupLayout layout,
                  bool standalone) {
  if (config.cgroup_driver != "auto") return config.cgroup_driver == "systemd";
  return !standalone && layout == linux::CgroupLayout::kV2 && systemd::SystemdIsThere(host) &&
         PodParent(config, /*systemd=*/true).ok();
}

absl::Status CheckCgroupDriver(const Config& config) {
  if (config.cgroup_driver != "systemd") return absl::OkStatus();
  const absl::Status status = PodParent(config, /*systemd=*/true).status();
  return status.ok() ? status : Refused(status);
}

absl::StatusOr<CgroupSetup> OpenCgroupDriver(const FsRoot& host, const Config& config,
                                             bool standalone) {
  CgroupSetup driver;
  PLIMSOLL_ASSIGN_OR_RETURN(driver.cgroups, linux::CgroupManager::Detect(host));
  const linux::CgroupLayout layout = driver.cgroups->layout();
  driver.systemd = WantsSystemd(host, config, layout, standalone);
  const auto parent = PodParent(config, driver.systemd);
  if (!parent.ok()) return Refused(parent.status());
  driver.pod_parent = *parent;
  if (driver.systemd) {
    if (layout != linux::CgroupLayout::kV2) {
      return Refused(absl::FailedPreconditionError(
          absl::StrCat("needs cgroup v2 alone, and control groups here are of layout ",
                       LayoutName(layout), "; boot with systemd.unified_cgroup_hierarchy=1")));
    }
    auto units = systemd::ConnectUnits(host);
    if (!units.ok()) return Refused(units.status());
    driver.stop_following = [units = units->get()] { units->Listen(nullptr); };
    driver.cgroups = std::make_unique<systemd::SystemdCgroups>(
        std::move(driver.cgroups), *std::move(units), host, config.run_dir);
  } else if (config.cgroup_driver == "auto" && !standalone && systemd::SystemdRuns(host)) {
    driver.warning = Warning(config, layout);
  }
  FindMonitorGroup(host, &driver);
  return driver;
}

}  // namespace plimsoll::daemon
