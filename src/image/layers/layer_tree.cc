#include "image/layers/layer_tree.h"

#include <fcntl.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/status.h"
#include "lookup/open_below.h"

namespace plimsoll::image {
namespace {

constexpr char kOpaqueXattr[] = "trusted.overlay.opaque";
constexpr size_t kMaxPathBytes = 4096;
constexpr size_t kMaxTreeDepth = 256;  // few descriptors can still remove such a tree
constexpr int kMaxPathLinks = 40;      // as the kernel, path_resolution(7)

// Opens without following any link and without leaving `dir`.
UniqueFd OpenBeneath(int dir, const std::string& path, int flags) {
  constexpr uint64_t kResolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV;
  return UniqueFd(OpenBelow(dir, path.empty() ? "." : path.c_str(), flags, kResolve));
}

std::string Join(const std::string& directory, const std::string& name) {
  return directory.empty() ? name : absl::StrCat(directory, "/", name);
}

absl::StatusOr<std::string> ReadLinkAt(int dir, const std::string& name) {
  char target[kMaxPathBytes];
  const ssize_t n = readlinkat(dir, name.c_str(), target, sizeof(target));
  if (n < 0) return ErrnoStatus(errno, absl::StrCat("readlink ", name));
  return std::string(target, static_cast<size_t>(n));
}

bool IsOpaque(int dir, const std::string& path) {
  const UniqueFd fd = OpenBeneath(dir, path, O_RDONLY | O_DIRECTORY);
  char value = 0;
  return fd.valid() && fgetxattr(fd.get(), kOpaqueXattr, &value, 1) == 1 && value == 'y';
}

// True when a part of `path` in `lower` hides the layers further down.
bool HidesBelow(const FsRoot& lower, const std::string& path) {
  std::string prefix;
  for (absl::string_view part : absl::StrSplit(path, '/')) {
    prefix = Join(prefix, std::string(part));
    const UniqueFd fd = OpenBeneath(lower.fd(), prefix, O_PATH | O_NOFOLLOW);
    if (!fd.valid()) return false;
    struct stat info = {};
    if (fstat(fd.get(), &info) != 0 || !S_ISDIR(info.st_mode)) return true;
    if (IsOpaque(lower.fd(), prefix)) return true;
  }
  return false;
}

absl::Status Outside() {
  return absl::InvalidArgumentError(
      "the path leads out of the layer through a symbolic link with \"..\"");
}

}  // namespace

bool IsWhiteout(const struct stat& info) {
  return S_ISCHR(info.st_mode) && info.st_rdev == makedev(0, 0);
}

LayerTree::LayerTree(FsRoot diff, LowersFn lowers)
    : diff_(std::move(diff)), ask_lowers_(std::move(lowers)) {}

absl::StatusOr<const std::vector<FsRoot>*> LayerTree::Lowers() {
  if (!lowers_.has_value()) {
    PLIMSOLL_ASSIGN_OR_RETURN(lowers_, ask_lowers_());
  }
  return &*lowers_;
}

absl::StatusOr<std::vector<std::string>> LayerTree::Clean(absl::string_view path) {
  if (path.size() > kMaxPathBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("the path has ", path.size(), " bytes; valid are ", kMaxPathBytes));
  }
  if (path.empty() || absl::StrContains(path, '\0')) {
    return absl::InvalidArgumentError("the path is empty or has a NUL byte");
  }
  std::vector<std::string> components;
  for (absl::string_view part : absl::StrSplit(path, '/', absl::SkipEmpty())) {
    if (part == ".") continue;
    if (part != "..") {
      components.emplace_back(part);
      continue;
    }
    if (components.empty()) {
      return absl::InvalidArgumentError("the path leads out of the layer through \"..\"");
    }
    components.pop_back();
  }
  if (components.size() > kMaxTreeDepth) {
    return absl::InvalidArgumentError(
        absl::StrCat("the path is ", components.size(), " deep; valid is ", kMaxTreeDepth));
  }
  for (size_t i = 0; i + 1 < components.size(); ++i) {
    if (absl::StartsWith(components[i], ".wh.")) {
      return absl::InvalidArgumentError("the path leads through a whiteout");
    }
  }
  return components;
}

absl::StatusOr<LayerTree::Directory> LayerTree::OpenRoot() const {
  Directory root;
  root.fd = OpenBeneath(diff_.fd(), ".", O_PATH | O_DIRECTORY);
  if (!root.fd.valid()) return ErrnoStatus(errno, absl::StrCat("open ", diff_.path()));
  root.merged = !IsOpaque(diff_.fd(), ".");
  return root;
}

