#include "monitor/volumes.h"

#include <fcntl.h>
#include <linux/mount.h>
#include <sched.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <initializer_list>

#include "lookup/mount_calls.h"
#include "lookup/open_below.h"
#include "monitor/fail.h"
#include "monitor/mount_call.h"
#include "monitor/pipe.h"
#include "monitor/protocol.h"

namespace plimsoll::monitor {
namespace {

constexpr unsigned long kStageFlags = 2 | 4;  // MS_NOSUID, MS_NODEV
// The OCI spec's mount decides whether programs in it may run.
constexpr uint64_t kImageAttributes = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
constexpr size_t kMaxPath = 4096;
constexpr size_t kMaxVolumeLayers = 500;  // overlayfs's own limit

struct Path {
  char bytes[kMaxPath];
};

Path Join(const char* directory, const char* name) {
  Path path;
  const int size = snprintf(path.bytes, sizeof(path.bytes), "%s/%s", directory, name);
  if (size < 0 || static_cast<size_t>(size) >= sizeof(path.bytes)) {
    errno = ENAMETOOLONG;
    Fail("join a path to", directory);
  }
  return path;
}

Path Join(const char* directory, int number) {
  char name[16];
  snprintf(name, sizeof(name), "%d", number);
  return Join(directory, name);
}

void MakeDirectory(const char* path) {
  if (mkdir(path, 0755) != 0 && errno != EEXIST) Fail("make directory", path);
}

void MakeFile(const char* path) {
  const int fd = open(path, O_RDONLY | O_CREAT | O_CLOEXEC, 0644);
  if (fd < 0) Fail("make file", path);
  close(fd);
}

bool TryAttach(int tree, const char* path) {
  return MoveMount(tree, "", AT_FDCWD, path, MOVE_MOUNT_F_EMPTY_PATH) == 0;
}

void Attach(int tree, const char* path) {
  if (!TryAttach(tree, path)) Fail("attach a mount at", path);
  close(tree);
}

// The next `key` of this volume after `previous` (null: the first); null at the end.
const char* Member(const LaunchPlan& plan, const char* volume, const char* key,
                   const char* previous) {
  return plan.Next(key, previous == nullptr ? volume : previous, plan.Next("volume", volume));
}

void WriteMap(pid_t pid, const char* file, const char* text, size_t size) {
  char path[64];
  snprintf(path, sizeof(path), "/proc/%d/%s", pid, file);
  const int fd = open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0 || write(fd, text, size) != static_cast<ssize_t>(size)) Fail("write id map", path);
  close(fd);
}

// A user namespace with the id maps "uids;gids". It lives as long as the descriptor.
int MakeMapping(const char* maps) {
  const char* gids = strchr(maps, ';');
  if (gids == nullptr) {
    errno = EINVAL;
    Fail("understand id maps", maps);
  }
  const Pipe line = MakePipe();
  const pid_t pid =
      static_cast<pid_t>(syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, nullptr, nullptr, nullptr, 0));
  if (pid < 0) Fail("make", "a user namespace");
  if (pid == 0) {
    close(line.writer);
    char end = 0;
    _exit(read(line.reader, &end, 1) == 0 ? 0 : 1);
  }
  close(line.reader);
  WriteMap(pid, "uid_map", maps, static_cast<size_t>(gids - maps));
  WriteMap(pid, "gid_map", gids + 1, strlen(gids + 1));
  char path[64];
  snprintf(path, sizeof(path), "/proc/%d/ns/user", pid);
  const int mapping = open(path, O_RDONLY | O_CLOEXEC);
  if (mapping < 0) Fail("open", path);
  close(line.writer);
  while (waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
  return mapping;
}

// The plan's `map`: the file of a user namespace, or id maps. -1: none.
int OpenMapping(const char* map) {
  if (map == nullptr) return -1;
  if (map[0] != '/') return MakeMapping(map);
  const int mapping = open(map, O_RDONLY | O_CLOEXEC);
  if (mapping < 0) Fail("open user namespace", map);
  return mapping;
}

void MapIds(int tree, int mapping, const char* path) {
  struct mount_attr attributes = {};
  attributes.attr_set = MOUNT_ATTR_IDMAP;
  attributes.userns_fd = static_cast<uint64_t>(mapping);
  if (MountSetattr(tree, "", AT_EMPTY_PATH, &attributes, sizeof(attributes)) != 0) {
    Fail("map ids (is the file system able to?) of", path);
  }
}

// A detached copy of a mount, with the ids of the user namespace `mapping` (-1: unmapped).
int CopyMount(const char* path, int mapping) {
  constexpr unsigned kFlags = OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC;
  const int tree = OpenTree(AT_FDCWD, path, kFlags);
  if (tree < 0) Fail("copy the mount of", path);
  if (mapping >= 0) MapIds(tree, mapping, path);
  return tree;
}

// The daemon's next detached mount.
int ReceiveTree(const char* source) {
  char byte = 0;
  iovec part = {&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  ssize_t n = -1;
  do {
    n = recvmsg(kSyncDescriptor, &message, MSG_CMSG_CLOEXEC);
  } while (n < 0 && errno == EINTR);
  if (n < 0) Fail("receive the mount of", source);
  const cmsghdr* header = CMSG_FIRSTHDR(&message);
  if (n == 0 || header == nullptr || header->cmsg_level != SOL_SOCKET ||
      header->cmsg_type != SCM_RIGHTS) {
    errno = n == 0 ? ECONNRESET : EPROTO;
    Fail("receive the mount of", source);
  }
  int tree = -1;
  memcpy(&tree, CMSG_DATA(header), sizeof(tree));
  return tree;
}

// The same copy without the mount namespaces that are pinned below the source by mounts of their
// files (`unshare --mount=FILE`, snapd): this process's mount namespace, a copy itself, lacks them
// (mount_namespaces(7)). The source is opened by its name again, so it has to be the file `held`.
int CopyWithoutPins(const char* source, const struct stat& held) {
  const int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
  const int file = OpenBelow(root, source, O_PATH, RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS);
  struct stat info = {};
  if (file < 0 || fstat(file, &info) != 0)
    Fail("open again, for a pinned mount namespace,", source);
  if (info.st_dev != held.st_dev || info.st_ino != held.st_ino) {
    errno = ESTALE;
    Fail("open again, for a pinned mount namespace,", source);
  }
  const int tree =
      OpenTree(file, "", AT_EMPTY_PATH | AT_RECURSIVE | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
  if (tree < 0) Fail("copy the mount of", source);
  close(file);
  close(root);
  return tree;
}

void MountHeld(const char* source, int mapping, const char* target) {
  int tree = ReceiveTree(source);
  if (mapping >= 0) MapIds(tree, mapping, source);
  struct stat info = {};
  if (fstat(tree, &info) != 0) Fail("look at", source);
  if (S_ISDIR(info.st_mode)) {
    MakeDirectory(target);
  } else {
    MakeFile(target);
  }
  if (TryAttach(tree, target)) {
    close(tree);
    return;
  }
  // ELOOP: an older mount namespace is pinned there. It can't be attached in this one.
  if (errno != ELOOP) Fail("attach a mount at", target);
  close(tree);
  tree = CopyWithoutPins(source, info);
  if (mapping >= 0) MapIds(tree, mapping, source);
  Attach(tree, target);
}

// Stacks the layers of an image, read-only, at `directory`/all.
void StackLayers(const LaunchPlan& plan, const char* volume, int mapping, const char* directory) {
  MakeDirectory(directory);
  static char options[kMaxPath];
  size_t size = static_cast<size_t>(snprintf(options, sizeof(options), "lowerdir="));
  int count = 0;
  const char* layer = nullptr;
  while ((layer = Member(plan, volume, "layer", layer)) != nullptr) {
    const Path place = Join(directory, count);
    MakeDirectory(place.bytes);
    Attach(CopyMount(layer, mapping), place.bytes);
    if (size < sizeof(options)) {
      size += static_cast<size_t>(
          snprintf(options + size, sizeof(options) - size, count == 0 ? "%d" : ":%d", count));
    }
    ++count;
  }
  const Path all = Join(directory, "all");
  MakeDirectory(all.bytes);
  const char* label = plan.Get("context");
  if (count == 1 && label == nullptr) {
    return Attach(CopyMount(Join(directory, 0).bytes, -1), all.bytes);
  }
  // Only an overlay can have a label of its own, and it needs two layers.
  if (count == 1) MakeDirectory(Join(directory, "none").bytes);
  const char* none = count == 1 ? ":none" : "";
  if (label != nullptr && size < sizeof(options)) {
    size += static_cast<size_t>(
        snprintf(options + size, sizeof(options) - size, "%s,context=\"%s\"", none, label));
  }
  if (count == 0 || size >= sizeof(options)) {
    errno = count == 0 ? ENOENT : E2BIG;
    Fail("stack the layers of volume", volume);
  }
  const int here = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (here < 0 || chdir(directory) != 0) Fail("change to", directory);
  if (mount("overlay", all.bytes, "overlay", 0, options) != 0) {
    Fail("stack the layers of volume", volume);
  }
  if (fchdir(here) != 0) Fail("change back to", "the working directory");
  close(here);
}

// Opens a directory of an image, whose symbolic links can't lead out of it.
int OpenPart(const char* image, const char* part) {
  const int root = open(image, O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (root < 0) Fail("open", image);
  if (part == nullptr) return root;
  const int directory =
      OpenBelow(root, part, O_PATH | O_DIRECTORY, RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS);
  if (directory < 0) Fail("open the image's directory", part);
  close(root);
  return directory;
}

void MountImage(const LaunchPlan& plan, const char* volume, int mapping, const char* stage,
                const char* target) {
  const Path images = Join(stage, "images");
  MakeDirectory(images.bytes);
  const Path directory = Join(images.bytes, volume);
  StackLayers(plan, volume, mapping, directory.bytes);
  const int part =
      OpenPart(Join(directory.bytes, "all").bytes, Member(plan, volume, "part", nullptr));
  const int tree = OpenTree(part, "", AT_EMPTY_PATH | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
  struct mount_attr attributes = {};
  attributes.attr_set = kImageAttributes;
  if (tree < 0 || MountSetattr(tree, "", AT_EMPTY_PATH, &attributes, sizeof(attributes)) != 0) {
    Fail("copy the mount of volume", volume);
  }
  close(part);
  MakeDirectory(target);
  Attach(tree, target);
}

// The path of the directory that the descriptor is. False with errno.
bool PlaceOf(int directory, char (&place)[kMaxPath]) {
  char link[32];
  snprintf(link, sizeof(link), "/proc/self/fd/%d", directory);
  const ssize_t size = readlink(link, place, sizeof(place) - 1);
  if (size >= 0) place[size] = '\0';
  return size >= 0;
}

// Whether the directory is `root` itself, or where the kernel's file systems come. A mount there
// would cover the root, or them.
bool IsOfTheRuntime(int root, int directory) {
  static char real_root[kMaxPath];
  static char place[kMaxPath];
  if (!PlaceOf(root, real_root) || !PlaceOf(directory, place)) {
    Fail("look up the place of", "the image's VOLUME");
  }
  const size_t length = strlen(real_root);
  if (strncmp(place, real_root, length) != 0) return true;
  const char* below = place + length;
  if (*below == '\0') return true;
  for (const char* top : {"/proc", "/sys", "/dev"}) {
    const size_t end = strlen(top);
    if (strncmp(below, top, end) == 0 && (below[end] == '\0' || below[end] == '/')) return true;
  }
  return false;
}

}  // namespace

void ExposeDirectory(int root, const char* path, const char* stage, const char* name) {
  const int directory =
      OpenBelow(root, path, O_PATH | O_DIRECTORY, RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS);
  if (directory < 0) Fail("open the image's VOLUME", path);
  if (name != nullptr && stage != nullptr) {
    if (IsOfTheRuntime(root, directory)) {
      errno = EBUSY;
      Fail("open the image's VOLUME", path);
    }
    const int tree = OpenTree(directory, "", AT_EMPTY_PATH | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
    if (tree < 0) Fail("copy the mount of the image's VOLUME", path);
    const Path volumes = Join(stage, "volumes");
    const Path place = Join(volumes.bytes, name);
    MakeDirectory(place.bytes);
    Attach(tree, place.bytes);
  }
  close(directory);
}

int MapLayers(const LaunchPlan& plan) {
  const int mapping = OpenMapping(plan.Get("userns"));
  const Path layers = Join(plan.Get("stage"), "layers");
  MakeDirectory(layers.bytes);
  int count = 0;
  for (const char* lower = plan.Get("lower"); lower != nullptr; lower = plan.Next("lower", lower)) {
    if (static_cast<size_t>(count) == kMaxVolumeLayers) {
      errno = E2BIG;
      Fail("map the layers for", plan.Get("target"));
    }
    const Path place = Join(layers.bytes, count++);
    MakeDirectory(place.bytes);
    Attach(CopyMount(lower, mapping), place.bytes);
  }
  close(mapping);
  return count;
}

void MountVolumes(const LaunchPlan& plan) {
  const char* stage = plan.Get("stage");
  if (stage == nullptr) return;
  MakeDirectory(stage);
  if (mount("tmpfs", stage, "tmpfs", kStageFlags, "mode=0711,size=1m") != 0) {
    Fail("mount a tmpfs at", stage);
  }
  const Path volumes = Join(stage, "volumes");
  MakeDirectory(volumes.bytes);
  for (const char* volume = plan.Get("volume"); volume != nullptr;
       volume = plan.Next("volume", volume)) {
    const Path target = Join(volumes.bytes, volume);
    const int mapping = OpenMapping(Member(plan, volume, "map", nullptr));
    const char* source = Member(plan, volume, "source", nullptr);
    if (source != nullptr) {
      MountHeld(source, mapping, target.bytes);
    } else {
      MountImage(plan, volume, mapping, stage, target.bytes);
    }
    if (mapping >= 0) close(mapping);
  }
}

}  // namespace plimsoll::monitor
