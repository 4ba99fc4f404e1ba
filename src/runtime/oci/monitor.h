// The daemon's side of plimsoll-monitor, the process that outlives the daemon and holds one
// container's log, terminal and exit code (monitor/protocol.h).
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
#include "base/programs/subprocess.h"
#include "base/unique_fd.h"
#include "linux/process.h"
#include "runtime/oci/container_runtime.h"
#include "runtime/oci/crun/plan.h"

namespace plimsoll::runtime {

struct Monitored {
  linux::ProcessId monitor;
  pid_t init = 0;
};

// Time limit for a monitor and its OCI runtime to create a container.
inline constexpr absl::Duration kCreateTimeout = absl::Minutes(2);

// A monitor that is started but has no plan yet. If destroyed before Create has succeeded, it and
// its children are killed.
class StartingMonitor {
 public:
  StartingMonitor(StartingMonitor&&) = default;
  StartingMonitor& operator=(StartingMonitor&&) = default;
  ~StartingMonitor();

  // Hands over the plan with its volumes and waits until the container is created. A failed create
  // is INTERNAL with the OCI runtime's own message, one that isn't done in time DEADLINE_EXCEEDED;
  // then no monitor is left, once this is destroyed. Call it once.
  absl::StatusOr<Monitored> Create(const FsRoot& host, PlanWriter plan,
                                   absl::Duration timeout = kCreateTimeout);
  pid_t pid() const { return child_.pid(); }

 private:
  friend absl::StatusOr<StartingMonitor> StartMonitor(const std::string& program,
                                                      const FsRoot& directory,
                                                      absl::string_view id);
  StartingMonitor(Child child, UniqueFd socket, UniqueFd errors)
      : child_(std::move(child)), socket_(std::move(socket)), errors_(std::move(errors)) {}

  absl::StatusOr<pid_t> Talk(PlanWriter plan, absl::Duration timeout);

  Child child_;
  UniqueFd socket_;  // invalid: moved from, or created
  UniqueFd errors_;
};

// Here `directory` is always the container's own run directory, which is its bundle too.
// Thread-safe for different containers.

// Has the architecture of the container's image, if it is not the machine's.
constexpr char kForeignArchitectureFile[] = "foreign-architecture";

// Starts the program. It needs a while until it can take a plan, which can be made meanwhile.
absl::StatusOr<StartingMonitor> StartMonitor(const std::string& program, const FsRoot& directory,
                                             absl::string_view id);
// Passes a descriptor with one byte, as the monitor takes volumes (monitor/protocol.h).
absl::Status SendDescriptor(int socket, const UniqueFd& descriptor);
// nullopt while the container runs, or when its monitor ended without a record.
absl::StatusOr<std::optional<ExitRecord>> ReadExit(const FsRoot& directory);
// Returns when the file exists at the log's path again. FAILED_PRECONDITION without a monitor.
absl::Status ReopenLog(const FsRoot& directory);
// The connection of an attached client (monitor/protocol.h), non-blocking. FAILED_PRECONDITION
// without a monitor, RESOURCE_EXHAUSTED when it has too many.
absl::StatusOr<UniqueFd> AttachToMonitor(const FsRoot& directory, bool input);
// The pidfd of the container's monitor. NOT_FOUND when none runs.
absl::StatusOr<UniqueFd> FindMonitor(const FsRoot& directory);
// Waits until `deadline` for the monitor of a dead container to end, then kills it. OK when there
// is none.
absl::Status EndMonitor(const FsRoot& directory, absl::Time deadline);

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_OCI_MONITOR_H_
