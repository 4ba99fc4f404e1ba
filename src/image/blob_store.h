// Manifests and configs, by digest.
#ifndef PLIMSOLL_IMAGE_BLOB_STORE_H_
#define PLIMSOLL_IMAGE_BLOB_STORE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "base/fs_root.h"

namespace plimsoll::image {

// Files blobs/sha256/<hex> below a directory. Thread-safe.
class BlobStore {
 public:
  static absl::StatusOr<std::unique_ptr<BlobStore>> Open(const FsRoot& directory);

  // The blob is on disk on return. Returns its digest.
  absl::StatusOr<std::string> Put(absl::string_view content);
  // DATA_LOSS when the content no longer matches the digest.
  absl::StatusOr<std::string> Read(absl::string_view digest) const;
  absl::Status RemoveAllBut(const absl::flat_hash_set<std::string>& digests);
  // Disk usage, in blocks.
  uint64_t TotalBytes() const;
  uint64_t Count() const;

 private:
  explicit BlobStore(FsRoot files) : files_(std::move(files)) {}

  const FsRoot files_;  // blobs/sha256
  mutable absl::Mutex mutex_;
  absl::flat_hash_map<std::string, uint64_t> disk_bytes_ ABSL_GUARDED_BY(mutex_);  // by digest
};

}  // namespace plimsoll::image

#endif  // PLIMSOLL_IMAGE_BLOB_STORE_H_
