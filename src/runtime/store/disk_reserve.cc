#include "runtime/store/disk_reserve.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "absl/time/clock.h"

namespace plimsoll::runtime {
namespace {

constexpr char kName[] = "reserve";

}  // namespace

void DiskReserve::Keep() {
  const absl::StatusOr<UniqueFd> fd = directory_.OpenFile(kName, O_WRONLY | O_CREAT, 0600);
  if (!fd.ok()) return;
  struct stat info = {};
  if (fstat(fd->get(), &info) == 0 && info.st_blocks * 512 >= bytes_) return;
  // Where the file system can't allocate, the C library writes zeros instead.
  if (posix_fallocate(fd->get(), 0, bytes_) != 0) directory_.RemoveFile(kName).IgnoreError();
}

bool DiskReserve::Release() {
  if (!directory_.Exists(kName)) return false;
  released_ = directory_.RemoveFile(kName).ok();
  next_try_ = absl::Now() + between_tries_;
  return released_;
}

void DiskReserve::Restore() {
  if (!released_ || absl::Now() < next_try_) return;
  next_try_ = absl::Now() + between_tries_;
  struct statvfs info = {};
  // With some to spare: else whatever was removed would at once be ours again.
  if (fstatvfs(directory_.fd(), &info) != 0) return;
  const auto room = static_cast<int64_t>(info.f_bavail) * static_cast<int64_t>(info.f_frsize);
  if (room < 4 * bytes_) return;
  Keep();
  released_ = !directory_.Exists(kName);
}

}  // namespace plimsoll::runtime
