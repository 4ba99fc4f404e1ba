// The monitor: the process that outlives the daemon and holds one container's log, terminal and
// exit code. conmon is behind this interface today.
#ifndef PLIMSOLL_RUNTIME_OCI_MONITOR_H_
#define PLIMSOLL_RUNTIME_OCI_MONITOR_H_

#include <sys/types.h>

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/fs_root.h"
#include "linux/process.h"
#include "runtime/oci/container_runtime.h"

namespace plimsoll::runtime {

struct MonitorRequest {
  std::string id;
  std::string runtime;   // program to run for `create`
  std::string plan;      // its first argument
  std::string log_path;  // empty: no log
  bool terminal = false;
  bool open_stdin = false;
  bool stdin_once = false;
};

struct Monitored {
  linux::ProcessId monitor;
  pid_t init = 0;
};

// `directory` is always the container's own run directory, which is its bundle too. Thread-safe for
// different containers.
class Monitor {
 public:
  virtual ~Monitor() = default;

  virtual std::string version() const = 0;  // "conmon 2.1.6"
  // Starts a monitor that runs `<runtime> <plan> create --bundle <directory> ... <id>` and stays.
  // A failed create is an error with the runtime's own message, INTERNAL; then no monitor is left.
  virtual absl::StatusOr<Monitored> Start(const FsRoot& directory,
                                          const MonitorRequest& request) const = 0;
  virtual absl::StatusOr<std::optional<ExitRecord>> ReadExit(const FsRoot& directory,
                                                             absl::string_view id) const = 0;
  // Returns when the file at `log_path` is there again.
  virtual absl::Status ReopenLog(const FsRoot& directory) const = 0;
  virtual bool SawOom(const FsRoot& directory) const = 0;
  // Gives the monitor of a dead container until `deadline` to end by itself, then kills it. OK when
  // there is none.
  virtual absl::Status End(const FsRoot& directory, absl::string_view id,
                           absl::Time deadline) const = 0;
};

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_OCI_MONITOR_H_
