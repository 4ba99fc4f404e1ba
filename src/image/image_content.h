// What the different ways in have in common: an image's documents, and where its layers are.
#ifndef PLIMSOLL_IMAGE_IMAGE_CONTENT_H_
#define PLIMSOLL_IMAGE_IMAGE_CONTENT_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "image/file_source.h"
#include "image/manifest.h"

namespace plimsoll::image {

struct LayerContent {
  std::string file;                             // in the source
  std::string digest;                           // of the file; empty where the format states none
  std::optional<uint64_t> size = std::nullopt;  // of the file, as the manifest says
};

struct ImageContent {
  std::string manifest;              // text; empty for a docker-archive and a plain rootfs
  std::string config;                // text
  std::vector<LayerContent> layers;  // lowest first
  std::vector<std::string> names;    // that the archive gives, not normalised
};

// Where in a source the blob of a digest is.
using BlobPath = std::function<std::string(absl::string_view digest)>;

// The content that a manifest leads to. Its config is read and held against its digest and size;
// layers are held against theirs when they are unpacked. A blob that isn't there or has another
// content is DATA_LOSS, naming it.
absl::StatusOr<ImageContent> ReadManifestContent(const FileSource& source, std::string manifest,
                                                 const BlobPath& blob_path);

// The image in an OCI layout (OCI image spec, image-layout.md) that fits this machine. With several
// images, `wanted` names one: the layout's own name for it ("1.2"), or a full reference. NOT_FOUND
// lists the platforms there are, INVALID_ARGUMENT the names.
absl::StatusOr<ImageContent> ReadOciLayout(const FileSource& source, absl::string_view wanted);

// The image in what `docker save` writes: manifest.json, configs and layer tars. With several
// images, `wanted` names one of their RepoTags.
absl::StatusOr<ImageContent> ReadDockerArchive(const FileSource& source, absl::string_view wanted);

// The manifest in `descriptors` that suits this machine best: of its architecture, the newest
// variant that it can run. NOT_FOUND lists the platforms there are.
absl::StatusOr<Descriptor> SelectPlatform(const std::vector<Descriptor>& descriptors,
                                          absl::string_view what);
// The same for a machine that runs `variants` of its architecture, best first.
absl::StatusOr<Descriptor> SelectPlatform(const std::vector<Descriptor>& descriptors,
                                          absl::string_view what, const Platform& host,
                                          const std::vector<std::string>& variants);

}  // namespace plimsoll::image

#endif  // PLIMSOLL_IMAGE_IMAGE_CONTENT_H_
