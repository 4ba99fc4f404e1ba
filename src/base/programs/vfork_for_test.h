// Whether a program that can't be started is known in the parent.
#ifndef PLIMSOLL_BASE_PROGRAMS_VFORK_FOR_TEST_H_
#define PLIMSOLL_BASE_PROGRAMS_VFORK_FOR_TEST_H_

#include <sys/wait.h>
#include <unistd.h>

namespace plimsoll {

// The parent learns by memory shared with the child that execve failed (posix_spawn(3)), and waits
// until the child has made its session. qemu-user's vfork copies the memory, and doesn't wait.
inline bool VforkSharesMemory() {
  volatile bool written = false;
  const pid_t child = vfork();
  if (child == 0) {
    written = true;
    _exit(0);
  }
  waitpid(child, nullptr, 0);
  return written;
}

inline constexpr char kVforkCopies[] = "vfork copies memory, as under qemu-user";

}  // namespace plimsoll

#endif  // PLIMSOLL_BASE_PROGRAMS_VFORK_FOR_TEST_H_
