#include "daemon/qos_classes.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "daemon/classes.h"

namespace plimsoll::daemon {

absl::StatusOr<std::unique_ptr<QosClasses>> QosClasses::Open(const FsRoot& host,
                                                             const Config& config,
                                                             linux::CgroupManager* cgroups,
                                                             runtime::Store* store, Log* log) {
  std::unique_ptr<QosClasses> classes(new QosClasses(cgroups, store, log));
  // First: changes while the classes look at the disks must not be missed.
  if (config.classes.blockio) classes->HearOfDevices();
  PLIMSOLL_RETURN_IF_ERROR(classes->Make(host, config, cgroups, store));
  return classes;
}

absl::Status QosClasses::Make(const FsRoot& host, const Config& config,
                              linux::CgroupManager* cgroups, runtime::Store* store) {
  // Even if no type is configured any more.
  if (const absl::Status thawed = freezer_.Recover(); !thawed.ok()) {
    log_->Write(LogLevel::kError, "a container is still frozen from a change of its class",
                {{"error", std::string(thawed.message())}});
  }
  PLIMSOLL_ASSIGN_OR_RETURN(
      registry_, MakeClasses(config.classes,
                             {.host = host,
                              .cgroups = cgroups,
                              .owned = store,
                              .freezer = &freezer_,
                              .restrict_oom_score_adj = config.restrict_oom_score_adj,
                              .warn = [this](const std::string& type, const std::string& warning) {
                                warnings_.Tell(type, warning);
                              }}));
  // Any reload logs all warnings again.
  registry_->WarnWith([this](const std::vector<qos::TypeReport>& types) {
    warnings_.Forget();
    warnings_.Tell(types);
  });
  warnings_.Tell(registry_->Describe(/*look=*/true));
  return absl::OkStatus();
}

std::vector<std::string> QosClasses::Unavailable() const {
  std::vector<std::string> all;
  for (const qos::UnavailableType& one : registry_->unavailable()) {
    all.push_back(absl::StrCat("no QoS classes of type ", one.name, " for ",
                               one.level == qos::Level::kPod ? "pods" : "containers", ": ",
                               one.reason));
  }
  return all;
}

void QosClasses::Follow() {
  warnings_.Tell(registry_->Describe(/*look=*/true));
  device_news_.Listen([this] { LookAtDevicesAgain(); });
}

// The meaning of block I/O classes changes as disks come and go. Without this news only a reload
// looks at them again.
void QosClasses::HearOfDevices() {
  auto devices = linux::UeventWatcher::Start(
      {.subsystems = {"block"}}, [this](const linux::UeventNews&) { device_news_.Tell(); });
  if (devices.ok()) {
    devices_ = *std::move(devices);
    return;
  }
  log_->Write(LogLevel::kWarning, "new and removed devices are not noticed",
              {{"error", std::string(devices.status().message())}});
}

void QosClasses::LookAtDevicesAgain() {
  const absl::Status status = registry_->Refresh();
  if (status.ok()) return;
  log_->WriteLimited(LogLevel::kWarning, "not all classes were applied to new devices",
                     {{"error", std::string(status.message())}});
}

void QosClasses::Reload() {
  const absl::StatusOr<std::vector<std::string>> changes = registry_->Reload();
  if (!changes.ok()) {
    log_->Write(LogLevel::kError, "classes not reloaded, the old ones stay in force",
                {{"error", std::string(changes.status().message())}});
    return;
  }
  for (const std::string& change : *changes) {
    log_->Write(LogLevel::kInfo, "class changed", {{"change", change}});
  }
  warnings_.Tell(registry_->Describe(/*look=*/true));
}

}  // namespace plimsoll::daemon
