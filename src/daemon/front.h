// The daemon's two servers for clients: the CRI on its socket, and the streams that it hands out.
#ifndef PLIMSOLL_DAEMON_FRONT_H_
#define PLIMSOLL_DAEMON_FRONT_H_

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "cri/calls/lanes.h"
#include "cri/server.h"
#include "daemon/config/config.h"
#include "runtime/engine.h"
#include "runtime/oci/container_runtime.h"
#include "service/logging.h"
#include "streaming/backend.h"
#include "streaming/server.h"

namespace plimsoll::daemon {

// One thread starts, stops and ends it; Lanes is for any thread.
class Front {
 public:
  // Serves exec, attach and port-forward; nothing where `config` names no address. `standalone`
  // goes without them, with a warning, where the address can't be had. `engine` outlives it.
  absl::Status StartStreaming(const StreamingConfig& config, bool standalone,
                              runtime::Engine* engine, Log* log);
  // Serves the CRI; its calls name streams if StartStreaming has started any.
  absl::Status StartServer(cri::ServerOptions options);

  // Takes no new calls, and gives those under way `grace`. False: some don't end. Streams end at
  // once, unless `streams_ended` is there: then open ones go on, and it is called when all have
  // ended.
  bool Stop(absl::Duration grace, std::function<void()> streams_ended);
  // Streams that Stop has left open.
  int open_streams() const { return open_streams_; }
  // Ends both servers but for those streams, which use nothing of the engine's any more but its OCI
  // runtime and the control groups' manager, which outlives this. After Stop, or where a start has
  // failed.
  void Close();
  // The OCI runtime, for those streams. After Close.
  void Keep(std::unique_ptr<runtime::ContainerRuntime> runtime) { runtime_ = std::move(runtime); }

  // The threads of calls; none while the CRI isn't served.
  std::vector<cri::LaneState> Lanes() const;

 private:
  std::unique_ptr<runtime::ContainerRuntime> runtime_;  // of open streams
  std::unique_ptr<streaming::EngineBackend> backend_;
  std::unique_ptr<streaming::Server> streaming_;  // asks `backend_`
  int open_streams_ = 0;
  mutable absl::Mutex mutex_;
  std::unique_ptr<cri::Server> server_;  // one thread changes it, with the mutex held
};

}  // namespace plimsoll::daemon

#endif  // PLIMSOLL_DAEMON_FRONT_H_
