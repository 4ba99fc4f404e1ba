// Blobs that are still being copied.
#ifndef PLIMSOLL_IMAGE_LAYERS_BLOB_COPY_H_
#define PLIMSOLL_IMAGE_LAYERS_BLOB_COPY_H_

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "image/layers/file_source.h"

namespace plimsoll::image {

// The files of a directory that a running copy fills, in a thread of its own. An existing file must
// be complete. Thread-safe.
class BlobCopy : public FileSource {
 public:
  // `copy` ends soon after `stopped` returns true.
  using CopyFn = std::function<absl::Status(const std::function<bool()>& stopped)>;

  // RESOURCE_EXHAUSTED when no thread can be made.
  static absl::StatusOr<std::unique_ptr<BlobCopy>> Start(FsRoot directory, CopyFn copy);
  // Stops the copy and waits for its end.
  ~BlobCopy() override;

  // Waits for a file that doesn't exist yet. If the copy ends without it: the copy's error, or
  // NOT_FOUND.
  absl::StatusOr<UniqueFd> Open(absl::string_view path) const override;
  void Stop() const override { stop_ = true; }
  // Waits for the end of the copy and returns its error.
  absl::Status Finish();
  // The error of an ended copy; OK for one that Stop has ended.
  absl::Status FailureSoFar() const;

 private:
  explicit BlobCopy(FsRoot directory) : files_(std::move(directory)) {}
  void Run(const CopyFn& copy);
  // True when the copy has ended; waits at most `timeout` for that.
  bool AwaitEnd(absl::Duration timeout) const;

  const DirectorySource files_;
  mutable std::atomic<bool> stop_ = false;
  mutable absl::Mutex mutex_;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace plimsoll::image

#endif  // PLIMSOLL_IMAGE_LAYERS_BLOB_COPY_H_
