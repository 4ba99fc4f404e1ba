// The server side of a stream of messages, fed from any thread and holding none.
#ifndef PLIMSOLL_CRI_CALLS_WRITE_STREAM_H_
#define PLIMSOLL_CRI_CALLS_WRITE_STREAM_H_

#include <grpcpp/grpcpp.h>

#include <deque>
#include <functional>
#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "cri/calls/grpc_status.h"

namespace plimsoll::cri {

// Owned by gRPC and by its feeder: lives until both have released it. Thread-safe.
template <typename Message>
class WriteStream : public grpc::ServerWriteReactor<Message> {
 public:
  static std::shared_ptr<WriteStream> Create(size_t max_pending) {
    auto stream = std::shared_ptr<WriteStream>(new WriteStream(max_pending));
    {
      absl::MutexLock lock(&stream->mutex_);
      stream->self_ = stream;
    }
    return stream;
  }
  // Called once, when the call has ended for any reason, without any lock held.
  void set_on_end(std::function<void()> on_end) {
    absl::MutexLock lock(&mutex_);
    on_end_ = std::move(on_end);
  }

  // Called without any lock held, each time all queued messages are written and the stream goes on:
  // for a feeder that makes its next message only then. Released at the call's end.
  void set_on_room(std::function<void()> on_room) {
    absl::MutexLock lock(&mutex_);
    on_room_ = std::move(on_room);
  }

  // Queues a message. False if too many wait already, or the stream has ended.
  bool Write(Message message) {
    absl::MutexLock lock(&mutex_);
    if (finishing_ || pending_.size() >= max_pending_) return false;
    pending_.push_back(std::move(message));
    Advance();
    return true;
  }

  // Queues a message that must not be lost, however many wait.
  void WriteLast(Message message) {
    absl::MutexLock lock(&mutex_);
    if (finishing_) return;
    pending_.push_back(std::move(message));
    Advance();
  }

  // Ends the stream once everything queued has been written. The first call counts.
  void End(const absl::Status& status) {
    absl::MutexLock lock(&mutex_);
    if (finishing_) return;
    finishing_ = true;
    status_ = ToGrpcStatus(status);
    Advance();
  }

  // True once the client has left.
  bool cancelled() const {
    absl::MutexLock lock(&mutex_);
    return cancelled_;
  }

 private:
  explicit WriteStream(size_t max_pending) : max_pending_(max_pending) {}

  void Advance() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (writing_ || finished_) return;
    if (!pending_.empty() && !cancelled_) {
      writing_ = true;
      this->StartWrite(&pending_.front());
    } else if (finishing_) {
      finished_ = true;
      this->Finish(status_);
    }
  }

  void OnWriteDone(bool ok) override {
    std::function<void()> on_room;
    {
      absl::MutexLock lock(&mutex_);
      writing_ = false;
      pending_.pop_front();
      if (!ok) cancelled_ = true;
      Advance();
      if (!cancelled_ && !finishing_ && pending_.empty()) on_room = on_room_;
    }
    // gRPC calls OnDone only after this returns.
    if (on_room) on_room();
  }

  void OnCancel() override {
    absl::MutexLock lock(&mutex_);
    cancelled_ = true;
    if (!finishing_) {
      finishing_ = true;
      status_ = grpc::Status::CANCELLED;
    }
    Advance();
  }

  void OnDone() override {
    std::function<void()> on_end;
    std::function<void()> on_room;
    std::shared_ptr<WriteStream> self;
    {
      absl::MutexLock lock(&mutex_);
      on_end.swap(on_end_);
      on_room.swap(on_room_);
      self.swap(self_);
    }
    if (on_end) on_end();
  }

  const size_t max_pending_;
  mutable absl::Mutex mutex_;
  std::deque<Message> pending_ ABSL_GUARDED_BY(mutex_);  // the first is being written
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool cancelled_ ABSL_GUARDED_BY(mutex_) = false;
  bool finishing_ ABSL_GUARDED_BY(mutex_) = false;
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
  grpc::Status status_ ABSL_GUARDED_BY(mutex_);
  std::function<void()> on_end_ ABSL_GUARDED_BY(mutex_);
  std::function<void()> on_room_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<WriteStream> self_ ABSL_GUARDED_BY(mutex_);  // gRPC's hold on it
};

}  // namespace plimsoll::cri

#endif  // PLIMSOLL_CRI_CALLS_WRITE_STREAM_H_
