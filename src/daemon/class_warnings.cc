#include "daemon/class_warnings.h"

namespace plimsoll::daemon {

void ClassWarnings::Tell(const std::string& type, const std::string& warning) {
  {
    absl::MutexLock lock(&mutex_);
    if (!told_.emplace(type, warning).second) return;
  }
  log_.Write(LogLevel::kWarning, "class type", {{"type", type}, {"warning", warning}});
}

void ClassWarnings::Tell(const std::vector<qos::TypeReport>& types) {
  for (const qos::TypeReport& type : types) {
    for (const std::string& warning : type.warnings) Tell(type.name, warning);
  }
}

void ClassWarnings::Forget() {
  absl::MutexLock lock(&mutex_);
  told_.clear();
}

}  // namespace plimsoll::daemon
