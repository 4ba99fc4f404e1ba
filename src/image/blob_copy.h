// Blobs that are still coming.
#ifndef PLIMSOLL_IMAGE_BLOB_COPY_H_
#define PLIMSOLL_IMAGE_BLOB_COPY_H_

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
#include "image/file_source.h"

namespace plimsoll::image {

// The files of a directory that a copy under way fills, in a thread of its own. A file that is
// there must be complete. Thread-safe.
class BlobCopy : public FileSource {
 public:
  // `copy` ends soon after `stopped` is true.
  using CopyFn = std::function<absl::Status(const std::function<bool()>& stopped)>;

  // RESOURCE_EXHAUSTED when there can be no further thread.
  static absl::StatusOr<std::unique_ptr<BlobCopy>> Start(FsRoot directory, CopyFn copy);
  // Stops the copy and waits for its end.
  ~BlobCopy() override;

  // Waits for a file that isn't there yet. When the copy has ended without it: its error, NOT_FOUND
  // if it has none.
  absl::StatusOr<UniqueFd> Open(absl::string_view path) const override;
  void Stop() const override { stop_ = true; }
  // Waits for the end of the copy.
  absl::Status Finish();
  // The error of a copy that has ended with one; OK for one that Stop has ended.
  absl::Status FailureSoFar() const;

 private:
  explicit BlobCopy(FsRoot directory) : files_(std::move(directory)) {}
  void Run(const CopyFn& copy);
  // Whether the copy has ended, waiting for that at most so long.
  bool AwaitEnd(absl::Duration timeout) const;

  const DirectorySource files_;
  mutable std::atomic<bool> stop_ = false;
  mutable absl::Mutex mutex_;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace plimsoll::image

#endif  // PLIMSOLL_IMAGE_BLOB_COPY_H_
