// Image references: "busybox", "quay.io/a/b:1.2", "host:5000/x@sha256:...".
#ifndef PLIMSOLL_IMAGE_NAMES_REFERENCE_H_
#define PLIMSOLL_IMAGE_NAMES_REFERENCE_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace plimsoll::image {

// A reference in its full form. Thread-compatible value.
struct Reference {
  std::string registry;    // "docker.io", "localhost:5000"
  std::string repository;  // "library/busybox"
  std::string tag;         // "latest"; empty only where there is a digest
  std::string digest;      // "sha256:..." or empty

  // "docker.io/library/busybox"
  std::string Name() const;
  // "docker.io/library/busybox:latest"; empty without a tag.
  std::string Tagged() const;
  // "docker.io/library/busybox@sha256:..."; empty without a digest.
  std::string Digested() const;
  // The identity of the content: the digest form if there is a digest, else the tag form.
  std::string Canonical() const;

  bool operator==(const Reference&) const = default;
};

// Parses and normalises as Docker's tools do: the part before the first slash is a registry when it
// has a '.' or ':' or is "localhost", else the registry is docker.io; a single component there gets
// "library/" in front; no tag and no digest means :latest. With both a tag and a digest the digest
// decides, and the tag is kept only as a name. INVALID_ARGUMENT names the wrong part and its valid
// form. At most 255 bytes of registry and repository, 128 of tag (distribution spec, "Pull").
absl::StatusOr<Reference> ParseReference(absl::string_view text);

// True when the name has no registry in it: its first part has no '.' or ':' and isn't "localhost".
bool IsShortName(absl::string_view text);

// True for a registry on this machine's loopback: "localhost", an address of 127.0.0.0/8 or
// "[::1]", with or without a port.
bool IsOnLoopback(absl::string_view registry);

// True when `text` can only be an image id: "sha256:<64 hex>" or the bare 64 digits. Such a text
// is never a name, and is refused to be pulled. Twelve digits may be a name.
bool IsImageId(absl::string_view text);

}  // namespace plimsoll::image

#endif  // PLIMSOLL_IMAGE_NAMES_REFERENCE_H_
