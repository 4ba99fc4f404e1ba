// The path of a call: gRPC's thread only queues it; a worker runs the handler and finishes the
// call.
#ifndef PLIMSOLL_CRI_CALLS_CALLS_H_
#define PLIMSOLL_CRI_CALLS_CALLS_H_

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/programs/cancellation.h"
#include "cri/calls/grpc_status.h"
#include "cri/calls/lanes.h"
#include "cri/calls/redact.h"

namespace plimsoll::cri {

// A handler's view of its call. Valid while the handler runs.
struct CallContext {
  absl::Time deadline = absl::InfiniteFuture();  // the client's
  // Notified when the client has left or its deadline has passed.
  std::shared_ptr<Cancellation> cancellation = std::make_shared<Cancellation>();
};

// "/runtime.v1.RuntimeService/Version" in its parts, without the package.
struct MethodName {
  absl::string_view service;  // "RuntimeService"
  absl::string_view name;     // "Version"
};
MethodName SplitMethod(absl::string_view method);

struct FinishedCall {
  absl::string_view method;  // "/runtime.v1.RuntimeService/Version"
  grpc::StatusCode code = grpc::StatusCode::OK;
  absl::Duration latency;
  // If the call failed:
  absl::string_view message;
  std::string object;  // the request's subject: an id, a pod, an image
};
// Called for every finished call, from any thread. Must be quick.
using CallObserver = std::function<void(const FinishedCall&)>;
// Called for every request on arrival, with its text without secrets.
using RequestTracer = std::function<void(absl::string_view method, const std::string& request)>;

// The client's deadline, InfiniteFuture when it has none.
inline absl::Time DeadlineOf(const grpc::CallbackServerContext& context) {
  const auto deadline = context.deadline();
  return deadline == std::chrono::system_clock::time_point::max() ? absl::InfiniteFuture()
                                                                  : absl::FromChrono(deadline);
}

struct CallOptions {
  CallObserver observer;  // may be null
  RequestTracer tracer;   // may be null
  LaneOptions lanes;
};

// Counts calls that gRPC still holds: a finished one may still be on its way to the client.
// Thread-safe.
class CallsUnderWay {
 public:
  void Add() {
    absl::MutexLock lock(&mutex_);
    ++count_;
  }
  void Remove() {
    absl::MutexLock lock(&mutex_);
    --count_;
  }
  // Waits for a moment without calls. False at the deadline.
  bool AwaitNone(absl::Time deadline) {
    const auto is_none = [this]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) { return count_ == 0; };
    absl::MutexLock lock(&mutex_);
    return mutex_.AwaitWithDeadline(absl::Condition(&is_none), deadline);
  }

 private:
  absl::Mutex mutex_;
  int64_t count_ ABSL_GUARDED_BY(mutex_) = 0;
};

// Finishes a call. Owned by gRPC until OnDone, which comes once the answer has left.
class CallReactor : public grpc::ServerUnaryReactor {
 public:
  explicit CallReactor(std::shared_ptr<CallsUnderWay> calls) : calls_(std::move(calls)) {
    calls_->Add();
  }

 private:
  void OnDone() override {
    calls_->Remove();
    delete this;
  }

  const std::shared_ptr<CallsUnderWay> calls_;
};

// Cancels the handler when its client leaves or its deadline passes.
class CancellableReactor : public CallReactor {
 public:
  using CallReactor::CallReactor;
  const std::shared_ptr<Cancellation>& cancellation() const { return cancellation_; }

 private:
  void OnCancel() override { cancellation_->Cancel(); }

  const std::shared_ptr<Cancellation> cancellation_ = std::make_shared<Cancellation>();
};

// Thread-safe. The destructor waits for every handler that was accepted.
class Calls {
 public:
  explicit Calls(CallOptions options) : options_(std::move(options)), lanes_(options_.lanes) {}

  // Runs `handler` on a worker; it is absl::Status(const Request&, Response*) or
  // absl::Status(const CallContext&, const Request&, Response*).
  template <typename Request, typename Response, typename Handler>
  grpc::ServerUnaryReactor* Unary(grpc::CallbackServerContext* context, const char* method,
                                  Lane lane, const Request* request, Response* response,
                                  Handler handler) {
    const absl::Time start = absl::Now();
    Trace(method, *request);
    grpc::ServerUnaryReactor* reactor = nullptr;
    std::shared_ptr<Cancellation> cancellation;  // for RPCs that take a CallContext
    if constexpr (TakesContext<Handler, Request, Response>()) {
      auto* const cancellable = new CancellableReactor(under_way_);
      cancellation = cancellable->cancellation();
      reactor = cancellable;
    } else {
      reactor = new CallReactor(under_way_);
    }
    const absl::Status queued = Schedule(lane, [=, this] {
      // The client may have left while the call waited: then begin nothing.
      absl::Status status = context->IsCancelled()
                                ? absl::CancelledError("the client has left")
                                : Invoke(handler, *context, cancellation, *request, response);
      Finish(reactor, method, start, status, request);
    });
    if (!queued.ok()) Finish(reactor, method, start, queued, request);
    return reactor;
  }

