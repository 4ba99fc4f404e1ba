#include "qos/rdt/monitors.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace plimsoll::qos {

std::string RdtMonitorName(absl::string_view id) {
  return absl::StrCat("plimsoll-", id);
}

void RdtMonitors::NoteUnmonitored(const Target& target, absl::string_view why) {
  absl::MutexLock lock(&mutex_);
  unmonitored_[target.id] =
      absl::StrCat(target.name, " is not monitored on its own, only with its class: ", why);
}

void RdtMonitors::Forget(const std::string& id) {
  absl::MutexLock lock(&mutex_);
  unmonitored_.erase(id);
}

std::vector<std::string> RdtMonitors::Unmonitored() const {
  std::vector<std::string> sentences;
  absl::MutexLock lock(&mutex_);
  for (const auto& [id, sentence] : unmonitored_) sentences.push_back(sentence);
  return sentences;
}

void RdtMonitors::Open(const std::string& id, RdtPlace& place) const {
  const std::string path = linux::MonitoringGroupPath(place.control_path, RdtMonitorName(id));
  if (!ownership_.IsOurs(path)) return;
  auto tasks = resctrl_.OpenTasks(path);
  if (!tasks.ok()) return;
  place.monitor_path = path;
  place.monitor = std::make_shared<const linux::Resctrl::TasksFile>(*std::move(tasks));
}

absl::Status RdtMonitors::Make(const std::string& id, RdtPlace& place) {
  if (!is_possible_) return absl::OkStatus();
  const std::string path = linux::MonitoringGroupPath(place.control_path, RdtMonitorName(id));
  if (!ownership_.IsOurs(path) || !resctrl_.HasGroup(path)) {
    PLIMSOLL_RETURN_IF_ERROR(ownership_.Make(path));
  }
  PLIMSOLL_ASSIGN_OR_RETURN(linux::Resctrl::TasksFile tasks, resctrl_.OpenTasks(path));
  place.monitor_path = path;
  place.monitor = std::make_shared<const linux::Resctrl::TasksFile>(std::move(tasks));
  return absl::OkStatus();
}

}  // namespace plimsoll::qos
