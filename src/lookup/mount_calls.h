// The kernel's mount calls by descriptor, as system calls: programs start on a glibc older
// than 2.36, the first to have them as functions.
//
// For static programs too. Constants and mount_attr come from <linux/mount.h> or from glibc's
// <sys/mount.h>; these two don't always go together, so neither is included here.
#ifndef PLIMSOLL_LOOKUP_MOUNT_CALLS_H_
#define PLIMSOLL_LOOKUP_MOUNT_CALLS_H_

#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>

struct mount_attr;

namespace plimsoll {

// Each is the call of that name: a descriptor or 0, or -1 with its errno. Thread-safe.

inline int FsOpen(const char* type, unsigned flags) {
  return static_cast<int>(syscall(SYS_fsopen, type, flags));
}

inline int FsConfig(int context, unsigned command, const char* key, const void* value, int number) {
  return static_cast<int>(syscall(SYS_fsconfig, context, command, key, value, number));
}

inline int FsMount(int context, unsigned flags, unsigned attributes) {
  return static_cast<int>(syscall(SYS_fsmount, context, flags, attributes));
}

inline int OpenTree(int directory, const char* path, unsigned flags) {
  return static_cast<int>(syscall(SYS_open_tree, directory, path, flags));
}

inline int MoveMount(int from, const char* from_path, int to, const char* to_path, unsigned flags) {
  return static_cast<int>(syscall(SYS_move_mount, from, from_path, to, to_path, flags));
}

inline int MountSetattr(int directory, const char* path, unsigned flags, mount_attr* attributes,
                        size_t size) {
  return static_cast<int>(syscall(SYS_mount_setattr, directory, path, flags, attributes, size));
}

}  // namespace plimsoll

#endif  // PLIMSOLL_LOOKUP_MOUNT_CALLS_H_
