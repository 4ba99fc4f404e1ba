#include "copy/tree_reader.h"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/cleanup/cleanup.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/list_directory.h"
#include "base/regular_file.h"
#include "base/status.h"
#include "base/unique_fd.h"

namespace plimsoll::copy {
namespace {

constexpr int kMaxDepth = 256;
constexpr size_t kBufferBytes = 256 * 1024;
constexpr size_t kMaxXattrListBytes = 64 * 1024;
constexpr size_t kMaxExtents = 10'000;  // of a file with holes; beyond that it is sent whole
constexpr size_t kMaxKernelText = 4 << 20;

using Entry = std::unique_ptr<struct archive_entry, decltype(&archive_entry_free)>;

// True for trees that the kernel makes up, some without an end.
bool IsKernelTree(int fd) {
  struct statfs info = {};
  if (fstatfs(fd, &info) != 0) return false;
  constexpr uint32_t kTypes[] = {PROC_SUPER_MAGIC,    SYSFS_MAGIC,        CGROUP_SUPER_MAGIC,
                                 CGROUP2_SUPER_MAGIC, DEVPTS_SUPER_MAGIC, DEBUGFS_MAGIC,
                                 TRACEFS_MAGIC,       SECURITYFS_MAGIC,   BPF_FS_MAGIC};
  return absl::c_linear_search(kTypes, static_cast<uint32_t>(info.f_type));
}

bool IsKept(absl::string_view attribute) {
  return attribute == "security.capability" ||
         (absl::StartsWith(attribute, "user.") && !absl::StartsWith(attribute, "user.overlay."));
}

class Reader {
 public:
  Reader(const Place& place, std::string path, const ReadOptions& options, struct archive* archive)
      : place_(place), path_(std::move(path)), options_(options), archive_(archive) {}

  absl::Status Run() {
    const bool content = MeansContent(path_);
    const bool directory = content || absl::EndsWith(path_, "/");
    PLIMSOLL_ASSIGN_OR_RETURN(const Place::Spot spot,
                              place_.Find(path_, options_.follow || directory));
    if (!spot.info.has_value()) return ErrnoStatus(ENOENT, place_.NameOf(path_));
    if (directory && !S_ISDIR(spot.info->st_mode)) {
      return ErrnoStatus(ENOTDIR, place_.NameOf(path_));
    }
    return Add(spot.parent.get(), spot.name, "", 0, 0);
  }

