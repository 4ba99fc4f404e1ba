// Unpacked layers, shared by every image with the same stack of them.
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

// Directories layers/<chain id hex>/{diff,usage}. A layer is complete or doesn't exist: it is
// unpacked in work/, synced and then renamed. Its users have Holds, and the layer goes with the
// last one. But layers that Open found stay until the first CollectGarbage, since not all their
// users may have Holds yet. Thread-safe.
class LayerStore : public std::enable_shared_from_this<LayerStore> {
 public:
  // A layer whose own record is missing or damaged stays for its present users, but gets no new
  // ones. Other errors of the disk (INTERNAL etc.) fail the call and remove nothing.
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

  // NOT_FOUND when the layer doesn't exist, is damaged, or has lost its files.
  absl::StatusOr<Hold> Acquire(const std::string& chain_id);
  // Acquire for a container that uses the layer already: also a damaged one.
  absl::StatusOr<Hold> AcquireInUse(const std::string& chain_id);

  // Acquire; if the layer doesn't exist, `unpack` first fills the empty directory `diff` and
  // returns the bytes of content and the inodes that it wrote. Of several threads at once, one
  // unpacks and the others wait; if it fails, the next one tries. After a failure nothing is left.
  // A damaged layer is unpacked again; FAILED_PRECONDITION while it has users. A layer that lost
  // its files is unpacked again even with users, who have nothing more to lose. A waiting call is
  // CANCELLED soon after `cancelled` (may be null) returns true.
  using UnpackFn = std::function<absl::StatusOr<ImageUsage>(const FsRoot& diff)>;
  absl::StatusOr<Hold> Ensure(const std::string& chain_id, const UnpackFn& unpack,
                              const std::function<bool()>& cancelled = nullptr);

  // For layers that the caller holds.
  std::string DiffPath(const std::string& chain_id) const;
  absl::StatusOr<FsRoot> Diff(const std::string& chain_id) const;
  // Bytes of files' content.
  uint64_t SizeOf(const std::string& chain_id) const;

  // True when the layer goes with the caller's Hold: it is the only one now.
  bool HasOneHold(const std::string& chain_id) const;

  // Disk usage of all layers, in blocks.
  ImageUsage TotalUsage() const;
  // From now on layers stay when their last Hold goes: the process ends, the store doesn't.
  void Close();

  // Removes all layers without a Hold. Call it when all users have theirs.
  absl::Status CollectGarbage();

 private:
  enum class State { kUnpacking, kReady, kDamaged };
  struct Layer {
    LayerUsage usage;
    int holds = 0;
    State state = State::kUnpacking;
    bool is_found = false;  // found by Open: may have users without a Hold yet
  };

  explicit LayerStore(FsRoot directory) : directory_(std::move(directory)) {}
  absl::Status Load();
  // Waits a moment until nobody unpacks the layer. Returns a Hold if it exists, nothing if the
  // caller is to unpack it, and UNAVAILABLE if somebody else still does.
  absl::StatusOr<std::optional<Hold>> AcquireOrClaim(const std::string& chain_id);
  absl::StatusOr<LayerUsage> UnpackAndPublish(const std::string& chain_id, const UnpackFn& unpack);
  void Release(const std::string& chain_id);
  bool HasFiles(const std::string& chain_id) const;
  // Moves a layer out of sight at once and returns its new place, to be removed without the lock.
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
