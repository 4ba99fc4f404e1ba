#include "runtime/objects/image_events.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace plimsoll::runtime {
namespace {

// "docker.io/library/busybox:latest, sha256:12ab...".
std::string Describe(absl::string_view reference, const image::Image& image) {
  if (reference.empty() || reference == image.record.id) return image.record.id;
  return absl::StrCat(reference, ", ", image.record.id);
}

class ImageEvents : public image::ImageService {
 public:
  ImageEvents(std::unique_ptr<image::ImageService> images, EventLog* events)
      : images_(std::move(images)), events_(events) {}

  absl::StatusOr<image::Image> Import(const std::string& path, absl::string_view reference,
                                      const image::ProgressFn& progress,
                                      const std::function<bool()>& cancelled) override {
    absl::StatusOr<image::Image> image = images_->Import(path, reference, progress, cancelled);
    if (image.ok()) Add(EventType::kImageImported, reference, *image);
    return image;
  }
  absl::StatusOr<image::Image> Pull(absl::string_view reference, const image::PullOptions& options,
                                    const image::ProgressFn& progress) override {
    absl::StatusOr<image::Image> image = images_->Pull(reference, options, progress);
    if (image.ok()) Add(EventType::kImagePulled, reference, *image);
    return image;
  }
  absl::Status Remove(absl::string_view reference) override {
    const absl::StatusOr<image::Image> image = images_->Find(reference);
    absl::Status removed = images_->Remove(reference);
    if (removed.ok() && image.ok()) Add(EventType::kImageRemoved, reference, *image);
    return removed;
  }

  absl::StatusOr<image::Image> Find(absl::string_view reference) const override {
    return images_->Find(reference);
  }
  std::vector<image::Image> List() const override { return images_->List(); }
  absl::StatusOr<std::shared_ptr<image::LayerLease>> Lease(absl::string_view id) override {
    return images_->Lease(id);
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
  void Add(EventType type, absl::string_view reference, const image::Image& image) {
    events_->Add(type, "", "", Describe(reference, image));
  }

  const std::unique_ptr<image::ImageService> images_;
  EventLog* const events_;
};

}  // namespace

std::unique_ptr<image::ImageService> WithImageEvents(std::unique_ptr<image::ImageService> images,
                                                     EventLog* events) {
  return std::make_unique<ImageEvents>(std::move(images), events);
}

}  // namespace plimsoll::runtime
