// A pipe, for programs that end when they can't have one.
#ifndef PLIMSOLL_MONITOR_PIPE_H_
#define PLIMSOLL_MONITOR_PIPE_H_

#include <fcntl.h>
#include <unistd.h>

#include "monitor/fail.h"

namespace plimsoll::monitor {

struct Pipe {
  int reader = -1;
  int writer = -1;
};

// Both ends close when this process executes a program.
inline Pipe MakePipe() {
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) != 0) Fail("make", "a pipe");
  return {fds[0], fds[1]};
}

}  // namespace plimsoll::monitor

#endif  // PLIMSOLL_MONITOR_PIPE_H_
