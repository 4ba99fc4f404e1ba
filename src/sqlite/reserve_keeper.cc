#include "sqlite/reserve_keeper.h"

#include <utility>

namespace plimsoll::sqlite {

ReserveKeeper::ReserveKeeper(DiskReserve reserve, absl::Duration between_tries)
    : between_tries_(between_tries), reserve_(std::move(reserve)) {
  {
    const absl::MutexLock lock(&mutex_);
    reserve_.Keep();
  }
  thread_ = std::thread([this] { Keep(); });
}

ReserveKeeper::~ReserveKeeper() {
  {
    const absl::MutexLock lock(&mutex_);
    is_closing_ = true;
  }
  thread_.join();
}

absl::Status ReserveKeeper::Write(bool ends, absl::FunctionRef<absl::Status()> write) {
  absl::Status status = write();
  if (!absl::IsResourceExhausted(status) || !ends) return status;
  {
    const absl::MutexLock lock(&mutex_);
    if (!reserve_.Release()) return status;
  }
  return write();
}

void ReserveKeeper::Keep() {
  const absl::MutexLock lock(&mutex_);
  while (true) {
    mutex_.Await(absl::Condition(this, &ReserveKeeper::HasWork));
    if (mutex_.AwaitWithTimeout(absl::Condition(&is_closing_), between_tries_)) return;
    reserve_.Restore();
  }
}

}  // namespace plimsoll::sqlite
