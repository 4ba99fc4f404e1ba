// Space on a disk that is kept for the day when there is none left.
#ifndef PLIMSOLL_RUNTIME_STORE_DISK_RESERVE_H_
#define PLIMSOLL_RUNTIME_STORE_DISK_RESERVE_H_

#include <cstdint>
#include <utility>

#include "absl/time/time.h"
#include "base/fs_root.h"

namespace plimsoll::runtime {

// A database can't even forget a row without writing some pages: on a full disk nothing could be
// removed, and so nothing would ever make room again. A file that holds a megabyte or two goes
// first then. Not thread-safe.
class DiskReserve {
 public:
  DiskReserve(FsRoot directory, int64_t bytes, absl::Duration between_tries = absl::Seconds(5))
      : directory_(std::move(directory)), bytes_(bytes), between_tries_(between_tries) {}

  // Makes the file unless it is there. Without room, nothing is made.
  void Keep();
  // Gives the space free. False when there was none to give.
  bool Release();
  // Takes the space again once there is plenty; looks at most every `between_tries`. For after a
  // write that succeeded: then there may be.
  void Restore();

 private:
  const FsRoot directory_;
  const int64_t bytes_;
  const absl::Duration between_tries_;
  bool released_ = false;
  absl::Time next_try_ = absl::InfinitePast();
};

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_STORE_DISK_RESERVE_H_
