#include "copy/tree_writer.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/random_id.h"
#include "base/regular_file.h"
#include "base/status.h"
#include "base/text/printable.h"
#include "base/unique_fd.h"
#include "lookup/open_below.h"

namespace plimsoll::copy {
namespace {

using image::ArchiveEntry;
using Components = std::vector<std::string>;

constexpr size_t kMaxWrittenDepth = 258;  // the reader's, plus the top and a file in the last one
constexpr size_t kMaxPathBytes = PATH_MAX - 1;
constexpr size_t kMaxRememberedBytes = 64 << 20;  // of directories' names
constexpr mode_t kSetIds = S_ISUID | S_ISGID;

absl::Status Refuse(absl::string_view why) {
  return absl::InvalidArgumentError(why);
}

// "./a//b" is {"a", "b"}.
absl::StatusOr<Components> Clean(absl::string_view path) {
  if (path.size() > kMaxPathBytes) return Refuse("the name is too long");
  if (absl::StartsWith(path, "/")) return Refuse("an absolute name leads out of the target");
  if (absl::StrContains(path, '\0')) return Refuse("the name holds a NUL");
  Components components;
  for (const absl::string_view part : absl::StrSplit(path, '/')) {
    if (part.empty() || part == ".") continue;
    if (part == "..") return Refuse("a name with \"..\" leads out of the target");
    components.emplace_back(part);
  }
  if (components.size() > kMaxWrittenDepth) return Refuse("too many directories in one another");
  return components;
}

UniqueFd OpenBeneath(int root, const std::string& path, int flags) {
  constexpr uint64_t kResolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  return UniqueFd(OpenBelow(root, path.c_str(), flags, kResolve));
}

class Writer {
 public:
  Writer(image::ArchiveReader& reader, const Place& place, std::string target,
         const WriteOptions& options)
      : reader_(reader), place_(place), target_(std::move(target)), options_(options) {}

  absl::Status Run() {
    if (options_.bare) PLIMSOLL_RETURN_IF_ERROR(BeginInside());
    ArchiveEntry entry;
    while (true) {
      PLIMSOLL_ASSIGN_OR_RETURN(const bool more, reader_.Next(&entry));
      if (!more) break;
      PLIMSOLL_RETURN_IF_ERROR(Handle(entry));
    }
    PLIMSOLL_RETURN_IF_ERROR(reader_.Finish().status());
    PLIMSOLL_RETURN_IF_ERROR(reader_.CheckEnd());
    SetDirectoryTimes();
    return absl::OkStatus();
  }

 private:
  absl::Status Handle(const ArchiveEntry& entry) {
    if (!root_.valid()) PLIMSOLL_RETURN_IF_ERROR(BeginAt(entry));
    const absl::Status status = HandleBelow(entry);
    return status.ok() ? status : Annotate(status, NameOf(entry.path));
  }

  // The user's name for the path, for messages.
  std::string NameOf(absl::string_view path) const {
    path = path.substr(0, 200);
    if (!options_.bare && absl::ConsumePrefix(&path, kTop) && root_is_target_ && !top_.empty()) {
      return place_.NameOf(absl::StrCat(target_, SlashAfterTarget(), top_.front(), path));
    }
    while (absl::ConsumePrefix(&path, "/") || absl::ConsumePrefix(&path, "./")) {
    }
    return place_.NameOf(absl::StrCat(target_, path.empty() ? "" : SlashAfterTarget(), path));
  }
  absl::string_view SlashAfterTarget() const { return absl::EndsWith(target_, "/") ? "" : "/"; }

  absl::Status BeginInside() {
    PLIMSOLL_ASSIGN_OR_RETURN(root_, place_.Open(target_, O_PATH | O_DIRECTORY));
    return absl::OkStatus();
  }

