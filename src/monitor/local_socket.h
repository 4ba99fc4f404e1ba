// Unix sockets named by a file in the working directory, so that their names are short enough
// whatever the directory's own path is.
#ifndef PLIMSOLL_MONITOR_LOCAL_SOCKET_H_
#define PLIMSOLL_MONITOR_LOCAL_SOCKET_H_

namespace plimsoll::monitor {

// Listens at `name` (at most 100 bytes), mode 0600, non-blocking, close-on-exec; a socket file that
// is there already is replaced. `type` is SOCK_STREAM or SOCK_SEQPACKET. -1 and errno on failure.
int ListenLocally(const char* name, int type);

}  // namespace plimsoll::monitor

#endif  // PLIMSOLL_MONITOR_LOCAL_SOCKET_H_
