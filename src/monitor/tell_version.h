// The answer of a helper program to --version, by which plimsolld finds a half-installed package.
#ifndef PLIMSOLL_MONITOR_TELL_VERSION_H_
#define PLIMSOLL_MONITOR_TELL_VERSION_H_

#include <cstdio>
#include <cstring>

#ifndef PLIMSOLL_VERSION
#define PLIMSOLL_VERSION "unknown"
#endif

namespace plimsoll::monitor {

// Prints "<program> version <version>" if --version is the only argument. False: it isn't.
inline bool TellVersion(const char* program, int argc, char** argv) {
  if (argc != 2 || strcmp(argv[1], "--version") != 0) return false;
  dprintf(1, "%s version %s\n", program, PLIMSOLL_VERSION);
  return true;
}

}  // namespace plimsoll::monitor

#endif  // PLIMSOLL_MONITOR_TELL_VERSION_H_