  // Chooses the top's place, by its type and the existing file.
  absl::Status BeginAt(const ArchiveEntry& top) {
    const bool is_directory = top.type == S_IFDIR;
    PLIMSOLL_ASSIGN_OR_RETURN(Place::Spot spot, place_.Find(target_, true));
    const std::string named = place_.NameOf(target_);
    if (spot.info.has_value() && S_ISDIR(spot.info->st_mode)) {
      root_.Reset(openat(spot.parent.get(), spot.name.c_str(),
                         O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
      if (!root_.valid()) return ErrnoStatus(errno, named);
      root_is_target_ = true;
      const bool content = is_directory && (options_.content || options_.source_name.empty());
      if (!content) top_ = {options_.source_name};
      return absl::OkStatus();
    }
    if (spot.info.has_value() && is_directory) {
      return absl::FailedPreconditionError(absl::StrCat(
          named, " is ", KindOfFile(spot.info->st_mode), ": a directory can't be copied onto it"));
    }
    if (absl::EndsWith(target_, "/") && !is_directory) {
      return ErrnoStatus(spot.info.has_value() ? ENOTDIR : ENOENT, named);
    }
    root_ = std::move(spot.parent);
    top_ = {spot.name};
    return absl::OkStatus();
  }

  // The place below the root.
  absl::StatusOr<Components> PlaceOf(const std::string& name) const {
    PLIMSOLL_ASSIGN_OR_RETURN(Components components, Clean(name));
    if (options_.bare) return components;
    if (components.empty() || components.front() != kTop) return Refuse("an unexpected name");
    components.erase(components.begin());
    components.insert(components.begin(), top_.begin(), top_.end());
    return components;
  }

  absl::Status HandleBelow(const ArchiveEntry& entry) {
    PLIMSOLL_RETURN_IF_ERROR(Check(entry));
    PLIMSOLL_ASSIGN_OR_RETURN(Components components, PlaceOf(entry.path));
    if (components.empty()) return HandleRoot(entry);
    const std::string name = std::move(components.back());
    components.pop_back();
    if (name.size() > NAME_MAX) return ErrnoStatus(ENAMETOOLONG, "its name");
    PLIMSOLL_ASSIGN_OR_RETURN(const int parent, Parent(components));
    if (!entry.hardlink.empty()) return HandleHardLink(entry, parent, name);
    switch (entry.type) {
      case S_IFDIR:
        components.push_back(name);
        return HandleDirectory(entry, parent, name, absl::StrJoin(components, "/"));
      case S_IFREG:
        return HandleFile(entry, parent, name);
      case S_IFLNK:
        return HandleSymlink(entry, parent, name);
      default:
        if (options_.left_out) {
          options_.left_out(absl::StrCat(Printable(entry.path), " is ", KindOfFile(entry.type)));
        }
        return absl::OkStatus();
    }
  }

  absl::Status Check(const ArchiveEntry& entry) const {
    // The highest number means "leave as it is" to chown(2).
    constexpr int64_t kMaxId = std::numeric_limits<uint32_t>::max() - int64_t{1};
    if (!options_.archive) return absl::OkStatus();
    if (entry.uid >= 0 && entry.uid <= kMaxId && entry.gid >= 0 && entry.gid <= kMaxId) {
      return absl::OkStatus();
    }
    return Refuse(absl::StrCat("owner ", entry.uid, ":", entry.gid, " is not from 0 to ", kMaxId));
  }

  // An existing directory keeps its metadata, except in archive mode.
  absl::Status HandleRoot(const ArchiveEntry& entry) {
    if (entry.type != S_IFDIR || !entry.hardlink.empty()) return Refuse("it has no name");
    if (!options_.archive) return absl::OkStatus();
    const UniqueFd fd(openat(root_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!fd.valid()) return ErrnoStatus(errno, "open");
    PLIMSOLL_RETURN_IF_ERROR(Remember(".", entry));
    return SetMetadata(fd.get(), entry);
  }

  // A stream lists a directory's files one after the other. Valid until the next call.
  absl::StatusOr<int> Parent(const Components& components) {
    const std::string path = components.empty() ? "." : absl::StrJoin(components, "/");
    if (parent_.valid() && path == parent_path_) return parent_.get();
    parent_ = OpenBeneath(root_.get(), path, O_PATH | O_DIRECTORY);
    if (!parent_.valid() && errno == ENOENT) {
      PLIMSOLL_RETURN_IF_ERROR(MakeDirectories(components));
      parent_ = OpenBeneath(root_.get(), path, O_PATH | O_DIRECTORY);
    }
    if (!parent_.valid() && (errno == ELOOP || errno == EXDEV)) {
      return Refuse("its path leads through a symbolic link, and links aren't followed");
    }
    if (!parent_.valid()) return ErrnoStatus(errno, absl::StrCat("open ", Printable(path)));
    parent_path_ = path;
    return parent_.get();
  }

  absl::Status MakeDirectories(const Components& components) {
    UniqueFd at(fcntl(root_.get(), F_DUPFD_CLOEXEC, 3));
    for (const std::string& name : components) {
      if (mkdirat(at.get(), name.c_str(), 0755) != 0 && errno != EEXIST) {
        return ErrnoStatus(errno, absl::StrCat("make ", Printable(name)));
      }
      at.Reset(openat(at.get(), name.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
      if (!at.valid()) return ErrnoStatus(errno, absl::StrCat("open ", Printable(name)));
    }
    return absl::OkStatus();
  }

  absl::Status HandleDirectory(const ArchiveEntry& entry, int parent, const std::string& name,
                               const std::string& path) {
    const bool is_new = mkdirat(parent, name.c_str(), 0700) == 0;
    if (!is_new && errno != EEXIST) return ErrnoStatus(errno, "make the directory");
    const UniqueFd fd(
        openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!fd.valid() && (errno == ENOTDIR || errno == ELOOP)) {
      return absl::FailedPreconditionError("a directory can't replace the existing file");
    }
    if (!fd.valid()) return ErrnoStatus(errno, "open the directory");
    if (!is_new && !options_.archive) return absl::OkStatus();
    PLIMSOLL_RETURN_IF_ERROR(Remember(path, entry));
    return SetMetadata(fd.get(), entry);
  }

  static std::string TemporaryName() { return ".plimsoll-cp-" + RandomId().substr(0, 16); }

  absl::Status HandleFile(const ArchiveEntry& entry, int parent, const std::string& name) {
    const std::string temporary = TemporaryName();
    const UniqueFd fd(openat(parent, temporary.c_str(),
                             O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!fd.valid()) return ErrnoStatus(errno, "make a file");
    absl::Cleanup remove = [&] { unlinkat(parent, temporary.c_str(), 0); };
    uint64_t end = 0;  // of the data written
    PLIMSOLL_RETURN_IF_ERROR(reader_.ReadData([&](uint64_t offset, absl::string_view data) {
      end = std::max(end, offset + data.size());
      return WriteAt(fd.get(), offset, data);
    }));
    if (entry.size < 0) return Refuse("its size is negative");
    if (end != static_cast<uint64_t>(entry.size) && ftruncate(fd.get(), entry.size) != 0) {
      return ErrnoStatus(errno, "set its size");
    }
    PLIMSOLL_RETURN_IF_ERROR(SetMetadata(fd.get(), entry));
    struct stat info = {};
    if (fstat(fd.get(), &info) != 0) return ErrnoStatus(errno, "stat");
    PLIMSOLL_RETURN_IF_ERROR(Commit(parent, temporary, name));
    std::move(remove).Cancel();
    made_.insert({info.st_dev, info.st_ino});
    return absl::OkStatus();
  }

  static absl::Status WriteAt(int fd, uint64_t offset, absl::string_view data) {
    while (!data.empty()) {
      const ssize_t n = pwrite(fd, data.data(), data.size(), static_cast<off_t>(offset));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return ErrnoStatus(errno, "write");
      data.remove_prefix(static_cast<size_t>(n));
      offset += static_cast<uint64_t>(n);
    }
    return absl::OkStatus();
  }

  // Replaces an existing file or link. A mount on it in another mount namespace is refused:
  // rename(2) would silently unmount it.
  static absl::Status Commit(int parent, const std::string& temporary, const std::string& name) {
    struct statx info = {};
    const bool is_there = statx(parent, name.c_str(), AT_SYMLINK_NOFOLLOW, STATX_TYPE, &info) == 0;
    if (is_there && !S_ISREG(info.stx_mode) && !S_ISLNK(info.stx_mode)) {
      return absl::FailedPreconditionError(
          absl::StrCat("the existing file is ", KindOfFile(info.stx_mode), "; it isn't replaced"));
    }
    if (is_there && (info.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0) {
      return absl::FailedPreconditionError("the existing file is a mount point; it isn't replaced");
    }
    if (renameat(parent, temporary.c_str(), parent, name.c_str()) == 0) return absl::OkStatus();
    return ErrnoStatus(errno, "rename");
  }

  absl::Status HandleSymlink(const ArchiveEntry& entry, int parent, const std::string& name) {
    if (entry.symlink.empty() || entry.symlink.size() >= PATH_MAX) {
      return Refuse("the symbolic link's target is empty or too long");
    }
    const std::string temporary = TemporaryName();
    if (symlinkat(entry.symlink.c_str(), parent, temporary.c_str()) != 0) {
      return ErrnoStatus(errno, "make a symbolic link");
    }
    absl::Cleanup remove = [&] { unlinkat(parent, temporary.c_str(), 0); };
    if (options_.archive && fchownat(parent, temporary.c_str(), static_cast<uid_t>(entry.uid),
                                     static_cast<gid_t>(entry.gid), AT_SYMLINK_NOFOLLOW) != 0) {
      return ErrnoStatus(errno, absl::StrCat("set owner ", entry.uid, ":", entry.gid));
    }
    const struct timespec times[2] = {entry.mtime, entry.mtime};
    utimensat(parent, temporary.c_str(), times, AT_SYMLINK_NOFOLLOW);
    PLIMSOLL_RETURN_IF_ERROR(Commit(parent, temporary, name));
    std::move(remove).Cancel();
    return absl::OkStatus();
  }

  // Checks the link after making it, since its target's name may be another's by then.
  absl::Status HandleHardLink(const ArchiveEntry& entry, int parent, const std::string& name) {
    PLIMSOLL_ASSIGN_OR_RETURN(Components components, PlaceOf(entry.hardlink));
    if (components.empty()) return Refuse("a hard link to a directory");
    const std::string target = std::move(components.back());
    components.pop_back();
    const std::string path = components.empty() ? "." : absl::StrJoin(components, "/");
    const UniqueFd directory = OpenBeneath(root_.get(), path, O_PATH | O_DIRECTORY);
    const std::string temporary = TemporaryName();
    struct stat info = {};
    if (!directory.valid() ||
        linkat(directory.get(), target.c_str(), parent, temporary.c_str(), 0) != 0) {
      return ErrnoStatus(errno, absl::StrCat("hard link to ", Printable(entry.hardlink)));
    }
    // If both are one file already, the rename does nothing and leaves the temporary name.
    const absl::Cleanup remove = [&] { unlinkat(parent, temporary.c_str(), 0); };
    if (fstatat(parent, temporary.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0 ||
        !made_.contains({info.st_dev, info.st_ino})) {
      return Refuse(absl::StrCat("hard link to ", Printable(entry.hardlink),
                                 ", but this copy did not write that file"));
    }
    return Commit(parent, temporary, name);
  }

  // The kernel dictates the order: chown(2) clears set-id bits and security.capability.
  absl::Status SetMetadata(int fd, const ArchiveEntry& entry) {
    if (options_.archive &&
        fchown(fd, static_cast<uid_t>(entry.uid), static_cast<gid_t>(entry.gid)) != 0) {
      return ErrnoStatus(errno, absl::StrCat("set owner ", entry.uid, ":", entry.gid));
    }
    const mode_t mode = options_.archive ? entry.permissions : entry.permissions & ~kSetIds;
    if (fchmod(fd, mode) != 0) return ErrnoStatus(errno, "set the mode");
    if (options_.archive) PLIMSOLL_RETURN_IF_ERROR(SetAttributes(fd, entry));
    const struct timespec times[2] = {entry.mtime, entry.mtime};
    if (futimens(fd, times) != 0) return ErrnoStatus(errno, "set the modification time");
    return absl::OkStatus();
  }

  static absl::Status SetAttributes(int fd, const ArchiveEntry& entry) {
    for (const auto& [name, value] : entry.xattrs) {
      const bool is_user =
          absl::StartsWith(name, "user.") && !absl::StartsWith(name, "user.overlay.");
      if (!is_user && name != "security.capability") continue;
      if (fsetxattr(fd, name.c_str(), value.data(), value.size(), 0) == 0) continue;
      if (errno == EOPNOTSUPP) continue;  // no attributes on this file system: ignored, as tar does
      return ErrnoStatus(errno, absl::StrCat("set attribute ", Printable(name)));
    }
    return absl::OkStatus();
  }

  absl::Status Remember(const std::string& path, const ArchiveEntry& entry) {
    remembered_bytes_ += path.size() + sizeof(entry.mtime);
    if (remembered_bytes_ > kMaxRememberedBytes) {
      return absl::ResourceExhaustedError("too many directories");
    }
    times_.emplace_back(path, entry.mtime);
    return absl::OkStatus();
  }

  // At the end, because each file made in a directory changes its time.
  void SetDirectoryTimes() {
    for (const auto& [path, mtime] : times_) {
      const UniqueFd fd = OpenBeneath(root_.get(), path, O_RDONLY | O_DIRECTORY);
      const struct timespec times[2] = {mtime, mtime};
      if (fd.valid()) futimens(fd.get(), times);  // a directory that is gone needs no time
    }
  }

  image::ArchiveReader& reader_;
  const Place& place_;
  const std::string target_;
  const WriteOptions& options_;
  UniqueFd root_;  // everything stays below it
  bool root_is_target_ = false;
  Components top_;  // the top's place below it; empty: the root itself
  UniqueFd parent_;
  std::string parent_path_;
  absl::flat_hash_set<std::pair<dev_t, ino_t>> made_;           // regular files
  std::vector<std::pair<std::string, struct timespec>> times_;  // of directories
  size_t remembered_bytes_ = 0;
};

}  // namespace

absl::Status WriteTree(image::ArchiveReader& reader, const Place& place, const std::string& target,
                       const WriteOptions& options) {
  return Writer(reader, place, target, options).Run();
}

}  // namespace plimsoll::copy
