#include "image/unpack_image.h"

#include <sys/stat.h>

#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "image/archive_reader.h"
#include "image/digest.h"
#include "image/layer_unpacker.h"
#include "image/manifest.h"

namespace plimsoll::image {
namespace {

// Into the empty directory `diff`, over the layers `below`.
absl::StatusOr<ImageUsage> UnpackOne(const LayerStore& layers, const FsRoot& diff, UniqueFd file,
                                     const LayerContent& layer, const std::string& diff_id,
                                     const std::vector<std::string>& below,
                                     const std::function<bool()>& cancelled) {
  std::vector<FsRoot> lowers;
  for (auto it = below.rbegin(); it != below.rend(); ++it) {
    PLIMSOLL_ASSIGN_OR_RETURN(FsRoot lower, layers.Diff(*it));
    lowers.push_back(std::move(lower));
  }
  const UnpackLimits limits;
  PLIMSOLL_ASSIGN_OR_RETURN(const auto reader, ArchiveReader::Open(std::move(file), "the layer",
                                                                   limits.max_bytes, cancelled));
  PLIMSOLL_ASSIGN_OR_RETURN(const UnpackResult result, UnpackLayer(*reader, diff, lowers, limits));
  if (!layer.digest.empty() && result.digests.stored != layer.digest) {
    return absl::DataLossError(absl::StrCat("digest mismatch: the manifest says ", layer.digest,
                                            ", the layer has ", result.digests.stored));
  }
  if (result.digests.unpacked != diff_id) {
    return absl::DataLossError(absl::StrCat("diff_id mismatch: the config says ", diff_id,
                                            ", the layer has ", result.digests.unpacked));
  }
  return ImageUsage{result.bytes, result.inodes};
}

absl::StatusOr<UniqueFd> OpenLayer(const FileSource& source, const LayerContent& layer) {
  absl::StatusOr<UniqueFd> file = source.Open(layer.file);
  if (absl::IsNotFound(file.status())) return absl::DataLossError("the layer is missing");
  PLIMSOLL_RETURN_IF_ERROR(file.status());
  struct stat info = {};
  if (fstat(file->get(), &info) != 0) return ErrnoStatus(errno, "stat the layer");
  const auto size = static_cast<uint64_t>(info.st_size);
  if (layer.size.value_or(size) != size) {
    return absl::DataLossError(absl::StrCat("size mismatch: the manifest says ", *layer.size,
                                            " bytes, the layer has ", size));
  }
  return file;
}

}  // namespace

std::vector<std::string> ChainIds(const std::vector<std::string>& diff_ids) {
  std::vector<std::string> chain;
  for (const std::string& diff_id : diff_ids) {
    chain.push_back(ChainId(chain.empty() ? "" : chain.back(), diff_id));
  }
  return chain;
}

absl::StatusOr<UnpackedImage> UnpackImage(LayerStore& layers, const OpenedImage& opened,
                                          const ProgressFn& progress) {
  const ImageContent& content = opened.content;
  PLIMSOLL_ASSIGN_OR_RETURN(ConfigFile file, ParseConfigFile(content.config, "the image's config"));
  const size_t count = content.layers.size();
  if (file.diff_ids.size() != count) {
    return absl::InvalidArgumentError(absl::StrCat("the image's config has ", file.diff_ids.size(),
                                                   " diff_ids, its manifest ", count, " layers"));
  }
  UnpackedImage image;
  image.config = std::move(file.config);
  const std::vector<std::string> chain = ChainIds(file.diff_ids);
  for (size_t i = 0; i < count; ++i) {
    const LayerContent& layer = content.layers[i];
    const std::string position = absl::StrCat("layer ", i + 1, " of ", count);
    const auto unpack = [&](const FsRoot& diff) -> absl::StatusOr<ImageUsage> {
      PLIMSOLL_ASSIGN_OR_RETURN(UniqueFd archive, OpenLayer(*opened.source, layer));
      if (progress) progress({absl::StrCat("unpacking ", position), 0, 0});
      return UnpackOne(layers, diff, std::move(archive), layer, file.diff_ids[i], image.chain_ids,
                       opened.cancelled);
    };
    absl::StatusOr<LayerStore::Hold> hold = layers.Ensure(chain[i], unpack, opened.cancelled);
    if (!hold.ok()) {
      return Annotate(
          hold.status(),
          absl::StrCat(position, " (", layer.digest.empty() ? layer.file : layer.digest, ")"));
    }
    image.holds.push_back(*std::move(hold));
    image.size_bytes += layers.SizeOf(chain[i]);
    image.chain_ids.push_back(chain[i]);
  }
  if (opened.cancelled && opened.cancelled()) return absl::CancelledError("cancelled");
  return image;
}

}  // namespace plimsoll::image