// Opens the directory at these real components again, after ".." or an absolute link.
absl::StatusOr<LayerTree::Directory> LayerTree::Reopen(const std::vector<std::string>& real) const {
  PLIMSOLL_ASSIGN_OR_RETURN(Directory current, OpenRoot());
  std::vector<std::string> again;
  for (const std::string& name : real) {
    PLIMSOLL_RETURN_IF_ERROR(Descend(name, &again, &current));
  }
  return current;
}

absl::Status LayerTree::Descend(const std::string& name, std::vector<std::string>* real,
                                Directory* current) const {
  Directory next;
  next.path = Join(current->path, name);
  next.fd = OpenBeneath(current->fd.get(), name, O_PATH | O_DIRECTORY);
  if (!next.fd.valid()) return ErrnoStatus(errno, absl::StrCat("open ", next.path));
  next.merged = current->merged && !IsOpaque(current->fd.get(), name);
  real->push_back(name);
  *current = std::move(next);
  return absl::OkStatus();
}

absl::Status LayerTree::Follow(absl::string_view target, int* links, std::vector<std::string>* real,
                               std::vector<std::string>* todo, Directory* current) {
  if (++*links > kMaxPathLinks) {
    return absl::InvalidArgumentError(
        absl::StrCat("leads through more than ", kMaxPathLinks, " symbolic links"));
  }
  if (absl::StartsWith(target, "/")) {
    real->clear();
    PLIMSOLL_ASSIGN_OR_RETURN(*current, OpenRoot());
  }
  // Each ".." is resolved in turn, from the place where the links before it led.
  const std::vector<std::string> parts = absl::StrSplit(target, '/', absl::SkipEmpty());
  todo->insert(todo->end(), parts.rbegin(), parts.rend());
  return absl::OkStatus();
}

absl::Status LayerTree::Step(const std::string& name, Missing missing, int* links,
                             std::vector<std::string>* real, std::vector<std::string>* todo,
                             Directory* current) {
  if (name == ".") return absl::OkStatus();
  if (name == "..") {
    if (real->empty()) return Outside();
    real->pop_back();
    PLIMSOLL_ASSIGN_OR_RETURN(*current, Reopen(*real));
    return absl::OkStatus();
  }
  struct stat info = {};
  const bool exists = fstatat(current->fd.get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0;
  if (!exists && errno != ENOENT) return ErrnoStatus(errno, "look up a parent directory");
  if (exists && S_ISDIR(info.st_mode)) return Descend(name, real, current);
  if (exists && S_ISLNK(info.st_mode)) {
    PLIMSOLL_ASSIGN_OR_RETURN(const std::string target, ReadLinkAt(current->fd.get(), name));
    return Follow(target, links, real, todo, current);
  }
  if (exists && !IsWhiteout(info)) {
    return ErrnoStatus(ENOTDIR,
                       absl::StrCat("open \"", absl::CEscape(Join(current->path, name)), "\""));
  }
  const absl::Status none = absl::NotFoundError("there is no such directory in the layer");
  if (missing == Missing::kRefuse || (exists && missing == Missing::kTakeFromBelow)) return none;
  if (real->size() >= kMaxTreeDepth) return absl::InvalidArgumentError("the path is too deep");
  std::optional<Lower> below;
  if (exists) {  // a whiteout: the new directory must not show lower layers
    if (unlinkat(current->fd.get(), name.c_str(), 0) != 0) return ErrnoStatus(errno, "unlink");
  } else {
    PLIMSOLL_ASSIGN_OR_RETURN(below, FindBelow(*current, name));
  }
  if (!below.has_value() && missing == Missing::kTakeFromBelow) return none;
  if (below.has_value() && S_ISLNK(below->info.st_mode)) {
    return Follow(below->link, links, real, todo, current);
  }
  PLIMSOLL_RETURN_IF_ERROR(MakeDirectory(name, below, *current));
  if (exists) {
    const UniqueFd made = OpenBeneath(current->fd.get(), name, O_RDONLY | O_DIRECTORY);
    PLIMSOLL_RETURN_IF_ERROR(SetOpaque(made.get(), name));
  }
  return Descend(name, real, current);
}

absl::StatusOr<LayerTree::Directory> LayerTree::Walk(const std::vector<std::string>& components,
                                                     Missing missing) {
  std::vector<std::string> todo(components.rbegin(), components.rend());
  std::vector<std::string> real;
  PLIMSOLL_ASSIGN_OR_RETURN(Directory current, OpenRoot());
  int links = 0;
  while (!todo.empty()) {
    const std::string name = std::move(todo.back());
    todo.pop_back();
    PLIMSOLL_RETURN_IF_ERROR(Step(name, missing, &links, &real, &todo, &current));
  }
  return current;
}

absl::StatusOr<const LayerTree::Directory*> LayerTree::ResolveFromBelow(
    const std::vector<std::string>& components) {
  PLIMSOLL_ASSIGN_OR_RETURN(uncached_, Walk(components, Missing::kTakeFromBelow));
  return &uncached_;
}

absl::StatusOr<const LayerTree::Directory*> LayerTree::Resolve(
    const std::vector<std::string>& components, bool must_exist) {
  if (cached_.has_value() && !stale_ && cached_key_ == components) return &*cached_;
  PLIMSOLL_ASSIGN_OR_RETURN(Directory current,
                            Walk(components, must_exist ? Missing::kRefuse : Missing::kMake));
  if (must_exist) {  // looks up a link's target: keep the cache for the entry itself
    uncached_ = std::move(current);
    return &uncached_;
  }
  cached_key_ = components;
  cached_ = std::move(current);
  stale_ = false;
  return &*cached_;
}

absl::StatusOr<std::optional<LowerFile>> LayerTree::FileBelow(const Directory& parent,
                                                              const std::string& name) {
  if (!parent.merged) return std::optional<LowerFile>();
  const std::string path = Join(parent.path, name);
  PLIMSOLL_ASSIGN_OR_RETURN(const std::vector<FsRoot>* const lowers, Lowers());
  for (const FsRoot& lower : *lowers) {
    LowerFile found{.fd = OpenBeneath(lower.fd(), path, O_PATH | O_NOFOLLOW)};
    if (!found.fd.valid()) {
      if (errno != ENOENT && errno != ENOTDIR && errno != ELOOP) {
        return ErrnoStatus(errno, absl::StrCat("open ", lower.PathOf(path)));
      }
      if (!parent.path.empty() && HidesBelow(lower, parent.path)) break;
      if (IsOpaque(lower.fd(), ".")) break;
      continue;
    }
    if (fstat(found.fd.get(), &found.info) != 0) {
      return ErrnoStatus(errno, "stat a lower layer's file");
    }
    if (IsWhiteout(found.info)) break;
    return std::optional<LowerFile>(std::move(found));
  }
  return std::optional<LowerFile>();
}

absl::StatusOr<std::optional<LayerTree::Lower>> LayerTree::FindBelow(const Directory& parent,
                                                                     const std::string& name) {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::optional<LowerFile> file, FileBelow(parent, name));
  if (!file.has_value()) return std::optional<Lower>();
  Lower found{.info = file->info, .link = ""};
  if (S_ISLNK(found.info.st_mode)) {
    PLIMSOLL_ASSIGN_OR_RETURN(found.link, ReadLinkAt(file->fd.get(), ""));
  } else if (!S_ISDIR(found.info.st_mode)) {
    return std::optional<Lower>();
  }
  return std::optional<Lower>(std::move(found));
}

