// The server side of a call that answers with a list in parts (the Stream* calls).
#ifndef PLIMSOLL_CRI_CALLS_LIST_STREAM_H_
#define PLIMSOLL_CRI_CALLS_LIST_STREAM_H_

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "cri/calls/calls.h"
#include "cri/calls/list_parts.h"
#include "cri/calls/write_stream.h"

namespace plimsoll::cri {

// A worker makes a part, and the next one once gRPC has taken it. A client that never reads thus
// holds one part and no thread, until it or the server leaves.
template <typename Message>
class ListStream : public std::enable_shared_from_this<ListStream<Message>> {
 public:
  // For an incoming call. `calls` outlives it; `method` is static.
  static grpc::ServerWriteReactor<Message>* Open(Calls* calls, const char* method,
                                                 PartSource<Message> source) {
    const auto list = std::shared_ptr<ListStream>(new ListStream(calls, method, std::move(source)));
    // Each holds the other until the call ends.
    list->stream_->set_on_room([list] { list->Next(); });
    list->stream_->set_on_end(
        [list] { list->Observe(absl::CancelledError("the client has left")); });
    list->Next();
    return list->stream_.get();
  }

 private:
  using Stream = WriteStream<Message>;

  ListStream(Calls* calls, const char* method, PartSource<Message> source)
      : calls_(calls),
        method_(method),
        source_(std::move(source)),
        stream_(Stream::Create(/*max_pending=*/1)) {}

  void Next() {
    const absl::Status queued =
        calls_->Schedule(Lane::kLook, [list = this->shared_from_this()] { list->Make(); });
    if (!queued.ok()) End(queued);
  }

  void Make() {
    if (stream_->cancelled()) return;  // the stream is about to end
    Message part;
    const absl::StatusOr<bool> made = source_(&part);
    if (!made.ok()) return End(made.status());
    if (!*made) return End(absl::OkStatus());
    stream_->Write(std::move(part));  // the only message queued; false: the stream has ended
  }

  void End(const absl::Status& status) {
    // Observe before the stream ends: the client must not see an end that the observer hasn't.
    Observe(status);
    stream_->End(status);
  }

  void Observe(const absl::Status& status) {
    if (!observed_.exchange(true)) calls_->Observe(method_, start_, status);
  }

  Calls* const calls_;
  const char* const method_;
  const absl::Time start_ = absl::Now();
  const PartSource<Message> source_;
  const std::shared_ptr<Stream> stream_;
  std::atomic<bool> observed_ = false;
};

}  // namespace plimsoll::cri

#endif  // PLIMSOLL_CRI_CALLS_LIST_STREAM_H_
