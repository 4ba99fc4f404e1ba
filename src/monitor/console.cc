#include "monitor/console.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "monitor/local_socket.h"

namespace plimsoll::monitor {

int ListenForConsole() {
  return ListenLocally(kConsoleSocket, SOCK_STREAM);
}

int ReceiveConsole(int listener) {
  const int connection = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
  if (connection < 0) return -1;
  char name[256];
  iovec part = {name, sizeof(name)};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  const ssize_t n = recvmsg(connection, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  int master = -1;
  int error = n < 0 ? errno : EPROTO;
  const cmsghdr* header = n < 0 ? nullptr : CMSG_FIRSTHDR(&message);
  if (header != nullptr && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS) {
    memcpy(&master, CMSG_DATA(header), sizeof(master));
  }
  close(connection);
  errno = error;
  return master;
}

}  // namespace plimsoll::monitor
