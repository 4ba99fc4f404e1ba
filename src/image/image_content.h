// The documents of an image and the places of its layers, common to all kinds of sources.
#ifndef PLIMSOLL_IMAGE_IMAGE_CONTENT_H_
#define PLIMSOLL_IMAGE_IMAGE_CONTENT_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "image/layers/file_source.h"
#include "image/manifest.h"

namespace plimsoll::image {

struct LayerContent {
  std::string file;                             // in the source
  std::string digest;                           // of the file; empty if the format has none
  std::optional<uint64_t> size = std::nullopt;  // of the file, in the manifest
};

struct ImageContent {
  std::string manifest;              // text; empty for a docker-archive and a plain rootfs
  std::string config;                // text
  std::vector<LayerContent> layers;  // lowest first
  std::vector<std::string> names;    // the archive's, not normalised
};

// Maps a digest to its blob's path in a source.
using BlobPath = std::function<std::string(absl::string_view digest)>;

// The content of a manifest. Reads its config and checks digest and size; unpacking checks those of
// the layers. DATA_LOSS names a blob that is missing or has another content.
absl::StatusOr<ImageContent> ReadManifestContent(const FileSource& source, std::string manifest,
                                                 const BlobPath& blob_path);

// The image in an OCI layout (OCI image spec, image-layout.md) that fits this machine. With several
// images, `wanted` chooses one: the layout's own name for it ("1.2"), or a full reference.
// NOT_FOUND lists the available platforms, INVALID_ARGUMENT the names.
absl::StatusOr<ImageContent> ReadOciLayout(const FileSource& source, absl::string_view wanted);

// The image in an archive of `docker save`: manifest.json, configs and layer tars. With several
// images, `wanted` is one of their RepoTags.
absl::StatusOr<ImageContent> ReadDockerArchive(const FileSource& source, absl::string_view wanted);

// The manifest in `descriptors` that suits this machine best: of its architecture, the newest
// variant that it can run. NOT_FOUND lists the available platforms.
absl::StatusOr<Descriptor> SelectPlatform(const std::vector<Descriptor>& descriptors,
                                          absl::string_view what);
// The same for a machine that runs `variants` of its architecture, best first.
absl::StatusOr<Descriptor> SelectPlatform(const std::vector<Descriptor>& descriptors,
                                          absl::string_view what, const Platform& host,
                                          const std::vector<std::string>& variants);

}  // namespace plimsoll::image

#endif  // PLIMSOLL_IMAGE_IMAGE_CONTENT_H_
