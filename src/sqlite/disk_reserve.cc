#include "sqlite/disk_reserve.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

namespace plimsoll::sqlite {
void DiskReserve::Keep() {
  is_missing_ = true;
  const absl::StatusOr<UniqueFd> fd = directory_.OpenFile(name_, O_WRONLY | O_CREAT, 0600);
  if (!fd.ok()) return;
  struct stat info = {};
  const bool is_there = fstat(fd->get(), &info) == 0 && info.st_blocks * 512 >= bytes_;
  // Where the file system can't preallocate, the C library writes zeros instead.
  is_missing_ = !is_there && posix_fallocate(fd->get(), 0, bytes_) != 0;
  if (is_missing_) directory_.RemoveFile(name_).IgnoreError();
}

bool DiskReserve::Release() {
  const bool is_there = directory_.Exists(name_);
  if (is_there && !directory_.RemoveFile(name_).ok()) return false;
  is_missing_ = true;
  return is_there;
}

void DiskReserve::Restore() {
  if (!is_missing_) return;
  struct statvfs info = {};
  // With some to spare: else the reserve would at once take any space that is freed.
  if (fstatvfs(directory_.fd(), &info) != 0) return;
  const auto room = static_cast<int64_t>(info.f_bavail) * static_cast<int64_t>(info.f_frsize);
  if (room >= 4 * bytes_) Keep();
}

}  // namespace plimsoll::sqlite