 private:
  // `below`: the path below the top, "" for the top.
  absl::Status Add(int directory, const std::string& name, const std::string& below, int depth,
                   dev_t device) {
    if (options_.step) PLIMSOLL_RETURN_IF_ERROR(options_.step(0));
    const UniqueFd seen(openat(directory, name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    struct stat info = {};
    if (!seen.valid() && errno == ENOENT && depth > 0) return absl::OkStatus();
    if (!seen.valid() || fstat(seen.get(), &info) != 0) return Failed(below);
    if (S_ISDIR(info.st_mode)) return AddDirectory(seen.get(), info, below, depth, device);
    if (S_ISREG(info.st_mode)) return AddFile(seen.get(), info, below);
    if (S_ISLNK(info.st_mode)) return AddLink(seen.get(), info, below);
    const std::string what = absl::StrCat(NameOf(below), " is ", KindOfFile(info.st_mode));
    if (depth == 0) {
      return absl::InvalidArgumentError(
          absl::StrCat(what, "; valid are files, directories and symbolic links"));
    }
    if (options_.left_out) options_.left_out(what);
    return absl::OkStatus();
  }

  absl::Status AddDirectory(int seen, const struct stat& info, const std::string& below, int depth,
                            dev_t device) {
    if (depth > kMaxDepth) {
      return absl::InvalidArgumentError(
          absl::StrCat(NameOf(below), " is more than ", kMaxDepth, " directories deep"));
    }
    const UniqueFd fd(openat(seen, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!fd.valid()) return Failed(below);
    const Entry entry = Make(info, below);
    PLIMSOLL_RETURN_IF_ERROR(AddAttributes(fd.get(), below, entry.get()));
    PLIMSOLL_RETURN_IF_ERROR(Write(below, entry.get()));
    if (depth > 0 && info.st_dev != device && IsKernelTree(fd.get())) return absl::OkStatus();
    PLIMSOLL_ASSIGN_OR_RETURN(std::vector<std::string> names, List(fd.get(), below));
    for (const std::string& name : names) {
      PLIMSOLL_RETURN_IF_ERROR(Add(fd.get(), name,
                                   below.empty() ? name : absl::StrCat(below, "/", name), depth + 1,
                                   info.st_dev));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<std::string>> List(int fd, const std::string& below) const {
    UniqueFd again(openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!again.valid()) return Failed(below);
    auto names = ListDirectory(std::move(again), NameOf(below));
    if (names.ok()) absl::c_sort(*names);
    return names;
  }

  absl::Status AddLink(int seen, const struct stat& info, const std::string& below) {
    char text[PATH_MAX];
    const ssize_t size = readlinkat(seen, "", text, sizeof(text) - 1);
    if (size < 0) return Failed(below);
    const Entry entry = Make(info, below);
    const std::string target(text, static_cast<size_t>(size));
    archive_entry_set_size(entry.get(), 0);
    archive_entry_copy_symlink(entry.get(), target.c_str());
    return Write(below, entry.get());
  }

  absl::Status AddFile(int seen, const struct stat& looked, const std::string& below) {
    if (looked.st_nlink > 1) {
      const auto [first, is_new] = first_names_.try_emplace({looked.st_dev, looked.st_ino}, below);
      if (!is_new) return AddHardLink(looked, below, first->second);
    }
    // Opens the very file that was checked, whatever has its name by now.
    const UniqueFd fd(open(absl::StrCat("/proc/self/fd/", seen).c_str(), kOpenToLook | O_CLOEXEC));
    struct stat info = {};
    if (!fd.valid() || fstat(fd.get(), &info) != 0) return Failed(below);
    const Entry entry = Make(info, below);
    PLIMSOLL_RETURN_IF_ERROR(AddAttributes(fd.get(), below, entry.get()));
    const bool made_up = info.st_size == 0 || (info.st_blocks == 0 && info.st_size <= 65536);
    if (made_up) return AddText(fd.get(), below, entry.get());
    const auto extents = Extents(fd.get(), info);
    for (const auto& [offset, size] : extents) {
      archive_entry_sparse_add_entry(entry.get(), offset, size);
    }
    PLIMSOLL_RETURN_IF_ERROR(Write(below, entry.get()));
    return AddContent(fd.get(), below, info.st_size, extents);
  }

  absl::Status AddHardLink(const struct stat& info, const std::string& below,
                           const std::string& first) {
    const Entry entry = Make(info, below);
    archive_entry_set_size(entry.get(), 0);
    archive_entry_copy_hardlink(entry.get(), InArchive(first).c_str());
    return Write(below, entry.get());
  }

  // The kernel's files have other sizes than stat(2) says.
  absl::Status AddText(int fd, const std::string& below, struct archive_entry* entry) {
    std::string text;
    while (true) {
      const ssize_t n = read(fd, buffer_.data(), buffer_.size());
      if (n < 0 && errno == EINTR) continue;
      if (n < 0 && errno != EAGAIN) return Failed(below);
      if (n <= 0) break;
      if (text.size() + static_cast<size_t>(n) > kMaxKernelText) {
        return absl::ResourceExhaustedError(absl::StrCat(
            NameOf(below), " says that it is empty and has more than ", kMaxKernelText, " bytes"));
      }
      text.append(buffer_.data(), static_cast<size_t>(n));
    }
    archive_entry_set_size(entry, static_cast<la_int64_t>(text.size()));
    PLIMSOLL_RETURN_IF_ERROR(Write(below, entry));
    return WriteData(below, text);
  }

  using ExtentList = std::vector<std::pair<int64_t, int64_t>>;

  // The parts with data; empty: everywhere.
  static ExtentList Extents(int fd, const struct stat& info) {
    ExtentList extents;
    if (info.st_blocks >= info.st_size / 512) return extents;
    off_t at = 0;
    while (at < info.st_size) {
      const off_t data = lseek(fd, at, SEEK_DATA);
      if (data < 0) break;
      const off_t hole = std::min(lseek(fd, data, SEEK_HOLE), info.st_size);
      if (hole <= data || extents.size() >= kMaxExtents) return {};
      extents.emplace_back(data, hole - data);
      at = hole;
    }
    // libarchive's form of a file that is one hole.
    if (extents.empty() && errno == ENXIO) extents.emplace_back(0, 0);
    return extents;
  }

  absl::Status AddContent(int fd, const std::string& below, int64_t size,
                          const ExtentList& extents) {
    int64_t at = 0;
    for (const auto& [offset, length] : extents) {
      PLIMSOLL_RETURN_IF_ERROR(SkipTo(offset, below, &at));
      PLIMSOLL_RETURN_IF_ERROR(CopyTo(fd, offset + length, below, &at));
    }
    return extents.empty() ? CopyTo(fd, size, below, &at) : SkipTo(size, below, &at);
  }

  // libarchive needs the holes' zeros too, and leaves them out itself.
  absl::Status SkipTo(int64_t end, const std::string& below, int64_t* at) {
    static const std::vector<char> zeros(kBufferBytes);
    while (*at < end) {
      const size_t size = static_cast<size_t>(std::min<int64_t>(end - *at, kBufferBytes));
      PLIMSOLL_RETURN_IF_ERROR(WriteData(below, absl::string_view(zeros.data(), size), false));
      *at += static_cast<int64_t>(size);
    }
    return absl::OkStatus();
  }

  absl::Status CopyTo(int fd, int64_t end, const std::string& below, int64_t* at) {
    while (*at < end) {
      const size_t wanted = static_cast<size_t>(std::min<int64_t>(end - *at, kBufferBytes));
      const ssize_t n = pread(fd, buffer_.data(), wanted, *at);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return Failed(below);
      if (n == 0) {
        return absl::AbortedError(absl::StrCat(NameOf(below), " shrank while it was copied"));
      }
      PLIMSOLL_RETURN_IF_ERROR(
          WriteData(below, absl::string_view(buffer_.data(), static_cast<size_t>(n))));
      *at += n;
    }
    return absl::OkStatus();
  }

  Entry Make(const struct stat& info, const std::string& below) const {
    Entry entry(archive_entry_new(), &archive_entry_free);
    archive_entry_copy_stat(entry.get(), &info);
    archive_entry_unset_atime(entry.get());
    archive_entry_unset_ctime(entry.get());
    archive_entry_copy_pathname(entry.get(), InArchive(below).c_str());
    if (!S_ISREG(info.st_mode)) archive_entry_set_size(entry.get(), 0);
    return entry;
  }

  absl::Status AddAttributes(int fd, const std::string& below, struct archive_entry* entry) const {
    if (!options_.attributes) return absl::OkStatus();
    std::string names(kMaxXattrListBytes, '\0');
    const ssize_t size = flistxattr(fd, names.data(), names.size());
    if (size < 0 && errno == EOPNOTSUPP) return absl::OkStatus();
    if (size < 0) return Failed(below);
    names.resize(static_cast<size_t>(size));
    for (const absl::string_view name : absl::StrSplit(names, '\0', absl::SkipEmpty())) {
      if (!IsKept(name)) continue;
      const std::string key(name);
      std::string value(kMaxXattrListBytes, '\0');
      const ssize_t n = fgetxattr(fd, key.c_str(), value.data(), value.size());
      if (n < 0 && errno == ENODATA) continue;
      if (n < 0) return Failed(below);
      archive_entry_xattr_add_entry(entry, key.c_str(), value.data(), static_cast<size_t>(n));
    }
    return absl::OkStatus();
  }

  absl::Status Write(const std::string& below, struct archive_entry* entry) {
    // A warning means a name outside the locale's character set: it is written unchanged.
    if (archive_write_header(archive_, entry) < ARCHIVE_WARN) return ArchiveFailed(below);
    return absl::OkStatus();
  }

  absl::Status WriteData(const std::string& below, absl::string_view data, bool counts = true) {
    if (!data.empty() && archive_write_data(archive_, data.data(), data.size()) < 0) {
      return ArchiveFailed(below);
    }
    return options_.step ? options_.step(counts ? data.size() : 0) : absl::OkStatus();
  }

  // libarchive's number is the errno of the write, if there was one.
  absl::Status ArchiveFailed(const std::string& below) const {
    const int error = archive_errno(archive_);
    if (error > 0) return ErrnoStatus(error, absl::StrCat("pass on ", NameOf(below)));
    return absl::InternalError(absl::StrCat("pass on ", NameOf(below), ": failed"));
  }

  absl::Status Failed(const std::string& below) const { return ErrnoStatus(errno, NameOf(below)); }
  std::string NameOf(const std::string& below) const {
    const bool slash = below.empty() || absl::EndsWith(path_, "/");
    return place_.NameOf(absl::StrCat(path_, slash ? "" : "/", below));
  }
  std::string InArchive(const std::string& below) const {
    return below.empty() ? options_.name : absl::StrCat(options_.name, "/", below);
  }

  const Place& place_;
  const std::string path_;
  const ReadOptions& options_;
  struct archive* archive_;
  std::map<std::pair<dev_t, ino_t>, std::string> first_names_;
  std::vector<char> buffer_ = std::vector<char>(kBufferBytes);
};

}  // namespace

absl::Status ReadTree(const Place& place, const std::string& path, const ReadOptions& options,
                      int out) {
  struct archive* archive = archive_write_new();
  if (archive == nullptr) return absl::ResourceExhaustedError("no memory for an archive");
  absl::Cleanup free_archive = [archive] { archive_write_free(archive); };
  // Not the restricted form, which lacks fractions of seconds.
  archive_write_set_format_pax(archive);
  // Names are bytes: without the first option, libarchive drops names outside the locale's charset.
  // The second writes attributes once, not in both of its ways.
  archive_write_set_options(archive, "hdrcharset=BINARY,xattrheader=SCHILY");
  if (archive_write_open_fd(archive, out) != ARCHIVE_OK) {
    return absl::InternalError("pass on files: cannot write");
  }
  const absl::Status status = Reader(place, path, options, archive).Run();
  if (!status.ok()) {
    // No end-of-archive mark: the reader sees that it was cut off.
    archive_write_fail(archive);
    return status;
  }
  if (archive_write_close(archive) == ARCHIVE_OK) return absl::OkStatus();
  const int error = archive_errno(archive);
  return ErrnoStatus(error > 0 ? error : EIO, absl::StrCat("pass on ", place.NameOf(path)));
}

}  // namespace plimsoll::copy
