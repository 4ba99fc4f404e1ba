// The blobs of an image in a registry, read while they arrive.
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
#include "image/layers/file_source.h"
#include "image/registry/skopeo_proxy.h"

namespace plimsoll::image {

// Each file is a blob, named by the hex digits of its digest. There is one process for each open
// stream; a process that has finished a blob takes the next. Thread-safe, outlives its streams.
//
// Each object owns one process. All objects together have kMaxExtraProxies more; an OpenStream that
// gets none waits until another stream of its object has ended. So a stream's reader must not wait
// for another stream except through Await, which keeps reading.
class BlobStreams : public FileSource {
 public:
  static constexpr int kMaxExtraProxies = 6;  // some 30 MiB each
  // Starts a process that has opened the image. It gives up when `stopped` returns true; `stopped`
  // lives as long as this object. Called in any thread.
  using StartFn = std::function<absl::StatusOr<std::unique_ptr<SkopeoProxy>>(
      const std::function<bool()>& stopped)>;
  using ToldFn = std::function<void(uint64_t bytes, bool at_end)>;
  // Data that arrives while nobody reads a stream is kept in `work`, in unnamed files. `told` gets
  // the number of bytes so far, and whether a blob is complete now; called in any thread, several
  // at once.
  BlobStreams(StartFn start, FsRoot work, ToldFn told)
      : start_(std::move(start)), work_(std::move(work)), told_(std::move(told)) {}
  ~BlobStreams() override;

  // UNIMPLEMENTED: a blob has no file.
  absl::StatusOr<UniqueFd> Open(absl::string_view path) const override;
  // While reading: DATA_LOSS when the blob's size is not `size`.
  absl::StatusOr<std::unique_ptr<ByteStream>> OpenStream(
      absl::string_view path, std::optional<uint64_t> size) const override;
  bool comes_as_it_is_read() const override { return true; }
  void Stop() const override { stopped_ = true; }
  // Starts the first process. UNIMPLEMENTED when this skopeo can't stream.
  absl::Status Start();
  // Reads a whole, small blob.
  absl::StatusOr<std::string> ReadAll(absl::string_view digest, uint64_t size) const;

  uint64_t bytes() const { return bytes_; }

 private:
  friend class BlobStream;
  absl::StatusOr<std::unique_ptr<SkopeoProxy>> Take() const;
  bool MayStartOne() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Keeps the process for the next blob, unless it still owes an answer.
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
