// What plimsolld and plimsoll-monitor say to each other; both include this and nothing else of each
// other.
//
// plimsolld starts `plimsoll-monitor ID` with the container's run directory (its bundle) as working
// directory and one end of a stream socket as descriptor 3. On it, in this order:
//
//   monitor to daemon   "ready\n"             it holds the lock on kLockFile
//   daemon to monitor   the plan              "key=value" strings, each ended by a NUL byte; an
//                                             empty one is the last
//   monitor to daemon   "pid N\n"             the container is created, N is its init
//                    or "error TEXT"          it is not; the end of the stream ends the text
//
// A daemon that dies before the plan is sent leaves a monitor that sees the end of the stream and
// ends; one that dies later leaves a monitor that others find by its lock, which fcntl(2) F_GETLK
// tells with the pid of the holder. The monitor takes no other signal than SIGKILL. It ends when
// init has: then kExitFile says how. A monitor killed before takes a runtime that it still runs
// with it.
//
// Keys of the plan, beside those of launch_plan.h:
//   bundle    the working directory's absolute path
//   log       absolute path of the log; without it, output is read and dropped
//   log-max   bytes after which the log is put aside as "<log>.1", in the place of the one before;
//             without it, whoever reads the log rotates it (reopen-log)
//   terminal  any value: the container has a terminal
//   stdin     any value: the container's standard input stays open
#ifndef PLIMSOLL_MONITOR_PROTOCOL_H_
#define PLIMSOLL_MONITOR_PROTOCOL_H_

#include <cstddef>

namespace plimsoll::monitor {

// Files in the container's run directory.
constexpr char kLockFile[] = "monitor.lock";
// "CODE NANOSECONDS\n": exit code, or 128 + signal, and when, since 1970. Appears whole.
constexpr char kExitFile[] = "exit";
constexpr char kNewExitFile[] = "exit.new";  // until then
// A SOCK_SEQPACKET socket. A connection carries one request and one answer, "ok" or "error TEXT":
//   "reopen-log"       close the log and open its path anew
//   "resize ROWS COLS" of the terminal
constexpr char kControlSocket[] = "control";
constexpr size_t kMaxMessage = 4096;

constexpr int kSyncDescriptor = 3;
constexpr size_t kMaxPlan = 256 * 1024;

}  // namespace plimsoll::monitor

#endif  // PLIMSOLL_MONITOR_PROTOCOL_H_
