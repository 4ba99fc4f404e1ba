#include "cri/topology_feed.h"

#include <string>
#include <utility>

#include "cri/runtime/v1/api.pb.h"
#include "cri/translate_topology.h"

namespace plimsoll::cri {
namespace {

grpc::ByteBuffer Serialize(const topology::Topology& topology) {
  ::runtime::v1::DynamicRuntimeConfigResponse response;
  FillTopology(topology, response.mutable_resource_topology());
  // Maps are written in the order of their keys: equal topologies are equal bytes.
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

  // Writes it, now or when the message under way is done, unless a newer one comes before that.
  void Offer(uint64_t number, const grpc::ByteBuffer& message) {
    absl::MutexLock lock(&mutex_);
    if (number <= sent_ || finished_) return;
    next_number_ = number;
    next_ = message;
    Advance();
  }

  void OnWriteDone(bool ok) override {
    // Before the next may begin, so that what is counted is what was sent.
    if (ok && feed_->on_sent_) feed_->on_sent_(reader_);
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
    feed_->Forget(this);
    if (on_end_) on_end_(absl::OkStatus());
    delete this;
  }

 private:
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
  absl::Mutex mutex_;
  uint64_t sent_ ABSL_GUARDED_BY(mutex_) = 0;  // or under way
  uint64_t next_number_ ABSL_GUARDED_BY(mutex_) = 0;
  grpc::ByteBuffer next_ ABSL_GUARDED_BY(mutex_);
  grpc::ByteBuffer current_ ABSL_GUARDED_BY(mutex_);
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool cancelled_ ABSL_GUARDED_BY(mutex_) = false;
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
};

TopologyFeed::TopologyFeed(topology::Publisher* publisher, std::function<void(Reader)> on_sent)
    : publisher_(publisher), on_sent_(std::move(on_sent)) {
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
  if (number_ != 0) stream->Offer(number_, newest_);
  return stream;
}

void TopologyFeed::Forget(Stream* stream) {
  absl::MutexLock lock(&mutex_);
  streams_.erase(stream);
}

}  // namespace plimsoll::cri
