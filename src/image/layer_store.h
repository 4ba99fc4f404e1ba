// Unpacked layers, shared by every image that has the same stack of them.
#ifndef PLIMSOLL_IMAGE_LAYER_STORE_H_
#define PLIMSOLL_IMAGE_LAYER_STORE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "base/fs_root.h"
#include "image/image_service.h"

namespace plimsoll::image {

struct LayerUsage {
  uint64_t content_bytes = 0;  // of files
  ImageUsage disk;
};

// Directories layers/<chain id hex>/{diff,usage}. A layer is complete or not there: it is unpacked
// in work/, synced and then renamed. Whoever uses one has a Hold; when the last goes, so does the
// layer. But what Open found stays until the first CollectGarbage, whoever has held it: not all
// that use it may have come for theirs. Thread-safe.
class LayerStore : public std::enable_shared_from_this<LayerStore> {
 public:
  // A layer whose own record is missing or damaged is kept for those that run on it already, but
  // not given to anyone else. INTERNAL and the like when the disk can't be read: removes nothing.
  static absl::StatusOr<std::shared_ptr<LayerStore>> Open(const FsRoot& directory);

  // Keeps one layer. Movable; keeps the store alive too.
  class Hold {
   public:
    Hold() = default;
    Hold(Hold&& other) noexcept = default;
    Hold& operator=(Hold&& other) noexcept {
      Release();
      store_ = std::move(other.store_);
      chain_id_ = std::move(other.chain_id_);
      return *this;
    }
    ~Hold() { Release(); }

   private:
    friend class LayerStore;
    Hold(std::shared_ptr<LayerStore> store, std::string chain_id)
        : store_(std::move(store)), chain_id_(std::move(chain_id)) {}
    void Release();
    std::shared_ptr<LayerStore> store_;
    std::string chain_id_;
  };

  // NOT_FOUND when there is no such layer, or a damaged one, or its files are gone.
  absl::StatusOr<Hold> Acquire(const std::string& chain_id);
  // As Acquire, for a container that uses the layer already: a damaged one too.
  absl::StatusOr<Hold> AcquireInUse(const std::string& chain_id);

  // As Acquire, but has `unpack` fill the empty directory `diff` when the layer isn't there, and
  // say how many bytes of content it wrote, in how many inodes. Asked
  // by several threads at once, one unpacks and the others wait for it; when it fails, the next
  // one tries. After a failure nothing is left. A damaged layer is unpacked anew;
  // FAILED_PRECONDITION while someone uses it. So is one whose files somebody took away, whoever
  // has it: there is nothing left that could be taken from them. CANCELLED soon after `cancelled`
  // (may be null) has become true for one that waits.
  using UnpackFn = std::function<absl::StatusOr<ImageUsage>(const FsRoot& diff)>;
  absl::StatusOr<Hold> Ensure(const std::string& chain_id, const UnpackFn& unpack,
                              const std::function<bool()>& cancelled = nullptr);

  // For layers that the caller holds.
  std::string DiffPath(const std::string& chain_id) const;
  absl::StatusOr<FsRoot> Diff(const std::string& chain_id) const;
  // Bytes of files' content.
  uint64_t SizeOf(const std::string& chain_id) const;

  // Whether the layer goes when the caller, who has a Hold, gives it up: nobody else has one now.
  bool HasOneHold(const std::string& chain_id) const;

  // What all layers take of the disk, in blocks.
  ImageUsage TotalUsage() const;
  // From now on layers stay when their last Hold goes: the process ends, the store doesn't.
  void Close();

  // Removes all layers without a Hold. Call it when all that use one have theirs.
  absl::Status CollectGarbage();

 private:
  enum class State { kUnpacking, kReady, kDamaged };
  struct Layer {
    LayerUsage usage;
    int holds = 0;
    State state = State::kUnpacking;
    bool is_found = false;  // by Open; others may use it who haven't said so yet
  };

  explicit LayerStore(FsRoot directory) : directory_(std::move(directory)) {}
  absl::Status Load();
  // Waits a moment for nobody to unpack the layer. A Hold if it is there, none if the caller is to
  // unpack it; UNAVAILABLE when someone else still does.
  absl::StatusOr<std::optional<Hold>> AcquireOrClaim(const std::string& chain_id);
  absl::StatusOr<LayerUsage> UnpackAndPublish(const std::string& chain_id, const UnpackFn& unpack);
  void Release(const std::string& chain_id);
  bool HasFiles(const std::string& chain_id) const;
  // Takes a layer out of sight at once; what it returns is to be removed without the lock.
  // Empty: its files were gone already.
  absl::StatusOr<std::string> MoveToWork(const std::string& chain_id)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const FsRoot directory_;
  mutable absl::Mutex mutex_;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  bool has_collected_ ABSL_GUARDED_BY(mutex_) = false;
  absl::flat_hash_map<std::string, Layer> layers_ ABSL_GUARDED_BY(mutex_);  // by chain id
};

}  // namespace plimsoll::image

#endif  // PLIMSOLL_IMAGE_LAYER_STORE_H_
