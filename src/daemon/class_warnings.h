// Warnings about class types for the administrator, in the log.
#ifndef PLIMSOLL_DAEMON_CLASS_WARNINGS_H_
#define PLIMSOLL_DAEMON_CLASS_WARNINGS_H_

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "qos/registry.h"
#include "service/logging.h"

namespace plimsoll::daemon {

// A type is examined before its classes are written and again after; a warning given both times is
// logged once. Thread-safe.
class ClassWarnings {
 public:
  explicit ClassWarnings(Log* log) : log_(*log) {}

  void Tell(const std::string& type, const std::string& warning);
  void Tell(const std::vector<qos::TypeReport>& types);
  // Logs every warning again from now on.
  void Forget();

 private:
  Log& log_;
  absl::Mutex mutex_;
  std::set<std::pair<std::string, std::string>> told_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace plimsoll::daemon

#endif  // PLIMSOLL_DAEMON_CLASS_WARNINGS_H_
