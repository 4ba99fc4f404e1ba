#include "cri/topology_feed.h"

#include <grpcpp/alarm.h>

#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "cri/calls/grpc_status.h"
#include "cri/runtime/v1/api.pb.h"
#include "topology/wire/translate_topology.h"

namespace plimsoll::cri {
namespace {

grpc::ByteBuffer Serialize(const topology::Topology& topology) {
  ::runtime::v1::DynamicRuntimeConfigResponse response;
  topology::FillTopology(topology, response.mutable_resource_topology());
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

// Calls back once if it isn't ended within a time. The alarm's callback may come after its owner is
// gone.
class TimeLimit {
 public:
  // `expired` runs in a thread of gRPC's, with End kept waiting.
  void Set(absl::Duration within, std::function<void()> expired) {
    state_ = std::make_shared<State>(std::move(expired));
    alarm_.Set(absl::ToChronoTime(absl::Now() + within), [state = state_](bool is_due) {
      absl::MutexLock lock(&state->mutex);
      if (is_due && state->expired) state->expired();
    });
  }
  void End() {
    if (state_ == nullptr) return;
    alarm_.Cancel();
    absl::MutexLock lock(&state_->mutex);
    state_->expired = nullptr;
  }

 private:
  struct State {
    // Takes no lock: Set is called with the feed's held, and `expired` may wait for the
    // publisher's.
    explicit State(std::function<void()> when_expired) : expired(std::move(when_expired)) {}

    absl::Mutex mutex;
    std::function<void()> expired ABSL_GUARDED_BY(mutex);  // null: ended
  };
  std::shared_ptr<State> state_;  // null: there is no limit
  grpc::Alarm alarm_;
};

// Owned by gRPC until OnDone.
class TopologyFeed::Stream final : public Reactor {
 public:
  Stream(TopologyFeed* feed, Reader reader, std::function<void(const absl::Status&)> on_end)
      : feed_(feed), reader_(reader), on_end_(std::move(on_end)) {}

  // Limits the wait for the first message. Before the first Offer.
  void WaitFor(absl::Duration first_within) {
    first_.Set(first_within, [this] { GiveUp(); });
  }

  // Writes the message now, or once the one under way is done unless a newer one comes before.
  void Offer(uint64_t number, const grpc::ByteBuffer& message) {
    absl::MutexLock lock(&mutex_);
    if (number <= current_.number || finished_) return;
    next_ = {number, message};
    Advance();
  }

  void OnWriteDone(bool ok) override {
    // Before the next may begin, so that the messages counted are those sent.
    if (ok) TellSent();
    absl::MutexLock lock(&mutex_);
    writing_ = false;
    current_.bytes.Clear();
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
    first_.End();
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
  struct Message {
    uint64_t number = 0;  // 0: none
    grpc::ByteBuffer bytes;
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
    if (finished_ || next_.number > 0) return;
    finished_ = true;
    end_ = absl::UnavailableError(absl::StrCat("the node's topology is not there yet",
                                               why.empty() ? "" : ": ", why, "; try again"));
    Finish(ToGrpcStatus(end_));
  }
  void Advance() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (writing_ || finished_) return;
    if (cancelled_) return End();
    if (next_.number <= current_.number) return;
    current_.number = next_.number;
    std::swap(current_.bytes, next_.bytes);
    next_.bytes.Clear();
    writing_ = true;
    StartWrite(&current_.bytes);
  }
  void End() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (finished_) return;
    finished_ = true;
    Finish(grpc::Status::CANCELLED);
  }

  TopologyFeed* const feed_;
  const Reader reader_;
  const std::function<void(const absl::Status&)> on_end_;
  TimeLimit first_;        // of the first message, where there was no topology when it came
  bool is_taken_ = false;  // touched by write completions and OnDone, which comes after them
  absl::Mutex mutex_;
  absl::Status end_ ABSL_GUARDED_BY(mutex_);
  Message next_ ABSL_GUARDED_BY(mutex_);     // the newest offered
  Message current_ ABSL_GUARDED_BY(mutex_);  // sent last, or under way
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
