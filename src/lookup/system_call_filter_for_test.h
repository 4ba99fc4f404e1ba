// For tests: a kernel that lacks a system call.
#ifndef PLIMSOLL_LOOKUP_SYSTEM_CALL_FILTER_FOR_TEST_H_
#define PLIMSOLL_LOOKUP_SYSTEM_CALL_FILTER_FOR_TEST_H_

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>

namespace plimsoll {

// False under qemu-user, which gives programs no filters.
inline bool TakesFilters() {
  return prctl(PR_GET_SECCOMP, 0, 0, 0, 0) >= 0;
}

// From here on this thread, and what it starts, gets `error` for the call `number` (SYS_...), as
// from systemd's filters; with `and_higher` for each newer call too. False with errno on failure.
// It can't be taken back: call it in a child.
inline bool RefuseSystemCall(long number, int error, bool and_higher = false) {
  const int comparison = and_higher ? BPF_JGE : BPF_JEQ;
  sock_filter steps[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(static_cast<unsigned short>(BPF_JMP | comparison | BPF_K),
               static_cast<unsigned>(number), 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | static_cast<unsigned>(error)),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  sock_fprog filter = {sizeof(steps) / sizeof(steps[0]), steps};
  if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter) == 0) return true;
  return errno == EACCES && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter) == 0;
}

}  // namespace plimsoll

#endif  // PLIMSOLL_LOOKUP_SYSTEM_CALL_FILTER_FOR_TEST_H_
