#include "linux/namespaces/detached_overlay.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <system_error>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status.h"
#include "linux/namespaces/mounts.h"
#include "lookup/mount_calls.h"

namespace plimsoll::linux {
namespace {

// mount(2) takes one page of options.
constexpr size_t kMaxMountData = 4095;

// Names layers by descriptor: short, and free of the ':' and ',' that would need escaping.
std::string PathOfFd(const UniqueFd& fd) {
  return absl::StrCat("/proc/thread-self/fd/", fd.get());
}

absl::StatusOr<std::vector<UniqueFd>> OpenLayers(const std::vector<std::string>& lower) {
  std::vector<UniqueFd> layers;
  for (const std::string& path : lower) {
    UniqueFd fd(open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!fd.valid()) return ErrnoStatus(errno, absl::StrCat("open layer ", path));
    layers.push_back(std::move(fd));
  }
  return layers;
}

// A single directory needs no overlay, and the kernel refuses one without a second layer.
absl::StatusOr<UniqueFd> CloneReadOnly(const std::string& path) {
  UniqueFd tree(OpenTree(AT_FDCWD, path.c_str(), OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC));
  if (!tree.valid()) return ErrnoStatus(errno, absl::StrCat("clone mount of ", path));
  struct mount_attr attributes = {};
  attributes.attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
  if (MountSetattr(tree.get(), "", AT_EMPTY_PATH, &attributes, sizeof(attributes)) != 0) {
    return ErrnoStatus(errno, absl::StrCat("make clone of ", path, " read-only"));
  }
  return tree;
}

// EINVAL has other causes too; then OverlayByNamespace reports them.
absl::Status NoSuchOption() {
  return absl::UnimplementedError("overlay: this kernel has no option lowerdir+");
}

absl::StatusOr<UniqueFd> MountInOwnNamespace(const std::vector<std::string>& lower) {
  if (unshare(CLONE_NEWNS) != 0) return ErrnoStatus(errno, "unshare mount namespace");
  if (mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) {
    return ErrnoStatus(errno, "make mounts private");
  }
  // Only now: overlayfs takes layers of its own mount namespace only.
  PLIMSOLL_ASSIGN_OR_RETURN(const std::vector<UniqueFd> layers, OpenLayers(lower));
  const std::string data = absl::StrCat(
      "lowerdir=", absl::StrJoin(layers, ":", [](std::string* out, const UniqueFd& fd) {
        absl::StrAppend(out, PathOfFd(fd));
      }));
  if (data.size() > kMaxMountData) {
    return absl::ResourceExhaustedError(
        absl::StrCat("overlay of ", lower.size(), " layers: more than this kernel can mount"));
  }
  // Nobody else sees the mount, so any directory will do.
  const char* target = lower.front().c_str();
  if (mount("overlay", target, "overlay", MS_RDONLY | MS_NOSUID | MS_NODEV, data.c_str()) != 0) {
    return ErrnoStatus(errno, absl::StrCat("mount overlay of ", absl::StrJoin(lower, ":")));
  }
  UniqueFd opened(open(target, O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!opened.valid()) return ErrnoStatus(errno, "open overlay");
  return opened;
}

}  // namespace

absl::StatusOr<UniqueFd> OverlayByFsopen(const std::vector<std::string>& lower) {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::vector<UniqueFd> layers, OpenLayers(lower));
  const UniqueFd context(FsOpen("overlay", FSOPEN_CLOEXEC));
  if (!context.valid()) return ErrnoStatus(errno, "fsopen overlay");
  for (size_t i = 0; i < layers.size(); ++i) {
    const std::string path = PathOfFd(layers[i]);
    if (FsConfig(context.get(), FSCONFIG_SET_STRING, "lowerdir+", path.c_str(), 0) == 0) continue;
    if (errno == EINVAL) return NoSuchOption();
    return ErrnoStatus(errno, absl::StrCat("overlay: add layer ", lower[i]));
  }
  if (FsConfig(context.get(), FSCONFIG_SET_FLAG, "ro", nullptr, 0) != 0 ||
      FsConfig(context.get(), FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) != 0) {
    // Before Linux 6.5 overlayfs parses its options itself: fsconfig(2) only collects them, in one
    // page, and they are looked at here.
    if (errno == EINVAL) return NoSuchOption();
    return ErrnoStatus(errno, absl::StrCat("create overlay of ", absl::StrJoin(lower, ":")));
  }
  UniqueFd mounted(FsMount(context.get(), FSMOUNT_CLOEXEC,
                           MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV));
  if (!mounted.valid()) return ErrnoStatus(errno, "fsmount overlay");
  return mounted;
}

absl::StatusOr<UniqueFd> OverlayByNamespace(const std::vector<std::string>& lower) {
  absl::StatusOr<UniqueFd> result = absl::InternalError("overlay thread did not run");
  try {
    std::thread([&] { result = MountInOwnNamespace(lower); }).join();
  } catch (const std::system_error& error) {
    return absl::ResourceExhaustedError(absl::StrCat("start overlay thread: ", error.what()));
  }
  return result;
}

absl::StatusOr<UniqueFd> OpenDetachedOverlay(const std::vector<std::string>& lower) {
  if (lower.empty()) return absl::InvalidArgumentError("overlay without layers");
  if (lower.size() == 1) return CloneReadOnly(lower.front());
  absl::StatusOr<UniqueFd> overlay = OverlayByFsopen(lower);
  if (absl::IsUnimplemented(overlay.status())) return OverlayByNamespace(lower);
  return overlay;
}

}  // namespace plimsoll::linux
