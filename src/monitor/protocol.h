// The protocol between plimsolld and plimsoll-monitor; both include this and nothing else of each
// other.
//
// plimsolld starts `plimsoll-monitor ID` with the container's run directory (its bundle) as working
// directory and one end of a stream socket as descriptor 3. On it, in this order:
//
//   monitor to daemon   "ready\n"             it holds the lock on kLockFile
//   daemon to monitor   the plan              "key=value" strings, each ended by a NUL byte; an
//                                             empty one is the last
//   daemon to monitor   detached mounts       a byte with a descriptor (SCM_RIGHTS) for each
//                                             `source` of the plan, in its order
//   monitor to daemon   "pid N\n"             the container is created, N is its init
//                    or "error TEXT"          it is not; the end of the stream ends the text
//
// A daemon that dies before it has sent the plan leaves a monitor that sees the end of the stream
// and ends. A daemon that dies later leaves a monitor that is found by its lock: fcntl(2) F_GETLK
// returns the holder's pid. The monitor takes no other signal than SIGKILL. It ends after init has
// ended; kExitFile then has the exit. A monitor killed before takes a runtime that it still runs
// with it.
//
// Keys of the plan, beside those of launch_plan.h:
//   bundle    the working directory's absolute path
//   log       absolute path of the log; without it, output is read and dropped
//   log-max   bytes after which the log is renamed "<log>.1", replacing an earlier one;
//             without it, the reader of the log rotates it (reopen-log)
//   terminal  any value: the container has a terminal
//   stdin     any value: the container's standard input stays open
//   stdin-once  any value: it is closed with that of the first client that was attached to it
#ifndef PLIMSOLL_MONITOR_PROTOCOL_H_
#define PLIMSOLL_MONITOR_PROTOCOL_H_

#include <cstddef>

namespace plimsoll::monitor {

// Files in the container's run directory.
constexpr char kLockFile[] = "monitor.lock";
// "CODE NANOSECONDS\n": exit code, or 128 + signal, and the time since 1970. Appears whole.
constexpr char kExitFile[] = "exit";
constexpr char kNewExitFile[] = "exit.new";  // until then
// Appears before kExitFile if init ended by itself without having executed the container's program.
// It holds the beginning of its standard error (or terminal) and may be empty. A daemon that
// doesn't know the file sees an exit.
constexpr char kStartErrorFile[] = "start-error";
constexpr size_t kMaxStartError = 512;
// A SOCK_SEQPACKET socket. A connection carries one request and one answer, "ok" or "error TEXT":
//   "reopen-log"       close the log and open its path again
//   "resize ROWS COLS" of the terminal
//   "attach"           the connection becomes an attached client's (see below)
//   "attach stdin"     and is one that has standard input
constexpr char kControlSocket[] = "control";
constexpr size_t kMaxMessage = 4096;

// Attached clients. After the answer "ok" packets go both ways; the first byte of each is its kind.
// The monitor never waits for a client: output that finds no room in the socket is left out, and
// the next packet that finds room says how much was. A client may wait for the monitor, which takes
// no more input than the container does.
constexpr char kPacketOutput = 'o';      // from the monitor: output of the container
constexpr char kPacketErrors = 'e';      // the same, to its standard error
constexpr char kPacketLost = 'l';        // "N": bytes left out here
constexpr char kPacketEnd = 'x';         // the container has ended; the last packet
constexpr char kPacketInput = 'i';       // to the monitor: for the container's standard input
constexpr char kPacketCloseInput = 'c';  // the end of this client's input
constexpr char kPacketSize = 'r';        // "ROWS COLS" of the terminal
constexpr size_t kMaxPacket = 64 * 1024 + 1;
constexpr size_t kMaxInput = 16 * 1024;  // of one packet
// Clients attached at once; the monitor refuses more.
constexpr int kMaxAttached = 16;
constexpr char kTooManyAttached[] = "too many clients are attached";

constexpr int kSyncDescriptor = 3;
constexpr size_t kMaxPlan = 2 * 1024 * 1024;

}  // namespace plimsoll::monitor

#endif  // PLIMSOLL_MONITOR_PROTOCOL_H_
