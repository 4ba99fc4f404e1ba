// Space on a disk that is kept for the day when there is none left.
#ifndef PLIMSOLL_RUNTIME_STORE_DISK_RESERVE_H_
#define PLIMSOLL_RUNTIME_STORE_DISK_RESERVE_H_

#include <cstdint>
#include <utility>

#include "base/fs_root.h"

namespace plimsoll::runtime {

// A database can't even forget a row without writing some pages: on a full disk nothing could be
// removed, and so nothing would ever make room again. A file that holds a megabyte or two goes
// first then. Not thread-safe.
class DiskReserve {
 public:
  DiskReserve(FsRoot directory, int64_t bytes) : directory_(std::move(directory)), bytes_(bytes) {}

  // Makes the file unless it is there. Without room, nothing is made.
  void Keep();
  // Gives the space free. False when there was none to give.
  bool Release();
  // From a Keep that found no room, or a Release, to a Restore that found plenty.
  bool is_missing() const { return is_missing_; }
  // Takes the space again once there is plenty. To be tried again and again while it is missing.
  void Restore();

 private:
  const FsRoot directory_;
  const int64_t bytes_;
  bool is_missing_ = false;
};

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_STORE_DISK_RESERVE_H_
