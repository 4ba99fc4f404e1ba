#include "lookup/open_below.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace plimsoll {
namespace {

constexpr int kMaxLinks = 40;          // path_resolution(7)
constexpr int kMaxDepth = 2048;        // directories of one path of PATH_MAX bytes
constexpr int kMaxRaces = 100;         // changes by others during one look-up
constexpr int kFollowed = -2;          // no descriptor: a link's target was put before the rest
constexpr long kNoSymFollow = 0x2000;  // ST_NOSYMFOLLOW of statfs(2), Linux 5.10
constexpr ino_t kProcRootInode = 1;    // PROC_ROOT_INO
constexpr ino_t kProcFirstEntry = 0xf0000000;  // PROC_DYNAMIC_FIRST: not of a process
constexpr uint64_t kScopes = RESOLVE_IN_ROOT | RESOLVE_BENEATH;
constexpr uint64_t kKnownResolve =
    kScopes | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV;

int Fails(int error) {
  errno = error;
  return -1;
}

// Closes without a change of errno.
void Close(int fd) {
  const int error = errno;
  close(fd);
  errno = error;
}

bool Creates(int flags) {
  return (flags & O_CREAT) != 0;
}

bool CreatesOnly(int flags) {
  return Creates(flags) && (flags & O_EXCL) != 0;
}

mode_t ModeFor(int flags, mode_t mode) {
  return Creates(flags) || (flags & O_TMPFILE) == O_TMPFILE ? mode : 0;
}

// Whether openat2 can't be called. The arguments are wrong for the kernel in any case, so another
// answer than EINVAL is a filter's or that of a kernel without the call.
bool LacksOpenat2() {
  return syscall(SYS_openat2, -1, nullptr, nullptr, 0) < 0 && errno != EINVAL;
}

// An error that a filter may have made up: systemd's choose any, most have EPERM or ENOSYS.
bool MayBeFilters(int error) {
  return error == ENOSYS || error == EPERM || error == EACCES;
}

// A mount's number as /proc/self/mountinfo has it; -1 with errno: unknown. Neither an emulator that
// drops the field nor an older kernel than 5.8 has it from statx(2), so 0 isn't believed.
int64_t MountId(int fd) {
  struct statx info = {};
  if (syscall(SYS_statx, fd, "", AT_EMPTY_PATH, STATX_MNT_ID, &info) == 0 &&
      (info.stx_mask & STATX_MNT_ID) != 0 && info.stx_mnt_id != 0) {
    return static_cast<int64_t>(info.stx_mnt_id);
  }
  char path[48];
  snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return Fails(ENOSYS);
  char text[512];
  const ssize_t size = read(file, text, sizeof(text) - 1);
  Close(file);
  text[size < 0 ? 0 : size] = '\0';
  const char* const line = strstr(text, "mnt_id:");
  if (line == nullptr) return Fails(ENOSYS);
  return atoll(line + strlen("mnt_id:"));
}

// Whether the kernel protects against links that others left in such a directory as /tmp
// (sysctl/fs.rst, protected_symlinks). An unreadable setting counts as set.
bool ProtectsLinks() {
  const int file = open("/proc/sys/fs/protected_symlinks", O_RDONLY | O_CLOEXEC);
  if (file < 0) return true;
  char setting = '1';
  const ssize_t size = read(file, &setting, 1);
  Close(file);
  return size != 1 || setting != '0';
}

// Whether a link of procfs names an object: /proc/<pid>/{cwd,exe,root,fd/*,map_files/*,ns/*}. The
// links beside processes have inodes in a range of their own, and those at the top (self,
// thread-self) that directory. A mistake only means that the text is followed, below the root.
bool IsMagic(int parent, const struct stat& link, const struct statfs& system) {
  if (system.f_type != PROC_SUPER_MAGIC || link.st_ino >= kProcFirstEntry) return false;
  struct stat directory = {};
  return fstat(parent, &directory) != 0 || directory.st_dev != link.st_dev ||
         directory.st_ino != kProcRootInode;
}

// One look-up. Single use.
class PathWalk {
 public:
  PathWalk(int root, uint64_t resolve) : root_(root), resolve_(resolve) {}
  ~PathWalk();
  PathWalk(const PathWalk&) = delete;
  PathWalk& operator=(const PathWalk&) = delete;

