#include "image/layers/layer_unpacker.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "base/directory_attributes.h"
#include "base/status.h"
#include "base/text/human_bytes.h"
#include "base/unique_fd.h"
#include "image/layers/image_fault.h"
#include "image/layers/layer_tree.h"
#include "image/layers/lower_file.h"

namespace plimsoll::image {
namespace {

constexpr absl::string_view kWhiteoutPrefix = ".wh.";
constexpr absl::string_view kOpaqueName = ".wh..wh..opq";
constexpr absl::string_view kReservedPrefix = ".wh..wh.";  // aufs's own book-keeping

absl::Status Refuse(absl::string_view why) {
  return absl::InvalidArgumentError(why);
}

class Unpacker {
 public:
  Unpacker(ArchiveReader& reader, const FsRoot& diff, LayerTree::LowersFn lowers,
           const UnpackLimits& limits)
      : reader_(reader), tree_(diff, std::move(lowers)), limits_(limits) {}

  absl::StatusOr<UnpackResult> Run() {
    ArchiveEntry entry;
    while (true) {
      PLIMSOLL_ASSIGN_OR_RETURN(const bool more, reader_.Next(&entry));
      if (!more) break;
      absl::Status status = Count(entry);
      if (status.ok()) status = BlameImage(Handle(entry));
      if (!status.ok()) {
        return Annotate(
            status,
            absl::StrCat("entry \"", absl::CEscape(absl::string_view(entry.path).substr(0, 200)),
                         "\""));
      }
    }
    PLIMSOLL_ASSIGN_OR_RETURN(result_.digests, reader_.Finish());
    PLIMSOLL_RETURN_IF_ERROR(SetDirectoryTimes());
    PLIMSOLL_RETURN_IF_ERROR(InheritRoot());
    result_.inodes += tree_.made_directories();
    return std::move(result_);
  }

 private:
  using Directory = LayerTree::Directory;

  absl::Status Count(const ArchiveEntry& entry) {
    if (++entries_ > limits_.max_entries) {
      return absl::ResourceExhaustedError(
          absl::StrCat("the layer has more than ", limits_.max_entries, " entries"));
    }
    header_bytes_ += entry.path.size() + entry.hardlink.size() + entry.symlink.size();
    for (const auto& [name, value] : entry.xattrs) header_bytes_ += name.size() + value.size();
    if (header_bytes_ > limits_.max_header_bytes) {
      return absl::ResourceExhaustedError(
          absl::StrCat("the names, links and attributes of the layer have more than ",
                       limits_.max_header_bytes, " bytes"));
    }
    return limits_.budget == nullptr ? absl::OkStatus() : limits_.budget->AddEntry();
  }

  absl::Status Handle(const ArchiveEntry& entry) {
    PLIMSOLL_RETURN_IF_ERROR(Check(entry));
    PLIMSOLL_ASSIGN_OR_RETURN(std::vector<std::string> components, LayerTree::Clean(entry.path));
    if (components.empty()) return HandleRoot(entry);
    const std::string name = std::move(components.back());
    components.pop_back();
    const bool is_whiteout = absl::StartsWith(name, kWhiteoutPrefix);
    const auto resolved = tree_.Resolve(components, false);
    // A file of this layer hides the lower directory already. Kaniko lists its whiteouts anyway.
    if (is_whiteout && ErrnoOf(resolved.status()) == ENOTDIR) return absl::OkStatus();
    PLIMSOLL_ASSIGN_OR_RETURN(const Directory* parent, resolved);
    if (is_whiteout) return HandleWhiteout(*parent, name);
    if (!entry.hardlink.empty()) return HandleHardLink(entry, *parent, name);
    switch (entry.type) {
      case S_IFDIR:
        return HandleDirectory(entry, *parent, name);
      case S_IFREG:
        return HandleFile(entry, *parent, name);
      case S_IFLNK:
        return HandleSymlink(entry, *parent, name);
      case S_IFCHR:
      case S_IFBLK:
      case S_IFIFO:
        return HandleNode(entry, *parent, name);
      case S_IFSOCK:
        return absl::OkStatus();
      default:
        return Refuse(absl::StrCat("the entry has the unknown type ", entry.type));
    }
  }

