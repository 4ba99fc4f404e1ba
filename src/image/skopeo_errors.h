// Translates skopeo's failures into errors of ours.
#ifndef PLIMSOLL_IMAGE_SKOPEO_ERRORS_H_
#define PLIMSOLL_IMAGE_SKOPEO_ERRORS_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "image/image_service.h"

namespace plimsoll::image {

// Translates the registry's answer in skopeo's words: NOT_FOUND, PERMISSION_DENIED (by the
// registry, or blocked in registries.conf), FAILED_PRECONDITION (this machine's policy.json
// requires a signature; see IsSignatureRefusal), UNAVAILABLE (no connection, or HTTP that no
// registry speaks), DATA_LOSS (not the content of its digest, or not all of it), RESOURCE_EXHAUSTED
// (disk full, or a manifest above the limit) or INTERNAL. The message is "pull <reference>: <why>",
// with the remedy where it is known. `secrets` are cut out of it, however they are encoded.
absl::Status TranslateSkopeoError(absl::string_view stderr_text, absl::string_view reference,
                                  const Credentials& secrets);

// The error of a skopeo that ended by itself too early. `how`: "killed by signal 9 (Killed)". Its
// own reason, as above; without one UNAVAILABLE, since the registry has refused nothing.
absl::Status SkopeoHasEnded(absl::string_view how, absl::string_view stderr_text,
                            absl::string_view reference, const Credentials& secrets);

// The proxy of a pull that may reach this machine's loopback only: nothing listens on port 0.
inline constexpr absl::string_view kNoProxy = "127.0.0.1:0";

// The error of TranslateSkopeoError for a pull over plain HTTP, behind kNoProxy and without
// credentials. Says that the registry leads to another host, or that a login there must be
// permitted.
absl::Status OnPlainLoopback(const absl::Status& status, absl::string_view reference);

// True for an error of TranslateSkopeoError where the registry itself, no mirror of it, has no TLS:
// it answered with plain HTTP or ended the connection.
bool SpeaksNoTls(const absl::Status& status);

// The registry's last Retry-After in the output of skopeo --debug; zero without one. `name`:
// "registry.example/app". Ignores a mirror's: the registry itself is tried next.
absl::Duration RetryAfter(absl::string_view stderr_text, absl::string_view name);

}  // namespace plimsoll::image

#endif  // PLIMSOLL_IMAGE_SKOPEO_ERRORS_H_
