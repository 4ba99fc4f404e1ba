// The JSON documents of images: index, manifest, config (OCI image spec 1.1 and Docker's schema 2,
// which differ in media types only) and docker-archive's manifest.json. All parsers accept hostile
// text: INVALID_ARGUMENT names document and member.
#ifndef PLIMSOLL_IMAGE_MANIFEST_H_
#define PLIMSOLL_IMAGE_MANIFEST_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "image/image_service.h"

namespace plimsoll::image {

// Larger manifests and configs are refused, as registries do (distribution spec, "Pushing
// Manifests", names 4 MiB).
constexpr size_t kMaxDocumentBytes = 4 * 1024 * 1024;
// Overlayfs's limit of lower layers (OVL_MAX_STACK, fs/overlayfs/params.h).
constexpr size_t kMaxLayers = 500;

struct Platform {
  std::string os;
  std::string architecture;  // Go's names: "amd64", "arm64"
  std::string variant;

  bool operator==(const Platform&) const = default;
  std::string ToString() const;  // "linux/arm64/v8"
};

// This machine's, without a variant.
Platform HostPlatform();
// The architecture of an image that is another than this machine's; empty: the same, one that its
// processor usually runs too, or unknown.
std::string ForeignArchitecture(const ImageConfig& config);
// The variants of its architecture that this machine runs, best first: "v3", "v2", "v1", "".
std::vector<std::string> HostVariants();

struct Descriptor {
  std::string media_type;
  std::string digest;  // IsDigest holds
  uint64_t size = 0;
  Platform platform;               // empty if the index has none
  std::vector<std::string> names;  // of the annotations that name an image
};

struct ImageManifest {
  Descriptor config;
  std::vector<Descriptor> layers;  // lowest first
};

struct ConfigFile {
  ImageConfig config;
  std::vector<std::string> diff_ids;  // lowest first
};

struct DockerArchiveImage {
  std::string config;  // path in the archive
  std::vector<std::string> names;
  std::vector<std::string> layers;  // paths in the archive, lowest first
};

// True for an index: a list of manifests and not a manifest. `what` is for messages, here and
// below.
absl::StatusOr<bool> IsIndex(absl::string_view text, absl::string_view what);
absl::StatusOr<std::vector<Descriptor>> ParseIndex(absl::string_view text, absl::string_view what);
// Also refuses schema 1 and artifacts that aren't container images.
absl::StatusOr<ImageManifest> ParseManifest(absl::string_view text, absl::string_view what);
absl::StatusOr<ConfigFile> ParseConfigFile(absl::string_view text, absl::string_view what);
absl::StatusOr<std::vector<DockerArchiveImage>> ParseDockerArchive(absl::string_view text,
                                                                   absl::string_view what);

// The config of an image that is one plain root filesystem: this machine's platform, no command.
std::string PlainConfigFile(absl::string_view diff_id);

}  // namespace plimsoll::image

#endif  // PLIMSOLL_IMAGE_MANIFEST_H_
