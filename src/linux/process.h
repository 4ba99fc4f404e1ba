// Identity of other processes: a pid alone is none, since the kernel reuses it.
#ifndef PLIMSOLL_LINUX_PROCESS_H_
#define PLIMSOLL_LINUX_PROCESS_H_

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/fs_root.h"
#include "base/unique_fd.h"

namespace plimsoll::linux {

struct ProcessId {
  pid_t pid = 0;
  uint64_t start_time_ticks = 0;  // field 22 of /proc/<pid>/stat; with the boot id: unique
  bool operator==(const ProcessId&) const = default;
};

// The fields of /proc/<pid>/stat (proc(5)) in use here.
struct ProcessEntry {
  ProcessId id;
  pid_t parent = 0;
  bool zombie = false;  // has ended, and nobody has waited for it yet
  // It has SIGKILL, or its end has begun. It may hold files and memory for a moment. True of a
  // zombie too.
  bool ending = false;
};
// NOT_FOUND when there is no such process. `root` holds proc/.
absl::StatusOr<ProcessEntry> ReadProcess(const FsRoot& root, pid_t pid);
// NOT_FOUND when there is no such process.
absl::StatusOr<ProcessId> IdentifyProcess(const FsRoot& root, pid_t pid);
// A pidfd for the process that has that pid now. NOT_FOUND when none has.
absl::StatusOr<UniqueFd> OpenPidfd(pid_t pid);
// A pidfd for exactly that process: NOT_FOUND when it has ended, even if another has its pid now.
absl::StatusOr<UniqueFd> OpenProcess(const FsRoot& root, const ProcessId& id);
// pidfd_send_signal(2). NOT_FOUND when the process has exited.
absl::Status SignalProcess(const UniqueFd& pidfd, int signal);
bool HasExited(const UniqueFd& pidfd);
// Waits for the process to exit. False at the deadline.
bool AwaitExit(const UniqueFd& pidfd, absl::Time deadline);
// Sends SIGKILL to exactly that process. OK when it has ended already. Doesn't wait.
absl::Status KillProcess(const FsRoot& root, const ProcessId& id);
// Kills like KillProcess, and waits for its end. DEADLINE_EXCEEDED "process 12 survives SIGKILL".
absl::Status KillAndAwait(const FsRoot& root, const ProcessId& id, absl::Time deadline);
// A zombie counts as not running. An error means only that this is unknown.
absl::StatusOr<bool> IsRunning(const FsRoot& root, const ProcessId& id);
// Whether that process has ended, or is ending (see ProcessEntry). False if this is unknown. A
// start time of 0 stands for any process with that pid.
bool HasEndedOrIsEnding(const FsRoot& root, const ProcessId& id);

// The value of exactly that process: NOT_FOUND when it has ended.
absl::StatusOr<int> ReadOomScoreAdj(const FsRoot& root, const ProcessId& id);
// INVALID_ARGUMENT outside of -1000 to 1000; PERMISSION_DENIED, without CAP_SYS_RESOURCE, for a
// value below the least that a holder of that capability ever gave the process or its ancestors:
// 900 goes back to 600 or 0, not below.
absl::Status WriteOomScoreAdj(const FsRoot& root, const ProcessId& id, int value);
// proc/sys/kernel/random/boot_id, without the newline.
absl::StatusOr<std::string> ReadBootId(const FsRoot& root);

// The number of a signal: "TERM", "SIGTERM", "15", "SIGRTMIN+3"; nullopt if there is none.
std::optional<int> ParseSignal(absl::string_view text);

}  // namespace plimsoll::linux

#endif  // PLIMSOLL_LINUX_PROCESS_H_
