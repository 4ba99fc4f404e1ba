// Whether this process has the capabilities of the initial user namespace that images need.
#ifndef PLIMSOLL_BASE_PROGRAMS_DEVICE_NODES_FOR_TEST_H_
#define PLIMSOLL_BASE_PROGRAMS_DEVICE_NODES_FOR_TEST_H_

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <string>

#include "base/dir_for_test.h"

namespace plimsoll {

// Root in a user namespace may neither make device nodes nor set attributes of trusted.*.
inline bool MayMakeDevices() {
  const TestDir dir;
  return mknod((dir.path() + "/null").c_str(), S_IFCHR | 0600, makedev(1, 3)) == 0;
}

inline constexpr char kNeedsDevices[] =
    "needs device nodes and trusted.*, which no user namespace gives";

}  // namespace plimsoll

#endif  // PLIMSOLL_BASE_PROGRAMS_DEVICE_NODES_FOR_TEST_H_
