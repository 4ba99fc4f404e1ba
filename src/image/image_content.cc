#include "image/image_content.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status.h"
#include "image/names/digest.h"
#include "image/names/reference.h"

namespace plimsoll::image {
namespace {

constexpr int kMaxIndexDepth = 4;

std::string LayoutBlobPath(absl::string_view digest) {
  return absl::StrCat("blobs/sha256/", DigestHex(digest));
}

// A manifest, index or config, checked against its descriptor.
absl::StatusOr<std::string> ReadDocument(const FileSource& source, const Descriptor& descriptor,
                                         const BlobPath& blob_path, absl::string_view kind) {
  if (descriptor.size > kMaxDocumentBytes) {
    return absl::InvalidArgumentError(absl::StrCat(kind, " ", descriptor.digest,
                                                   " has a declared size of ", descriptor.size,
                                                   " bytes; valid are ", kMaxDocumentBytes));
  }
  absl::StatusOr<std::string> text = source.Read(blob_path(descriptor.digest), kMaxDocumentBytes);
  if (absl::IsNotFound(text.status())) {
    return absl::DataLossError(absl::StrCat(kind, " ", descriptor.digest, " is missing"));
  }
  if (!text.ok()) return Annotate(text.status(), absl::StrCat(kind, " ", descriptor.digest));
  const std::string digest = DigestOf(*text);
  if (digest != descriptor.digest) {
    return absl::DataLossError(
        absl::StrCat(kind, " ", descriptor.digest, " has the content of ", digest));
  }
  return text;
}

// True when `wanted` is one of the names, as written or after normalising both.
bool Names(const std::vector<std::string>& names, absl::string_view wanted) {
  const absl::StatusOr<Reference> reference = ParseReference(wanted);
  for (const std::string& name : names) {
    if (name == wanted) return true;
    if (!reference.ok()) continue;
    if (name == reference->tag) return true;
    const absl::StatusOr<Reference> other = ParseReference(name);
    if (other.ok() && *other == *reference) return true;
  }
  return false;
}

std::string ListNames(const std::vector<std::vector<std::string>>& images) {
  std::vector<std::string> shown;
  for (const std::vector<std::string>& names : images) {
    shown.push_back(names.empty() ? "(without a name)" : absl::StrJoin(names, " or "));
    if (shown.size() == 20) break;
  }
  return absl::CEscape(absl::StrJoin(shown, ", "));
}

// The index of the chosen image: the only one, or the one that `wanted` names.
absl::StatusOr<size_t> ChooseByName(const std::vector<std::vector<std::string>>& images,
                                    absl::string_view wanted) {
  if (images.size() == 1) return 0;
  for (size_t i = 0; !wanted.empty() && i < images.size(); ++i) {
    if (Names(images[i], wanted)) return i;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("there are ", images.size(), " images and ",
                   wanted.empty() ? "none is named" : absl::StrCat("none is \"", wanted, "\""),
                   "; name one of: ", ListNames(images)));
}

// Follows nested indexes to the one manifest for this machine.
absl::StatusOr<std::string> Descend(const FileSource& source, Descriptor descriptor) {
  for (int depth = 0; depth < kMaxIndexDepth; ++depth) {
    PLIMSOLL_ASSIGN_OR_RETURN(std::string text,
                              ReadDocument(source, descriptor, &LayoutBlobPath, "manifest"));
    const std::string what = absl::StrCat("manifest ", descriptor.digest);
    PLIMSOLL_ASSIGN_OR_RETURN(const bool is_index, IsIndex(text, what));
    if (!is_index) return text;
    PLIMSOLL_ASSIGN_OR_RETURN(const std::vector<Descriptor> inner, ParseIndex(text, what));
    PLIMSOLL_ASSIGN_OR_RETURN(descriptor, SelectPlatform(inner, what));
  }
  return absl::InvalidArgumentError(
      absl::StrCat("the image has indexes more than ", kMaxIndexDepth, " deep"));
}

absl::Status CheckLayout(const FileSource& source) {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string text, source.Read("oci-layout", 4096));
  // {"imageLayoutVersion": "1.0.0"}; only its presence counts (image-layout.md).
  if (absl::StrContains(text, "imageLayoutVersion")) return absl::OkStatus();
  return absl::InvalidArgumentError("oci-layout has no imageLayoutVersion");
}

}  // namespace

absl::StatusOr<Descriptor> SelectPlatform(const std::vector<Descriptor>& descriptors,
                                          absl::string_view what) {
  return SelectPlatform(descriptors, what, HostPlatform(), HostVariants());
}

