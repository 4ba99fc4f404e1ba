// The unsent bytes of a TCP connection.
#ifndef PLIMSOLL_STREAMING_UNSENT_H_
#define PLIMSOLL_STREAMING_UNSENT_H_

#include <linux/sockios.h>
#include <sys/ioctl.h>

namespace plimsoll::streaming {

// Bytes (and the end, after a shutdown) that the other side has not acknowledged; 0 if the kernel
// can't tell (tcp(7), SIOCOUTQ).
inline int UnsentBytes(int socket) {
  int bytes = 0;
  return ioctl(socket, SIOCOUTQ, &bytes) == 0 ? bytes : 0;
}

}  // namespace plimsoll::streaming

#endif  // PLIMSOLL_STREAMING_UNSENT_H_
