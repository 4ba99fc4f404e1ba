#include "monitor/root_filesystem.h"

#include <fcntl.h>
#include <linux/mount.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "lookup/mount_calls.h"
#include "monitor/fail.h"
#include "monitor/mount_call.h"
#include "monitor/volumes.h"

namespace plimsoll::monitor {
namespace {

constexpr size_t kMaxOptions = 4096;  // mount(2) takes one page
constexpr unsigned long kNoFlags = 0;
constexpr size_t kMaxLayers = 500;  // overlayfs's own limit

// A text of bounded length; remembers an overflow.
struct Text {
  char bytes[kMaxOptions];
  size_t size = 0;
  bool full = false;

  void Add(char c) {
    if (size + 1 >= sizeof(bytes)) {
      full = true;
      return;
    }
    bytes[size++] = c;
    bytes[size] = '\0';
  }
  void Add(const char* text) {
    while (*text != '\0') Add(*text++);
  }
  // Adds a path escaped for overlayfs: ':' divides lower directories, ',' options.
  void AddPath(const char* path) {
    for (; *path != '\0'; ++path) {
      if (*path == ':' || *path == ',' || *path == '\\') Add('\\');
      Add(*path);
    }
  }
};

// Mounts with one mount(2); 0, or an errno. E2BIG: the options don't fit. `names`: names of the
// lower directories instead of their paths.
int MountByOptions(const LaunchPlan& plan, const char* extra, const int* names = nullptr) {
  static Text options;
  options.size = 0;
  options.full = false;
  options.Add("lowerdir=");
  for (const char* lower = plan.Get("lower"); lower != nullptr; lower = plan.Next("lower", lower)) {
    if (lower != plan.Get("lower")) options.Add(':');
    if (names == nullptr) {
      options.AddPath(lower);
    } else {
      char number[16];
      snprintf(number, sizeof(number), "%d", *names++);
      options.Add(number);
    }
  }
  options.Add(",upperdir=");
  options.AddPath(plan.Get("upper"));
  options.Add(",workdir=");
  options.AddPath(plan.Get("work"));
  if (const char* label = plan.Get("context"); label != nullptr) {
    options.Add(",context=\"");  // quoted: it has commas
    options.Add(label);
    options.Add('"');
  }
  options.Add(extra);
  if (options.full) return E2BIG;
  return mount("overlay", plan.Get("target"), "overlay", kNoFlags, options.bytes) == 0 ? 0 : errno;
}

int SetOption(int context, const char* key, const char* value) {
  const unsigned command = value == nullptr ? FSCONFIG_SET_FLAG : FSCONFIG_SET_STRING;
  return FsConfig(context, command, key, value, 0);
}

// Mounts layer by layer, for lists of any length: Linux 6.5 and later. 0 or an errno.
int MountByLayer(const LaunchPlan& plan) {
  const int context = FsOpen("overlay", FSOPEN_CLOEXEC);
  if (context < 0) return errno;
  for (const char* lower = plan.Get("lower"); lower != nullptr; lower = plan.Next("lower", lower)) {
    if (SetOption(context, "lowerdir+", lower) != 0) return errno;
  }
  if (SetOption(context, "upperdir", plan.Get("upper")) != 0) return errno;
  if (SetOption(context, "workdir", plan.Get("work")) != 0) return errno;
  if (const char* label = plan.Get("context");
      label != nullptr && SetOption(context, "context", label) != 0) {
    return errno;
  }
  if (SetOption(context, "volatile", nullptr) != 0) return errno;
  if (FsConfig(context, FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) != 0) return errno;
  const int tree = FsMount(context, FSMOUNT_CLOEXEC, 0);
  if (tree < 0) return errno;
  if (MoveMount(tree, "", AT_FDCWD, plan.Get("target"), MOVE_MOUNT_F_EMPTY_PATH) != 0) {
    return errno;
  }
  return 0;
}

// volatile: a writable layer doesn't outlive its container, so it need not reach the disk. Without
// it, the end of every container syncs the whole file system of the layer.
int MountVolatile(const LaunchPlan& plan, const int* layers = nullptr) {
  const int error = MountByOptions(plan, ",volatile", layers);
  return error == EINVAL ? MountByOptions(plan, "", layers) : error;  // before Linux 5.10
}

// Mounts the layers with mapped ids, under the short names of their copies. 0 or an errno.
int MountMapped(const LaunchPlan& plan) {
  static int layers[kMaxLayers];
  const int count = MapLayers(plan);
  for (int i = 0; i < count; ++i) layers[i] = i;
  static char directory[kMaxOptions];
  snprintf(directory, sizeof(directory), "%s/layers", plan.Get("stage"));
  const int here = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (here < 0 || chdir(directory) != 0) return errno;
  const int error = MountVolatile(plan, layers);
  if (fchdir(here) != 0) Fail("change back to", "the working directory");
  close(here);
  return error;
}

// Mounts the layers by short names: their descriptors' in /proc/self/fd. 0 or an errno.
int MountByDescriptors(const LaunchPlan& plan) {
  static int layers[kMaxLayers];
  size_t count = 0;
  int error = 0;
  for (const char* lower = plan.Get("lower"); lower != nullptr; lower = plan.Next("lower", lower)) {
    if (count == kMaxLayers) error = E2BIG;
    if (error != 0) break;
    layers[count] = open(lower, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (layers[count] < 0) {
      error = errno;
    } else {
      ++count;
    }
  }
  const int here = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (here < 0 && error == 0) error = errno;
  if (error == 0 && chdir("/proc/self/fd") != 0) error = errno;
  if (error == 0) error = MountVolatile(plan, layers);
  if (here >= 0 && fchdir(here) != 0) Fail("change back to", "the working directory");
  close(here);
  while (count > 0) close(layers[--count]);
  return error;
}

}  // namespace

void MountRootFilesystem(const LaunchPlan& plan) {
  const bool mapped = plan.Has("userns");
  int error = mapped ? MountMapped(plan) : MountVolatile(plan);
  if (error == E2BIG && !mapped) {
    error = MountByLayer(plan);
    if (error == EINVAL) error = MountByDescriptors(plan);
  }
  if (error != 0) {
    errno = error;
    Fail("mount the root filesystem at", plan.Get("target"));
  }
}

}  // namespace plimsoll::monitor
