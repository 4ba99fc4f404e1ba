#include "monitor/make_below.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstring>

#include "lookup/open_below.h"

namespace plimsoll::monitor {
namespace {

constexpr int kMaxLinks = 40;  // path_resolution(7)

bool Fails(int error) {
  errno = error;
  return false;
}

// Closes without a change of errno.
void Close(int fd) {
  const int error = errno;
  close(fd);
  errno = error;
}

// A walk along a path and along the texts of the links that it meets. Single use.
class Walk {
 public:
  Walk(int root, Kind kind, Making making, const Owner& owner)
      : root_(root), kind_(kind), makes_(making == Making::kAll), owner_(owner) {}
  ~Walk() { LeaveDescriptor(); }
  bool Go(const char* path);

 private:
  bool IsLast() const { return rest_[strspn(rest_, "/")] == '\0'; }
  bool TakeName();
  bool Step();
  bool Make();
  bool Follow();
  bool Enter();
  void Leave();
  void LeaveDescriptor();

  const int root_;
  const Kind kind_;
  bool makes_;
  const Owner owner_;
  int links_ = 0;
  bool done_ = false;
  int at_ = -1;  // the directory `here_`; -1: not open
  char name_[NAME_MAX + 1];
  char here_[PATH_MAX] = "";  // come through, relative to the root, without links
  char rest_[PATH_MAX];
};

bool Walk::Go(const char* path) {
  if (strlen(path) >= sizeof(rest_)) return Fails(ENAMETOOLONG);
  strcpy(rest_, path);
  while (!done_ && !IsLast()) {
    if (!TakeName()) return false;
    if (strcmp(name_, ".") == 0) continue;
    if (strcmp(name_, "..") == 0) {
      Leave();
      continue;
    }
    if (at_ < 0) {
      at_ = OpenBelow(root_, *here_ == '\0' ? "." : here_, O_PATH | O_DIRECTORY,
                      RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS);
    }
    if (at_ < 0 || !Step()) return false;
  }
  return true;
}

// Moves the first name of `rest_` to `name_`.
bool Walk::TakeName() {
  const char* begin = rest_ + strspn(rest_, "/");
  const size_t length = strcspn(begin, "/");
  if (length >= sizeof(name_)) return Fails(ENAMETOOLONG);
  memcpy(name_, begin, length);
  name_[length] = '\0';
  memmove(rest_, begin + length, strlen(begin + length) + 1);
  return true;
}

bool Walk::Step() {
  struct stat info = {};
  if (fstatat(at_, name_, &info, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno != ENOENT) return false;
    if (makes_) return Make() && Enter();
    done_ = true;
    return true;
  }
  if (S_ISLNK(info.st_mode)) return Follow();
  if (S_ISDIR(info.st_mode)) return Enter();
  done_ = true;
  return IsLast() || Fails(ENOTDIR);
}

bool Walk::Make() {
  if (kind_ == Kind::kDirectory || !IsLast()) {
    if (mkdirat(at_, name_, 0755) != 0) return false;
  } else {
    const int file = openat(at_, name_, O_RDONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (file < 0) return false;
    close(file);
    done_ = true;
  }
  return fchownat(at_, name_, owner_.uid, owner_.gid, AT_SYMLINK_NOFOLLOW) == 0;
}

// Puts the link's text before the rest.
bool Walk::Follow() {
  if (++links_ > kMaxLinks) return Fails(ELOOP);
  char text[PATH_MAX];
  const ssize_t read = readlinkat(at_, name_, text, sizeof(text));
  if (read < 0) return false;
  const auto size = static_cast<size_t>(read);
  const size_t left = strlen(rest_);
  if (size + left >= sizeof(rest_)) return Fails(ENAMETOOLONG);
  memmove(rest_ + size, rest_, left + 1);  // which is empty or begins with a slash
  memcpy(rest_, text, size);
  if (size > 0 && text[0] == '/') {
    *here_ = '\0';
    LeaveDescriptor();
  }
  makes_ = true;
  return true;
}

// A descriptor of each step: a walk from the root for each would take the square of the depth.
bool Walk::Enter() {
  const size_t size = strlen(here_);
  const size_t length = strlen(name_);
  if (size + length + 2 > sizeof(here_)) return Fails(ENAMETOOLONG);
  char* end = here_ + size;
  if (size > 0) *end++ = '/';
  memcpy(end, name_, length + 1);
  if (done_) return true;
  const int next = openat(at_, name_, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (next < 0) return false;
  LeaveDescriptor();
  at_ = next;
  return true;
}

void Walk::Leave() {
  char* const slash = strrchr(here_, '/');
  *(slash == nullptr ? here_ : slash) = '\0';
  LeaveDescriptor();
}

void Walk::LeaveDescriptor() {
  if (at_ >= 0) Close(at_);
  at_ = -1;
}

}  // namespace

bool MakeBelow(int root, const char* path, Kind kind, Making making, const Owner& owner) {
  return Walk(root, kind, making, owner).Go(path);
}

}  // namespace plimsoll::monitor
