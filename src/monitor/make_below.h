// Directories and files that are made in a root filesystem, whose symbolic links can't lead out of
// it.
#ifndef PLIMSOLL_MONITOR_MAKE_BELOW_H_
#define PLIMSOLL_MONITOR_MAKE_BELOW_H_

#include <sys/types.h>

namespace plimsoll::monitor {

// The owner of what is made; by default, the process's.
struct Owner {
  uid_t uid = static_cast<uid_t>(-1);
  gid_t gid = static_cast<gid_t>(-1);
};

enum class Kind { kDirectory, kFile };

// The extent: all that is missing, or only a path that a link on the way leads to. Other missing
// mount points are left to the OCI runtime, which makes them in the volumes that they are below.
enum class Making { kAll, kBehindLinks };

// Makes `path` below the directory `root`, a descriptor that may be O_PATH: directories 0755, a
// last file 0644. A link that leads nowhere is followed, as one that leads somewhere: "/" and ".."
// of its text end at `root`. Each name is opened beneath `root` and never through a link. False
// with errno on failure, which may leave a part of the path; what is there already, of whatever
// kind at the end of the path, is none.
bool MakeBelow(int root, const char* path, Kind kind, Making making, const Owner& owner);

}  // namespace plimsoll::monitor

#endif  // PLIMSOLL_MONITOR_MAKE_BELOW_H_
