#include "daemon/insecure_registries.h"

#include "image/reference.h"

namespace plimsoll::daemon {

void InsecureRegistries::Replace(const std::vector<std::string>& registries) {
  absl::MutexLock lock(&mutex_);
  registries_ = {registries.begin(), registries.end()};
}

// A malformed reference is secure: the pull itself refuses it.
bool InsecureRegistries::IsInsecure(absl::string_view reference) const {
  const absl::StatusOr<image::Reference> parsed = image::ParseReference(reference);
  if (!parsed.ok()) return false;
  absl::MutexLock lock(&mutex_);
  return registries_.contains(parsed->registry);
}

absl::StatusOr<image::Image> InsecureRegistries::Pull(absl::string_view reference,
                                                      const image::PullOptions& options,
                                                      const image::ProgressFn& progress) {
  image::PullOptions changed = options;
  changed.insecure_registry = options.insecure_registry || IsInsecure(reference);
  return images_->Pull(reference, changed, progress);
}

}  // namespace plimsoll::daemon
