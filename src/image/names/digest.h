// Content digests: "sha256:<64 lower-case hex digits>" (OCI image spec, descriptor.md).
#ifndef PLIMSOLL_IMAGE_NAMES_DIGEST_H_
#define PLIMSOLL_IMAGE_NAMES_DIGEST_H_

#include <cstddef>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace plimsoll::image {

// True for exactly that form. A digest from outside becomes a file name only after this.
bool IsDigest(absl::string_view text);

// INVALID_ARGUMENT unless IsDigest; says what `what` should have been. Names other algorithms
// (sha512) as unsupported.
absl::Status CheckDigest(absl::string_view text, absl::string_view what);

// The 64 hex digits of a digest for which IsDigest holds.
absl::string_view DigestHex(absl::string_view digest);

// SHA-256 of a stream. Not thread-safe.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;

  void Update(const void* data, size_t size);
  // "sha256:..." of everything so far. Call once.
  std::string Finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

std::string DigestOf(absl::string_view content);

// Digest of a file from its current offset to its end.
absl::StatusOr<std::string> DigestOfFile(int fd, absl::string_view name);

// The digest of a stack of layers (OCI image spec, config.md, "Layer ChainID"): `below` is the
// chain id under it, empty for the lowest layer.
std::string ChainId(absl::string_view below, absl::string_view diff_id);

}  // namespace plimsoll::image

#endif  // PLIMSOLL_IMAGE_NAMES_DIGEST_H_
