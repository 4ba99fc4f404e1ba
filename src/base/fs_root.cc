#include "base/fs_root.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/fault_injection.h"
#include "base/list_directory.h"
#include "base/remove_tree.h"
#include "base/status.h"
#include "lookup/open_below.h"

namespace plimsoll {
namespace {

UniqueFd OpenInRoot(int dir, const std::string& relative, int flags, mode_t mode) {
  constexpr uint64_t kResolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
  return UniqueFd(OpenBelow(dir, relative.c_str(), flags, kResolve, mode));
}

struct Split {
  std::string parent;
  std::string name;
};

// "a/b/c" -> {"a/b", "c"}; "c" -> {".", "c"}.
Split SplitLast(absl::string_view relative) {
  while (absl::ConsumeSuffix(&relative, "/")) {
  }
  const size_t slash = relative.rfind('/');
  if (slash == absl::string_view::npos) return {".", std::string(relative)};
  return {std::string(relative.substr(0, slash == 0 ? 1 : slash)),
          std::string(relative.substr(slash + 1))};
}

absl::Status WriteAll(int fd, absl::string_view content, const std::string& path) {
  while (!content.empty()) {
    const ssize_t n = write(fd, content.data(), content.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return ErrnoStatus(errno, absl::StrCat("write ", path));
    content.remove_prefix(static_cast<size_t>(n));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<FsRoot> FsRoot::Open(absl::string_view directory) {
  std::string path(directory);
  UniqueFd fd(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid()) return ErrnoStatus(errno, absl::StrCat("open directory ", path));
  return FsRoot(std::move(path), std::move(fd));
}

absl::StatusOr<FsRoot> FsRoot::OpenOrCreate(absl::string_view directory, mode_t mode) {
  PLIMSOLL_ASSIGN_OR_RETURN(const FsRoot base, Open(absl::StartsWith(directory, "/") ? "/" : "."));
  // A parent may be shared with what other users have to reach.
  constexpr mode_t kParents = 0755;
  PLIMSOLL_RETURN_IF_ERROR(base.MakeDirs(SplitLast(directory).parent, kParents));
  PLIMSOLL_RETURN_IF_ERROR(base.MakeDirs(directory, mode));
  return Open(directory);
}

std::string FsRoot::PathOf(absl::string_view relative) const {
  while (absl::ConsumePrefix(&relative, "/")) {
  }
  if (relative.empty() || relative == ".") return *path_;
  return absl::StrCat(*path_, absl::EndsWith(*path_, "/") ? "" : "/", relative);
}

absl::StatusOr<FsRoot> FsRoot::Sub(absl::string_view relative) const {
  PLIMSOLL_ASSIGN_OR_RETURN(UniqueFd fd, OpenFile(relative, O_RDONLY | O_DIRECTORY));
  return FsRoot(PathOf(relative), std::move(fd));
}

absl::StatusOr<UniqueFd> FsRoot::OpenFile(absl::string_view relative, int flags,
                                          mode_t mode) const {
  UniqueFd fd = OpenInRoot(fd_->get(), relative.empty() ? "." : std::string(relative), flags, mode);
  if (!fd.valid()) return ErrnoStatus(errno, absl::StrCat("open ", PathOf(relative)));
  return fd;
}

absl::StatusOr<std::string> FsRoot::Read(absl::string_view relative, size_t max_bytes) const {
  PLIMSOLL_ASSIGN_OR_RETURN(const UniqueFd fd, OpenFile(relative, O_RDONLY));
  std::string content;
  char buffer[16384];
  while (true) {
    const ssize_t n = read(fd.get(), buffer, sizeof(buffer));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return ErrnoStatus(errno, absl::StrCat("read ", PathOf(relative)));
    if (n == 0) return content;
    if (content.size() + static_cast<size_t>(n) > max_bytes) {
      return absl::ResourceExhaustedError(
          absl::StrCat("read ", PathOf(relative), ": larger than ", max_bytes, " bytes"));
    }
    content.append(buffer, static_cast<size_t>(n));
  }
}

absl::Status FsRoot::Write(absl::string_view relative, absl::string_view value) const {
  PLIMSOLL_RETURN_IF_ERROR(InjectedFault("write", relative));
  PLIMSOLL_ASSIGN_OR_RETURN(const UniqueFd fd, OpenFile(relative, O_WRONLY | O_TRUNC));
  ssize_t n = -1;
  do {
    n = write(fd.get(), value.data(), value.size());
  } while (n < 0 && errno == EINTR);
  const int err = n < 0 ? errno : EIO;
  if (n < 0 || static_cast<size_t>(n) != value.size()) {
    return ErrnoStatus(err, absl::StrCat("write \"", value, "\" to ", PathOf(relative)));
  }
  return absl::OkStatus();
}

absl::Status FsRoot::ReplaceFile(absl::string_view relative, absl::string_view content, mode_t mode,
                                 bool sync) const {
  PLIMSOLL_RETURN_IF_ERROR(InjectedFault("create", relative));
  static std::atomic<unsigned> counter{0};
  const Split split = SplitLast(relative);
  PLIMSOLL_ASSIGN_OR_RETURN(const UniqueFd dir, OpenFile(split.parent, O_RDONLY | O_DIRECTORY));
  const std::string temporary = absl::StrCat(".", split.name, ".", getpid(), ".", counter++);
  const std::string path = PathOf(relative);
  UniqueFd file(
      openat(dir.get(), temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
  if (!file.valid()) return ErrnoStatus(errno, absl::StrCat("create ", path));
  absl::Cleanup remove_temporary = [&] { unlinkat(dir.get(), temporary.c_str(), 0); };
  if (fchmod(file.get(), mode) != 0) return ErrnoStatus(errno, absl::StrCat("chmod ", path));
  PLIMSOLL_RETURN_IF_ERROR(WriteAll(file.get(), content, path));
  if (sync && fsync(file.get()) != 0) return ErrnoStatus(errno, absl::StrCat("sync ", path));
  if (renameat(dir.get(), temporary.c_str(), dir.get(), split.name.c_str()) != 0) {
    return ErrnoStatus(errno, absl::StrCat("rename to ", path));
  }
  std::move(remove_temporary).Cancel();
  if (sync && fsync(dir.get()) != 0) return ErrnoStatus(errno, absl::StrCat("sync ", path));
  return absl::OkStatus();
}

bool FsRoot::Exists(absl::string_view relative) const {
  return OpenInRoot(fd_->get(), std::string(relative), O_PATH, 0).valid();
}

absl::StatusOr<bool> FsRoot::Has(absl::string_view relative) const {
  const absl::Status status = OpenFile(relative, O_PATH).status();
  if (absl::IsNotFound(status)) return false;
  PLIMSOLL_RETURN_IF_ERROR(status);
  return true;
}

absl::StatusOr<struct stat> FsRoot::Stat(absl::string_view relative) const {
  PLIMSOLL_ASSIGN_OR_RETURN(const UniqueFd fd, OpenFile(relative, O_PATH));
  struct stat info = {};
  if (fstat(fd.get(), &info) != 0) {
    return ErrnoStatus(errno, absl::StrCat("stat ", PathOf(relative)));
  }
  return info;
}

absl::StatusOr<std::string> FsRoot::ReadLink(absl::string_view relative) const {
  PLIMSOLL_ASSIGN_OR_RETURN(const UniqueFd fd, OpenFile(relative, O_PATH | O_NOFOLLOW));
  char target[4096];
  const ssize_t n = readlinkat(fd.get(), "", target, sizeof(target));
  if (n < 0) return ErrnoStatus(errno, absl::StrCat("readlink ", PathOf(relative)));
  return std::string(target, static_cast<size_t>(n));
}

absl::StatusOr<std::vector<std::string>> FsRoot::List(absl::string_view relative) const {
  PLIMSOLL_ASSIGN_OR_RETURN(UniqueFd fd, OpenFile(relative, O_RDONLY | O_DIRECTORY));
  PLIMSOLL_ASSIGN_OR_RETURN(std::vector<std::string> names,
                            ListDirectory(std::move(fd), PathOf(relative)));
  std::sort(names.begin(), names.end());
  return names;
}

absl::Status FsRoot::MakeDirs(absl::string_view relative, mode_t mode) const {
  PLIMSOLL_RETURN_IF_ERROR(InjectedFault("make", relative));
  PLIMSOLL_ASSIGN_OR_RETURN(UniqueFd dir, OpenFile(".", O_PATH | O_DIRECTORY));
  std::string so_far;
  for (absl::string_view part : absl::StrSplit(relative, '/', absl::SkipEmpty())) {
    if (part == ".") continue;
    const std::string name(part);
    absl::StrAppend(&so_far, so_far.empty() ? "" : "/", name);
    if (part != ".." && mkdirat(dir.get(), name.c_str(), mode) != 0 && errno != EEXIST) {
      return ErrnoStatus(errno, absl::StrCat("make directory ", PathOf(so_far)));
    }
    PLIMSOLL_ASSIGN_OR_RETURN(dir, OpenFile(so_far, O_PATH | O_DIRECTORY));
  }
  return absl::OkStatus();
}

absl::Status FsRoot::RemoveFile(absl::string_view relative) const {
  PLIMSOLL_RETURN_IF_ERROR(InjectedFault("remove", relative));
  const Split split = SplitLast(relative);
  absl::StatusOr<UniqueFd> dir = OpenFile(split.parent, O_PATH | O_DIRECTORY);
  if (absl::IsNotFound(dir.status())) return absl::OkStatus();
  PLIMSOLL_RETURN_IF_ERROR(dir.status());
  if (unlinkat(dir->get(), split.name.c_str(), 0) != 0 && errno != ENOENT) {
    return ErrnoStatus(errno, absl::StrCat("remove ", PathOf(relative)));
  }
  return absl::OkStatus();
}

absl::Status FsRoot::RemoveDir(absl::string_view relative) const {
  PLIMSOLL_RETURN_IF_ERROR(InjectedFault("remove", relative));
  const Split split = SplitLast(relative);
  absl::StatusOr<UniqueFd> dir = OpenFile(split.parent, O_PATH | O_DIRECTORY);
  if (absl::IsNotFound(dir.status())) return absl::OkStatus();
  PLIMSOLL_RETURN_IF_ERROR(dir.status());
  if (unlinkat(dir->get(), split.name.c_str(), AT_REMOVEDIR) != 0 && errno != ENOENT) {
    return ErrnoStatus(errno, absl::StrCat("remove directory ", PathOf(relative)));
  }
  return absl::OkStatus();
}

absl::Status FsRoot::RemoveTree(absl::string_view relative) const {
  PLIMSOLL_RETURN_IF_ERROR(InjectedFault("remove", relative));
  const Split split = SplitLast(relative);
  absl::StatusOr<UniqueFd> dir = OpenFile(split.parent, O_RDONLY | O_DIRECTORY);
  if (absl::IsNotFound(dir.status())) return absl::OkStatus();
  PLIMSOLL_RETURN_IF_ERROR(dir.status());
  return RemoveTreeAt(dir->get(), split.name, PathOf(relative));
}

}  // namespace plimsoll
