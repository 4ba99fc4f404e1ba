#include "pod_runner/runtime_client/connection.h"

#include <chrono>
#include <optional>

#include "pod_runner/runtime_client/read_stream.h"

namespace plimsoll::pod {
namespace {

constexpr int kProbeSeconds = 4;
constexpr absl::Duration kReconnectInterval = absl::Milliseconds(200);

std::unique_ptr<grpc::ClientReader<node::ImageProgress>> Open(
    node::NodeService::Stub& stub, grpc::ClientContext& context,
    const node::PullImageRequest& request) {
  return stub.PullImage(&context, request);
}

std::unique_ptr<grpc::ClientReader<node::ImageProgress>> Open(
    node::NodeService::Stub& stub, grpc::ClientContext& context,
    const node::ImportImageRequest& request) {
  return stub.ImportImage(&context, request);
}

std::shared_ptr<grpc::Channel> OpenChannel(const std::string& uri) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(64 * 1024 * 1024);  // ExecSync returns up to 2 x 16 MiB
  // A restarted daemon is back within moments.
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  // gRPC also takes this for the longest time of one attempt. A stopped daemon or an overloaded
  // machine answers late, but has not gone.
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 20'000);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 500);
  return grpc::CreateCustomChannel(uri, grpc::InsecureChannelCredentials(), arguments);
}

}  // namespace

absl::Status FromGrpc(const grpc::Status& status) {
  if (status.ok()) return absl::OkStatus();
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
}

void SetDeadline(grpc::ClientContext& context, int64_t seconds) {
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(seconds));
}

RuntimeConnection::RuntimeConnection(SocketAddress address, const ClientOptions& options)
    : address_(std::move(address)),
      silence_{.on_begin = options.silent, .on_end = options.answers_again},
      on_call_(options.on_call),
      keeper_(options.keeper.get()),
      channel_(OpenChannel(address_.uri)),
      runtime_(cri::RuntimeService::NewStub(channel_)),
      images_(cri::ImageService::NewStub(channel_)),
      node_(node::NodeService::NewStub(channel_)),
      watch_({.answers = [this] { return Answers(); },
              .silent = [this] { OnSilence(true); },
              .back = [this] { OnSilence(false); }}),
      streams_({.patience = absl::InfiniteDuration(),
                .answers = [] { return true; },
                .silent = nullptr,
                .back = nullptr}) {}

void RuntimeConnection::OnSilence(bool silent) {
  silence_.is_now = silent;
  const std::function<void()>& tell = silent ? silence_.on_begin : silence_.on_end;
  if (tell) tell();
}

bool RuntimeConnection::IsLost(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsCancelled(status);
}

template <typename Request>
absl::StatusOr<node::ImageProgress::Done> RuntimeConnection::Follow(
    const Request& request, const OwnCalls::OnProgress& progress) {
  grpc::ClientContext context;
  SetDeadline(context, kTransferSeconds);
  const CallWatch::Call call(&watch_, [&context] { context.TryCancel(); });
  const auto reader = Open(*node_, context, request);
  std::optional<node::ImageProgress::Done> done;
  const auto follow = [&](const node::ImageProgress& message) {
    if (message.has_progress() && progress) progress(message.progress());
    if (message.has_done()) done = message.done();
    return true;
  };
  PLIMSOLL_RETURN_IF_ERROR(ReadStream<node::ImageProgress>(context, *reader, follow));
  if (!done) return absl::InternalError("the daemon ended the transfer without a result");
  return *std::move(done);
}

absl::StatusOr<node::ImageProgress::Done> RuntimeConnection::Pull(
    const node::PullImageRequest& request, const OwnCalls::OnProgress& progress) {
  return Follow(request, progress);
}

absl::StatusOr<node::ImageProgress::Done> RuntimeConnection::Import(
    const node::ImportImageRequest& request, const OwnCalls::OnProgress& progress) {
  return Follow(request, progress);
}

bool RuntimeConnection::Answers() const {
  grpc::ClientContext context;
  SetDeadline(context, kProbeSeconds);
  cri::VersionResponse response;
  // A refusal is an answer too: the waiting call gets it by itself.
  return runtime_->Version(&context, {}, &response).error_code() !=
         grpc::StatusCode::DEADLINE_EXCEEDED;
}

bool RuntimeConnection::AwaitDaemon(absl::Time deadline) {
  if (patience_.wait == absl::ZeroDuration() || given_up_ || watch_.abandoned()) return false;
  if (!lost_.exchange(true) && patience_.lost) patience_.lost();
  while (absl::Now() < deadline && !watch_.abandoned()) {
    absl::SleepFor(kReconnectInterval);
    if (keeper_ != nullptr) keeper_->Revive();
    grpc::ClientContext context;
    SetDeadline(context, kProbeSeconds);
    cri::VersionResponse response;
    if (!runtime_->Version(&context, {}, &response).ok()) continue;
    if (lost_.exchange(false) && patience_.back) patience_.back();
    return true;
  }
  given_up_ = true;  // each later call would wait as long again
  return false;
}

void RuntimeConnection::Abandon() {
  watch_.Abandon();
  streams_.Abandon();
}

}  // namespace plimsoll::pod
