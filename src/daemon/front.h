// The daemon's two servers for clients: the CRI on its socket, and the streams that it hands out.
#ifndef PLIMSOLL_DAEMON_FRONT_H_
#define PLIMSOLL_DAEMON_FRONT_H_

#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "cri/lanes.h"
#include "cri/server.h"
#include "daemon/config.h"
#include "runtime/engine.h"
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

  // Takes no new calls, and gives those under way `grace`. False: some don't end.
  bool Stop(absl::Duration grace);
  // Ends both servers. After Stop, or where a start has failed.
  void Close();

  // The threads of calls; none while the CRI isn't served.
  std::vector<cri::LaneState> Lanes() const;

 private:
  std::unique_ptr<streaming::Backend> backend_;
  std::unique_ptr<streaming::Server> streaming_;  // asks `backend_`
  mutable absl::Mutex mutex_;
  std::unique_ptr<cri::Server> server_;  // one thread changes it, with the mutex held
};

}  // namespace plimsoll::daemon

#endif  // PLIMSOLL_DAEMON_FRONT_H_
