// The runtime, put together from its parts and served.
#ifndef PLIMSOLL_DAEMON_DAEMON_H_
#define PLIMSOLL_DAEMON_DAEMON_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "daemon/config.h"
#include "daemon/logging.h"

namespace plimsoll::daemon {

struct DaemonOptions {
  Config config;            // validated
  std::string config_path;  // where it came from; empty: built-in defaults
  std::string version;
  // Serves one run of the command line, on a machine that nobody need have set up.
  bool standalone = false;
};

class Daemon {
 public:
  virtual ~Daemon() = default;

  // Finds every sandbox and container again and serves them when it returns. Makes this process a
  // child subreaper with as many descriptors as it may have. On failure nothing is left but empty
  // directories. `log` must outlive the daemon.
  static absl::StatusOr<std::unique_ptr<Daemon>> Start(DaemonOptions options, Log* log);

  // Takes over what of `config` can change while it runs; the log names the rest that differs.
  virtual void Reload(const Config& config) = 0;

  // Ends serving: no new calls, those under way get `grace` and are then cut off. Workloads go on.
  // False when some still don't end: then this must not be destroyed, and the process should just
  // exit, which costs nothing that a crash would not. Once, before destruction.
  virtual bool Stop(absl::Duration grace) = 0;

  // After Stop, when no client can come any more: removes the run directory, and the pods' parent
  // cgroup where nobody else uses it, unless a sandbox still needs them.
  virtual absl::Status RemoveRunDirectoryIfUnused() = 0;
};

}  // namespace plimsoll::daemon

#endif  // PLIMSOLL_DAEMON_DAEMON_H_
