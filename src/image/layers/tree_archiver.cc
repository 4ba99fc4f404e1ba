#include "image/layers/tree_archiver.h"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status.h"
#include "base/unique_fd.h"

namespace plimsoll::image {
namespace {

constexpr size_t kMaxXattrListBytes = 64 * 1024;
constexpr int kMaxArchivedDepth = 256;  // as the unpacker

// libarchive's text is "Write error"; its number is the errno of the write, if there was one.
absl::Status ArchiveError(struct archive* archive, const std::string& path) {
  const char* text = archive_error_string(archive);
  const std::string what = absl::StrCat("archive ", path, ": ", text != nullptr ? text : "failed");
  const int err = archive_errno(archive);
  return err > 0 ? ErrnoStatus(err, what) : absl::InternalError(what);
}

class Archiver {
 public:
  Archiver(const FsRoot& tree, struct archive* archive, const std::function<bool()>& cancelled)
      : tree_(tree), archive_(archive), cancelled_(cancelled) {}

  absl::Status AddDirectory(const std::string& path, int depth) {
    if (depth > kMaxArchivedDepth) {
      return absl::InvalidArgumentError(absl::StrCat(tree_.PathOf(path), " is more than ",
                                                     kMaxArchivedDepth, " directories deep"));
    }
    PLIMSOLL_ASSIGN_OR_RETURN(const FsRoot directory, tree_.Sub(path));
    struct stat info = {};
    if (fstat(directory.fd(), &info) != 0) return Failed("stat", path);
    if (depth == 0) device_ = info.st_dev;
    PLIMSOLL_RETURN_IF_ERROR(AddEntry(path, info, directory.fd(), ""));
    if (info.st_dev != device_) return absl::OkStatus();  // a mount point
    PLIMSOLL_ASSIGN_OR_RETURN(const std::vector<std::string> names, directory.List("."));
    for (const std::string& name : names) {
      PLIMSOLL_RETURN_IF_ERROR(
          AddChild(directory, name, path == "." ? name : absl::StrCat(path, "/", name), depth));
    }
    return absl::OkStatus();
  }

 private:
  absl::Status Failed(absl::string_view operation, const std::string& path) const {
    return ErrnoStatus(errno, absl::StrCat(operation, " ", tree_.PathOf(path)));
  }

