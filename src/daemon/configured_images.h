// The configuration's rules for images, applied to every call.
#ifndef PLIMSOLL_DAEMON_CONFIGURED_IMAGES_H_
#define PLIMSOLL_DAEMON_CONFIGURED_IMAGES_H_

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "daemon/config/config.h"
#include "image/image_service.h"

namespace plimsoll::daemon {

struct ImageSettings {
  // "host" or "host:port", reached without TLS or with an unverified certificate.
  std::vector<std::string> insecure_registries;
  // Images that a client must not collect as garbage; a final "*" stands for anything.
  std::vector<std::string> pinned;
};
inline ImageSettings ImageSettingsOf(const Config& config) {
  return {config.insecure_registries, config.pinned_images};
}

// An image service that forwards every call, pulls by the settings, and marks images named in the
// list as pinned. Thread-safe; the settings may change at any time.
class ConfiguredImages : public image::ImageService {
 public:
  ConfiguredImages(std::unique_ptr<image::ImageService> images, ImageSettings settings)
      : images_(std::move(images)), settings_(std::move(settings)) {}

  void Replace(ImageSettings settings);
  // Ends pulls and imports under way, and each later one at once: UNAVAILABLE, with the reason. For
  // a daemon that stops and can't wait for them.
  void CallOff() { called_off_ = true; }

  absl::StatusOr<image::Image> Pull(absl::string_view reference, const image::PullOptions& options,
                                    const image::ProgressFn& progress) override;
  absl::StatusOr<image::Image> Import(const std::string& path, absl::string_view reference,
                                      const image::ProgressFn& progress,
                                      const std::function<bool()>& cancelled) override;
  absl::StatusOr<image::Image> Find(absl::string_view reference) const override {
    return Marked(images_->Find(reference));
  }
  std::vector<image::Image> List() const override;

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
  bool IsInsecure(absl::string_view registry) const;
  bool IsPinned(const image::ImageRecord& image) const ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  absl::StatusOr<image::Image> Marked(absl::StatusOr<image::Image> image) const;
  // `cancelled`, or called off.
  std::function<bool()> OrCalledOff(std::function<bool()> cancelled) const;
  // `image`; if it was cut off by CallOff, the reason instead.
  absl::StatusOr<image::Image> Ended(absl::string_view what,
                                     absl::StatusOr<image::Image> image) const;

  const std::unique_ptr<image::ImageService> images_;
  std::atomic<bool> called_off_ = false;
  mutable absl::Mutex mutex_;
  ImageSettings settings_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace plimsoll::daemon

#endif  // PLIMSOLL_DAEMON_CONFIGURED_IMAGES_H_
