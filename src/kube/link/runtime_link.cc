#include "kube/link/runtime_link.h"

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "base/retry_delay.h"
#include "base/socket_address.h"
#include "base/status.h"
#include "base/steady_news.h"
#include "base/steady_time.h"
#include "base/text/printable.h"
#include "kube/link/translate_report.h"
#include "plimsoll/v1/cluster.grpc.pb.h"

namespace plimsoll::kube {
namespace {

namespace wire = ::plimsoll::v1;

// Several times what the largest machine's report needs.
constexpr int kMaxMessageBytes = 4 * 1024 * 1024;
constexpr size_t kMaxErrorBytes = 1024;
// Notices a plimsolld that hangs. It allows pings at this rate.
constexpr int kPingEveryMs = 60'000;
constexpr int kPingPatienceMs = 20'000;

// A connection of its own: gRPC's shared ones would add their pauses to this link's.
struct Line {
  SocketAddress address;
  std::unique_ptr<wire::ClusterService::Stub> stub;
};

absl::StatusOr<std::unique_ptr<Line>> Dial(const std::string& socket) {
  auto line = std::make_unique<Line>();
  PLIMSOLL_ASSIGN_OR_RETURN(line->address, SocketAddressOf(socket));
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kMaxMessageBytes);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, kPingEveryMs);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kPingPatienceMs);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  line->stub = wire::ClusterService::NewStub(
      grpc::CreateCustomChannel(line->address.uri, grpc::InsecureChannelCredentials(), arguments));
  return line;
}

absl::Status FromGrpc(const grpc::Status& status, const std::string& socket) {
  if (status.ok()) return absl::OkStatus();
  const std::string why = Printable(status.error_message().substr(0, kMaxErrorBytes));
  const grpc::StatusCode code = status.error_code();
  if (code == grpc::StatusCode::UNAVAILABLE || code == grpc::StatusCode::DEADLINE_EXCEEDED ||
      code == grpc::StatusCode::CANCELLED) {
    return absl::UnavailableError(
        absl::StrCat("plimsolld doesn't answer at \"", socket, "\": ", why));
  }
  return absl::Status(static_cast<absl::StatusCode>(code), why);
}

// One WatchNode. The link's thread takes the messages; the next is read once one is taken, so that
// no more than one is held, and plimsolld leaves out those that are old by then.
class Stream final : private grpc::ClientReadReactor<wire::NodeReport> {
 public:
  explicit Stream(std::unique_ptr<Line> line) : line_(std::move(line)) {
    line_->stub->async()->WatchNode(&context_, &request_, this);
    AddHold();  // for reads that the link's thread starts
    StartRead(&read_);
    StartCall();
  }
  ~Stream() override {
    context_.TryCancel();
    RemoveHold();
    absl::MutexLock lock(&mutex_);
    mutex_.Await(absl::Condition(&is_done_));
  }

  // Any thread's: ends the stream soon.
  void Cancel() { context_.TryCancel(); }

  // Waits for the next report. nullptr: the stream has ended, or there was none in time.
  std::shared_ptr<const NodeReport> Next(absl::Duration within) {
    const SteadyTime until = SteadyAfter(within);
    while (true) {
      const uint64_t seen = news_.count();
      if (has_ended_) return nullptr;
      if (has_message_.exchange(false)) break;
      if (SteadyNow() >= until) return nullptr;
      news_.Await(seen, until);
    }
    auto report = std::make_shared<const NodeReport>(ReportFrom(read_));
    read_.Clear();
    return report;
  }
  void ReadOn() { StartRead(&read_); }

 private:
  void OnReadDone(bool ok) override {
    (ok ? has_message_ : has_ended_) = true;
    news_.Tell();
  }
  void OnDone(const grpc::Status& /*status*/) override {
    absl::MutexLock lock(&mutex_);
    is_done_ = true;
  }

  const std::unique_ptr<Line> line_;
  grpc::ClientContext context_;
  const wire::WatchNodeRequest request_;
  wire::NodeReport read_;  // gRPC's during a read, else the taker's
  std::atomic<bool> has_message_ = false;
  std::atomic<bool> has_ended_ = false;
  SteadyNews news_;  // of both
  absl::Mutex mutex_;
  bool is_done_ ABSL_GUARDED_BY(mutex_) = false;  // gRPC has no more use for this
};

class GrpcLink final : public RuntimeLink {
 public:
  GrpcLink(std::string socket, OnReport on_report, const LinkOptions& options)
      : socket_(std::move(socket)),
        on_report_(std::move(on_report)),
        options_(options),
        thread_([this] { Run(); }) {}
  ~GrpcLink() override {
    {
      absl::MutexLock lock(&mutex_);
      ending_ = true;
      end_.Tell();
      if (stream_ != nullptr) stream_->Cancel();
    }
    thread_.join();
  }

