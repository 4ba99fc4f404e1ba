// Calls to plugins that are under way, so that all can be ended at once.
#ifndef PLIMSOLL_AGENT_DEVICE_MANAGER_CALL_SET_H_
#define PLIMSOLL_AGENT_DEVICE_MANAGER_CALL_SET_H_

#include <grpcpp/client_context.h>

#include <chrono>
#include <functional>
#include <set>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace plimsoll::agent {

// gRPC's error as Go shows it: "rpc error: code = Unknown desc = ...". UNAVAILABLE also where the
// connection was ended from this side. Foreign text is made printable, and cut.
absl::Status FromGrpc(const grpc::Status& status);

// Thread-safe.
class CallSet {
 public:
  // Runs `call`, which blocks no longer than the context lives. UNAVAILABLE after EndAll.
  absl::Status Run(absl::Duration limit,
                   const std::function<grpc::Status(grpc::ClientContext&)>& call) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() +
                         std::chrono::duration_cast<std::chrono::system_clock::duration>(
                             absl::ToChronoNanoseconds(limit)));
    {
      const absl::MutexLock lock(&mutex_);
      if (ended_) return absl::UnavailableError("the agent is ending");
      contexts_.insert(&context);
    }
    const grpc::Status status = call(context);
    const absl::MutexLock lock(&mutex_);
    contexts_.erase(&context);
    return FromGrpc(status);
  }
  // Ends all calls soon, and all later ones at once.
  void EndAll() {
    const absl::MutexLock lock(&mutex_);
    ended_ = true;
    for (grpc::ClientContext* context : contexts_) context->TryCancel();
  }

 private:
  absl::Mutex mutex_;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  std::set<grpc::ClientContext*> contexts_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_DEVICE_MANAGER_CALL_SET_H_