  // Like Unary, with a handler that writes the answer's bytes: absl::Status(const Request&,
  // std::string*) or absl::Status(const CallContext&, const Request&, grpc::ByteBuffer*). A request
  // that doesn't parse is INVALID_ARGUMENT.
  template <typename Request, typename Handler>
  grpc::ServerUnaryReactor* UnaryInBytes(grpc::CallbackServerContext* context, const char* method,
                                         Lane lane, const grpc::ByteBuffer& request,
                                         grpc::ByteBuffer* response, Handler handler) {
    const auto parsed = std::make_shared<Request>();
    grpc::ByteBuffer bytes = request;
    if (!grpc::SerializationTraits<Request>::Deserialize(&bytes, parsed.get()).ok()) {
      auto* const reactor = new CallReactor(under_way_);
      Finish(reactor, method, absl::Now(),
             absl::InvalidArgumentError("the request's bytes are no message of its type"), nullptr);
      return reactor;
    }
    if constexpr (TakesContext<Handler, Request, grpc::ByteBuffer>()) {
      return Unary(
          context, method, lane, parsed.get(), response,
          [parsed, handler](const CallContext& call, const Request& asked,
                            grpc::ByteBuffer* answer) { return handler(call, asked, answer); });
    } else {
      return Unary(context, method, lane, parsed.get(), response,
                   [parsed, handler](const Request& asked, grpc::ByteBuffer* answer) {
                     std::string text;
                     const absl::Status status = handler(asked, &text);
                     const grpc::Slice slice(text);
                     *answer = grpc::ByteBuffer(&slice, 1);
                     return status;
                   });
    }
  }

  // Answers UNIMPLEMENTED: "method <method> not implemented: <why>".
  grpc::ServerUnaryReactor* Refuse(const char* method, absl::string_view why) const {
    auto* const reactor = new CallReactor(under_way_);
    Finish(reactor, method, absl::Now(), Unsupported(method, why), nullptr);
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

  // Schedules like Lanes::Schedule.
  absl::Status Schedule(Lane lane, std::function<void()> work) {
    return lanes_.Schedule(lane, std::move(work));
  }
  std::vector<LaneState> State() const { return lanes_.State(); }
  // Accepts no more work. True if, by the deadline, all calls ended and their answers left.
  bool Drain(absl::Time deadline) {
    return lanes_.Drain(deadline) && under_way_->AwaitNone(deadline);
  }

  // Calls the observer and the tracer. `object`: see FinishedCall.
  void Observe(absl::string_view method, absl::Time start, const absl::Status& status,
               std::string object = "") const;
  void Trace(absl::string_view method, const google::protobuf::Message& request) const {
    if (options_.tracer) options_.tracer(method, RedactedText(request));
  }

 private:
  static absl::Status Unsupported(absl::string_view method, absl::string_view why);

  template <typename Handler, typename Request, typename Response>
  static constexpr bool TakesContext() {
    return std::is_invocable_v<Handler, const CallContext&, const Request&, Response*>;
  }

  template <typename Request, typename Response, typename Handler>
  static absl::Status Invoke(Handler& handler, grpc::CallbackServerContext& context,
                             const std::shared_ptr<Cancellation>& cancellation,
                             const Request& request, Response* response) {
    if constexpr (TakesContext<Handler, Request, Response>()) {
      return handler(CallContext{DeadlineOf(context), cancellation}, request, response);
    } else {
      return handler(request, response);
    }
  }

  void Finish(grpc::ServerUnaryReactor* reactor, const char* method, absl::Time start,
              const absl::Status& status, const google::protobuf::Message* request) const {
    // Observe before the reactor finishes: the client must not see a call that the observer hasn't.
    Observe(method, start, status,
            status.ok() || request == nullptr ? std::string() : ObjectOf(*request));
    reactor->Finish(ToGrpcStatus(status));
  }

  const CallOptions options_;
  const std::shared_ptr<CallsUnderWay> under_way_ = std::make_shared<CallsUnderWay>();
  Lanes lanes_;
};

}  // namespace plimsoll::cri

#endif  // PLIMSOLL_CRI_CALLS_CALLS_H_
