#include "streaming/backend.h"

#include <utility>

#include "runtime/commands.h"

namespace plimsoll::streaming {
namespace {

class EngineBackend final : public Backend {
 public:
  explicit EngineBackend(runtime::Commands* commands) : commands_(commands) {}

  absl::StatusOr<std::unique_ptr<runtime::RunningCommand>> Exec(
      const StreamRequest& request) override {
    runtime::ExecRequest exec;
    exec.argv = request.argv;
    exec.streams = {.input = request.input,
                    .output = request.output,
                    .errors = request.errors,
                    .terminal = request.terminal};
    return commands_->StartExec(request.id, exec);
  }
  absl::StatusOr<runtime::AttachedContainer> Attach(const StreamRequest& request) override {
    return commands_->Attach(request.id, request.input);
  }
  absl::StatusOr<UniqueFd> PodSocket(const std::string& sandbox_id, int family) override {
    return commands_->PodSocket(sandbox_id, family);
  }

 private:
  runtime::Commands* const commands_;
};

}  // namespace

std::unique_ptr<Backend> NewEngineBackend(runtime::Commands* commands) {
  return std::make_unique<EngineBackend>(commands);
}

}  // namespace plimsoll::streaming
