// The runtime, put together from its parts and served.
#ifndef PLIMSOLL_DAEMON_DAEMON_H_
#define PLIMSOLL_DAEMON_DAEMON_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "daemon/config/config.h"
#include "service/logging.h"

namespace plimsoll::daemon {

struct DaemonOptions {
  Config config;            // validated
  std::string config_path;  // the file it came from; empty: built-in defaults
  std::string version;
  // Serves one run of the command line, on a machine that needs no setup.
  bool standalone = false;
  // If it is there, streams that are open when the daemon stops go on until they end, and it is
  // called, by another thread, when all have ended.
  std::function<void()> streams_ended;
};

class Daemon {
 public:
  virtual ~Daemon() = default;

  // Finds every sandbox and container again, and serves them when it returns. Makes this process a
  // child subreaper and raises its descriptor limit to the maximum. On failure only empty
  // directories are left. `log` must outlive the daemon.
  static absl::StatusOr<std::unique_ptr<Daemon>> Start(DaemonOptions options, Log* log);

  // Takes over the keys of `config` that can change at run time; the log names the others that
  // differ.
  virtual void Reload(const Config& config) = 0;

  // Ends serving: no new calls, no streams but those that DaemonOptions leaves open; running calls
  // get `grace` and are then cut off. Workloads go on. False if some calls still don't end: don't
  // destroy this then, just exit the process, which costs no more than a crash. Call once, before
  // destruction.
  virtual bool Stop(absl::Duration grace) = 0;

  // Call after Stop. If streams are left open, ends everything else and gives up the directories,
  // so that the next daemon can start, and returns their number. Otherwise does nothing and returns
  // 0. Destruction ends them.
  virtual int LeaveStreams() = 0;

  // Call after Stop, when no client can come any more. Unless a sandbox still needs them, removes
  // the run directory, and the pods' parent cgroup if nothing else uses it.
  virtual absl::Status RemoveRunDirectoryIfUnused() = 0;
};

}  // namespace plimsoll::daemon

#endif  // PLIMSOLL_DAEMON_DAEMON_H_