  absl::Status Check(const ArchiveEntry& entry) const {
    // The highest number means "leave as it is" to chown(2).
    constexpr int64_t kMaxId = std::numeric_limits<uint32_t>::max() - int64_t{1};
    if (entry.uid < 0 || entry.uid > kMaxId || entry.gid < 0 || entry.gid > kMaxId) {
      return Refuse(
          absl::StrCat("owner ", entry.uid, ":", entry.gid, " is not from 0 to ", kMaxId));
    }
    size_t bytes = 0;
    for (const auto& [name, value] : entry.xattrs) bytes += name.size() + value.size();
    if (bytes > limits_.max_xattr_bytes) {
      return absl::ResourceExhaustedError(absl::StrCat(
          "the extended attributes have ", bytes, " bytes; valid are ", limits_.max_xattr_bytes));
    }
    return absl::OkStatus();
  }

  // Makes room for a new file; returns the stat of the removed one, e.g. a whiteout.
  absl::StatusOr<std::optional<struct stat>> Replace(const Directory& parent,
                                                     const std::string& name) {
    PLIMSOLL_ASSIGN_OR_RETURN(std::optional<struct stat> old, tree_.Remove(parent, name));
    if (old.has_value() && result_.inodes > 0) --result_.inodes;
    ++result_.inodes;
    return old;
  }

