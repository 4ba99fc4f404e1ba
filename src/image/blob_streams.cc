#include "image/blob_streams.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "absl/strings/str_cat.h"
#include "base/monotonic_time.h"
#include "base/status.h"

namespace plimsoll::image {
namespace {

constexpr absl::Duration kStreamLookInterval = absl::Milliseconds(50);
constexpr size_t kTakeBytes = size_t{1} << 20;  // a full pipe

std::atomic<int> extra_proxies = 0;  // of all objects

bool TakeExtra() {
  if (extra_proxies.fetch_add(1) < BlobStreams::kMaxExtraProxies) return true;
  --extra_proxies;
  return false;
}

}  // namespace

// One blob. Destroying a stream before its end ends its process.
class BlobStream : public ByteStream {
 public:
  BlobStream(const BlobStreams& streams, std::unique_ptr<SkopeoProxy> proxy, UniqueFd pipe,
             std::optional<uint64_t> size)
      : streams_(streams), proxy_(std::move(proxy)), pipe_(std::move(pipe)), size_(size) {}

  ~BlobStream() override {
    if (proxy_ != nullptr) streams_.Drop(std::move(proxy_));
  }

  absl::StatusOr<size_t> Read(char* buffer, size_t size) override {
    if (kept_read_ < kept_) {
      PLIMSOLL_RETURN_IF_ERROR(TakeAndKeep(/*wait=*/false));
      return ReadKept(buffer, size);
    }
    while (!ended_) {
      PLIMSOLL_ASSIGN_OR_RETURN(const std::optional<size_t> n, Take(buffer, size));
      if (n.has_value()) return *n;
    }
    return 0;
  }

  // A registry gives up on a client that doesn't read.
  absl::Status Await(const ReadyFn& ready) override {
    while (!ended_ && !ready(absl::ZeroDuration())) {
      PLIMSOLL_RETURN_IF_ERROR(TakeAndKeep(/*wait=*/true));
    }
    return ByteStream::Await(ready);
  }

 private:
  // Reads from the pipe; with `wait` after a moment's wait at most. Nothing: no data yet; 0: the
  // end. A failure is final: the process would not repeat the reason.
  absl::StatusOr<std::optional<size_t>> Take(char* buffer, size_t size, bool wait = true) {
    PLIMSOLL_RETURN_IF_ERROR(failure_);
    absl::StatusOr<std::optional<size_t>> n = TakeNow(buffer, size, wait);
    if (absl::IsUnavailable(n.status())) n = AlsoSay(n.status(), HowMuch());
    failure_ = n.status();
    return n;
  }

  absl::StatusOr<std::optional<size_t>> TakeNow(char* buffer, size_t size, bool wait) {
    const ssize_t n = read(pipe_.get(), buffer, size);
    if (n < 0 && errno != EAGAIN && errno != EINTR) return ErrnoStatus(errno, "read from skopeo");
    if (n < 0) {
      if (wait) PLIMSOLL_RETURN_IF_ERROR(proxy_->AwaitReadable(pipe_.get(), last_));
      return std::nullopt;
    }
    if (n == 0) {
      PLIMSOLL_RETURN_IF_ERROR(End());
      return 0;
    }
    last_ = MonotonicNow();
    came_ += static_cast<size_t>(n);
    if (size_.has_value() && came_ > *size_) return More();
    streams_.Came(static_cast<size_t>(n));
    return static_cast<size_t>(n);
  }

  absl::Status End() {
    const absl::Status status = proxy_->End();
    // With the right number of bytes, skopeo can only mean a wrong content. The reader finds that
    // by the digest.
    const bool is_whole = size_.has_value() && came_ == *size_;
    if (!is_whole && absl::IsDataLoss(status) && size_.has_value()) return Fewer();
    if (!is_whole) PLIMSOLL_RETURN_IF_ERROR(status);
    if (size_.has_value() && !is_whole) return Fewer();
    streams_.Came(0);
    ended_ = true;
    pipe_.Reset();
    streams_.GiveBack(std::move(proxy_));
    return absl::OkStatus();
  }

  absl::Status TakeAndKeep(bool wait) {
    if (ended_) return absl::OkStatus();
    taken_.resize(kTakeBytes);
    PLIMSOLL_ASSIGN_OR_RETURN(const std::optional<size_t> n,
                              Take(taken_.data(), taken_.size(), wait));
    return n.has_value() ? Keep(taken_.data(), *n) : absl::OkStatus();
  }

  absl::Status More() const {
    return absl::DataLossError(absl::StrCat("size mismatch: the registry gives more than the ",
                                            *size_, " bytes that the manifest says"));
  }

  absl::Status Fewer() const {
    return absl::DataLossError(absl::StrCat("size mismatch: the registry gives ", came_,
                                            " bytes, fewer than the ", *size_,
                                            " that the manifest says"));
  }

  std::string HowMuch() const {
    return size_.has_value() ? absl::StrCat(came_, " of ", *size_, " bytes have come")
                             : absl::StrCat(came_, " bytes have come");
  }