  absl::Status SetPodClasses(const PodClasses& pod) override {
    wire::SetPodClassesRequest request;
    FillPodClasses(pod, &request);
    return Call(&wire::ClusterService::Stub::SetPodClasses, request).status();
  }
  absl::Status DropPodClasses(const std::string& claim_uid) override {
    wire::DropPodClassesRequest request;
    request.set_claim_uid(claim_uid);
    return Call(&wire::ClusterService::Stub::DropPodClasses, request).status();
  }
  absl::StatusOr<std::vector<PodClasses>> ListPodClasses() override {
    PLIMSOLL_ASSIGN_OR_RETURN(
        const wire::ListPodClassesResponse response,
        Call(&wire::ClusterService::Stub::ListPodClasses, wire::ListPodClassesRequest()));
    std::vector<PodClasses> pods;
    for (const wire::SetPodClassesRequest& pod : response.pods()) {
      pods.push_back(PodClassesFrom(pod));
    }
    return pods;
  }
  absl::Status SetScheduled(bool scheduled) override {
    wire::SetScheduledRequest request;
    request.set_scheduled(scheduled);
    return Call(&wire::ClusterService::Stub::SetScheduled, request).status();
  }

 private:
  // By a connection of its own: calls are rare, and find a plimsolld that has just come back.
  template <typename Request, typename Response>
  absl::StatusOr<Response> Call(grpc::Status (wire::ClusterService::Stub::*method)(
                                    grpc::ClientContext*, const Request&, Response*),
                                const Request& request) {
    absl::StatusOr<std::unique_ptr<Line>> line = Dial(socket_);
    if (!line.ok()) {
      return FromGrpc({grpc::StatusCode::UNAVAILABLE, std::string(line.status().message())},
                      socket_);
    }
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() +
                         absl::ToChronoMilliseconds(options_.patience));
    Response response;
    PLIMSOLL_RETURN_IF_ERROR(
        FromGrpc(((*line)->stub.get()->*method)(&context, request, &response), socket_));
    return response;
  }

  void Run() {
    RetryDelay pause(
        {.first = options_.first_pause, .longest = options_.longest_pause, .jitter = nullptr});
    for (bool is_lost = false; true;) {
      const SteadyTime begun = SteadyNow();
      const bool was_there = FollowOnce();
      if (is_ending()) return;
      if (was_there || !is_lost) on_report_(nullptr);
      is_lost = true;
      // A plimsolld that ends each stream soon is looked for ever less often.
      if (TimeUntil(begun) < -pause.longest()) pause.Reset();
      if (!Rest(pause.Next())) return;
    }
  }
  // False: not a single report has come.
  bool FollowOnce() {
    absl::StatusOr<std::unique_ptr<Line>> line = Dial(socket_);
    if (!line.ok()) return false;
    Stream stream(*std::move(line));
    if (!Begin(&stream)) return false;
    bool was_there = false;
    while (const auto report =
               stream.Next(was_there ? absl::InfiniteDuration() : options_.patience)) {
      was_there = true;
      on_report_(report);
      if (!Rest(options_.rest)) break;
      stream.ReadOn();
    }
    absl::MutexLock lock(&mutex_);
    stream_ = nullptr;
    return was_there;
  }
  bool Begin(Stream* stream) {
    absl::MutexLock lock(&mutex_);
    if (ending_) return false;
    stream_ = stream;
    return true;
  }
  // False: the end has come.
  bool Rest(absl::Duration pause) {
    const SteadyTime until = SteadyAfter(pause);
    while (true) {
      const uint64_t seen = end_.count();
      if (is_ending()) return false;
      if (SteadyNow() >= until) return true;
      end_.Await(seen, until);
    }
  }
  bool is_ending() {
    absl::MutexLock lock(&mutex_);
    return ending_;
  }

  const std::string socket_;
  const OnReport on_report_;
  const LinkOptions options_;
  absl::Mutex mutex_;
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  SteadyNews end_;
  Stream* stream_ ABSL_GUARDED_BY(mutex_) = nullptr;  // null: none is open
  std::thread thread_;
};

}  // namespace

std::unique_ptr<RuntimeLink> RuntimeLink::Open(const std::string& socket, OnReport on_report,
                                               LinkOptions options) {
  return std::make_unique<GrpcLink>(socket, std::move(on_report), options);
}

}  // namespace plimsoll::kube
