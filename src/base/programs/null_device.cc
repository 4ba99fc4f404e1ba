#include "base/programs/null_device.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "base/status.h"
#include "lookup/mount_calls.h"

namespace plimsoll {
namespace {

constexpr char kNode[] = "null";
constexpr mode_t kNullMode = 0666;
constexpr unsigned kMajor = 1;
constexpr unsigned kMinor = 3;

// A tmpfs that is mounted nowhere. Unlike /run it has no "nodev".
absl::StatusOr<UniqueFd> MakeDirectory() {
  const UniqueFd context(FsOpen("tmpfs", FSOPEN_CLOEXEC));
  if (!context.valid()) return ErrnoStatus(errno, "open a tmpfs");
  if (FsConfig(context.get(), FSCONFIG_SET_STRING, "mode", "0700", 0) != 0 ||
      FsConfig(context.get(), FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) != 0) {
    return ErrnoStatus(errno, "make a tmpfs");
  }
  UniqueFd directory(FsMount(context.get(), FSMOUNT_CLOEXEC, 0));
  if (!directory.valid()) return ErrnoStatus(errno, "mount a tmpfs");
  return directory;
}

class Nodes {
 public:
  absl::StatusOr<UniqueFd> Make() {
    const absl::MutexLock lock(&mutex_);
    if (!directory_.valid()) {
      PLIMSOLL_ASSIGN_OR_RETURN(directory_, MakeDirectory());
    }
    if (mknodat(directory_.get(), kNode, S_IFCHR | kNullMode, makedev(kMajor, kMinor)) != 0) {
      return ErrnoStatus(errno, "make a null device");
    }
    UniqueFd node(openat(directory_.get(), kNode, O_RDWR | O_CLOEXEC));
    const int open_error = errno;
    unlinkat(directory_.get(), kNode, 0);
    if (!node.valid()) return ErrnoStatus(open_error, "open a null device");
    // mknod(2) applied the umask.
    if (fchmod(node.get(), kNullMode) != 0) return ErrnoStatus(errno, "open a null device to all");
    return node;
  }

 private:
  absl::Mutex mutex_;  // one thread at a time uses the node's name
  UniqueFd directory_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

absl::StatusOr<UniqueFd> OpenNullDevice() {
  static Nodes* const nodes = new Nodes;
  absl::StatusOr<UniqueFd> node = nodes->Make();
  if (node.ok() || !absl::IsPermissionDenied(node.status())) return node;
  UniqueFd machines(open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!machines.valid()) return ErrnoStatus(errno, "open /dev/null");
  return machines;
}

}  // namespace plimsoll
