// Delayed checks of containers, on a thread of their own.
#ifndef PLIMSOLL_QOS_RDT_RECHECKS_H_
#define PLIMSOLL_QOS_RDT_RECHECKS_H_

#include <functional>
#include <map>
#include <string>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace plimsoll::qos {

// Thread-safe. The thread sleeps while no check is due.
class RdtRechecks {
 public:
  enum class Kind { kClass, kClassAgain, kMonitoring };
  using Check = std::function<void(const std::string& id, Kind kind)>;

  explicit RdtRechecks(Check check);
  // Waits for the running check; later ones are dropped.
  ~RdtRechecks();
  RdtRechecks(const RdtRechecks&) = delete;
  RdtRechecks& operator=(const RdtRechecks&) = delete;

  // Calls the check about `id` once, `delay` from now. A pending check of the same kind keeps its
  // time, so that many requests are one.
  void After(absl::Duration delay, absl::string_view id, Kind kind);

 private:
  void Run();
  bool HasNews() const ABSL_SHARED_LOCKS_REQUIRED(mutex_);

  const Check check_;
  absl::Mutex mutex_;
  std::map<std::pair<std::string, Kind>, absl::Time> due_ ABSL_GUARDED_BY(mutex_);
  bool news_ ABSL_GUARDED_BY(mutex_) = false;
  bool stop_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace plimsoll::qos

#endif  // PLIMSOLL_QOS_RDT_RECHECKS_H_
