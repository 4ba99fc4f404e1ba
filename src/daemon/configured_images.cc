#include "daemon/configured_images.h"

#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "image/names/reference.h"

namespace plimsoll::daemon {
namespace {

// `name` is in full form, as in the store.
bool Fits(const std::string& name, absl::string_view pattern) {
  if (absl::ConsumeSuffix(&pattern, "*")) return absl::StartsWith(name, pattern);
  const absl::StatusOr<image::Reference> reference = image::ParseReference(pattern);
  return reference.ok() && name == reference->Canonical();
}

}  // namespace

void ConfiguredImages::Replace(ImageSettings settings) {
  absl::MutexLock lock(&mutex_);
  settings_ = std::move(settings);
}

bool ConfiguredImages::IsInsecure(absl::string_view registry) const {
  absl::MutexLock lock(&mutex_);
  return absl::c_linear_search(settings_.insecure_registries, registry);
}

bool ConfiguredImages::IsPinned(const image::ImageRecord& image) const {
  return absl::c_any_of(settings_.pinned, [&image](const std::string& pattern) {
    const auto fits = [&pattern](const std::string& name) { return Fits(name, pattern); };
    return pattern == image.id || absl::c_any_of(image.repo_tags, fits) ||
           absl::c_any_of(image.repo_digests, fits);
  });
}

absl::StatusOr<image::Image> ConfiguredImages::Marked(absl::StatusOr<image::Image> image) const {
  if (!image.ok()) return image;
  absl::MutexLock lock(&mutex_);
  image->record.pinned = image->record.pinned || IsPinned(image->record);
  return image;
}

std::vector<image::Image> ConfiguredImages::List() const {
  std::vector<image::Image> images = images_->List();
  absl::MutexLock lock(&mutex_);
  for (image::Image& image : images) {
    image.record.pinned = image.record.pinned || IsPinned(image.record);
  }
  return images;
}

absl::StatusOr<image::Image> ConfiguredImages::Pull(absl::string_view reference,
                                                    const image::PullOptions& options,
                                                    const image::ProgressFn& progress) {
  image::PullOptions changed = options;
  changed.is_insecure = [this](absl::string_view registry) { return IsInsecure(registry); };
  changed.cancelled = OrCalledOff(options.cancelled);
  return Ended(absl::StrCat("pull ", reference),
               Marked(images_->Pull(reference, changed, progress)));
}

absl::StatusOr<image::Image> ConfiguredImages::Import(const std::string& path,
                                                      absl::string_view reference,
                                                      const image::ProgressFn& progress,
                                                      const std::function<bool()>& cancelled) {
  return Ended(absl::StrCat("import ", path),
               Marked(images_->Import(path, reference, progress, OrCalledOff(cancelled))));
}

std::function<bool()> ConfiguredImages::OrCalledOff(std::function<bool()> cancelled) const {
  return [this, cancelled = std::move(cancelled)] {
    return called_off_ || (cancelled && cancelled());
  };
}

absl::StatusOr<image::Image> ConfiguredImages::Ended(absl::string_view what,
                                                     absl::StatusOr<image::Image> image) const {
  if (!called_off_ || !absl::IsCancelled(image.status())) return image;
  return absl::UnavailableError(
      absl::StrCat(what,
                   ": plimsolld is stopping, and has cut it off; nothing of it is left. Try "
                   "again once plimsolld has started"));
}

}  // namespace plimsoll::daemon
