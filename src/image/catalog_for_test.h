// For tests: a catalog in memory that can fail writes.
#ifndef PLIMSOLL_IMAGE_CATALOG_FOR_TEST_H_
#define PLIMSOLL_IMAGE_CATALOG_FOR_TEST_H_

#include <map>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "image/catalog.h"

namespace plimsoll::image {

// It outlives an ImageService, as the database outlives a daemon. Thread-safe.
class TestCatalog : public Catalog {
 public:
  absl::StatusOr<std::vector<ImageRecord>> LoadImages() override {
    absl::MutexLock lock(&mutex_);
    std::vector<ImageRecord> images;
    for (const auto& [id, image] : images_) images.push_back(image);
    return images;
  }
  absl::Status PutImage(const ImageRecord& image) override {
    absl::MutexLock lock(&mutex_);
    if (writes_until_failure_ == 0) return absl::InternalError("the test's disk is full");
    if (writes_until_failure_ > 0) --writes_until_failure_;
    images_[image.id] = image;
    return absl::OkStatus();
  }
  absl::Status RemoveImage(const std::string& id) override {
    absl::MutexLock lock(&mutex_);
    if (removals_to_fail_ > 0) {
      --removals_to_fail_;
      return absl::ResourceExhaustedError("the test's disk is full");
    }
    images_.erase(id);
    damaged_.erase(id);
    return absl::OkStatus();
  }
  std::vector<DamagedImage> DamagedImages() const override {
    absl::MutexLock lock(&mutex_);
    std::vector<DamagedImage> damaged;
    for (const auto& [id, what] : damaged_) damaged.push_back({id, what});
    return damaged;
  }
  // Makes the row unreadable.
  void Damage(const std::string& id, const std::string& what) {
    absl::MutexLock lock(&mutex_);
    images_.erase(id);
    damaged_[id] = what;
  }
  // Lets the first `writes` PutImage succeed and the others fail; -1: none fails.
  void FailAfter(int writes) {
    absl::MutexLock lock(&mutex_);
    writes_until_failure_ = writes;
  }
  // Fails the next `count` RemoveImage, like a full disk.
  void FailRemovals(int count) {
    absl::MutexLock lock(&mutex_);
    removals_to_fail_ = count;
  }

 private:
  mutable absl::Mutex mutex_;
  std::map<std::string, ImageRecord> images_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, std::string> damaged_ ABSL_GUARDED_BY(mutex_);
  int writes_until_failure_ ABSL_GUARDED_BY(mutex_) = -1;
  int removals_to_fail_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace plimsoll::image

#endif  // PLIMSOLL_IMAGE_CATALOG_FOR_TEST_H_
