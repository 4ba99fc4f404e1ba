// The terminal of a command.
#ifndef PLIMSOLL_CONTAINER_ENTRY_TERMINAL_H_
#define PLIMSOLL_CONTAINER_ENTRY_TERMINAL_H_

#include <sys/types.h>

namespace plimsoll::entry {

// A connection to the socket at `path`; -1: failed, with errno.
int ConnectTo(const char* path);

// Makes a terminal in the container's own /dev/pts, sends its master over `console` and returns the
// other end, which `owner` owns; -1: failed, with errno. The file at that path must be a
// multiplexer of devpts: no other file is opened to be read or written.
int MakeTerminal(int console, uid_t owner);

// Makes `terminal` the controlling terminal of this process, which must have no session of others,
// and all its streams.
bool UseTerminal(int terminal);

}  // namespace plimsoll::entry

#endif  // PLIMSOLL_CONTAINER_ENTRY_TERMINAL_H_
