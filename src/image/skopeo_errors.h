// What skopeo says when it fails, as an error of ours.
#ifndef PLIMSOLL_IMAGE_SKOPEO_ERRORS_H_
#define PLIMSOLL_IMAGE_SKOPEO_ERRORS_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "image/image_service.h"

namespace plimsoll::image {

// The registry's answer in skopeo's words: NOT_FOUND, PERMISSION_DENIED (by the registry, or
// blocked in registries.conf), FAILED_PRECONDITION (policy.json of this machine wants a signature;
// see IsSignatureRefusal), UNAVAILABLE (no connection, or HTTP that no registry speaks), DATA_LOSS
// (not the content of its digest, or not all of it), RESOURCE_EXHAUSTED (disk full, or a manifest
// above the limit) or INTERNAL. The message is "pull <reference>: <why>", with what would be right
// where that is known. `secrets` are cut out of it, whatever they are encoded as.
absl::Status TranslateSkopeoError(absl::string_view stderr_text, absl::string_view reference,
                                  const Credentials& secrets);

// Of a skopeo that has ended by itself before it was done. `how`: "killed by signal 9 (Killed)".
// What it gives as the reason, as above; UNAVAILABLE where it gives none, since the registry has
// refused nothing.
absl::Status SkopeoHasEnded(absl::string_view how, absl::string_view stderr_text,
                            absl::string_view reference, const Credentials& secrets);

// How long the registry wants not to be asked, as a skopeo run with --debug says last; zero where
// it doesn't. `name`: "registry.example/app". Of a mirror's wish nothing is said: behind it comes
// the registry itself.
absl::Duration RetryAfter(absl::string_view stderr_text, absl::string_view name);

}  // namespace plimsoll::image

#endif  // PLIMSOLL_IMAGE_SKOPEO_ERRORS_H_
