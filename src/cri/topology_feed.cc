#include "cri/topology_feed.h"

#include <grpcpp/alarm.h>

#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "cri/grpc_status.h"
#include "cri/runtime/v1/api.pb.h"
#include "cri/translate_topology.h"

namespace plimsoll::cri {
namespace {

grpc::ByteBuffer Serialize(const topology::Topology& topology) {
  ::runtime::v1::DynamicRuntimeConfigResponse response;
  FillTopology(topology, response.mutable_resource_topology());
  // Deterministic: maps are written in key order, so equal topologies give equal bytes.
  std::string bytes;
  {
    google::protobuf::io::StringOutputStream stream(&bytes);
    google::protobuf::io::CodedOutputStream coded(&stream);
    coded.SetSerializationDeterministic(true);
    response.SerializeToCodedStream(&coded);
  }
  const grpc::Slice slice(bytes);
  return grpc::ByteBuffer(&slice, 1);
}

}  // namespace

// Owned by gRPC until OnDone.
class TopologyFeed::Stream final : public Reactor {
 public:
  Stream(TopologyFeed* feed, Reader reader, std::function<void(const absl::Status&)> on_end)
      : feed_(feed), reader_(reader), on_end_(std::move(on_end)) {}

  // Limits the wait for the first Offer. Call before it.
  void WaitFor(absl::Duration first_within) {
    wait_ = std::make_shared<Wait>();
    {
      absl::MutexLock lock(&wait_->mutex);
      wait_->stream = this;
    }
    alarm_.Set(absl::ToChronoTime(absl::Now() + first_within), [wait = wait_](bool is_due) {
      absl::MutexLock lock(&wait->mutex);
      if (is_due && wait->stream != nullptr) wait->stream->GiveUp();
    });
  }

  // Writes the message now or after the current one, unless a newer one arrives before.
  void Offer(uint64_t number, const grpc::ByteBuffer& message) {
    absl::MutexLock lock(&mutex_);
    if (number <= sent_ || finished_) return;
    next_number_ = number;
    next_ = message;
    Advance();
  }

  void OnWriteDone(bool ok) override {
    // Count before the next write may begin, so that only sent messages are counted.
    if (ok) TellSent();
    absl::MutexLock lock(&mutex_);
    writing_ = false;
    current_.Clear();
    if (ok) {
      Advance();
    } else {
      End();
    }
  }

  void OnCancel() override {
    absl::MutexLock lock(&mutex_);
    cancelled_ = true;
    if (!writing_) End();
  }

  void OnDone() override {
    if (wait_ != nullptr) {
      alarm_.Cancel();
      absl::MutexLock lock(&wait_->mutex);
      wait_->stream = nullptr;
    }
    feed_->Forget(this);
    if (is_taken_ && feed_->hooks_.on_client) feed_->hooks_.on_client(false);
    absl::Status end;
    {
      absl::MutexLock lock(&mutex_);
      end = end_;
    }
    if (on_end_) on_end_(end);
    delete this;
  }

 private:
  // Outlives the stream until the alarm has been called.
  struct Wait {
    absl::Mutex mutex;
    Stream* stream ABSL_GUARDED_BY(mutex) = nullptr;  // null: the stream has ended
  };

  // Called by one write's completion at a time.
  void TellSent() {
    if (feed_->hooks_.on_sent) feed_->hooks_.on_sent(reader_);
    if (is_taken_ || reader_ != Reader::kClient) return;
    is_taken_ = true;
    if (feed_->hooks_.on_client) feed_->hooks_.on_client(true);
  }
  // No topology came in time.
  void GiveUp() {
    const std::string why = feed_->hooks_.why_none ? feed_->hooks_.why_none() : "";
    absl::MutexLock lock(&mutex_);
    if (finished_ || next_number_ > 0) return;
    finished_ = true;
    end_ = absl::UnavailableError(absl::StrCat("the node's topology is not there yet",
                                               why.empty() ? "" : ": ", why, "; try again"));
    Finish(ToGrpcStatus(end_));
  }
  void Advance() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (writing_ || finished_) return;
    if (cancelled_) return End();
    if (next_number_ <= sent_) return;
    sent_ = next_number_;
    std::swap(current_, next_);
    next_.Clear();
    writing_ = true;
    StartWrite(&current_);
  }
  void End() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (finished_) return;
    finished_ = true;
    Finish(grpc::Status::CANCELLED);
  }

  TopologyFeed* const feed_;
  const Reader reader_;
  const std::function<void(const absl::Status&)> on_end_;
  std::shared_ptr<Wait> wait_;  // null: a topology was there from the start
  grpc::Alarm alarm_;
  bool is_taken_ = false;  // touched by write completions and OnDone, which comes after them
  absl::Mutex mutex_;
  absl::Status end_ ABSL_GUARDED_BY(mutex_);
  uint64_t sent_ ABSL_GUARDED_BY(mutex_) = 0;  // or being sent
  uint64_t next_number_ ABSL_GUARDED_BY(mutex_) = 0;
  grpc::ByteBuffer next_ ABSL_GUARDED_BY(mutex_);
  grpc::ByteBuffer current_ ABSL_GUARDED_BY(mutex_);
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool cancelled_ ABSL_GUARDED_BY(mutex_) = false;
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
};

TopologyFeed::TopologyFeed(topology::Publisher* publisher, Hooks hooks)
    : publisher_(publisher), hooks_(std::move(hooks)) {
  subscription_ =
      publisher_->Subscribe([this](const topology::Edition& edition) { Take(edition); });
  Take(publisher_->Newest());
}

TopologyFeed::~TopologyFeed() {
  publisher_->Unsubscribe(subscription_);
}

void TopologyFeed::Take(const topology::Edition& edition) {
  if (edition.number == 0) return;
  grpc::ByteBuffer message = Serialize(*edition.topology);
  absl::MutexLock lock(&mutex_);
  if (edition.number <= number_) return;
  number_ = edition.number;
  newest_ = std::move(message);
  for (Stream* stream : streams_) stream->Offer(number_, newest_);
}

TopologyFeed::Reactor* TopologyFeed::Open(Reader reader,
                                          std::function<void(const absl::Status&)> on_end) {
  auto* stream = new Stream(this, reader, std::move(on_end));
  absl::MutexLock lock(&mutex_);
  streams_.insert(stream);
  if (number_ != 0) {
    stream->Offer(number_, newest_);
  } else {
    stream->WaitFor(hooks_.first_within);
  }
  return stream;
}

void TopologyFeed::Forget(Stream* stream) {
  absl::MutexLock lock(&mutex_);
  streams_.erase(stream);
}

}  // namespace plimsoll::cri
