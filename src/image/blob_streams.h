// The blobs of an image in a registry, read while they come.
#ifndef PLIMSOLL_IMAGE_BLOB_STREAMS_H_
#define PLIMSOLL_IMAGE_BLOB_STREAMS_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "base/fs_root.h"
#include "image/file_source.h"
#include "image/skopeo_proxy.h"

namespace plimsoll::image {

// Files are blobs under the hex digits of their digests. As many processes give them as streams are
// open at once; one that is through with a blob gives the next. Thread-safe, outlives its streams.
//
// One process is each object's own. All objects together have kMaxExtraProxies more; an OpenStream
// that gets none waits until another stream of its object has come to its end. So a stream's reader
// must not wait for another stream but by Await, which takes all that comes.
class BlobStreams : public FileSource {
 public:
  static constexpr int kMaxExtraProxies = 6;  // some 30 MiB each
  // Starts a process that has opened the image. It gives up when `stopped`, which lives as long as
  // this object. Called in any thread.
  using StartFn = std::function<absl::StatusOr<std::unique_ptr<SkopeoProxy>>(
      const std::function<bool()>& stopped)>;
  using ToldFn = std::function<void(uint64_t bytes, bool at_end)>;
  // What stays on the way while a stream is not read is kept in `work`, in files without a name.
  // `told` hears how many bytes have come, and whether a blob is whole by now, in any thread and at
  // once in several.
  BlobStreams(StartFn start, FsRoot work, ToldFn told)
      : start_(std::move(start)), work_(std::move(work)), told_(std::move(told)) {}
  ~BlobStreams() override;

  // UNIMPLEMENTED: a blob has no file.
  absl::StatusOr<UniqueFd> Open(absl::string_view path) const override;
  // DATA_LOSS while it is read, when there are other than `size` bytes.
  absl::StatusOr<std::unique_ptr<ByteStream>> OpenStream(
      absl::string_view path, std::optional<uint64_t> size) const override;
  bool comes_as_it_is_read() const override { return true; }
  void Stop() const override { stopped_ = true; }
  // Starts the first process. UNIMPLEMENTED when this skopeo is none that gives streams.
  absl::Status Start();
  // All of a small blob.
  absl::StatusOr<std::string> ReadAll(absl::string_view digest, uint64_t size) const;

  uint64_t bytes() const { return bytes_; }

 private:
  friend class BlobStream;
  absl::StatusOr<std::unique_ptr<SkopeoProxy>> Take() const;
  bool MayStartOne() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Keeps it for the next blob, unless it still owes an answer.
  void GiveBack(std::unique_ptr<SkopeoProxy> proxy) const;
  void Drop(std::unique_ptr<SkopeoProxy> proxy) const;
  void Came(size_t bytes) const;

  const StartFn start_;
  const FsRoot work_;
  const ToldFn told_;
  mutable std::atomic<uint64_t> bytes_ = 0;
  mutable std::atomic<bool> stopped_ = false;
  mutable absl::Mutex mutex_;
  mutable std::vector<std::unique_ptr<SkopeoProxy>> idle_ ABSL_GUARDED_BY(mutex_);
  mutable int proxies_ ABSL_GUARDED_BY(mutex_) = 0;  // idle or not; all but one are extra ones
};

}  // namespace plimsoll::image

#endif  // PLIMSOLL_IMAGE_BLOB_STREAMS_H_
