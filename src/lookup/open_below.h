// Opening a path below a directory that nothing in the path can lead out of: openat2(2), and a walk
// with the same result where that call is missing (Linux before 5.6, emulators) or a filter of
// system calls refuses it, such as systemd's for RestrictSUIDSGID=: a filter can't read the flags,
// which are in memory. The walk takes over too after a hundred EAGAIN. Tests compare both over a
// table of paths and over random trees, as root and as nobody.
//
// For static programs too: needs nothing of base, and no C++ library at run time.
#ifndef PLIMSOLL_LOOKUP_OPEN_BELOW_H_
#define PLIMSOLL_LOOKUP_OPEN_BELOW_H_

#include <linux/openat2.h>  // RESOLVE_...
#include <sys/types.h>

#include <cstdint>

namespace plimsoll {

// Opens `path` below `directory`, a descriptor that may be O_PATH. A descriptor, or -1 with errno,
// which is openat2's in either way. Thread-safe.
//
// `flags`: as open(2)'s; O_CLOEXEC is added. `mode` counts for O_CREAT and O_TMPFILE only.
// `resolve`: RESOLVE_IN_ROOT (`directory` is the root of absolute paths and links, and ".." stays
// at it) or RESOLVE_BENEATH (these are EXDEV), and any of
// - RESOLVE_NO_SYMLINKS: a link on the way is ELOOP;
// - RESOLVE_NO_MAGICLINKS: so is a link of /proc/<pid> that names an object, not a path. Without
//   the flag it is EXDEV;
// - RESOLVE_NO_XDEV: another mount, bind mounts included, is EXDEV.
// Other values are EINVAL.
int OpenBelow(int directory, const char* path, int flags, uint64_t resolve, mode_t mode = 0);

// The walk alone, for tests. It opens component by component, never through a link and never the
// kernel's ".." : it reads links itself and holds a descriptor of each directory that it came
// through, since the ".." of a directory that was just moved is elsewhere. EMFILE therefore also
// means a path too deep for the descriptors left. ENOSYS: RESOLVE_NO_XDEV without statx(2)'s mount
// number and without /proc, by one of which mounts are distinguished.
int WalkBelow(int directory, const char* path, int flags, uint64_t resolve, mode_t mode = 0);

}  // namespace plimsoll

#endif  // PLIMSOLL_LOOKUP_OPEN_BELOW_H_
