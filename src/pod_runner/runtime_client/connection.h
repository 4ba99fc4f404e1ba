// The gRPC side of a Client. Included by client.cc and connection.cc alone: gRPC's headers cost
// each file that includes them four seconds of compile time.
#ifndef PLIMSOLL_POD_RUNNER_RUNTIME_CLIENT_CONNECTION_H_
#define PLIMSOLL_POD_RUNNER_RUNTIME_CLIENT_CONNECTION_H_

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/socket_address.h"
#include "base/status.h"
#include "base/steady_time.h"
#include "cri/runtime/v1/api.grpc.pb.h"
#include "plimsoll/v1/node.grpc.pb.h"
#include "pod_runner/runtime_client/call_watch.h"
#include "pod_runner/runtime_client/client.h"

namespace plimsoll::pod {

inline constexpr int kTransferSeconds = 3600;  // pulls, imports

// The daemon's codes are absl's, and its messages are written for people.
absl::Status FromGrpc(const grpc::Status& status);
void SetDeadline(grpc::ClientContext& context, int64_t seconds);

// Thread-safe.
class RuntimeConnection {
 public:
  // `options.keeper` isn't taken over, and outlives this.
  RuntimeConnection(SocketAddress address, const ClientOptions& options);

  // A call that changes something. It isn't repeated: when its answer is lost, the change may have
  // been made.
  template <typename Stub, typename Request, typename Response>
  absl::StatusOr<Response> Call(Stub& stub,
                                grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&,
                                                             Response*),
                                const Request& request, int64_t seconds = kCallSeconds) {
    grpc::ClientContext context;
    SetDeadline(context, seconds);
    const CallWatch::Call call(&watch_, [&context] { context.TryCancel(); });
    Response response;
    const SteadyTime begin = SteadyNow();
    const absl::Status status = FromGrpc((stub.*method)(&context, request, &response));
    if (on_call_) {
      on_call_(Request::descriptor()->name(), status, absl::FromChrono(SteadyNow() - begin));
    }
    PLIMSOLL_RETURN_IF_ERROR(status);
    return response;
  }

  // A call that does no harm when it is made twice. When the daemon is lost, the call goes to the
  // daemon's successor, within the patience.
  template <typename Stub, typename Request, typename Response>
  absl::StatusOr<Response> Ask(Stub& stub,
                               grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&,
                                                            Response*),
                               const Request& request, int64_t seconds = kCallSeconds) {
    absl::StatusOr<Response> response = Call(stub, method, request, seconds);
    const absl::Time deadline = absl::Now() + patience_.wait;
    while (IsLost(response.status()) && AwaitDaemon(deadline)) {
      response = Call(stub, method, request, seconds);
    }
    return response;
  }

  // Transfers of an image; `progress` is called at each step.
  absl::StatusOr<node::ImageProgress::Done> Pull(const node::PullImageRequest& request,
                                                 const OwnCalls::OnProgress& progress);
  absl::StatusOr<node::ImageProgress::Done> Import(const node::ImportImageRequest& request,
                                                   const OwnCalls::OnProgress& progress);

  // Before other threads use this.
  void SetPatience(Patience patience) { patience_ = std::move(patience); }
  const Patience& patience() const { return patience_; }
  // Waits for a daemon at the same address, and asks the keeper to revive it. False at the
  // deadline.
  bool AwaitDaemon(absl::Time deadline);
  void Abandon();
  bool abandoned() const { return watch_.abandoned(); }
  bool stuck() const { return silence_.is_now || lost_; }

  cri::RuntimeService::Stub& runtime_stub() { return *runtime_; }
  cri::ImageService::Stub& image_stub() { return *images_; }
  node::NodeService::Stub& node_stub() { return *node_; }
  // Holds calls that end by themselves.
  CallWatch* watch() { return &watch_; }
  // Holds streams without an end. These may be silent for good reasons, so the daemon is never
  // asked whether it answers.
  CallWatch* streams() { return &streams_; }

 private:
  // The daemon went before it answered: the call was done, or it wasn't.
  static bool IsLost(const absl::Status& status);
  bool Answers() const;
  void OnSilence(bool silent);
  template <typename Request>
  absl::StatusOr<node::ImageProgress::Done> Follow(const Request& request,
                                                   const OwnCalls::OnProgress& progress);

  const SocketAddress address_;  // keeps the socket's directory open for reconnecting
  // Connected, and without an answer.
  struct Silence {
    const std::function<void()> on_begin;  // may be null, as the next
    const std::function<void()> on_end;
    std::atomic<bool> is_now = false;
  };
  Silence silence_;
  const decltype(ClientOptions::on_call) on_call_;  // may be null
  DaemonKeeper* const keeper_;                      // null: no one revives the daemon
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<cri::RuntimeService::Stub> runtime_;
  std::unique_ptr<cri::ImageService::Stub> images_;
  std::unique_ptr<node::NodeService::Stub> node_;
  Patience patience_;
  std::atomic<bool> lost_ = false;  // and not back yet
  std::atomic<bool> given_up_ = false;
  CallWatch watch_;
  CallWatch streams_;
};

}  // namespace plimsoll::pod

#endif  // PLIMSOLL_POD_RUNNER_RUNTIME_CLIENT_CONNECTION_H_
