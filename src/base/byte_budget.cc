#include "base/byte_budget.h"

#include <algorithm>

namespace plimsoll {

size_t ByteBudget::Take(size_t wanted) {
  const absl::MutexLock lock(&mutex_);
  const size_t given = std::min(wanted, static_cast<size_t>(std::max<int64_t>(left_, 0)));
  left_ -= static_cast<int64_t>(given);
  return given;
}

void ByteBudget::Overdraw(size_t bytes) {
  const absl::MutexLock lock(&mutex_);
  left_ -= static_cast<int64_t>(bytes);
}

void ByteBudget::GiveBack(size_t bytes) {
  const absl::MutexLock lock(&mutex_);
  left_ += static_cast<int64_t>(bytes);
}

int64_t ByteBudget::left() const {
  const absl::MutexLock lock(&mutex_);
  return left_;
}

size_t ByteShare::Take(size_t wanted) {
  const size_t given = budget_->Take(wanted);
  bytes_ += given;
  return given;
}

void ByteShare::Overdraw(size_t bytes) {
  budget_->Overdraw(bytes);
  bytes_ += bytes;
}

void ByteShare::ShrinkTo(size_t bytes) {
  if (bytes >= bytes_) return;
  budget_->GiveBack(bytes_ - bytes);
  bytes_ = bytes;
}

}  // namespace plimsoll
