// Memory that many share, so that all of them together stay within it.
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

  // Of `wanted` bytes as many as are left.
  size_t Take(size_t wanted);
  // All of them, though the budget be overdrawn.
  void Overdraw(size_t bytes);
  void GiveBack(size_t bytes);
  // Negative: overdrawn.
  int64_t left() const;

 private:
  mutable absl::Mutex mutex_;
  int64_t left_ ABSL_GUARDED_BY(mutex_);
};

// What one holds of a budget; given back by its end. Not thread-safe.
class ByteShare {
 public:
  explicit ByteShare(std::shared_ptr<ByteBudget> budget) : budget_(std::move(budget)) {}
  ~ByteShare() { budget_->GiveBack(bytes_); }
  ByteShare(const ByteShare&) = delete;
  ByteShare& operator=(const ByteShare&) = delete;

  // Of `wanted` further bytes as many as the budget has.
  size_t Take(size_t wanted);
  // `bytes` more, though the budget be overdrawn.
  void Overdraw(size_t bytes);
  // Keeps so many.
  void ShrinkTo(size_t bytes);
  size_t bytes() const { return bytes_; }

 private:
  const std::shared_ptr<ByteBudget> budget_;
  size_t bytes_ = 0;
};

}  // namespace plimsoll

#endif  // PLIMSOLL_BASE_BYTE_BUDGET_H_
