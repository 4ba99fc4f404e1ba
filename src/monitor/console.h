// The terminal of a container: the OCI runtime makes it and sends its master over a socket (runc's
// --console-socket protocol: one message with the descriptor).
#ifndef PLIMSOLL_MONITOR_CONSOLE_H_
#define PLIMSOLL_MONITOR_CONSOLE_H_

namespace plimsoll::monitor {

constexpr char kConsoleSocket[] = "console";

// Listens at kConsoleSocket in the working directory. The socket, or -1 and errno.
int ListenForConsole();
// The master sent to `listener`, or -1 and errno: EAGAIN when none has come.
int ReceiveConsole(int listener);

}  // namespace plimsoll::monitor

#endif  // PLIMSOLL_MONITOR_CONSOLE_H_
