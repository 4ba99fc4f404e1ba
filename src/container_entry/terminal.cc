#include "container_entry/terminal.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace plimsoll::entry {
namespace {

// /dev/ptmx, Documentation/admin-guide/devices.txt.
constexpr unsigned kMultiplexerMajor = 5;
constexpr unsigned kMultiplexerMinor = 2;

bool IsMultiplexer(int place) {
  struct stat info = {};
  struct statfs system = {};
  return fstat(place, &info) == 0 && fstatfs(place, &system) == 0 &&
         system.f_type == DEVPTS_SUPER_MAGIC && S_ISCHR(info.st_mode) &&
         major(info.st_rdev) == kMultiplexerMajor && minor(info.st_rdev) == kMultiplexerMinor;
}

// Checked before it is opened: opening a device can have effects.
int OpenMaster() {
  const int place = open("/dev/pts/ptmx", O_PATH | O_NOFOLLOW | O_CLOEXEC);
  if (place < 0) return -1;
  if (!IsMultiplexer(place)) {
    close(place);
    errno = ENOTTY;
    return -1;
  }
  close(place);
  const int master = open("/dev/pts/ptmx", O_RDWR | O_NOCTTY | O_NOFOLLOW | O_CLOEXEC);
  if (master < 0) return -1;
  const int unlocked = 0;
  if (IsMultiplexer(master) && ioctl(master, TIOCSPTLCK, &unlocked) == 0) return master;
  const int error = errno;
  close(master);
  errno = error;
  return -1;
}

bool Send(int connection, int descriptor) {
  char name[] = "ptmx";
  iovec part = {name, sizeof(name)};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  memcpy(CMSG_DATA(header), &descriptor, sizeof(descriptor));
  return sendmsg(connection, &message, MSG_NOSIGNAL) >= 0;
}

}  // namespace

int ConnectTo(const char* path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (strlen(path) >= sizeof(address.sun_path)) {
    errno = ENAMETOOLONG;
    return -1;
  }
  memcpy(address.sun_path, path, strlen(path));
  const int connection = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (connection < 0) return -1;
  if (connect(connection, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0) {
    return connection;
  }
  close(connection);
  return -1;
}

int MakeTerminal(int console, uid_t owner) {
  const int master = OpenMaster();
  if (master < 0) return -1;
  // Not by path: the container could have redirected it.
  const int terminal = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (terminal < 0 || (owner != 0 && fchown(terminal, owner, static_cast<gid_t>(-1)) != 0) ||
      !Send(console, master)) {
    return -1;
  }
  close(master);
  close(console);
  return terminal;
}

bool UseTerminal(int terminal) {
  if (setsid() < 0) return false;
  for (int stream = 0; stream < 3; ++stream) {
    if (dup2(terminal, stream) < 0) return false;
  }
  return ioctl(0, TIOCSCTTY, 0) == 0;
}

}  // namespace plimsoll::entry