absl::StatusOr<Descriptor> SelectPlatform(const std::vector<Descriptor>& descriptors,
                                          absl::string_view what, const Platform& host,
                                          const std::vector<std::string>& variants) {
  const Descriptor* best = nullptr;
  auto best_variant = variants.end();
  const Descriptor* without_platform = nullptr;
  std::vector<std::string> platforms;
  for (const Descriptor& descriptor : descriptors) {
    const Platform& platform = descriptor.platform;
    if (platform.os == host.os && platform.architecture == host.architecture) {
      const auto variant = std::find(variants.begin(), best_variant, platform.variant);
      if (variant != best_variant) {
        best = &descriptor;
        best_variant = variant;
      }
    }
    // Build attestations are listed beside images, for platform unknown/unknown.
    if (platform.os == "unknown") continue;
    if (platform == Platform() && without_platform == nullptr) without_platform = &descriptor;
    if (platforms.size() < 40) platforms.push_back(platform.ToString());
  }
  if (best != nullptr) return *best;
  if (without_platform != nullptr) return *without_platform;
  std::sort(platforms.begin(), platforms.end());
  return absl::NotFoundError(
      absl::StrCat(what, " has no image for ", host.ToString(),
                   "; there are: ", absl::CEscape(absl::StrJoin(platforms, ", "))));
}

absl::StatusOr<ImageContent> ReadManifestContent(const FileSource& source, std::string manifest,
                                                 const BlobPath& blob_path) {
  PLIMSOLL_ASSIGN_OR_RETURN(const ImageManifest parsed,
                            ParseManifest(manifest, "the image's manifest"));
  ImageContent content;
  PLIMSOLL_ASSIGN_OR_RETURN(content.config,
                            ReadDocument(source, parsed.config, blob_path, "config"));
  for (const Descriptor& layer : parsed.layers) {
    LayerContent file{blob_path(layer.digest), layer.digest};
    if (layer.size > 0) file.size = layer.size;  // handmade archives may have none
    content.layers.push_back(std::move(file));
  }
  content.manifest = std::move(manifest);
  return content;
}

absl::StatusOr<ImageContent> ReadOciLayout(const FileSource& source, absl::string_view wanted) {
  PLIMSOLL_RETURN_IF_ERROR(CheckLayout(source));
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string index, source.Read("index.json", kMaxDocumentBytes));
  PLIMSOLL_ASSIGN_OR_RETURN(std::vector<Descriptor> descriptors, ParseIndex(index, "index.json"));
  // Entries with the same name are one image for several platforms; one manifest may be listed
  // under several names.
  std::vector<std::vector<std::string>> names;
  std::vector<std::vector<Descriptor>> images;
  for (Descriptor& descriptor : descriptors) {
    const auto same = std::find_if(images.begin(), images.end(), [&](const auto& image) {
      return image.front().digest == descriptor.digest ||
             (image.front().names == descriptor.names &&
              image.front().platform != descriptor.platform);
    });
    if (same == images.end()) {
      names.push_back(descriptor.names);
      images.push_back({std::move(descriptor)});
      continue;
    }
    auto& its_names = names[static_cast<size_t>(same - images.begin())];
    for (const std::string& name : descriptor.names) {
      if (std::find(its_names.begin(), its_names.end(), name) == its_names.end()) {
        its_names.push_back(name);
      }
    }
    same->push_back(std::move(descriptor));
  }
  PLIMSOLL_ASSIGN_OR_RETURN(const size_t chosen, ChooseByName(names, wanted));
  PLIMSOLL_ASSIGN_OR_RETURN(Descriptor descriptor, SelectPlatform(images[chosen], "the layout"));
  PLIMSOLL_ASSIGN_OR_RETURN(std::string manifest, Descend(source, std::move(descriptor)));
  PLIMSOLL_ASSIGN_OR_RETURN(ImageContent content,
                            ReadManifestContent(source, std::move(manifest), &LayoutBlobPath));
  content.names = names[chosen];
  return content;
}

absl::StatusOr<ImageContent> ReadDockerArchive(const FileSource& source, absl::string_view wanted) {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string text,
                            source.Read("manifest.json", kMaxDocumentBytes));
  PLIMSOLL_ASSIGN_OR_RETURN(std::vector<DockerArchiveImage> images,
                            ParseDockerArchive(text, "manifest.json"));
  std::vector<std::vector<std::string>> names;
  for (const DockerArchiveImage& image : images) names.push_back(image.names);
  PLIMSOLL_ASSIGN_OR_RETURN(const size_t chosen, ChooseByName(names, wanted));
  const DockerArchiveImage& image = images[chosen];
  ImageContent content;
  absl::StatusOr<std::string> config = source.Read(image.config, kMaxDocumentBytes);
  if (absl::IsNotFound(config.status())) {
    return absl::DataLossError(
        absl::StrCat("config \"", absl::CEscape(image.config), "\" is missing"));
  }
  if (!config.ok()) return Annotate(config.status(), "manifest.json: \"Config\"");
  content.config = *std::move(config);
  for (const std::string& layer : image.layers) content.layers.push_back({layer, ""});
  content.names = image.names;
  return content;
}

}  // namespace plimsoll::image
