// The place of the agent's pods: parts that start before the pods reach them here.
#ifndef PLIMSOLL_AGENT_PODS_PLACE_H_
#define PLIMSOLL_AGENT_PODS_PLACE_H_

#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "agent/pods/agent_pods.h"

namespace plimsoll::agent {

// Thread-safe. Calls run at the same time; the pods live at least as long as each of them.
class PodsPlace {
 public:
  void Put(std::unique_ptr<AgentPods> pods) {
    const absl::MutexLock lock(&mutex_);
    pods_ = std::move(pods);
  }
  // Ends the pods, or the wait for them. Waits for calls under way. From the thread of no call.
  void End() {
    std::unique_ptr<AgentPods> pods;
    {
      const absl::MutexLock lock(&mutex_);
      is_over_ = true;
      pods = std::move(pods_);
    }
  }
  // For parts that live shorter than the pods; null before Put.
  AgentPods* get() const {
    const absl::ReaderMutexLock lock(&mutex_);
    return pods_.get();
  }
  // Calls `use` if there are pods.
  void With(absl::FunctionRef<void(AgentPods&)> use) const {
    const absl::ReaderMutexLock lock(&mutex_);
    if (pods_ != nullptr) use(*pods_);
  }
  // Calls `use` once there are pods. CANCELLED: End came first.
  absl::Status Await(absl::FunctionRef<absl::Status(AgentPods&)> use) const {
    const absl::ReaderMutexLock lock(&mutex_);
    mutex_.Await(absl::Condition(this, &PodsPlace::IsDecided));
    return pods_ != nullptr ? use(*pods_) : absl::CancelledError("the agent ends");
  }

 private:
  bool IsDecided() const ABSL_SHARED_LOCKS_REQUIRED(mutex_) { return pods_ != nullptr || is_over_; }

  mutable absl::Mutex mutex_;
  std::unique_ptr<AgentPods> pods_ ABSL_GUARDED_BY(mutex_);
  bool is_over_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_PODS_PLACE_H_
