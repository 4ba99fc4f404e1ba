// Limits for all layers of one image together.
#ifndef PLIMSOLL_IMAGE_LAYERS_IMAGE_BUDGET_H_
#define PLIMSOLL_IMAGE_LAYERS_IMAGE_BUDGET_H_

#include <atomic>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace plimsoll::image {

// Counts over all layers of an image, of which there may be 500, each within its own limits. Large
// public images have some 500,000 entries and 50 GiB. A usual ext4 has an inode for each 16 KiB, so
// one image may take half the inodes of a disk of 64 GiB. Thread-safe.
class ImageBudget {
 public:
  explicit ImageBudget(uint64_t max_entries = 2'000'000, uint64_t max_bytes = uint64_t{256} << 30)
      : max_entries_(max_entries), max_bytes_(max_bytes) {}

  // RESOURCE_EXHAUSTED beyond the limit.
  absl::Status AddEntry() {
    if (entries_.fetch_add(1, std::memory_order_relaxed) < max_entries_) return absl::OkStatus();
    return absl::ResourceExhaustedError(
        absl::StrCat("the image's layers have more than ", max_entries_, " entries together"));
  }
  absl::Status AddBytes(uint64_t bytes) {
    const uint64_t before = bytes_.fetch_add(bytes, std::memory_order_relaxed);
    if (before <= max_bytes_ && bytes <= max_bytes_ - before) return absl::OkStatus();
    return absl::ResourceExhaustedError(
        absl::StrCat("the image's layers have more than ", max_bytes_, " bytes together"));
  }

 private:
  const uint64_t max_entries_;
  const uint64_t max_bytes_;
  std::atomic<uint64_t> entries_ = 0;
  std::atomic<uint64_t> bytes_ = 0;
};

}  // namespace plimsoll::image

#endif  // PLIMSOLL_IMAGE_LAYERS_IMAGE_BUDGET_H_