  absl::Status AddChild(const FsRoot& directory, const std::string& name, const std::string& path,
                        int depth) {
    PLIMSOLL_RETURN_IF_ERROR(GoOn());
    struct stat info = {};
    if (fstatat(directory.fd(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) {
      return Failed("stat", path);
    }
    if (S_ISDIR(info.st_mode)) return AddDirectory(path, depth + 1);
    if (S_ISSOCK(info.st_mode)) return absl::OkStatus();
    if (info.st_nlink > 1) {
      const auto [first, is_new] = links_.try_emplace({info.st_dev, info.st_ino}, path);
      if (!is_new) return AddHardLink(path, first->second, info);
    }
    if (S_ISLNK(info.st_mode)) {
      char target[4096];
      const ssize_t n = readlinkat(directory.fd(), name.c_str(), target, sizeof(target) - 1);
      if (n < 0) return Failed("readlink", path);
      return AddEntry(path, info, -1, std::string(target, static_cast<size_t>(n)));
    }
    if (!S_ISREG(info.st_mode)) return AddEntry(path, info, -1, "");
    const UniqueFd fd(
        openat(directory.fd(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (!fd.valid() || fstat(fd.get(), &info) != 0) return Failed("open", path);
    PLIMSOLL_RETURN_IF_ERROR(AddEntry(path, info, fd.get(), ""));
    return AddContent(path, fd.get(), static_cast<uint64_t>(info.st_size));
  }

  // `fd`: the file, for its attributes, or -1.
  absl::Status AddEntry(const std::string& path, const struct stat& info, int fd,
                        const std::string& symlink) {
    struct archive_entry* entry = archive_entry_new();
    absl::Cleanup free_entry = [entry] { archive_entry_free(entry); };
    archive_entry_copy_stat(entry, &info);
    archive_entry_unset_atime(entry);
    archive_entry_unset_ctime(entry);
    archive_entry_copy_pathname(entry, path.c_str());
    if (!symlink.empty()) archive_entry_copy_symlink(entry, symlink.c_str());
    if (!S_ISREG(info.st_mode)) archive_entry_set_size(entry, 0);
    if (fd >= 0) PLIMSOLL_RETURN_IF_ERROR(AddXattrs(path, fd, entry));
    return Write(path, entry);
  }

  absl::Status AddHardLink(const std::string& path, const std::string& target,
                           const struct stat& info) {
    struct archive_entry* entry = archive_entry_new();
    absl::Cleanup free_entry = [entry] { archive_entry_free(entry); };
    archive_entry_copy_stat(entry, &info);
    archive_entry_unset_atime(entry);
    archive_entry_unset_ctime(entry);
    archive_entry_copy_pathname(entry, path.c_str());
    archive_entry_copy_hardlink(entry, target.c_str());
    archive_entry_set_size(entry, 0);
    return Write(path, entry);
  }

  absl::Status AddXattrs(const std::string& path, int fd, struct archive_entry* entry) {
    std::string names(kMaxXattrListBytes, '\0');
    const ssize_t size = flistxattr(fd, names.data(), names.size());
    if (size < 0 && errno == EOPNOTSUPP) return absl::OkStatus();
    if (size < 0) return Failed("list the attributes of", path);
    names.resize(static_cast<size_t>(size));
    for (absl::string_view name : absl::StrSplit(names, '\0', absl::SkipEmpty())) {
      const bool kept = name == "security.capability" || (absl::StartsWith(name, "user.") &&
                                                          !absl::StartsWith(name, "user.overlay."));
      if (!kept) continue;
      const std::string key(name);
      std::string value(kMaxXattrListBytes, '\0');
      const ssize_t n = fgetxattr(fd, key.c_str(), value.data(), value.size());
      if (n < 0) return Failed("read the attributes of", path);
      archive_entry_xattr_add_entry(entry, key.c_str(), value.data(), static_cast<size_t>(n));
    }
    return absl::OkStatus();
  }

  absl::Status Write(const std::string& path, struct archive_entry* entry) {
    // A warning means a name outside the locale's character set: it is written unchanged.
    if (archive_write_header(archive_, entry) < ARCHIVE_WARN) return ArchiveFailed(path);
    return absl::OkStatus();
  }

  absl::Status ArchiveFailed(const std::string& path) const {
    return ArchiveError(archive_, tree_.PathOf(path));
  }

  absl::Status AddContent(const std::string& path, int fd, uint64_t size) {
    std::vector<char> buffer(128 * 1024);
    while (size > 0) {
      PLIMSOLL_RETURN_IF_ERROR(GoOn());
      const ssize_t n = read(fd, buffer.data(), std::min<uint64_t>(size, buffer.size()));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return Failed("read", path);
      if (n == 0) {
        return absl::AbortedError(absl::StrCat(tree_.PathOf(path), " shrank while it was read"));
      }
      if (archive_write_data(archive_, buffer.data(), static_cast<size_t>(n)) < 0) {
        return ArchiveFailed(path);
      }
      size -= static_cast<uint64_t>(n);
    }
    return absl::OkStatus();
  }

  absl::Status GoOn() const {
    return cancelled_ && cancelled_() ? absl::CancelledError("cancelled") : absl::OkStatus();
  }

  const FsRoot& tree_;
  struct archive* archive_;
  const std::function<bool()>& cancelled_;
  dev_t device_ = 0;
  std::map<std::pair<dev_t, ino_t>, std::string> links_;  // first names of files with several
};

}  // namespace

absl::Status ArchiveTree(const FsRoot& tree, int out_fd, const std::function<bool()>& cancelled) {
  struct archive* archive = archive_write_new();
  if (archive == nullptr) return absl::ResourceExhaustedError("no memory for an archive");
  absl::Cleanup free_archive = [archive] { archive_write_free(archive); };
  archive_write_set_format_pax_restricted(archive);
  // Names are bytes: without this, libarchive drops names outside the locale's charset.
  archive_write_set_options(archive, "hdrcharset=BINARY");
  if (archive_write_open_fd(archive, out_fd) != ARCHIVE_OK) {
    return absl::InternalError(absl::StrCat("archive ", tree.path(), ": cannot write"));
  }
  PLIMSOLL_RETURN_IF_ERROR(Archiver(tree, archive, cancelled).AddDirectory(".", 0));
  if (archive_write_close(archive) != ARCHIVE_OK) {
    return ArchiveError(archive, tree.path());
  }
  return absl::OkStatus();
}

}  // namespace plimsoll::image
