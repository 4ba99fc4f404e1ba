// The configured list of registries without TLS, applied to every pull.
#ifndef PLIMSOLL_DAEMON_INSECURE_REGISTRIES_H_
#define PLIMSOLL_DAEMON_INSECURE_REGISTRIES_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_set.h"
#include "absl/synchronization/mutex.h"
#include "image/image_service.h"

namespace plimsoll::daemon {

// An image service that passes everything on, pulls with `insecure_registry` set where the
// reference's registry is in the list; a pull that failed over TLS names the list. Thread-safe; the
// list may change at any time.
class InsecureRegistries : public image::ImageService {
 public:
  InsecureRegistries(std::unique_ptr<image::ImageService> images,
                     const std::vector<std::string>& registries)
      : images_(std::move(images)), registries_(registries.begin(), registries.end()) {}

  void Replace(const std::vector<std::string>& registries);

  absl::StatusOr<image::Image> Pull(absl::string_view reference, const image::PullOptions& options,
                                    const image::ProgressFn& progress) override;

  absl::StatusOr<image::Image> Import(const std::string& path, absl::string_view reference,
                                      const image::ProgressFn& progress,
                                      const std::function<bool()>& cancelled) override {
    return images_->Import(path, reference, progress, cancelled);
  }
  absl::StatusOr<image::Image> Find(absl::string_view reference) const override {
    return images_->Find(reference);
  }
  std::vector<image::Image> List() const override { return images_->List(); }
  absl::Status Remove(absl::string_view reference) override { return images_->Remove(reference); }
  absl::StatusOr<std::shared_ptr<image::LayerLease>> Lease(absl::string_view image_id) override {
    return images_->Lease(image_id);
  }
  absl::StatusOr<std::shared_ptr<image::LayerLease>> LeaseChain(
      const std::vector<std::string>& chain_ids) override {
    return images_->LeaseChain(chain_ids);
  }
  absl::Status CollectGarbage() override { return images_->CollectGarbage(); }
  absl::StatusOr<image::ImageUsage> Usage() const override { return images_->Usage(); }
  std::string directory() const override { return images_->directory(); }
  std::vector<std::string> Damaged() const override { return images_->Damaged(); }

 private:
  bool IsInsecure(const std::string& registry) const;

  const std::unique_ptr<image::ImageService> images_;
  mutable absl::Mutex mutex_;
  absl::flat_hash_set<std::string> registries_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace plimsoll::daemon

#endif  // PLIMSOLL_DAEMON_INSECURE_REGISTRIES_H_
