// A disk reserve that looks after itself.
#ifndef PLIMSOLL_SQLITE_RESERVE_KEEPER_H_
#define PLIMSOLL_SQLITE_RESERVE_KEEPER_H_

#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "sqlite/disk_reserve.h"

namespace plimsoll::sqlite {

// Thread-safe. Restores a reserve that was given up once there is plenty of room, from a thread of
// its own that sleeps while there is one. Waiting for the next write could be too late: the program
// that filled the disk fills it again.
class ReserveKeeper {
 public:
  // Takes the space, if there is any.
  explicit ReserveKeeper(DiskReserve reserve, absl::Duration between_tries = absl::Seconds(5));
  ~ReserveKeeper();
  ReserveKeeper(const ReserveKeeper&) = delete;
  ReserveKeeper& operator=(const ReserveKeeper&) = delete;

  // Runs `write`, and if the disk is full (RESOURCE_EXHAUSTED) and it `ends` something, so that
  // room is made, again with the reserve's space.
  absl::Status Write(bool ends, absl::FunctionRef<absl::Status()> write);

 private:
  void Keep();
  bool HasWork() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return is_closing_ || reserve_.is_missing();
  }

  const absl::Duration between_tries_;
  absl::Mutex mutex_;
  DiskReserve reserve_ ABSL_GUARDED_BY(mutex_);
  bool is_closing_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;  // last: it uses the members above
};

}  // namespace plimsoll::sqlite

#endif  // PLIMSOLL_SQLITE_RESERVE_KEEPER_H_
