// The link's reports, to parts that come and go.
#ifndef PLIMSOLL_KUBE_REPORT_FAN_H_
#define PLIMSOLL_KUBE_REPORT_FAN_H_

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "kube/link/runtime_link.h"

namespace plimsoll::kube {

// The link is opened before the parts that it serves, as they need it. Thread-safe.
class ReportFan {
 public:
  using Receiver = std::function<void(std::shared_ptr<const NodeReport>)>;

  // The link's callback.
  void Hear(const std::shared_ptr<const NodeReport>& report) {
    const absl::MutexLock lock(&mutex_);
    has_news_ = true;
    last_ = report;
    for (const Receiver& each : receivers_) each(report);
  }
  // The receiver gets what came last, at once, and all that comes. It must not block, nor call
  // this.
  void Attach(Receiver receiver) {
    const absl::MutexLock lock(&mutex_);
    if (has_news_) receiver(last_);
    receivers_.push_back(std::move(receiver));
  }
  // No receiver is called any more once this has returned.
  void DetachAll() {
    const absl::MutexLock lock(&mutex_);
    receivers_.clear();
  }

 private:
  absl::Mutex mutex_;
  bool has_news_ ABSL_GUARDED_BY(mutex_) = false;
  std::shared_ptr<const NodeReport> last_ ABSL_GUARDED_BY(mutex_);
  std::vector<Receiver> receivers_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace plimsoll::kube

#endif  // PLIMSOLL_KUBE_REPORT_FAN_H_