absl::Status LayerTree::MakeDirectory(const std::string& name, const std::optional<Lower>& like,
                                      const Directory& parent) {
  if (mkdirat(parent.fd.get(), name.c_str(), 0755) != 0) {
    return ErrnoStatus(errno, absl::StrCat("make directory ", Join(parent.path, name)));
  }
  ++made_directories_;
  const uid_t uid = like.has_value() ? like->info.st_uid : 0;
  const gid_t gid = like.has_value() ? like->info.st_gid : 0;
  const mode_t mode = like.has_value() ? like->info.st_mode & 07777 : 0755;
  if (fchownat(parent.fd.get(), name.c_str(), uid, gid, AT_SYMLINK_NOFOLLOW) != 0 ||
      fchmodat(parent.fd.get(), name.c_str(), mode, 0) != 0) {
    return ErrnoStatus(errno, absl::StrCat("set owner and mode of ", Join(parent.path, name)));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::optional<struct stat>> LayerTree::Remove(const Directory& directory,
                                                             const std::string& name) {
  struct stat info = {};
  if (fstatat(directory.fd.get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno == ENOENT) return std::optional<struct stat>();
    return ErrnoStatus(errno, "look up the file that the entry replaces");
  }
  if (S_ISDIR(info.st_mode)) {
    const std::string path = Join(directory.path, name);
    PLIMSOLL_RETURN_IF_ERROR(diff_.RemoveTree(path));
  } else if (unlinkat(directory.fd.get(), name.c_str(), 0) != 0) {
    return ErrnoStatus(errno, "remove the file that the entry replaces");
  }
  if (!S_ISREG(info.st_mode)) Changed();
  return std::optional<struct stat>(info);
}

absl::Status LayerTree::SetOpaque(int directory_fd, absl::string_view path) {
  if (fsetxattr(directory_fd, kOpaqueXattr, "y", 1, 0) != 0) {
    return ErrnoStatus(errno, absl::StrCat("set ", kOpaqueXattr, " on ", path));
  }
  Changed();  // may change `merged`
  return absl::OkStatus();
}

}  // namespace plimsoll::image