  absl::Status Keep(const char* data, size_t size) {
    if (!file_.valid()) {
      file_.Reset(open(streams_.work_.path().c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
      if (!file_.valid()) return ErrnoStatus(errno, "make a temporary file for a layer");
    }
    while (size > 0) {
      const ssize_t n = pwrite(file_.get(), data, size, static_cast<off_t>(kept_));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return ErrnoStatus(errno, "write a layer to a temporary file");
      data += n;
      size -= static_cast<size_t>(n);
      kept_ += static_cast<uint64_t>(n);
    }
    return absl::OkStatus();
  }

  absl::StatusOr<size_t> ReadKept(char* buffer, size_t size) {
    const size_t wanted = std::min<uint64_t>(size, kept_ - kept_read_);
    ssize_t n = -1;
    do {
      n = pread(file_.get(), buffer, wanted, static_cast<off_t>(kept_read_));
    } while (n < 0 && errno == EINTR);
    if (n < 0) return ErrnoStatus(errno, "read a layer's temporary file");
    if (n == 0) return absl::DataLossError("a layer's temporary file was cut off");
    kept_read_ += static_cast<uint64_t>(n);
    return static_cast<size_t>(n);
  }

  const BlobStreams& streams_;
  std::unique_ptr<SkopeoProxy> proxy_;
  UniqueFd pipe_;
  const std::optional<uint64_t> size_;
  absl::Time last_ = MonotonicNow();  // of the latest data
  uint64_t came_ = 0;
  bool ended_ = false;
  absl::Status failure_;
  std::vector<char> taken_;
  UniqueFd file_;  // data that arrived while nobody read
  uint64_t kept_ = 0;
  uint64_t kept_read_ = 0;
};

BlobStreams::~BlobStreams() {
  for (std::unique_ptr<SkopeoProxy>& proxy : idle_) Drop(std::move(proxy));
}

absl::StatusOr<UniqueFd> BlobStreams::Open(absl::string_view path) const {
  return absl::UnimplementedError(absl::StrCat(path, " can only be read as it comes"));
}

absl::Status BlobStreams::Start() {
  PLIMSOLL_ASSIGN_OR_RETURN(std::unique_ptr<SkopeoProxy> proxy, Take());
  GiveBack(std::move(proxy));
  return absl::OkStatus();
}

bool BlobStreams::MayStartOne() const {
  if (proxies_ > 0 && !TakeExtra()) return false;
  ++proxies_;
  return true;
}

absl::StatusOr<std::unique_ptr<SkopeoProxy>> BlobStreams::Take() const {
  {
    const auto one_is_idle = [this]()
                                 ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return !idle_.empty(); };
    absl::MutexLock lock(&mutex_);
    while (idle_.empty() && !MayStartOne()) {
      if (stopped_) return absl::CancelledError("cancelled");
      mutex_.AwaitWithTimeout(absl::Condition(&one_is_idle), kStreamLookInterval);
    }
    if (!idle_.empty()) {
      std::unique_ptr<SkopeoProxy> proxy = std::move(idle_.back());
      idle_.pop_back();
      return proxy;
    }
  }
  auto proxy = start_([this] { return stopped_.load(); });
  if (!proxy.ok()) Drop(nullptr);
  return proxy;
}

void BlobStreams::GiveBack(std::unique_ptr<SkopeoProxy> proxy) const {
  if (!proxy->is_at_rest()) return Drop(std::move(proxy));
  absl::MutexLock lock(&mutex_);
  idle_.push_back(std::move(proxy));
}

void BlobStreams::Drop(std::unique_ptr<SkopeoProxy> proxy) const {
  proxy.reset();  // waits for the process's end
  absl::MutexLock lock(&mutex_);
  if (--proxies_ > 0) --extra_proxies;
}

void BlobStreams::Came(size_t bytes) const {
  const uint64_t now = bytes_.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  if (told_) told_(now, bytes == 0);
}

absl::StatusOr<std::unique_ptr<ByteStream>> BlobStreams::OpenStream(
    absl::string_view path, std::optional<uint64_t> size) const {
  absl::StatusOr<std::unique_ptr<SkopeoProxy>> proxy = Take();
  // Start has shown that this skopeo can stream.
  if (absl::IsUnimplemented(proxy.status())) {
    return absl::UnavailableError(proxy.status().message());
  }
  if (!proxy.ok()) return proxy.status();
  const int64_t said = size.has_value() && *size <= INT64_MAX ? static_cast<int64_t>(*size) : -1;
  absl::StatusOr<UniqueFd> pipe = (*proxy)->Begin(absl::StrCat("sha256:", path), said);
  if (!pipe.ok()) {
    Drop(*std::move(proxy));
    return pipe.status();
  }
  return std::make_unique<BlobStream>(*this, *std::move(proxy), *std::move(pipe), size);
}

absl::StatusOr<std::string> BlobStreams::ReadAll(absl::string_view path, uint64_t size) const {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::unique_ptr<ByteStream> stream, OpenStream(path, size));
  std::string text(size, '\0');
  char beyond = 0;
  for (size_t done = 0;;) {
    const bool full = done == text.size();
    PLIMSOLL_ASSIGN_OR_RETURN(
        const size_t n, full ? stream->Read(&beyond, 1) : stream->Read(&text[done], size - done));
    if (n == 0) return text;
    done += n;
  }
}

}  // namespace plimsoll::image
