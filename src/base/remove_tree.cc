#include "base/remove_tree.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/list_directory.h"
#include "base/status.h"
#include "base/unique_fd.h"
#include "lookup/open_below.h"

namespace plimsoll {
namespace {

// The levels that a message names in full.
constexpr size_t kNamedLevels = 16;

// Identifies an open directory.
struct Identity {
  dev_t device = 0;
  ino_t inode = 0;

  bool operator==(const Identity&) const = default;
};

// A directory between the top and the one being emptied. It isn't kept open: ".." of its child
// leads back to it, and `identity` proves that.
struct Level {
  std::string name;
  Identity identity;
  std::vector<std::string> directories;  // its subdirectories still to be removed
};

class TreeRemover {
 public:
  explicit TreeRemover(const std::string& path) : path_(path) {}

  absl::Status Remove(int parent, const std::string& name);

 private:
  absl::Status Enter(int directory, const std::string& name);
  absl::Status RemoveFiles(std::vector<std::string>* directories) const;
  absl::Status Leave();
  std::string PathOf(const std::string& child) const;

  const std::string& path_;
  std::vector<Level> levels_;  // top first; the last is `current_`
  UniqueFd current_;
};

// Removes `name` unless it is a directory. OK with *is_directory otherwise.
absl::Status Unlink(int directory, const std::string& name, bool* is_directory) {
  *is_directory = false;
  if (unlinkat(directory, name.c_str(), 0) == 0 || errno == ENOENT) return absl::OkStatus();
  const int error = errno;
  // For a directory POSIX has EPERM and Linux EISDIR. Linux's EPERM means an immutable or
  // append-only file, or a file in such a directory (chattr(1)).
  struct stat info = {};
  *is_directory =
      error == EISDIR ||
      (error == EPERM && fstatat(directory, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 &&
       S_ISDIR(info.st_mode));
  return *is_directory ? absl::OkStatus() : ErrnoStatus(error, "remove");
}

absl::StatusOr<Identity> IdentityOf(int fd) {
  struct stat info = {};
  if (fstat(fd, &info) != 0) return ErrnoStatus(errno, "stat");
  return Identity{info.st_dev, info.st_ino};
}

std::string TreeRemover::PathOf(const std::string& child) const {
  std::string path = path_;
  for (size_t i = 1; i < std::min(levels_.size(), kNamedLevels); ++i) {
    absl::StrAppend(&path, "/", levels_[i].name);
  }
  if (levels_.size() > kNamedLevels) {
    absl::StrAppend(&path, "/... (", levels_.size() - kNamedLevels, " levels)");
  }
  return child.empty() ? path : absl::StrCat(path, "/", child);
}

// Removes the files of the current directory, and lists its subdirectories.
absl::Status TreeRemover::RemoveFiles(std::vector<std::string>* directories) const {
  UniqueFd listing(openat(current_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!listing.valid()) return ErrnoStatus(errno, absl::StrCat("list ", PathOf("")));
  PLIMSOLL_ASSIGN_OR_RETURN(std::vector<std::string> names,
                            ListDirectory(std::move(listing), PathOf("")));
  for (std::string& name : names) {
    bool is_directory = false;
    const absl::Status removed = Unlink(current_.get(), name, &is_directory);
    if (!removed.ok()) return Annotate(removed, PathOf(name));
    if (is_directory) directories->push_back(std::move(name));
  }
  return absl::OkStatus();
}

// Makes the directory `name` of `directory` the current one and removes its files.
absl::Status TreeRemover::Enter(int directory, const std::string& name) {
  constexpr int kFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW;
  // Stops at bind mounts too, which share st_dev.
  constexpr uint64_t kResolve = RESOLVE_NO_XDEV | RESOLVE_BENEATH;
  UniqueFd fd(OpenBelow(directory, name.c_str(), kFlags, kResolve));
  const std::string path = levels_.empty() ? path_ : PathOf(name);
  if (!fd.valid() && errno == EXDEV) {
    return absl::FailedPreconditionError(
        absl::StrCat("remove ", path, ": something is mounted there; unmount it first"));
  }
  if (!fd.valid()) return ErrnoStatus(errno, absl::StrCat("open ", path));
  absl::StatusOr<Identity> identity = IdentityOf(fd.get());
  if (!identity.ok()) return Annotate(identity.status(), path);
  current_ = std::move(fd);
  levels_.push_back({name, *identity, {}});
  return RemoveFiles(&levels_.back().directories);
}

// Makes the parent directory the current one, and removes the one left.
absl::Status TreeRemover::Leave() {
  const std::string name = std::move(levels_.back().name);
  levels_.pop_back();
  UniqueFd above(openat(current_.get(), "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!above.valid()) return ErrnoStatus(errno, absl::StrCat("open ", PathOf("")));
  absl::StatusOr<Identity> identity = IdentityOf(above.get());
  if (!identity.ok()) return Annotate(identity.status(), PathOf(""));
  if (*identity != levels_.back().identity) {
    return absl::AbortedError(
        absl::StrCat("remove ", PathOf(name), ": it was moved elsewhere meanwhile; try again"));
  }
  current_ = std::move(above);
  if (unlinkat(current_.get(), name.c_str(), AT_REMOVEDIR) != 0 && errno != ENOENT) {
    return ErrnoStatus(errno, absl::StrCat("remove ", PathOf(name)));
  }
  return absl::OkStatus();
}

absl::Status TreeRemover::Remove(int parent, const std::string& name) {
  bool is_directory = false;
  const absl::Status removed = Unlink(parent, name, &is_directory);
  if (!removed.ok()) return Annotate(removed, path_);
  if (!is_directory) return absl::OkStatus();
  PLIMSOLL_RETURN_IF_ERROR(Enter(parent, name));
  while (true) {
    std::vector<std::string>& directories = levels_.back().directories;
    if (!directories.empty()) {
      const std::string next = std::move(directories.back());
      directories.pop_back();
      PLIMSOLL_RETURN_IF_ERROR(Enter(current_.get(), next));
    } else if (levels_.size() > 1) {
      PLIMSOLL_RETURN_IF_ERROR(Leave());
    } else {
      break;
    }
  }
  if (unlinkat(parent, name.c_str(), AT_REMOVEDIR) != 0 && errno != ENOENT) {
    return ErrnoStatus(errno, absl::StrCat("remove ", path_));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status RemoveTreeAt(int parent, const std::string& name, const std::string& path) {
  return TreeRemover(path).Remove(parent, name);
}

}  // namespace plimsoll
