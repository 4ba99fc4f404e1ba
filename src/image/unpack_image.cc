#include "image/unpack_image.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "base/status.h"
#include "image/layers/archive_reader.h"
#include "image/layers/image_budget.h"
#include "image/layers/layer_unpacker.h"
#include "image/manifest.h"
#include "image/names/digest.h"

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

// The number that a small machine can keep busy. Each layer from a registry has a process of its
// own that sends it.
constexpr size_t kLayersAtOnce = 3;

std::string NameOf(const LayerContent& layer) {
  return layer.digest.empty() ? layer.file : layer.digest;
}

// Unpacks all layers of one image, some at once. A layer that must look up paths in those below
// waits until these are in the store. Threads take layers bottom first, so that none waits for a
// layer without a thread.
class ImageUnpacker {
 public:
  ImageUnpacker(LayerStore& layers, const OpenedImage& opened,
                const absl::flat_hash_set<std::string>& shown, const ProgressFn& progress,
                std::vector<std::string> diff_ids)
      : layers_(layers),
        opened_(opened),
        shown_(shown),
        progress_(progress),
        diff_ids_(std::move(diff_ids)),
        chain_(ChainIds(diff_ids_)),
        holds_(diff_ids_.size()) {}

  absl::Status Run() {
    std::vector<std::thread> helpers;
    const size_t count = std::min(kLayersAtOnce, chain_.size());
    try {
      while (helpers.size() + 1 < count) helpers.emplace_back([this] { Work(); });
    } catch (const std::system_error&) {
      // Goes on with fewer.
    }
    Work();
    for (std::thread& helper : helpers) helper.join();
    absl::MutexLock lock(&mutex_);
    return failure_;
  }

  const std::vector<std::string>& chain() const { return chain_; }
  // Call after Run returned OK.
  std::vector<LayerStore::Hold> TakeHolds() {
    std::vector<LayerStore::Hold> holds;
    absl::MutexLock lock(&mutex_);
    for (auto& hold : holds_) holds.push_back(*std::move(hold));
    return holds;
  }

 private:
  void Work() {
    while (const std::optional<size_t> i = NextLayer()) {
      absl::StatusOr<LayerStore::Hold> hold = Take(*i);
      if (hold.ok()) {
        absl::MutexLock lock(&mutex_);
        holds_[*i] = *std::move(hold);
      } else {
        Fail(*i, hold.status());
      }
    }
  }

  // The others may be waiting for a registry that sends nothing.
  void Fail(size_t i, const absl::Status& status) {
    {
      absl::MutexLock lock(&mutex_);
      if (!failure_.ok()) return;
      failure_ = Annotate(status, absl::StrCat("layer ", i + 1, " of ", chain_.size(), " (",
                                               NameOf(opened_.content.layers[i]), ")"));
    }
    opened_.source->Stop();
  }

  std::optional<size_t> NextLayer() {
    absl::MutexLock lock(&mutex_);
    if (!failure_.ok() || next_ == chain_.size()) return std::nullopt;
    return next_++;
  }

  bool IsCancelled() {
    if (opened_.cancelled && opened_.cancelled()) return true;
    absl::MutexLock lock(&mutex_);
    return !failure_.ok();
  }

  absl::StatusOr<LayerStore::Hold> Take(size_t i) {
    bool is_read = shown_.contains(chain_[i]);
    const auto cancelled = [this] { return IsCancelled(); };
    const auto unpack = [&](const FsRoot& diff) -> absl::StatusOr<ImageUsage> {
      is_read = true;
      return Unpack(i, diff);
    };
    absl::StatusOr<LayerStore::Hold> hold = layers_.Ensure(chain_[i], unpack, cancelled);
    if (!hold.ok()) return hold;
    if (!is_read) PLIMSOLL_RETURN_IF_ERROR(CheckCopy(i));
    if (shown_.contains(chain_[i])) Count();
    return hold;
  }

  void Count() {
    absl::MutexLock lock(&mutex_);
    ++counted_;
  }

  void Tell(const char* verb) {
    absl::MutexLock lock(&mutex_);
    ++counted_;
    if (!progress_) return;
    progress_({absl::StrCat(verb, " layer ", counted_, " of ", chain_.size()), 0, 0});
  }

  absl::StatusOr<std::unique_ptr<ByteStream>> OpenLayer(size_t i) const {
    const LayerContent& layer = opened_.content.layers[i];
    absl::StatusOr<std::unique_ptr<ByteStream>> stream =
        opened_.source->OpenStream(layer.file, layer.size);
    if (absl::IsNotFound(stream.status()) && !opened_.source->comes_as_it_is_read()) {
      return absl::DataLossError("the layer is missing");
    }
    return stream;
  }

