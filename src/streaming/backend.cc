#include "streaming/backend.h"

#include "base/status.h"
#include "runtime/commands.h"

namespace plimsoll::streaming {

void EngineBackend::LetGo() {
  const absl::MutexLock lock(&mutex_);
  commands_ = nullptr;
}

absl::Status EngineBackend::Check() const {
  if (commands_ != nullptr) return absl::OkStatus();
  return absl::UnavailableError(
      "plimsolld has been stopped or restarted since this stream was opened; open another one");
}

absl::StatusOr<std::unique_ptr<runtime::RunningCommand>> EngineBackend::Exec(
    const StreamRequest& request) {
  runtime::ExecRequest exec;
  exec.argv = request.argv;
  exec.streams = {.input = request.input,
                  .output = request.output,
                  .errors = request.errors,
                  .terminal = request.terminal};
  const absl::ReaderMutexLock lock(&mutex_);
  PLIMSOLL_RETURN_IF_ERROR(Check());
  return commands_->StartExec(request.id, exec);
}

absl::StatusOr<runtime::AttachedContainer> EngineBackend::Attach(const StreamRequest& request) {
  const absl::ReaderMutexLock lock(&mutex_);
  PLIMSOLL_RETURN_IF_ERROR(Check());
  return commands_->Attach(request.id, request.input);
}

absl::StatusOr<UniqueFd> EngineBackend::PodSocket(const std::string& sandbox_id, int family) {
  const absl::ReaderMutexLock lock(&mutex_);
  PLIMSOLL_RETURN_IF_ERROR(Check());
  return commands_->PodSocket(sandbox_id, family);
}

}  // namespace plimsoll::streaming
