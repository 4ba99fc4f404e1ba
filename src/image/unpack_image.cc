#include "image/unpack_image.h"

#include <sys/stat.h>

#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "image/archive_reader.h"
#include "image/digest.h"
#include "image/image_budget.h"
#include "image/layer_unpacker.h"
#include "image/manifest.h"

namespace plimsoll::image {
namespace {

absl::Status CheckDigests(const StreamDigests& digests, const LayerContent& layer,
                          const std::string& diff_id) {
  if (!layer.digest.empty() && digests.stored != layer.digest) {
    return absl::DataLossError(absl::StrCat("digest mismatch: the manifest says ", layer.digest,
                                            ", the layer has ", digests.stored));
  }
  if (digests.unpacked != diff_id) {
    return absl::DataLossError(absl::StrCat("diff_id mismatch: the config says ", diff_id,
                                            ", the layer has ", digests.unpacked));
  }
  return absl::OkStatus();
}

// Into the empty directory `diff`, over the layers `below`.
absl::StatusOr<ImageUsage> UnpackOne(const LayerStore& layers, const FsRoot& diff, UniqueFd file,
                                     const LayerContent& layer, const std::string& diff_id,
                                     const std::vector<std::string>& below, ImageBudget& budget,
                                     const std::function<bool()>& cancelled) {
  std::vector<FsRoot> lowers;
  for (auto it = below.rbegin(); it != below.rend(); ++it) {
    PLIMSOLL_ASSIGN_OR_RETURN(FsRoot lower, layers.Diff(*it));
    lowers.push_back(std::move(lower));
  }
  UnpackLimits limits;
  limits.budget = &budget;
  PLIMSOLL_ASSIGN_OR_RETURN(const auto reader, ArchiveReader::Open(std::move(file), "the layer",
                                                                   limits.max_bytes, cancelled));
  PLIMSOLL_ASSIGN_OR_RETURN(const UnpackResult result, UnpackLayer(*reader, diff, lowers, limits));
  PLIMSOLL_RETURN_IF_ERROR(CheckDigests(result.digests, layer, diff_id));
  return ImageUsage{result.bytes, result.inodes};
}

// Reads the source's copy of a layer that is unpacked already.
absl::Status CheckCopy(UniqueFd file, const LayerContent& layer, const std::string& diff_id,
                       const std::function<bool()>& cancelled) {
  PLIMSOLL_ASSIGN_OR_RETURN(
      const auto reader,
      ArchiveReader::Open(std::move(file), "the layer", UnpackLimits().max_bytes, cancelled));
  PLIMSOLL_ASSIGN_OR_RETURN(const StreamDigests digests, reader->Finish());
  return CheckDigests(digests, layer, diff_id);
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
                                          const absl::flat_hash_set<std::string>& shown,
                                          const ProgressFn& progress) {
  const ImageContent& content = opened.content;
  PLIMSOLL_ASSIGN_OR_RETURN(ConfigFile file, ParseConfigFile(content.config, "the image's config"));
  const size_t count = content.layers.size();
  if (file.diff_ids.size() != count) {
    return absl::InvalidArgumentError(absl::StrCat("the image's config has ", file.diff_ids.size(),
                                                   " diff_ids, its manifest ", count, " layers"));
  }
  ImageBudget budget;
  UnpackedImage image;
  image.config = std::move(file.config);
  const std::vector<std::string> chain = ChainIds(file.diff_ids);
  for (size_t i = 0; i < count; ++i) {
    const LayerContent& layer = content.layers[i];
    const std::string position = absl::StrCat("layer ", i + 1, " of ", count);
    bool is_read = shown.contains(chain[i]);
    const auto unpack = [&](const FsRoot& diff) -> absl::StatusOr<ImageUsage> {
      is_read = true;
      PLIMSOLL_ASSIGN_OR_RETURN(UniqueFd archive, OpenLayer(*opened.source, layer));
      if (progress) progress({absl::StrCat("unpacking ", position), 0, 0});
      return UnpackOne(layers, diff, std::move(archive), layer, file.diff_ids[i], image.chain_ids,
                       budget, opened.cancelled);
    };
    const auto check = [&]() -> absl::Status {
      PLIMSOLL_ASSIGN_OR_RETURN(UniqueFd archive, OpenLayer(*opened.source, layer));
      if (progress) progress({absl::StrCat("checking ", position), 0, 0});
      return CheckCopy(std::move(archive), layer, file.diff_ids[i], opened.cancelled);
    };
    absl::StatusOr<LayerStore::Hold> hold = layers.Ensure(chain[i], unpack, opened.cancelled);
    const absl::Status status = hold.ok() && !is_read ? check() : hold.status();
    if (!status.ok()) {
      return Annotate(status, absl::StrCat(position, " (",
                                           layer.digest.empty() ? layer.file : layer.digest, ")"));
    }
    image.holds.push_back(*std::move(hold));
    image.size_bytes += layers.SizeOf(chain[i]);
    image.chain_ids.push_back(chain[i]);
  }
  if (opened.cancelled && opened.cancelled()) return absl::CancelledError("cancelled");
  return image;
}

}  // namespace plimsoll::image
