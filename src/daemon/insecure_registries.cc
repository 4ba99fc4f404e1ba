#include "daemon/insecure_registries.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "image/reference.h"

namespace plimsoll::daemon {
namespace {

// What to do about a registry whose TLS skopeo could not do with, in addition to its words.
absl::Status WithRemedy(const absl::Status& refused, const std::string& registry) {
  const absl::string_view said = refused.message();
  const bool is_plain = absl::StrContains(said, "server gave HTTP response to HTTPS client");
  if (!is_plain && !absl::StrContains(said, "x509: ")) return refused;
  const absl::string_view remedy =
      is_plain ? "; it speaks plain HTTP: if it may, list "
               : "; add its authority to this machine's trusted ones, or list ";
  return absl::Status(refused.code(), absl::StrCat(said, remedy, registry,
                                                   " under registries.insecure in the daemon's "
                                                   "configuration"));
}

}  // namespace

void InsecureRegistries::Replace(const std::vector<std::string>& registries) {
  absl::MutexLock lock(&mutex_);
  registries_ = {registries.begin(), registries.end()};
}

bool InsecureRegistries::IsInsecure(const std::string& registry) const {
  absl::MutexLock lock(&mutex_);
  return registries_.contains(registry);
}

absl::StatusOr<image::Image> InsecureRegistries::Pull(absl::string_view reference,
                                                      const image::PullOptions& options,
                                                      const image::ProgressFn& progress) {
  const absl::StatusOr<image::Reference> parsed = image::ParseReference(reference);
  // A malformed reference is refused by the pull itself.
  const std::string registry = parsed.ok() ? parsed->registry : "";
  image::PullOptions changed = options;
  changed.insecure_registry = options.insecure_registry || IsInsecure(registry);
  auto pulled = images_->Pull(reference, changed, progress);
  return pulled.ok() ? std::move(pulled) : WithRemedy(pulled.status(), registry);
}

}  // namespace plimsoll::daemon
