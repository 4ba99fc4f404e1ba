// How a call travels: from gRPC's thread, which only queues it, to a worker, which runs the handler
// and finishes the call.
#ifndef PLIMSOLL_CRI_CALLS_H_
#define PLIMSOLL_CRI_CALLS_H_

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <functional>
#include <string>
#include <type_traits>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/worker_pool.h"
#include "cri/grpc_status.h"
#include "cri/redact.h"

namespace plimsoll::cri {

// What a handler may know of its call. Valid while the handler runs.
struct CallContext {
  absl::Time deadline = absl::InfiniteFuture();  // the client's
  std::function<bool()> cancelled = [] { return false; };
};

// Told of every finished call, in any thread: "/runtime.v1.RuntimeService/Version". Must be quick.
using CallObserver =
    std::function<void(absl::string_view method, grpc::StatusCode code, absl::Duration latency)>;
// Told of every request as it comes, as text without secrets.
using RequestTracer = std::function<void(absl::string_view method, const std::string& request)>;

// The client's deadline, InfiniteFuture when it has none.
inline absl::Time DeadlineOf(const grpc::CallbackServerContext& context) {
  const auto deadline = context.deadline();
  return deadline == std::chrono::system_clock::time_point::max() ? absl::InfiniteFuture()
                                                                  : absl::FromChrono(deadline);
}

// Calls that only look are not to wait behind calls that wait for processes and registries.
enum class Lane { kQuick, kSlow };

struct CallOptions {
  CallObserver observer;  // may be null
  RequestTracer tracer;   // may be null
  int quick_threads = 16;
  int slow_threads = 64;
  size_t max_queued = 1024;  // in each lane; more are refused with RESOURCE_EXHAUSTED
};

// Thread-safe. The destructor waits for every handler that was accepted.
class Calls {
 public:
  explicit Calls(CallOptions options)
      : options_(std::move(options)),
        quick_(options_.quick_threads, options_.max_queued),
        slow_(options_.slow_threads, options_.max_queued) {}

  // Runs `handler` on a worker; it is absl::Status(const Request&, Response*) or
  // absl::Status(const CallContext&, const Request&, Response*).
  template <typename Request, typename Response, typename Handler>
  grpc::ServerUnaryReactor* Unary(grpc::CallbackServerContext* context, const char* method,
                                  Lane lane, const Request* request, Response* response,
                                  Handler handler) {
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    const absl::Time start = absl::Now();
    Trace(method, *request);
    const absl::Status queued = Schedule(lane, [=, this] {
      // Whoever asked may have gone while the call waited: then nothing is begun.
      absl::Status status = context->IsCancelled() ? absl::CancelledError("the client has gone")
                                                   : Invoke(handler, *context, *request, response);
      Finish(reactor, method, start, status);
    });
    if (!queued.ok()) Finish(reactor, method, start, queued);
    return reactor;
  }

  // Answers UNIMPLEMENTED: "<method> is not supported: <why>".
  grpc::ServerUnaryReactor* Refuse(grpc::CallbackServerContext* context, const char* method,
                                   absl::string_view why) const {
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    Finish(reactor, method, absl::Now(), Unsupported(method, why));
    return reactor;
  }
  template <typename Response>
  grpc::ServerWriteReactor<Response>* RefuseStream(const char* method,
                                                   absl::string_view why) const {
    class Refusal : public grpc::ServerWriteReactor<Response> {
      void OnDone() override { delete this; }
    };
    auto* reactor = new Refusal;
    const absl::Status status = Unsupported(method, why);
    Observe(method, absl::Now(), status);
    reactor->Finish(ToGrpcStatus(status));
    return reactor;
  }

  // Any work on the lane's threads. RESOURCE_EXHAUSTED when its queue is full, UNAVAILABLE after
  // Drain.
  absl::Status Schedule(Lane lane, std::function<void()> work);

  // Accepts nothing more and waits until what was accepted is done. False at the deadline.
  bool Drain(absl::Time deadline);

  // Tells the observer and the tracer.
  void Observe(absl::string_view method, absl::Time start, const absl::Status& status) const;
  void Trace(absl::string_view method, const google::protobuf::Message& request) const {
    if (options_.tracer) options_.tracer(method, RedactedText(request));
  }

 private:
  static absl::Status Unsupported(absl::string_view method, absl::string_view why);

  template <typename Request, typename Response, typename Handler>
  static absl::Status Invoke(Handler& handler, grpc::CallbackServerContext& context,
                             const Request& request, Response* response) {
    if constexpr (std::is_invocable_v<Handler, const CallContext&, const Request&, Response*>) {
      CallContext call;
      call.deadline = DeadlineOf(context);
      call.cancelled = [&context] { return context.IsCancelled(); };
      return handler(call, request, response);
    } else {
      return handler(request, response);
    }
  }

  void Finish(grpc::ServerUnaryReactor* reactor, const char* method, absl::Time start,
              const absl::Status& status) const {
    // Before the reactor: once it is finished the client may see what the observer has not.
    Observe(method, start, status);
    reactor->Finish(ToGrpcStatus(status));
  }

  const CallOptions options_;
  absl::Mutex mutex_;
  bool draining_ ABSL_GUARDED_BY(mutex_) = false;
  int accepted_ ABSL_GUARDED_BY(mutex_) = 0;  // and not yet done
  WorkerPool quick_;
  WorkerPool slow_;
};

}  // namespace plimsoll::cri

#endif  // PLIMSOLL_CRI_CALLS_H_
