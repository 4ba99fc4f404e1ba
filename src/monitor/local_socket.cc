#include "monitor/local_socket.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace plimsoll::monitor {

int ListenLocally(const char* name, int type) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (strlen(name) >= sizeof(address.sun_path)) {
    errno = ENAMETOOLONG;
    return -1;
  }
  strcpy(address.sun_path, name);
  const int fd = socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return -1;
  unlink(name);
  const mode_t mask = umask(0177);
  const int bound = bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address));
  umask(mask);
  if (bound == 0 && listen(fd, 16) == 0) return fd;
  const int error = errno;
  close(fd);
  errno = error;
  return -1;
}

}  // namespace plimsoll::monitor
