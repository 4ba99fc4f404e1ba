// plimsoll-launch: does the preparations for the OCI runtime's `exec` and becomes the OCI runtime.
//
//   plimsoll-launch PLAN ARGUMENT...
//
// PLAN is a file in the format of launch_plan.h. Static and without the C++ library's start-up
// cost.
#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "monitor/fail.h"
#include "monitor/launch.h"
#include "monitor/protocol.h"
#include "monitor/tell_version.h"

namespace plimsoll::monitor {
namespace {

LaunchPlan ReadPlan(const char* path) {
  static char text[kMaxPlan + 1];
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) Fail("open plan", path);
  size_t size = 0;
  while (size < kMaxPlan) {
    const ssize_t n = read(fd, text + size, kMaxPlan - size);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) Fail("read plan", path);
    if (n == 0) break;
    size += static_cast<size_t>(n);
  }
  if (size == kMaxPlan) {
    errno = E2BIG;
    Fail("read plan", path);
  }
  close(fd);
  return LaunchPlan(text, size);
}

}  // namespace
}  // namespace plimsoll::monitor

int main(int argc, char** argv) {
  if (plimsoll::monitor::TellVersion("plimsoll-launch", argc, argv)) return 0;
  if (argc < 3) {
    dprintf(2,
            "usage: plimsoll-launch PLAN ARGUMENT...\nStarted by plimsolld; of no use by hand.\n");
    return 2;
  }
  const plimsoll::monitor::LaunchPlan plan = plimsoll::monitor::ReadPlan(argv[1]);
  if (unshare(CLONE_NEWNS) != 0) plimsoll::monitor::Fail("unshare", "mount namespace");
  plimsoll::monitor::Launch(plan, argv);
}
