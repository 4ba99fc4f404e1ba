// A memory budget that many holders share, so that all of them together stay within it.
//
//   auto budget = std::make_shared<ByteBudget>(32 << 20);
//   ByteShare share(budget);
//   text.append(data, share.Take(data.size()));
#ifndef PLIMSOLL_BASE_BYTE_BUDGET_H_
#define PLIMSOLL_BASE_BYTE_BUDGET_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace plimsoll {

// Thread-safe.
class ByteBudget {
 public:
  explicit ByteBudget(size_t bytes) : left_(static_cast<int64_t>(bytes)) {}

  // Takes as many of the `wanted` bytes as are left, and returns how many.
  size_t Take(size_t wanted);
  // Takes all `bytes`, even if that overdraws the budget.
  void Overdraw(size_t bytes);
  void GiveBack(size_t bytes);
  // Negative: overdrawn.
  int64_t left() const;

 private:
  mutable absl::Mutex mutex_;
  int64_t left_ ABSL_GUARDED_BY(mutex_);
};

// One holder's share of a budget; its destructor gives it back. Not thread-safe.
class ByteShare {
 public:
  explicit ByteShare(std::shared_ptr<ByteBudget> budget) : budget_(std::move(budget)) {}
  ~ByteShare() { budget_->GiveBack(bytes_); }
  ByteShare(const ByteShare&) = delete;
  ByteShare& operator=(const ByteShare&) = delete;

  // Takes as many of `wanted` further bytes as the budget has left, and returns how many.
  size_t Take(size_t wanted);
  // Takes `bytes` more, even if that overdraws the budget.
  void Overdraw(size_t bytes);
  // Keeps `bytes` of the share and gives the rest back.
  void ShrinkTo(size_t bytes);
  size_t bytes() const { return bytes_; }

 private:
  const std::shared_ptr<ByteBudget> budget_;
  size_t bytes_ = 0;
};

}  // namespace plimsoll

#endif  // PLIMSOLL_BASE_BYTE_BUDGET_H_
