#include "streaming/backend.h"

#include <utility>

#include "runtime/engine.h"

namespace plimsoll::streaming {
namespace {

class EngineBackend final : public Backend {
 public:
  explicit EngineBackend(runtime::Engine* engine) : engine_(engine) {}

  absl::StatusOr<std::unique_ptr<runtime::RunningCommand>> Exec(
      const StreamRequest& request) override {
    runtime::ExecRequest exec;
    exec.argv = request.argv;
    exec.streams = {.input = request.input,
                    .output = request.output,
                    .errors = request.errors,
                    .terminal = request.terminal};
    return engine_->StartExec(request.id, exec);
  }
  absl::StatusOr<runtime::AttachedContainer> Attach(const StreamRequest& request) override {
    return engine_->Attach(request.id, request.input);
  }
  absl::StatusOr<UniqueFd> PodSocket(const std::string& sandbox_id, int family) override {
    return engine_->PodSocket(sandbox_id, family);
  }

 private:
  runtime::Engine* const engine_;
};

}  // namespace

std::unique_ptr<Backend> NewEngineBackend(runtime::Engine* engine) {
  return std::make_unique<EngineBackend>(engine);
}

}  // namespace plimsoll::streaming