  absl::Status HandleRoot(const ArchiveEntry& entry) {
    if (entry.type != S_IFDIR || !entry.hardlink.empty()) {
      return Refuse("the layer's root is not a directory");
    }
    const UniqueFd fd(openat(tree_.diff().fd(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!fd.valid()) return ErrnoStatus(errno, "open the layer's root");
    PLIMSOLL_RETURN_IF_ERROR(RememberTime(".", entry.mtime));
    has_root_ = true;
    return SetMetadata(fd.get(), entry);
  }

  absl::Status HandleDirectory(const ArchiveEntry& entry, const Directory& parent,
                               const std::string& name) {
    struct stat info = {};
    const bool exists = fstatat(parent.fd.get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0;
    bool opaque = false;
    if (!exists || !S_ISDIR(info.st_mode)) {
      PLIMSOLL_ASSIGN_OR_RETURN(const auto old, Replace(parent, name));
      opaque = old.has_value() && IsWhiteout(*old);
      if (mkdirat(parent.fd.get(), name.c_str(), 0700) != 0) {
        return ErrnoStatus(errno, "make the directory");
      }
      tree_.Changed();
    }
    const UniqueFd fd(
        openat(parent.fd.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!fd.valid()) return ErrnoStatus(errno, "open the directory");
    if (opaque) PLIMSOLL_RETURN_IF_ERROR(tree_.SetOpaque(fd.get(), name));
    PLIMSOLL_RETURN_IF_ERROR(RememberTime(
        parent.path.empty() ? name : absl::StrCat(parent.path, "/", name), entry.mtime));
    return SetMetadata(fd.get(), entry);
  }

  // Most names are new, so an existing file is looked at only when creating fails.
  absl::StatusOr<UniqueFd> CreateFile(const Directory& parent, const std::string& name) {
    constexpr int kFlags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    UniqueFd fd(openat(parent.fd.get(), name.c_str(), kFlags, 0600));
    if (fd.valid()) {
      ++result_.inodes;
      return fd;
    }
    if (errno == EEXIST) {
      PLIMSOLL_RETURN_IF_ERROR(Replace(parent, name).status());
      fd.Reset(openat(parent.fd.get(), name.c_str(), kFlags, 0600));
    }
    if (!fd.valid()) return ErrnoStatus(errno, "create the file");
    return fd;
  }

  absl::Status HandleFile(const ArchiveEntry& entry, const Directory& parent,
                          const std::string& name) {
    PLIMSOLL_ASSIGN_OR_RETURN(const UniqueFd fd, CreateFile(parent, name));
    uint64_t end = 0;  // of the data written
    PLIMSOLL_RETURN_IF_ERROR(reader_.ReadData([&](uint64_t offset, absl::string_view data) {
      end = std::max(end, offset + data.size());
      return WriteAt(fd.get(), offset, data);
    }));
    if (entry.size < 0 || static_cast<uint64_t>(entry.size) > limits_.max_bytes) return TooLarge();
    if (end != static_cast<uint64_t>(entry.size) && ftruncate(fd.get(), entry.size) != 0) {
      return ErrnoStatus(errno, "set the file's size");
    }
    return SetMetadata(fd.get(), entry);
  }

  absl::Status TooLarge() const {
    return absl::ResourceExhaustedError(
        absl::StrCat("the layer is larger than ", BytesInWords(limits_.max_bytes)));
  }

  absl::Status WriteAt(int fd, uint64_t offset, absl::string_view data) {
    result_.bytes += data.size();
    if (result_.bytes > limits_.max_bytes || offset > limits_.max_bytes) return TooLarge();
    if (limits_.budget != nullptr) PLIMSOLL_RETURN_IF_ERROR(limits_.budget->AddBytes(data.size()));
    while (!data.empty()) {
      const ssize_t n = pwrite(fd, data.data(), data.size(), static_cast<off_t>(offset));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return ErrnoStatus(errno, "write the file");
      data.remove_prefix(static_cast<size_t>(n));
      offset += static_cast<uint64_t>(n);
    }
    return absl::OkStatus();
  }

  absl::Status HandleSymlink(const ArchiveEntry& entry, const Directory& parent,
                             const std::string& name) {
    if (entry.symlink.empty() || entry.symlink.size() >= PATH_MAX) {
      return Refuse("the symbolic link's target is empty or too long");
    }
    PLIMSOLL_RETURN_IF_ERROR(Replace(parent, name).status());
    if (symlinkat(entry.symlink.c_str(), parent.fd.get(), name.c_str()) != 0) {
      return ErrnoStatus(errno, "make the symbolic link");
    }
    tree_.Changed();
    return SetOwnerAndTime(parent, name, entry);
  }

  // The link is made to the target itself: a symbolic link there is not followed.
  absl::Status HandleHardLink(const ArchiveEntry& entry, const Directory& parent,
                              const std::string& name) {
    const std::string context =
        absl::StrCat("hard link to \"", absl::CEscape(entry.hardlink.substr(0, 200)), "\"");
    absl::StatusOr<std::vector<std::string>> target = LayerTree::Clean(entry.hardlink);
    if (!target.ok()) return Annotate(target.status(), context);
    if (target->empty()) return Refuse(absl::StrCat(context, ": the target is the layer's root"));
    const std::string target_name = std::move(target->back());
    target->pop_back();
    const absl::StatusOr<const Directory*> found = FindTarget(*target, target_name);
    if (!found.ok()) return Annotate(found.status(), context);
    const int target_dir = (*found)->fd.get();
    PLIMSOLL_RETURN_IF_ERROR(
        Annotate(CheckLinkTarget(target_dir, target_name, *found, parent, name), context));
    if (IsSameFile(target_dir, target_name, parent.fd.get(), name)) return absl::OkStatus();
    PLIMSOLL_RETURN_IF_ERROR(Replace(parent, name).status());
    if (linkat(target_dir, target_name.c_str(), parent.fd.get(), name.c_str(), 0) != 0) {
      return ErrnoStatus(errno, context);
    }
    --result_.inodes;
    return absl::OkStatus();
  }

  // Whether this layer has something there, or can't be asked.
  static bool HasName(const Directory& directory, const std::string& name) {
    struct stat info = {};
    return fstatat(directory.fd.get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 ||
           errno != ENOENT;
  }

  // The directory in this layer with a link's target. A target that only lower layers have is
  // copied into this one first: linking to it in the container would do the same.
  absl::StatusOr<const Directory*> FindTarget(const std::vector<std::string>& components,
                                              const std::string& name) {
    absl::StatusOr<const Directory*> found = tree_.Resolve(components, true);
    if (!found.ok() && !absl::IsNotFound(found.status())) return found;
    if (found.ok() && HasName(**found, name)) return found;
    const absl::Status none = Refuse("there is no such file in the layer, or in those below it");
    found = tree_.ResolveFromBelow(components);
    if (absl::IsNotFound(found.status())) return none;
    PLIMSOLL_RETURN_IF_ERROR(found.status());
    // A lower layer's link may have led to a directory of this one.
    if (HasName(**found, name)) return found;
    PLIMSOLL_ASSIGN_OR_RETURN(const std::optional<LowerFile> file, tree_.FileBelow(**found, name));
    if (!file.has_value()) return none;
    if (S_ISDIR(file->info.st_mode)) return Refuse("the target is a directory");
    PLIMSOLL_RETURN_IF_ERROR(CopyLowerFile(*file, (*found)->fd.get(), name,
                                           [this](int fd, uint64_t offset, absl::string_view data) {
                                             return WriteAt(fd, offset, data);
                                           }));
    ++result_.inodes;
    tree_.Changed();
    return found;
  }

  absl::Status CheckLinkTarget(int target_dir, const std::string& target_name,
                               const Directory* target_parent, const Directory& parent,
                               const std::string& name) {
    struct stat info = {};
    if (fstatat(target_dir, target_name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) {
      return errno == ENOENT ? Refuse("there is no such file in the layer")
                             : ErrnoStatus(errno, "look up the target");
    }
    if (S_ISDIR(info.st_mode)) return Refuse("the target is a directory");
    if (IsWhiteout(info)) return Refuse("the target was removed by this layer");
    // Replacing a directory by a link to a file inside it would remove the target first.
    const std::string place = parent.path.empty() ? name : absl::StrCat(parent.path, "/", name);
    if (target_parent->path == place ||
        absl::StartsWith(target_parent->path, absl::StrCat(place, "/"))) {
      return Refuse("the target is below the link itself");
    }
    if (!S_ISLNK(info.st_mode)) return absl::OkStatus();
    char text[PATH_MAX];
    const ssize_t n = readlinkat(target_dir, target_name.c_str(), text, sizeof(text));
    if (n < 0) return ErrnoStatus(errno, "read the target");
    return CheckLinkText(*target_parent, absl::string_view(text, static_cast<size_t>(n)));
  }

  // A second name for a symbolic link that climbs out of the layer has no honest use.
  static absl::Status CheckLinkText(const Directory& directory, absl::string_view text) {
    if (absl::StartsWith(text, "/")) return absl::OkStatus();  // stays in the container's root
    const std::string whole =
        directory.path.empty() ? std::string(text) : absl::StrCat(directory.path, "/", text);
    if (LayerTree::Clean(whole).ok()) return absl::OkStatus();
    return Refuse("the target is a symbolic link that leads out of the layer");
  }

  static bool IsSameFile(int a_dir, const std::string& a, int b_dir, const std::string& b) {
    struct stat a_info = {};
    struct stat b_info = {};
    return fstatat(a_dir, a.c_str(), &a_info, AT_SYMLINK_NOFOLLOW) == 0 &&
           fstatat(b_dir, b.c_str(), &b_info, AT_SYMLINK_NOFOLLOW) == 0 &&
           a_info.st_dev == b_info.st_dev && a_info.st_ino == b_info.st_ino;
  }

  absl::Status HandleNode(const ArchiveEntry& entry, const Directory& parent,
                          const std::string& name) {
    PLIMSOLL_RETURN_IF_ERROR(Replace(parent, name).status());
    const dev_t device = entry.type == S_IFIFO ? 0 : entry.device;
    if (mknodat(parent.fd.get(), name.c_str(), entry.type | 0600, device) != 0) {
      return ErrnoStatus(errno,
                         absl::StrCat("make device node ", major(device), ":", minor(device)));
    }
    PLIMSOLL_RETURN_IF_ERROR(SetOwnerAndTime(parent, name, entry));
    if (fchmodat(parent.fd.get(), name.c_str(), entry.permissions, 0) != 0) {
      return ErrnoStatus(errno, "set the mode");
    }
    return SetTime(parent, name, entry);
  }

  absl::Status HandleWhiteout(const Directory& parent, const std::string& name) {
    if (name == kOpaqueName) {
      const UniqueFd fd(openat(parent.fd.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
      if (!fd.valid()) return ErrnoStatus(errno, "open the opaque directory");
      return tree_.SetOpaque(fd.get(), parent.path);
    }
    if (absl::StartsWith(name, kReservedPrefix)) return absl::OkStatus();
    const std::string hidden(absl::StripPrefix(name, kWhiteoutPrefix));
    if (hidden.empty() || hidden == "." || hidden == "..") {
      return Refuse("the whiteout names no file");
    }
    struct stat info = {};
    if (fstatat(parent.fd.get(), hidden.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0) {
      // A whiteout concerns lower layers only: this layer's own content stays.
      if (!S_ISDIR(info.st_mode)) return absl::OkStatus();
      const UniqueFd fd(
          openat(parent.fd.get(), hidden.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
      if (!fd.valid()) return ErrnoStatus(errno, "open the whited out directory");
      return tree_.SetOpaque(fd.get(), hidden);
    }
    if (mknodat(parent.fd.get(), hidden.c_str(), S_IFCHR, makedev(0, 0)) != 0) {
      return ErrnoStatus(errno, "make the whiteout");
    }
    ++result_.inodes;
    return absl::OkStatus();
  }

  // The kernel dictates the order: chown(2) clears setuid and security.capability.
  absl::Status SetMetadata(int fd, const ArchiveEntry& entry) {
    if (fchown(fd, static_cast<uid_t>(entry.uid), static_cast<gid_t>(entry.gid)) != 0) {
      return ErrnoStatus(errno, absl::StrCat("set owner ", entry.uid, ":", entry.gid));
    }
    if (fchmod(fd, entry.permissions) != 0) return ErrnoStatus(errno, "set the mode");
    for (const auto& [name, value] : entry.xattrs) {
      // Overlayfs's attributes are the runtime's to set. Builders without root leave some behind.
      if (absl::StartsWith(name, "user.overlay.")) continue;
      const bool is_user = absl::StartsWith(name, "user.");
      if (!is_user && name != "security.capability") continue;
      if (fsetxattr(fd, name.c_str(), value.data(), value.size(), 0) == 0) continue;
      if (is_user && errno == EOPNOTSUPP)
        continue;  // no attributes on this file system: ignored,
                   // as tar does
      return ErrnoStatus(errno, absl::StrCat("set attribute ", absl::CEscape(name)));
    }
    const struct timespec times[2] = {entry.mtime, entry.mtime};
    if (futimens(fd, times) != 0) return ErrnoStatus(errno, "set the modification time");
    return absl::OkStatus();
  }

  static absl::Status SetTime(const Directory& parent, const std::string& name,
                              const ArchiveEntry& entry) {
    const struct timespec times[2] = {entry.mtime, entry.mtime};
    if (utimensat(parent.fd.get(), name.c_str(), times, AT_SYMLINK_NOFOLLOW) != 0) {
      return ErrnoStatus(errno, "set the modification time");
    }
    return absl::OkStatus();
  }

  static absl::Status SetOwnerAndTime(const Directory& parent, const std::string& name,
                                      const ArchiveEntry& entry) {
    if (fchownat(parent.fd.get(), name.c_str(), static_cast<uid_t>(entry.uid),
                 static_cast<gid_t>(entry.gid), AT_SYMLINK_NOFOLLOW) != 0) {
      return ErrnoStatus(errno, absl::StrCat("set owner ", entry.uid, ":", entry.gid));
    }
    return SetTime(parent, name, entry);
  }

  absl::Status RememberTime(const std::string& path, const struct timespec& mtime) {
    if (directory_times_.insert_or_assign(path, mtime).second) path_bytes_ += path.size();
    if (path_bytes_ <= limits_.max_path_bytes) return absl::OkStatus();
    return absl::ResourceExhaustedError(absl::StrCat(
        "the paths of the layer's directories have more than ", limits_.max_path_bytes, " bytes"));
  }

  absl::Status InheritRoot() {
    if (has_root_) return absl::OkStatus();
    PLIMSOLL_ASSIGN_OR_RETURN(const std::vector<FsRoot>* const lowers, tree_.Lowers());
    if (lowers->empty()) return absl::OkStatus();
    const UniqueFd from(openat(lowers->front().fd(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    const UniqueFd to(openat(tree_.diff().fd(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!from.valid() || !to.valid()) return ErrnoStatus(errno, "open a layer's root");
    return CopyDirectoryAttributes(from.get(), to.get());
  }

  // At the end, because each file made in a directory changes its time.
  absl::Status SetDirectoryTimes() {
    for (const auto& [path, mtime] : directory_times_) {
      absl::StatusOr<UniqueFd> fd =
          tree_.diff().OpenFile(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
      if (!fd.ok()) continue;  // replaced by a later entry
      const struct timespec times[2] = {mtime, mtime};
      if (futimens(fd->get(), times) != 0) {
        return ErrnoStatus(errno, absl::StrCat("set the modification time of ", path));
      }
    }
    return absl::OkStatus();
  }

  ArchiveReader& reader_;
  LayerTree tree_;
  const UnpackLimits limits_;
  UnpackResult result_;
  uint64_t entries_ = 0;
  uint64_t header_bytes_ = 0;
  bool has_root_ = false;  // an entry for the root directory
  absl::flat_hash_map<std::string, struct timespec> directory_times_;
  size_t path_bytes_ = 0;  // of its keys
};

}  // namespace

absl::StatusOr<UnpackResult> UnpackLayer(ArchiveReader& reader, const FsRoot& diff,
                                         const std::vector<FsRoot>& lowers,
                                         const UnpackLimits& limits) {
  return UnpackLayer(
      reader, diff, [&lowers]() -> absl::StatusOr<std::vector<FsRoot>> { return lowers; }, limits);
}

absl::StatusOr<UnpackResult> UnpackLayer(ArchiveReader& reader, const FsRoot& diff,
                                         LayerTree::LowersFn lowers, const UnpackLimits& limits) {
  return Unpacker(reader, diff, std::move(lowers), limits).Run();
}

}  // namespace plimsoll::image
