// For tests of clients of streams: a server that streams any bytes, messages or not.
#ifndef PLIMSOLL_POD_RUNNER_RUNTIME_CLIENT_RAW_STREAM_FOR_TEST_H_
#define PLIMSOLL_POD_RUNNER_RUNTIME_CLIENT_RAW_STREAM_FOR_TEST_H_

#include <grpcpp/grpcpp.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace plimsoll::pod {

// The bytes of messages, and the status after them; none: the stream stays open.
struct RawStream {
  std::vector<std::string> messages;
  std::optional<grpc::Status> end;
};

// One call of a service's WithRawCallbackMethod; deletes itself at its end.
class RawStreamWriter final : public grpc::ServerWriteReactor<grpc::ByteBuffer> {
 public:
  explicit RawStreamWriter(RawStream stream) : stream_(std::move(stream)) { Next(); }
  void OnWriteDone(bool ok) override {
    if (ok) Next();
  }
  void OnCancel() override {
    if (!stream_.end) Finish(grpc::Status::CANCELLED);
  }
  void OnDone() override { delete this; }

 private:
  void Next() {
    if (at_ == stream_.messages.size()) {
      if (stream_.end) Finish(*stream_.end);
      return;
    }
    const grpc::Slice slice(stream_.messages[at_++]);
    buffer_ = grpc::ByteBuffer(&slice, 1);
    StartWrite(&buffer_);
  }

  const RawStream stream_;
  size_t at_ = 0;
  grpc::ByteBuffer buffer_;
};

}  // namespace plimsoll::pod

#endif  // PLIMSOLL_POD_RUNNER_RUNTIME_CLIENT_RAW_STREAM_FOR_TEST_H_
