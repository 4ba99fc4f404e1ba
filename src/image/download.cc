#include "image/download.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/base/thread_annotations.h"
#include "absl/cleanup/cleanup.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "base/monotonic_time.h"
#include "base/status.h"
#include "image/layers/blob_copy.h"
#include "image/manifest.h"
#include "image/names/digest.h"

namespace plimsoll::image {
namespace {

constexpr absl::Duration kTellInterval = absl::Milliseconds(100);

// Layers in the store, held until the image holds them.
struct KnownLayers {
  absl::flat_hash_set<std::string> digests;  // not to be fetched
  absl::flat_hash_set<std::string> chain_ids;
  std::vector<LayerStore::Hold> holds;
};

KnownLayers FindKnown(LayerStore& layers, const MayReuse& may_reuse,
                      const std::vector<Descriptor>& descriptors,
                      const std::vector<std::string>& diff_ids) {
  KnownLayers known;
  if (diff_ids.size() != descriptors.size()) return known;  // unpacking refuses it
  const std::vector<std::string> chain = ChainIds(diff_ids);
  absl::flat_hash_set<std::string> needed;
  for (size_t i = 0; i < chain.size(); ++i) {
    absl::StatusOr<LayerStore::Hold> hold =
        may_reuse(chain[i]) ? layers.Acquire(chain[i]) : absl::NotFoundError("not to be reused");
    if (hold.ok()) {
      known.digests.insert(descriptors[i].digest);
      known.chain_ids.insert(chain[i]);
      known.holds.push_back(*std::move(hold));
    } else {
      needed.insert(descriptors[i].digest);
    }
  }
  // A layer that is twice in an image has another chain id over other layers.
  for (const std::string& digest : needed) known.digests.erase(digest);
  return known;
}

// Progress of one pull from several threads. After the last layer's unpacking has been reported,
// copying is not reported any more.
class Voices {
 public:
  Voices(const ProgressFn& tell, size_t layers)
      : tell_(tell), last_(absl::StrCat(" layer ", layers, " of ", layers)) {}
  void Copying(const Progress& progress) {
    absl::MutexLock lock(&mutex_);
    if (!copied_) tell_(progress);
  }
  // Copying, reported some times a second and at the end of a layer.
  void Came(const Progress& progress, bool at_end) {
    absl::MutexLock lock(&mutex_);
    const absl::Time now = MonotonicNow();
    if (copied_ || progress.done_bytes <= most_) return;
    if (!at_end && now - last_told_ < kTellInterval) return;
    last_told_ = now;
    most_ = progress.done_bytes;
    tell_(progress);
  }
  void Unpacking(const Progress& progress) {
    absl::MutexLock lock(&mutex_);
    if (absl::EndsWith(progress.step, last_)) copied_ = true;
    tell_(progress);
  }

