#include "daemon/front.h"

#include <string>
#include <utility>

#include "base/status.h"

namespace plimsoll::daemon {

absl::Status Front::StartStreaming(const StreamingConfig& config, bool standalone,
                                   runtime::Engine* engine, Log* log) {
  if (config.address.empty()) return absl::OkStatus();
  backend_ = std::make_unique<streaming::EngineBackend>(&engine->commands());
  absl::StatusOr<std::unique_ptr<streaming::Server>> started =
      streaming::Server::Start({.address = config.address,
                                .certificate = config.certificate,
                                .key = config.key,
                                .idle_timeout = absl::Seconds(config.idle_timeout),
                                .creation_timeout = absl::Seconds(config.creation_timeout),
                                .backend = backend_.get()});
  // `plimsoll run` doesn't need them, and works with loopback down.
  if (!started.ok() && standalone) {
    log->Write(LogLevel::kWarning, "no streams are served",
               {{"error", std::string(started.status().message())}});
    return absl::OkStatus();
  }
  PLIMSOLL_RETURN_IF_ERROR(Annotate(started.status(), "streaming"));
  streaming_ = *std::move(started);
  log->Write(LogLevel::kInfo, "streams are served", {{"url", streaming_->base_url()}});
  return absl::OkStatus();
}

absl::Status Front::StartServer(cri::ServerOptions options) {
  options.info.streaming = streaming_.get();
  PLIMSOLL_ASSIGN_OR_RETURN(std::unique_ptr<cri::Server> started,
                            cri::Server::Start(std::move(options)));
  absl::MutexLock lock(&mutex_);
  server_ = std::move(started);
  return absl::OkStatus();
}

bool Front::Stop(absl::Duration grace, std::function<void()> streams_ended) {
  // Streams never end by themselves, so don't wait for them.
  if (streaming_ != nullptr && streams_ended) {
    open_streams_ = streaming_->LeaveOpen(std::move(streams_ended));
  }
  if (streaming_ != nullptr && open_streams_ == 0) streaming_->Stop();
  return server_->Shutdown(grace);
}

void Front::Close() {
  std::unique_ptr<cri::Server> server;
  {
    absl::MutexLock lock(&mutex_);
    server = std::move(server_);
  }
  server.reset();
  if (open_streams_ > 0) {
    backend_->LetGo();
  } else {
    streaming_.reset();
  }
}

std::vector<cri::LaneState> Front::Lanes() const {
  absl::MutexLock lock(&mutex_);
  return server_ == nullptr ? std::vector<cri::LaneState>() : server_->Lanes();
}

}  // namespace plimsoll::daemon
