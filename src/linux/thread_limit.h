// The limits on threads and processes that this process runs into.
#ifndef PLIMSOLL_LINUX_THREAD_LIMIT_H_
#define PLIMSOLL_LINUX_THREAD_LIMIT_H_

#include <string>

#include "base/fs_root.h"

namespace plimsoll::linux {

// For a message after EAGAIN of clone(2): the limits that are reached, "pids.max of control group
// /a is 40"; where none is known to be reached, those that exist. `host` holds proc/ and
// sys/fs/cgroup/.
std::string ThreadLimitReached(const FsRoot& host);

}  // namespace plimsoll::linux

#endif  // PLIMSOLL_LINUX_THREAD_LIMIT_H_
