#include "base/disk_usage.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/list_directory.h"
#include "base/status.h"
#include "base/unique_fd.h"

namespace plimsoll {
namespace {

constexpr uint64_t kBlockBytes = 512;  // the unit of st_blocks on every file system (stat(2))
// Longest path from an open directory: a tree may be deeper than the longest path (PATH_MAX).
constexpr size_t kMaxPathBytes = 2000;

struct Pending {
  FsRoot base;
  std::string path;
};

// The entry is gone, or something else by now.
bool HasChanged(int err) {
  return err == ENOENT || err == ENOTDIR || err == ELOOP;
}

class Meter {
 public:
  Meter(const FsRoot& top, const std::stop_token& stop)
      : stop_(stop), pending_{Pending{top, "."}} {}

  absl::StatusOr<DiskUsage> Measure() {
    while (!pending_.empty()) {
      PLIMSOLL_RETURN_IF_ERROR(Go(pending_.back()));
      const Pending next = std::move(pending_.back());
      pending_.pop_back();
      PLIMSOLL_RETURN_IF_ERROR(Visit(next));
    }
    return usage_;
  }

 private:
  absl::Status Go(const Pending& directory) const {
    if (!stop_.stop_requested()) return absl::OkStatus();
    return absl::CancelledError(absl::StrCat("the measuring of ",
                                             directory.base.PathOf(directory.path),
                                             " was called off before its end"));
  }

  absl::Status Visit(const Pending& directory) {
    absl::StatusOr<UniqueFd> fd =
        directory.base.OpenFile(directory.path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    if (!fd.ok() && HasChanged(ErrnoOf(fd.status()))) return absl::OkStatus();
    PLIMSOLL_RETURN_IF_ERROR(fd.status());
    struct stat info = {};
    if (fstat(fd->get(), &info) != 0) return Failed("stat", directory);
    if (usage_.inodes == 0) {
      device_ = info.st_dev;
      Count(info);
    } else if (info.st_dev != device_) {
      return absl::OkStatus();
    }
    UniqueFd listed(fcntl(fd->get(), F_DUPFD_CLOEXEC, 0));
    if (!listed.valid()) return Failed("open", directory);
    PLIMSOLL_ASSIGN_OR_RETURN(
        const std::vector<std::string> names,
        ListDirectory(std::move(listed), directory.base.PathOf(directory.path)));
    for (const std::string& name : names) {
      PLIMSOLL_RETURN_IF_ERROR(Go(directory));  // one directory may hold millions
      PLIMSOLL_RETURN_IF_ERROR(Look(directory, fd->get(), name));
    }
    return absl::OkStatus();
  }

  absl::Status Look(const Pending& directory, int fd, const std::string& name) {
    struct stat info = {};
    if (fstatat(fd, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) {
      return HasChanged(errno) ? absl::OkStatus() : Failed("stat", directory);
    }
    if (info.st_dev != device_) return absl::OkStatus();
    Count(info);
    if (!S_ISDIR(info.st_mode)) return absl::OkStatus();
    if (directory.path.size() + name.size() < kMaxPathBytes) {
      pending_.push_back({directory.base, absl::StrCat(directory.path, "/", name)});
      return absl::OkStatus();
    }
    absl::StatusOr<FsRoot> base = directory.base.Sub(directory.path);
    if (!base.ok() && HasChanged(ErrnoOf(base.status()))) return absl::OkStatus();
    PLIMSOLL_RETURN_IF_ERROR(base.status());
    pending_.push_back({*std::move(base), name});
    return absl::OkStatus();
  }

  void Count(const struct stat& info) {
    if (!S_ISDIR(info.st_mode) && info.st_nlink > 1 && !seen_.insert(info.st_ino).second) return;
    usage_.bytes += static_cast<uint64_t>(info.st_blocks) * kBlockBytes;
    ++usage_.inodes;
  }

  static absl::Status Failed(absl::string_view what, const Pending& directory) {
    return ErrnoStatus(errno, absl::StrCat(what, " ", directory.base.PathOf(directory.path)));
  }

  const std::stop_token& stop_;
  std::vector<Pending> pending_;
  dev_t device_ = 0;
  std::set<ino_t> seen_;  // files with several names
  DiskUsage usage_;
};

}  // namespace

absl::StatusOr<DiskUsage> MeasureTree(const FsRoot& directory, const std::stop_token& stop) {
  return Meter(directory, stop).Measure();
}

}  // namespace plimsoll
