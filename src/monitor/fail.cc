#include "monitor/fail.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace plimsoll::monitor {

void Fail(const char* what, const char* object) {
  dprintf(2, "plimsoll: %s %s: %s\n", what, object, strerror(errno));
  _exit(1);
}

}  // namespace plimsoll::monitor
