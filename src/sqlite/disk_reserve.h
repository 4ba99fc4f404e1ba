// Space on a disk, kept for the day when there is none left.
#ifndef PLIMSOLL_SQLITE_DISK_RESERVE_H_
#define PLIMSOLL_SQLITE_DISK_RESERVE_H_

#include <cstdint>
#include <string>
#include <utility>

#include "base/fs_root.h"

namespace plimsoll::sqlite {

// A database needs some pages even to forget a row: on a full disk nothing could be removed, so
// nothing would ever make room again. A reserve file of a megabyte or two is given up then. Not
// thread-safe.
class DiskReserve {
 public:
  // Databases that share a directory have reserves of different names.
  DiskReserve(FsRoot directory, int64_t bytes, std::string name = "reserve")
      : directory_(std::move(directory)), bytes_(bytes), name_(std::move(name)) {}

  // Makes the file unless it exists. Without room for it, nothing is made.
  void Keep();
  // Frees the space. False when there is none to free.
  bool Release();
  // Whether the reserve is missing: from a Keep that found no room, or a Release, until a Restore
  // that found plenty.
  bool is_missing() const { return is_missing_; }
  // Takes the space again once there is plenty. Call it repeatedly while the reserve is missing.
  void Restore();

 private:
  const FsRoot directory_;
  const int64_t bytes_;
  const std::string name_;
  bool is_missing_ = false;
};

}  // namespace plimsoll::sqlite

#endif  // PLIMSOLL_SQLITE_DISK_RESERVE_H_
