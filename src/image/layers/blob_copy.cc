#include "image/layers/blob_copy.h"

#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"

namespace plimsoll::image {
namespace {

constexpr absl::Duration kCopyLookInterval = absl::Milliseconds(20);

}  // namespace

absl::StatusOr<std::unique_ptr<BlobCopy>> BlobCopy::Start(FsRoot directory, CopyFn copy) {
  std::unique_ptr<BlobCopy> blobs(new BlobCopy(std::move(directory)));
  try {
    blobs->thread_ = std::thread(&BlobCopy::Run, blobs.get(), std::move(copy));
  } catch (const std::system_error& error) {
    return absl::ResourceExhaustedError(absl::StrCat("start a thread: ", error.what()));
  }
  return blobs;
}

BlobCopy::~BlobCopy() {
  stop_ = true;
  if (thread_.joinable()) thread_.join();
}

void BlobCopy::Run(const CopyFn& copy) {
  absl::Status status = copy([this] { return stop_.load(); });
  absl::MutexLock lock(&mutex_);
  status_ = std::move(status);
  ended_ = true;
}

bool BlobCopy::AwaitEnd(absl::Duration timeout) const {
  absl::MutexLock lock(&mutex_);
  return mutex_.AwaitWithTimeout(absl::Condition(&ended_), timeout);
}

absl::StatusOr<UniqueFd> BlobCopy::Open(absl::string_view path) const {
  absl::Duration wait = absl::ZeroDuration();
  while (true) {
    // Checked first: a file may have arrived just before the end.
    const bool ended = AwaitEnd(std::exchange(wait, kCopyLookInterval));
    absl::StatusOr<UniqueFd> file = files_.Open(path);
    if (file.ok() || !absl::IsNotFound(file.status())) return file;
    if (!ended) continue;
    absl::MutexLock lock(&mutex_);
    return status_.ok() ? file.status() : status_;
  }
}

absl::Status BlobCopy::FailureSoFar() const {
  absl::MutexLock lock(&mutex_);
  return stop_ && absl::IsCancelled(status_) ? absl::OkStatus() : status_;
}

absl::Status BlobCopy::Finish() {
  absl::MutexLock lock(&mutex_);
  mutex_.Await(absl::Condition(&ended_));
  return status_;
}

}  // namespace plimsoll::image