  // Unpacks into the empty directory `diff`, over the layers below.
  absl::StatusOr<ImageUsage> Unpack(size_t i, const FsRoot& diff) {
    PLIMSOLL_ASSIGN_OR_RETURN(std::unique_ptr<ByteStream> owned, OpenLayer(i));
    ByteStream* const stream = owned.get();
    const bool comes = opened_.source->comes_as_it_is_read();
    if (!comes) Tell("unpacking");
    UnpackLimits limits;
    limits.budget = &budget_;
    PLIMSOLL_ASSIGN_OR_RETURN(const auto reader,
                              ArchiveReader::Open(std::move(owned), "the layer", limits.max_bytes,
                                                  [this] { return IsCancelled(); }));
    PLIMSOLL_ASSIGN_OR_RETURN(
        const UnpackResult result,
        UnpackLayer(
            *reader, diff, [this, i, stream] { return AwaitBelow(i, *stream); }, limits));
    PLIMSOLL_RETURN_IF_ERROR(CheckDigests(result.digests, opened_.content.layers[i], diff_ids_[i]));
    if (comes) Tell("unpacking");
    return ImageUsage{result.bytes, result.inodes};
  }

  // The layers below, top first, once all of them are in the store.
  absl::StatusOr<std::vector<FsRoot>> AwaitBelow(size_t i, ByteStream& stream) {
    const auto are_there = [this, i]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      if (!failure_.ok()) return true;
      return std::all_of(holds_.begin(), holds_.begin() + static_cast<ptrdiff_t>(i),
                         [](const auto& hold) { return hold.has_value(); });
    };
    PLIMSOLL_RETURN_IF_ERROR(stream.Await([&](absl::Duration at_most) {
      if (opened_.cancelled && opened_.cancelled()) return true;
      absl::MutexLock lock(&mutex_);
      return mutex_.AwaitWithTimeout(absl::Condition(&are_there), at_most);
    }));
    if (IsCancelled()) return absl::CancelledError("cancelled");
    std::vector<FsRoot> lowers;
    for (size_t below = i; below-- > 0;) {
      PLIMSOLL_ASSIGN_OR_RETURN(FsRoot lower, layers_.Diff(chain_[below]));
      lowers.push_back(std::move(lower));
    }
    return lowers;
  }

  // Reads the source's copy of an already unpacked layer.
  absl::Status CheckCopy(size_t i) {
    PLIMSOLL_ASSIGN_OR_RETURN(std::unique_ptr<ByteStream> stream, OpenLayer(i));
    Tell("checking");
    PLIMSOLL_ASSIGN_OR_RETURN(
        const auto reader,
        ArchiveReader::Open(std::move(stream), "the layer", UnpackLimits().max_bytes,
                            [this] { return IsCancelled(); }));
    PLIMSOLL_ASSIGN_OR_RETURN(const StreamDigests digests, reader->Finish());
    return CheckDigests(digests, opened_.content.layers[i], diff_ids_[i]);
  }

  LayerStore& layers_;
  const OpenedImage& opened_;
  const absl::flat_hash_set<std::string>& shown_;
  const ProgressFn& progress_;
  const std::vector<std::string> diff_ids_;  // bottom first, like the others
  const std::vector<std::string> chain_;
  ImageBudget budget_;
  absl::Mutex mutex_;
  size_t next_ ABSL_GUARDED_BY(mutex_) = 0;
  size_t counted_ ABSL_GUARDED_BY(mutex_) = 0;  // layers reported as progress
  absl::Status failure_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::optional<LayerStore::Hold>> holds_ ABSL_GUARDED_BY(mutex_);
};

// An image without layers. A root filesystem needs a directory all the same: that of a layer of no
// bytes.
absl::StatusOr<UnpackedImage> UnpackNothing(LayerStore& layers, ImageConfig config) {
  UnpackedImage image;
  image.config = std::move(config);
  image.chain_ids = {DigestOf("")};
  PLIMSOLL_ASSIGN_OR_RETURN(LayerStore::Hold hold,
                            layers.Ensure(image.chain_ids.front(),
                                          [](const FsRoot& /*diff*/) -> absl::StatusOr<ImageUsage> {
                                            return ImageUsage();
                                          }));
  image.holds.push_back(std::move(hold));
  return image;
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
  if (count == 0) return UnpackNothing(layers, std::move(file.config));
  ImageUnpacker unpacker(layers, opened, shown, progress, std::move(file.diff_ids));
  PLIMSOLL_RETURN_IF_ERROR(unpacker.Run());
  if (opened.cancelled && opened.cancelled()) return absl::CancelledError("cancelled");
  UnpackedImage image;
  image.config = std::move(file.config);
  image.chain_ids = unpacker.chain();
  image.holds = unpacker.TakeHolds();
  for (const std::string& chain_id : image.chain_ids) image.size_bytes += layers.SizeOf(chain_id);
  return image;
}

}  // namespace plimsoll::image
