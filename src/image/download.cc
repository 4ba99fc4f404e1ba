#include "image/download.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "base/status.h"
#include "image/blob_copy.h"
#include "image/digest.h"
#include "image/manifest.h"

namespace plimsoll::image {
namespace {

// The layers that the store has, held until they are the image's.
struct KnownLayers {
  absl::flat_hash_set<std::string> digests;  // that need not be asked for
  absl::flat_hash_set<std::string> chain_ids;
  std::vector<LayerStore::Hold> holds;
};

KnownLayers FindKnown(LayerStore& layers, const MayReuse& may_reuse,
                      const std::vector<Descriptor>& descriptors,
                      const std::vector<std::string>& diff_ids) {
  KnownLayers known;
  if (diff_ids.size() != descriptors.size()) return known;  // refused when it is unpacked
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
  // The same layer twice in an image: over other layers it is another.
  for (const std::string& digest : needed) known.digests.erase(digest);
  return known;
}

// Two threads tell of one pull. Once the last layer is there, nothing more is said of copying.
class TwoVoices {
 public:
  TwoVoices(const ProgressFn& tell, size_t layers)
      : tell_(tell), last_(absl::StrCat(" layer ", layers, " of ", layers)) {}
  void Copying(const Progress& progress) {
    absl::MutexLock lock(&mutex_);
    if (!copied_) tell_(progress);
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
};

}  // namespace

absl::StatusOr<DownloadedImage> Download(SkopeoTransport& transport, const RegistryImage& image,
                                         const FsRoot& work, LayerStore& layers,
                                         const MayReuse& may_reuse,
                                         const std::function<bool()>& cancelled,
                                         const ProgressFn& progress, uint64_t* bytes) {
  *bytes = 0;
  PLIMSOLL_ASSIGN_OR_RETURN(const Manifest manifest,
                            ParseManifest(image.manifest, "the image's manifest"));
  ImageContent content;
  content.manifest = image.manifest;
  PLIMSOLL_ASSIGN_OR_RETURN(content.config, transport.ReadConfig(image, manifest.config));
  for (const Descriptor& layer : manifest.layers) {
    content.layers.push_back({std::string(DigestHex(layer.digest)), layer.digest, layer.size});
  }
  PLIMSOLL_ASSIGN_OR_RETURN(const ConfigFile config,
                            ParseConfigFile(content.config, "the image's config"));
  const KnownLayers known = FindKnown(layers, may_reuse, manifest.layers, config.diff_ids);
  PLIMSOLL_RETURN_IF_ERROR(work.MakeDirs(SkopeoTransport::kBlobs));
  PLIMSOLL_ASSIGN_OR_RETURN(FsRoot blobs, work.Sub(SkopeoTransport::kBlobs));
  TwoVoices voices(progress, manifest.layers.size());
  // Also when all layers are known: skopeo is who holds the image against policy.json.
  PLIMSOLL_ASSIGN_OR_RETURN(
      auto copy, BlobCopy::Start(std::move(blobs), [&](const std::function<bool()>& stopped) {
        return transport.Copy(
            image, known.digests, [&] { return stopped() || (cancelled && cancelled()); },
            [&voices, bytes](const Progress& step) {
              *bytes = step.done_bytes;
              voices.Copying(step);
            });
      }));
  BlobCopy* const copying = copy.get();
  // After what the copy refers to: it goes first, and ends the copy.
  const OpenedImage opened{std::move(copy), std::move(content), cancelled};
  absl::StatusOr<UnpackedImage> unpacked = UnpackImage(
      layers, opened, known.chain_ids, [&voices](const Progress& step) { voices.Unpacking(step); });
  if (!unpacked.ok()) return FirstError(copying->FailureSoFar(), unpacked.status());
  PLIMSOLL_RETURN_IF_ERROR(copying->Finish());
  return DownloadedImage{opened.content, *std::move(unpacked)};
}

}  // namespace plimsoll::image