  int Open(const char* path, int flags, mode_t mode);

 private:
  // A part of the path: "" at its end.
  struct Component {
    const char* name;
    const char* rest;  // what follows the slash behind it, and further slashes
    bool slash;
    bool last;
  };

  bool Has(uint64_t flag) const { return (resolve_ & flag) != 0; }
  int Top() const { return depth_ == 0 ? root_ : held_[depth_ - 1]; }
  int Begin(const char* path);
  Component Next();
  int Search() const;
  int Up();
  int Enter(const Component& part);
  int OpenLast(const Component& part, int flags, mode_t mode);
  int TryLast(const Component& part, int flags, mode_t mode, bool follow, int* link) const;
  int Follow(int link, const Component& part);
  int MayFollow(int link, bool trailing, struct stat* info, struct statfs* system) const;
  bool IsOwnMount(int fd) const;
  void ReturnToRoot();

  const int root_;
  const uint64_t resolve_;
  int64_t mount_ = -1;
  int links_ = 0;
  int depth_ = 0;
  int held_[kMaxDepth];   // the directories come through, without the root
  char* text_ = nullptr;  // what is left of the path, ends at a NUL
  char* at_ = nullptr;    // in text_
};

PathWalk::~PathWalk() {
  const int error = errno;
  ReturnToRoot();
  free(text_);
  errno = error;
}

void PathWalk::ReturnToRoot() {
  while (depth_ > 0) Close(held_[--depth_]);
}

int PathWalk::Begin(const char* path) {
  const size_t size = strlen(path);
  if (size == 0) return Fails(ENOENT);
  if (size >= PATH_MAX) return Fails(ENAMETOOLONG);
  if (*path == '/' && Has(RESOLVE_BENEATH)) return Fails(EXDEV);
  struct stat info = {};
  if (fstat(root_, &info) != 0) return -1;
  if (!S_ISDIR(info.st_mode)) return Fails(ENOTDIR);
  if (Has(RESOLVE_NO_XDEV) && (mount_ = MountId(root_)) < 0) return -1;
  text_ = strdup(path);
  at_ = text_;
  return text_ == nullptr ? Fails(ENOMEM) : 0;
}

PathWalk::Component PathWalk::Next() {
  at_ += strspn(at_, "/");
  char* const end = at_ + strcspn(at_, "/");
  const bool slash = *end == '/';
  const char* const name = at_;
  *end = '\0';
  at_ = slash ? end + 1 : end;
  return {name, at_, slash, at_[strspn(at_, "/")] == '\0'};
}

// Whether a name may be looked up in the directory, as the kernel asks for "." and ".." too.
int PathWalk::Search() const {
  const int fd = openat(Top(), ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return -1;
  close(fd);
  return 0;
}

// "..", without the kernel's: a directory may be moved while it is held.
int PathWalk::Up() {
  if (Search() != 0) return -1;
  if (depth_ > 0) {
    close(held_[--depth_]);
    return 0;
  }
  return Has(RESOLVE_BENEATH) ? Fails(EXDEV) : 0;
}

bool PathWalk::IsOwnMount(int fd) const {
  return !Has(RESOLVE_NO_XDEV) || MountId(fd) == mount_;
}

// Goes into a directory, or follows a link on the way to one. 0, kFollowed or -1.
int PathWalk::Enter(const Component& part) {
  // O_DIRECTORY: mounts what is to be mounted on demand there.
  int fd = openat(Top(), part.name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0 && errno == ENOTDIR) {
    fd = openat(Top(), part.name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
  }
  if (fd < 0) return -1;
  struct stat info = {};
  const int error = fstat(fd, &info) != 0    ? errno
                    : !IsOwnMount(fd)        ? EXDEV
                    : S_ISLNK(info.st_mode)  ? 0
                    : !S_ISDIR(info.st_mode) ? ENOTDIR
                    : depth_ == kMaxDepth    ? EMFILE
                                             : 0;
  if (error == 0 && S_ISLNK(info.st_mode)) return Follow(fd, part);
  if (error != 0) {
    close(fd);
    return Fails(error);
  }
  held_[depth_++] = fd;
  return 0;
}

// Whether a link may be followed at all, as the kernel decides it.
int PathWalk::MayFollow(int link, bool trailing, struct stat* info, struct statfs* system) const {
  if (Has(RESOLVE_NO_SYMLINKS)) return Fails(ELOOP);
  if (fstat(link, info) != 0 || fstatfs(link, system) != 0) return -1;
  if ((system->f_flags & kNoSymFollow) != 0) return Fails(ELOOP);
  struct stat directory = {};
  if (!trailing || info->st_uid == geteuid()) return 0;
  if (fstat(Top(), &directory) != 0) return -1;
  const bool shared = (directory.st_mode & S_ISVTX) != 0 && (directory.st_mode & S_IWOTH) != 0;
  const bool refused = shared && directory.st_uid != info->st_uid && ProtectsLinks();
  return refused ? Fails(EACCES) : 0;
}

// Puts the target of `link`, which it closes, before the rest of the path. kFollowed or -1.
int PathWalk::Follow(int link, const Component& part) {
  struct stat info = {};
  struct statfs system = {};
  int error = links_++ >= kMaxLinks                             ? ELOOP
              : MayFollow(link, part.last, &info, &system) != 0 ? errno
                                                                : 0;
  char* const text =
      error == 0 ? static_cast<char*>(malloc(PATH_MAX + strlen(part.rest) + 2)) : nullptr;
  ssize_t size = 0;
  if (error == 0 && text == nullptr) error = ENOMEM;
  if (error == 0 && (size = readlinkat(link, "", text, PATH_MAX)) < 0) error = errno;
  close(link);
  if (error == 0 && size == PATH_MAX) error = ENAMETOOLONG;
  if (error == 0 && IsMagic(Top(), info, system)) {
    error = Has(RESOLVE_NO_MAGICLINKS) ? ELOOP : EXDEV;
  }
  if (error == 0 && size > 0 && text[0] == '/') {
    if (Has(RESOLVE_BENEATH)) error = EXDEV;
    ReturnToRoot();
  }
  if (error != 0) {
    free(text);
    return Fails(error);
  }
  if (part.slash) text[size++] = '/';
  memcpy(text + size, part.rest, strlen(part.rest) + 1);
  free(text_);
  text_ = text;
  at_ = text;
  return kFollowed;
}

// Opens the last component once. A descriptor; -1 with errno; or kFollowed with a link to follow,
// -1 in `link` where somebody replaces what stands there.
int PathWalk::TryLast(const Component& part, int flags, mode_t mode, bool follow, int* link) const {
  *link = -1;
  if (Has(RESOLVE_NO_XDEV)) {  // before an effect of opening
    const int probe = openat(Top(), part.name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    const bool own = probe < 0 || IsOwnMount(probe);
    if (probe >= 0) close(probe);
    if (!own) return Fails(EXDEV);
  }
  int fd = -1;
  do {
    fd = openat(Top(), part.name, flags | O_NOFOLLOW, mode);
  } while (fd < 0 && errno == EINTR);
  const int error = errno;
  if (fd >= 0 && !IsOwnMount(fd)) {
    close(fd);
    return Fails(EXDEV);
  }
  if (fd >= 0 && (!follow || (flags & O_PATH) == 0)) return fd;
  // A link is ELOOP; ENOTDIR where a directory is wanted; EACCES for O_CREAT in such a directory as
  // /tmp.
  const bool may_be_link = error == ELOOP || (error == ENOTDIR && (flags & O_DIRECTORY) != 0) ||
                           (error == EACCES && Creates(flags));
  if (fd < 0 && (!follow || !may_be_link)) return Fails(error);
  const int found = fd >= 0 ? fd : openat(Top(), part.name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
  if (found < 0 && errno == ENOENT) return error == EACCES ? Fails(error) : kFollowed;
  if (found < 0) return -1;
  struct stat info = {};
  if (fstat(found, &info) != 0) {
    Close(found);
    return -1;
  }
  if (S_ISLNK(info.st_mode)) {
    *link = found;
    return kFollowed;
  }
  if (fd >= 0) return fd;
  close(found);
  const bool replaced = error == ELOOP || (error == ENOTDIR && S_ISDIR(info.st_mode));
  return replaced ? kFollowed : Fails(error);
}

// A descriptor, kFollowed or -1.
int PathWalk::OpenLast(const Component& part, int flags, mode_t mode) {
  bool follow = (flags & O_NOFOLLOW) == 0 && !CreatesOnly(flags);
  if (part.slash) {  // "link/" is the directory that it leads to
    if (Creates(flags)) return Search() != 0 ? -1 : Fails(EISDIR);
    follow = true;
    flags |= O_DIRECTORY;
  }
  for (int tries = 0; tries < kMaxRaces; ++tries) {
    int link = -1;
    const int fd = TryLast(part, flags, mode, follow, &link);
    if (fd != kFollowed) return fd;
    if (link >= 0) return Follow(link, part);
  }
  return Fails(EAGAIN);
}

int PathWalk::Open(const char* path, int flags, mode_t mode) {
  if (Begin(path) != 0) return -1;
  while (true) {
    const Component part = Next();
    const bool up = strcmp(part.name, "..") == 0;
    const bool stay = *part.name == '\0' || strcmp(part.name, ".") == 0;
    if (up && Up() != 0) return -1;
    if (part.last && (up || stay)) return openat(Top(), ".", flags, mode);
    if (up) continue;
    const int done = stay ? Search() : part.last ? OpenLast(part, flags, mode) : Enter(part);
    if (done == -1 || (part.last && done != kFollowed)) return done;
  }
}

// The kernel's checks of openat2, which openat leaves out. 0 or an errno.
int CheckArguments(int flags, uint64_t resolve, mode_t mode) {
  const uint64_t scope = resolve & kScopes;
  const int path_flags = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  const bool wrong = (resolve & ~kKnownResolve) != 0 || scope == 0 || scope == kScopes ||
                     ((flags & O_PATH) != 0 && (flags & ~path_flags) != 0) ||
                     (Creates(flags) && (flags & O_DIRECTORY) != 0) || (mode & ~07777u) != 0;
  return wrong ? EINVAL : 0;
}

}  // namespace

int WalkBelow(int directory, const char* path, int flags, uint64_t resolve, mode_t mode) {
  mode = ModeFor(flags, mode);
  if (const int error = CheckArguments(flags, resolve, mode); error != 0) return Fails(error);
  return PathWalk(directory, resolve).Open(path, flags | O_CLOEXEC, mode);
}

int OpenBelow(int directory, const char* path, int flags, uint64_t resolve, mode_t mode) {
  static std::atomic<bool> lacking{false};
  struct open_how how = {};
  how.flags = static_cast<uint64_t>(flags) | O_CLOEXEC;
  how.mode = ModeFor(flags, mode);
  how.resolve = resolve;
  if ((resolve & kScopes) == 0) return Fails(EINVAL);
  // EAGAIN: a rename or mount anywhere raced with the look-up. The walk doesn't know that.
  for (int tries = 0; tries < kMaxRaces && !lacking.load(std::memory_order_relaxed);) {
    const long fd = syscall(SYS_openat2, directory, path, &how, sizeof(how));
    if (fd >= 0 || (errno != EINTR && errno != EAGAIN && !MayBeFilters(errno))) {
      return static_cast<int>(fd);
    }
    const int error = errno;
    if (MayBeFilters(error)) {
      if (!LacksOpenat2()) return Fails(error);
      lacking = true;
    }
    if (error == EAGAIN) ++tries;
  }
  return WalkBelow(directory, path, flags, resolve, mode);
}

}  // namespace plimsoll
