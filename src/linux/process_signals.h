// Signal dispositions of another process, and its first execve.
#ifndef PLIMSOLL_LINUX_PROCESS_SIGNALS_H_
#define PLIMSOLL_LINUX_PROCESS_SIGNALS_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "base/fs_root.h"
#include "linux/process.h"

namespace plimsoll::linux {

// Signals as a set: bit n-1 is signal n.
using SignalSet = uint64_t;
constexpr bool Holds(SignalSet set, int signal) {
  return signal >= 1 && signal <= 64 && (set >> (signal - 1) & 1) != 0;
}

// proc(5), /proc/<pid>/status.
struct ProcessSignals {
  SignalSet caught = 0;   // by a handler of the process
  SignalSet blocked = 0;  // by its first thread
  // True when its pid is 1 in a PID namespace below that of the mounted proc/. The kernel drops
  // signals from outside that such a process neither catches nor blocks, except SIGKILL and SIGSTOP
  // (pid_namespaces(7)).
  bool is_namespace_init = false;
};

// Reads exactly that process: NOT_FOUND when it has ended. `root` holds proc/.
absl::StatusOr<ProcessSignals> ReadSignals(const FsRoot& root, const ProcessId& id);

// True when that process has executed a program since it was forked (the kernel's PF_FORKNOEXEC);
// before that it runs its parent's. False during the execve itself: after true, ReadSignals reads
// the program's handlers. Works for a zombie too. NOT_FOUND when it is gone.
absl::StatusOr<bool> HasExecuted(const FsRoot& root, const ProcessId& id);

}  // namespace plimsoll::linux

#endif  // PLIMSOLL_LINUX_PROCESS_SIGNALS_H_
