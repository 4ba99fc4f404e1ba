// plimsoll-launch: prepares what the OCI runtime's `create` needs and becomes the OCI runtime.
//
//   plimsoll-launch PLAN ARGUMENT...
//
// The monitor runs it in the runtime's place. It enters a mount namespace of its own and mounts the
// container's root filesystem there, so that the host never sees that mount and can't keep it by
// mistake: it lives as long as the container's own copy of the namespace. Then it executes
// `<runtime> --root=<root> ARGUMENT...`.
//
// PLAN is a file of "key=value" strings, each ended by a NUL byte:
//   runtime   program to become                 root     the runtime's state directory
//   target    where the root filesystem goes; without it, none is mounted
//   lower     a lower directory, top first; repeated
//   upper     the writable layer                work     overlayfs's work directory
//   mkdir     directory to make in the root filesystem if it isn't there
//   private   mount point to make private, with everything below, in the new namespace
//   bind      what to bind over `over` in the new namespace; may come in several pairs
//   oom       oom_score_adj to take on
//
// Static and without the C++ library's start-up cost: it runs once for every container that starts.
#include <fcntl.h>
#include <linux/mount.h>
#include <linux/openat2.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

// <sys/mount.h> and <linux/mount.h> don't go together in glibc 2.36.
extern "C" int mount(const char*, const char*, const char*, unsigned long, const void*);

namespace {

constexpr size_t kMaxPlan = 256 * 1024;
constexpr size_t kMaxOptions = 4096;         // mount(2) takes one page
constexpr unsigned long kBind = 4096;        // MS_BIND
constexpr unsigned long kPrivate = 0x44000;  // MS_REC | MS_PRIVATE
constexpr unsigned long kNoFlags = 0;

char plan[kMaxPlan + 1];
size_t plan_size;

[[noreturn]] void Fail(const char* what, const char* object) {
  dprintf(2, "plimsoll-launch: %s %s: %s\n", what, object, strerror(errno));
  _exit(1);
}

void ReadPlan(const char* path) {
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) Fail("open plan", path);
  while (plan_size < kMaxPlan) {
    const ssize_t n = read(fd, plan + plan_size, kMaxPlan - plan_size);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) Fail("read plan", path);
    if (n == 0) break;
    plan_size += static_cast<size_t>(n);
  }
  if (plan_size == kMaxPlan) {
    errno = E2BIG;
    Fail("read plan", path);
  }
  close(fd);
}

// The next value of `key` after `previous` (null: the first); null if there is none.
const char* Next(const char* key, const char* previous) {
  const size_t length = strlen(key);
  const char* at = previous == nullptr ? plan : previous + strlen(previous) + 1;
  for (; at < plan + plan_size; at += strlen(at) + 1) {
    if (strncmp(at, key, length) == 0 && at[length] == '=') return at + length + 1;
  }
  return nullptr;
}

const char* Get(const char* key) {
  return Next(key, nullptr);
}

// A text of bounded length; remembers that something didn't fit.
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
  // As overlayfs wants a path: ':' divides lower directories, ',' options.
  void AddPath(const char* path) {
    for (; *path != '\0'; ++path) {
      if (*path == ':' || *path == ',' || *path == '\\') Add('\\');
      Add(*path);
    }
  }
};

// Bytes that every lower directory's path begins with, up to and including a slash.
size_t CommonPrefix() {
  const char* first = Get("lower");
  size_t common = strlen(first);
  for (const char* lower = first; lower != nullptr; lower = Next("lower", lower)) {
    size_t same = 0;
    while (same < common && lower[same] == first[same]) ++same;
    common = same;
  }
  while (common > 0 && first[common - 1] != '/') --common;
  return common;
}

// With one mount(2); 0, or an errno. E2BIG: the options don't fit.
int MountByOptions(const char* extra, size_t skip) {
  static Text options;
  options.size = 0;
  options.full = false;
  options.Add("lowerdir=");
  for (const char* lower = Get("lower"); lower != nullptr; lower = Next("lower", lower)) {
    if (lower != Get("lower")) options.Add(':');
    options.AddPath(lower + skip);
  }
  options.Add(",upperdir=");
  options.AddPath(Get("upper"));
  options.Add(",workdir=");
  options.AddPath(Get("work"));
  options.Add(extra);
  if (options.full) return E2BIG;
  return mount("overlay", Get("target"), "overlay", kNoFlags, options.bytes) == 0 ? 0 : errno;
}

int SetOption(int context, const char* key, const char* value) {
  const unsigned command = value == nullptr ? FSCONFIG_SET_FLAG : FSCONFIG_SET_STRING;
  return static_cast<int>(syscall(SYS_fsconfig, context, command, key, value, 0));
}

