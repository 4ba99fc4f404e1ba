// Unary gRPC calls to unix sockets of root's, without waiting for them.
#ifndef PLIMSOLL_KUBELET_CALLER_H_
#define PLIMSOLL_KUBELET_CALLER_H_

#include <grpcpp/completion_queue.h>

#include <functional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "base/steady_time.h"
#include "base/worker_pool.h"
#include "kubelet/channels.h"

namespace plimsoll::kubelet {

struct Call {
  std::string socket;   // path
  std::string method;   // "/v1alpha1.Pods/GetPod"
  std::string request;  // serialized
  int most_bytes = 1 << 20;
  SteadyTime end = kNever;
};

// Thread-safe. The first call after a server's restart is answered: a kept connection that has been
// cut is replaced, and no attempt of gRPC's is waited for. The thread that awaits answers ends a
// second after the last call. gRPC's own threads for callbacks are not used: in 1.51 they sleep for
// 100 ms after each second without work (completion_queue_cc.cc).
class Caller {
 public:
  // The answer's bytes. Errors: those of Channels::Get; DEADLINE_EXCEEDED; RESOURCE_EXHAUSTED: the
  // answer is too large, or the server's limit of calls was reached until `end`; the server's own.
  using Done = std::function<void(absl::StatusOr<std::string>)>;

  Caller() = default;
  // Waits for all calls.
  ~Caller();
  Caller(const Caller&) = delete;
  Caller& operator=(const Caller&) = delete;

  // `done` is called once: before the return if there is no connection, else from another thread,
  // one at a time.
  void Start(Call call, Done done);

 private:
  class UnderWay;

  // False: the machine gives no thread.
  bool CountOne();
  // After `ended` of them have.
  bool StillAwaits(int ended);
  void AwaitAnswers();
  bool IsIdle() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return !is_awaiting_; }

  Channels channels_;
  grpc::CompletionQueue queue_;
  mutable absl::Mutex mutex_;
  int under_way_ ABSL_GUARDED_BY(mutex_) = 0;
  bool is_awaiting_ ABSL_GUARDED_BY(mutex_) = false;
  WorkerPool thread_{1, 1, absl::Seconds(1)};
};

}  // namespace plimsoll::kubelet

#endif  // PLIMSOLL_KUBELET_CALLER_H_