 private:
  const ProgressFn& tell_;
  const std::string last_;
  absl::Mutex mutex_;
  bool copied_ ABSL_GUARDED_BY(mutex_) = false;
  uint64_t most_ ABSL_GUARDED_BY(mutex_) = 0;  // bytes reported
  absl::Time last_told_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
};

// The parts of one pull, for both ways to get its layers.
struct Pull {
  SkopeoTransport& transport;
  const RegistryImage& image;
  const FsRoot& work;
  LayerStore& layers;
  const MayReuse& may_reuse;
  const std::function<bool()>& cancelled;
  const ProgressFn& progress;
  uint64_t* bytes;
};

ImageContent ContentOf(const RegistryImage& image, const ImageManifest& manifest,
                       std::string config) {
  ImageContent content;
  content.manifest = image.manifest;
  content.config = std::move(config);
  for (const Descriptor& layer : manifest.layers) {
    content.layers.push_back({std::string(DigestHex(layer.digest)), layer.digest, layer.size});
  }
  return content;
}

absl::StatusOr<KnownLayers> FindKnown(const Pull& pull, const ImageManifest& manifest,
                                      const std::string& config_text) {
  PLIMSOLL_ASSIGN_OR_RETURN(const ConfigFile config,
                            ParseConfigFile(config_text, "the image's config"));
  return FindKnown(pull.layers, pull.may_reuse, manifest.layers, config.diff_ids);
}

absl::StatusOr<DownloadedImage> CopyAndUnpack(const Pull& pull, const ImageManifest& manifest) {
  PLIMSOLL_ASSIGN_OR_RETURN(std::string config,
                            pull.transport.ReadConfig(pull.image, manifest.config));
  PLIMSOLL_ASSIGN_OR_RETURN(const KnownLayers known, FindKnown(pull, manifest, config));
  PLIMSOLL_RETURN_IF_ERROR(pull.work.MakeDirs(SkopeoTransport::kBlobs));
  PLIMSOLL_ASSIGN_OR_RETURN(FsRoot blobs, pull.work.Sub(SkopeoTransport::kBlobs));
  Voices voices(pull.progress, manifest.layers.size());
  // Even when all layers are known: skopeo checks the image against policy.json.
  PLIMSOLL_ASSIGN_OR_RETURN(
      auto copy, BlobCopy::Start(std::move(blobs), [&](const std::function<bool()>& stopped) {
        return pull.transport.Copy(
            pull.image, known.digests,
            [&] { return stopped() || (pull.cancelled && pull.cancelled()); },
            [&](const Progress& step) {
              *pull.bytes = step.done_bytes;
              voices.Copying(step);
            });
      }));
  BlobCopy* const copying = copy.get();
  // Declared after everything the copy uses: its destructor runs first, and ends the copy.
  const OpenedImage opened{std::move(copy), ContentOf(pull.image, manifest, std::move(config)),
                           pull.cancelled};
  absl::StatusOr<UnpackedImage> unpacked =
      UnpackImage(pull.layers, opened, known.chain_ids,
                  [&voices](const Progress& step) { voices.Unpacking(step); });
  if (!unpacked.ok()) return FirstError(copying->FailureSoFar(), unpacked.status());
  PLIMSOLL_RETURN_IF_ERROR(copying->Finish());
  return DownloadedImage{opened.content, *std::move(unpacked)};
}

// Layers of these types may be outside the registry, which streams don't follow.
bool MayBeElsewhere(const ImageManifest& manifest) {
  return absl::c_any_of(manifest.layers, [](const Descriptor& layer) {
    return absl::StrContains(layer.media_type, "nondistributable") ||
           absl::StrContains(layer.media_type, "foreign");
  });
}

// Both a stream's error and the message around it name the image; once is enough.
absl::Status WithoutName(const absl::Status& status, const std::string& name) {
  return absl::Status(
      status.code(),
      absl::StrReplaceAll(status.message(), {{absl::StrCat("): pull ", name, ": "), "): "}}));
}

// Nothing when skopeo can't stream the image, which shows before any data has come.
absl::StatusOr<std::optional<DownloadedImage>> UnpackAsItComes(const Pull& pull,
                                                               const ImageManifest& manifest) {
  if (MayBeElsewhere(manifest)) return std::nullopt;
  Voices voices(pull.progress, manifest.layers.size());
  Progress state{"copying", 0, manifest.config.size};
  std::atomic<bool> has_begun = false;  // the layers
  absl::StatusOr<std::unique_ptr<BlobStreams>> owned =
      pull.transport.Stream(pull.image, pull.cancelled, [&](uint64_t bytes, bool at_end) {
        if (!has_begun) return;
        voices.Came({state.step, std::min(bytes, state.total_bytes), state.total_bytes}, at_end);
      });
  if (absl::IsUnimplemented(owned.status())) return std::nullopt;
  if (!owned.ok()) return owned.status();
  BlobStreams* const streams = owned->get();
  OpenedImage opened{*std::move(owned), {}, pull.cancelled};
  absl::Cleanup count = [&pull, streams] { *pull.bytes = streams->bytes(); };
  PLIMSOLL_ASSIGN_OR_RETURN(std::string config,
                            pull.transport.ReadConfig(*streams, manifest.config));
  PLIMSOLL_ASSIGN_OR_RETURN(const KnownLayers known, FindKnown(pull, manifest, config));
  for (const Descriptor& layer : manifest.layers) {
    const uint64_t size = known.digests.contains(layer.digest) ? 0 : layer.size;
    state.total_bytes += std::min(size, UINT64_MAX - state.total_bytes);
  }
  PLIMSOLL_RETURN_IF_ERROR(pull.transport.CheckRoom(state.total_bytes));
  voices.Copying(state);
  has_begun = true;
  opened.content = ContentOf(pull.image, manifest, std::move(config));
  absl::StatusOr<UnpackedImage> unpacked =
      UnpackImage(pull.layers, opened, known.chain_ids,
                  [&voices](const Progress& step) { voices.Unpacking(step); });
  if (!unpacked.ok()) return WithoutName(unpacked.status(), pull.transport.name());
  return DownloadedImage{std::move(opened.content), *std::move(unpacked)};
}

}  // namespace

absl::StatusOr<DownloadedImage> Download(SkopeoTransport& transport, const RegistryImage& image,
                                         const FsRoot& work, LayerStore& layers,
                                         const MayReuse& may_reuse, bool copy,
                                         const std::function<bool()>& cancelled,
                                         const ProgressFn& progress, uint64_t* bytes) {
  *bytes = 0;
  PLIMSOLL_ASSIGN_OR_RETURN(const ImageManifest manifest,
                            ParseManifest(image.manifest, "the image's manifest"));
  const Pull pull{transport, image, work, layers, may_reuse, cancelled, progress, bytes};
  if (!copy) {
    PLIMSOLL_ASSIGN_OR_RETURN(std::optional<DownloadedImage> got, UnpackAsItComes(pull, manifest));
    if (got.has_value()) return *std::move(got);
  }
  return CopyAndUnpack(pull, manifest);
}

}  // namespace plimsoll::image
