// The streaming server's source of streams.
#ifndef PLIMSOLL_STREAMING_BACKEND_H_
#define PLIMSOLL_STREAMING_BACKEND_H_

#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "base/unique_fd.h"
#include "runtime/oci/attached_container.h"
#include "runtime/oci/exec/running_command.h"
#include "streaming/tokens.h"

namespace plimsoll::runtime {
class Commands;  // runtime/commands.h
}

namespace plimsoll::streaming {

// Thread-safe; every method may block.
class Backend {
 public:
  virtual ~Backend() = default;
  // Starts the request's command.
  virtual absl::StatusOr<std::unique_ptr<runtime::RunningCommand>> Exec(
      const StreamRequest& request) = 0;
  virtual absl::StatusOr<runtime::AttachedContainer> Attach(const StreamRequest& request) = 0;
  // An unconnected TCP socket in the pod's network. `family`: AF_INET or AF_INET6.
  virtual absl::StatusOr<UniqueFd> PodSocket(const std::string& sandbox_id, int family) = 0;
};

// Streams what is run in containers.
class EngineBackend final : public Backend {
 public:
  // `commands` lives until LetGo.
  explicit EngineBackend(runtime::Commands* commands) : commands_(commands) {}
  // Waits for calls under way; later ones fail with UNAVAILABLE. Open streams aren't affected.
  void LetGo();

  absl::StatusOr<std::unique_ptr<runtime::RunningCommand>> Exec(
      const StreamRequest& request) override;
  absl::StatusOr<runtime::AttachedContainer> Attach(const StreamRequest& request) override;
  absl::StatusOr<UniqueFd> PodSocket(const std::string& sandbox_id, int family) override;

 private:
  absl::Status Check() const ABSL_SHARED_LOCKS_REQUIRED(mutex_);

  absl::Mutex mutex_;  // each call holds it, shared, to its end
  runtime::Commands* commands_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace plimsoll::streaming

#endif  // PLIMSOLL_STREAMING_BACKEND_H_