// Layer by layer, for lists of any length: Linux 6.5 and later. 0 or an errno.
int MountByLayer() {
  const int context = static_cast<int>(syscall(SYS_fsopen, "overlay", FSOPEN_CLOEXEC));
  if (context < 0) return errno;
  for (const char* lower = Get("lower"); lower != nullptr; lower = Next("lower", lower)) {
    if (SetOption(context, "lowerdir+", lower) != 0) return errno;
  }
  if (SetOption(context, "upperdir", Get("upper")) != 0) return errno;
  if (SetOption(context, "workdir", Get("work")) != 0) return errno;
  if (SetOption(context, "volatile", nullptr) != 0) return errno;
  if (syscall(SYS_fsconfig, context, FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) != 0) return errno;
  const int tree = static_cast<int>(syscall(SYS_fsmount, context, FSMOUNT_CLOEXEC, 0));
  if (tree < 0) return errno;
  if (syscall(SYS_move_mount, tree, "", AT_FDCWD, Get("target"), MOVE_MOUNT_F_EMPTY_PATH) != 0) {
    return errno;
  }
  return 0;
}

// volatile: a writable layer doesn't outlive its container, so nothing in it needs to be on disk;
// without it, the end of every container syncs the whole file system that the layer is on.
void MountRoot() {
  int error = MountByOptions(",volatile", 0);
  if (error == EINVAL) error = MountByOptions("", 0);  // before Linux 5.10
  if (error == E2BIG) error = MountByLayer();
  if (error != 0 && MountByOptions("", 0) == E2BIG) {
    // An older kernel: shorten the paths.
    static char prefix[kMaxOptions];
    const size_t skip = CommonPrefix();
    if (skip > 0 && skip < sizeof(prefix)) {
      memcpy(prefix, Get("lower"), skip);
      if (chdir(prefix) == 0) error = MountByOptions(",volatile", skip);
      if (chdir("/") != 0) Fail("change to", "/");
    }
  }
  if (error != 0) {
    errno = error;
    Fail("mount the root filesystem at", Get("target"));
  }
}

// Makes `path` below the root filesystem, whose symbolic links can't lead out of it. What can't be
// made is for the runtime to complain about.
void MakeDirectory(const char* path) {
  int at = open(Get("target"), O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (at < 0) Fail("open", Get("target"));
  const int root = at;
  static char so_far[kMaxOptions];
  size_t size = 0;
  while (*path != '\0') {
    while (*path == '/') ++path;
    const size_t length = strcspn(path, "/");
    if (length == 0 || size + length + 2 > sizeof(so_far)) return;
    struct open_how how = {};
    how.flags = O_PATH | O_DIRECTORY | O_CLOEXEC;
    how.resolve = RESOLVE_IN_ROOT;
    char name[256];
    if (length >= sizeof(name)) return;
    memcpy(name, path, length);
    name[length] = '\0';
    if (size > 0) so_far[size++] = '/';
    memcpy(so_far + size, path, length + 1);
    size += length;
    so_far[size] = '\0';
    int next = static_cast<int>(syscall(SYS_openat2, root, so_far, &how, sizeof(how)));
    if (next < 0 && errno == ENOENT && mkdirat(at, name, 0755) == 0) {
      next = static_cast<int>(syscall(SYS_openat2, root, so_far, &how, sizeof(how)));
    }
    if (next < 0) return;
    at = next;
    path += length;
  }
}

void BindAll() {
  const char* from = Get("bind");
  const char* over = Get("over");
  for (; from != nullptr && over != nullptr; from = Next("bind", from), over = Next("over", over)) {
    if (mount(from, over, nullptr, kBind, nullptr) != 0) Fail("bind over", over);
  }
}

void Require(const char* key) {
  if (Get(key) != nullptr) return;
  errno = EINVAL;
  Fail("the plan lacks", key);
}

void WriteOomScoreAdj(const char* value) {
  const int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (fd < 0 || write(fd, value, strlen(value)) < 0) Fail("set oom_score_adj to", value);
  close(fd);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    dprintf(2,
            "usage: plimsoll-launch PLAN ARGUMENT...\nStarted by plimsolld; of no use by hand.\n");
    return 2;
  }
  ReadPlan(argv[1]);
  Require("runtime");
  Require("root");
  if (Get("target") != nullptr) {
    for (const char* key : {"lower", "upper", "work"}) Require(key);
  }
  if (unshare(CLONE_NEWNS) != 0) Fail("unshare", "mount namespace");
  const char* path = Get("private");
  if (path != nullptr && mount(nullptr, path, nullptr, kPrivate, nullptr) != 0) {
    Fail("make private", path);
  }
  BindAll();
  if (Get("target") != nullptr) MountRoot();
  if ((path = Get("mkdir")) != nullptr) MakeDirectory(path);
  if (const char* value = Get("oom"); value != nullptr) WriteOomScoreAdj(value);

  static char root[kMaxOptions];
  snprintf(root, sizeof(root), "--root=%s", Get("root"));
  // argv[0] and argv[1] make room for the runtime's name and --root.
  static char name[] = "crun";
  argv[0] = name;
  argv[1] = root;
  execv(Get("runtime"), argv);
  Fail("execute", Get("runtime"));
}
