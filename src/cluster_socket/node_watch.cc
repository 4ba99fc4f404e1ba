#include "cluster_socket/node_watch.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cri/calls/grpc_status.h"

namespace plimsoll::cluster {
namespace {

namespace wire = ::plimsoll::v1;

using SharedReport = std::shared_ptr<const wire::NodeReport>;

// Maps are written in key order, so that equal reports give equal bytes.
std::string SerializedReport(const wire::NodeReport& report) {
  std::string bytes;
  google::protobuf::io::StringOutputStream stream(&bytes);
  google::protobuf::io::CodedOutputStream coded(&stream);
  coded.SetSerializationDeterministic(true);
  report.SerializeToCodedStream(&coded);
  coded.Trim();
  return bytes;
}

}  // namespace

// Owned by gRPC until OnDone.
class NodeWatch::Stream final : public Reactor {
 public:
  Stream(NodeWatch* watch, grpc::CallbackServerContext* context,
         std::function<void(const absl::Status&)> on_end)
      : watch_(watch), context_(context), on_end_(std::move(on_end)) {}

  // Writes the report now, or once the one under way is done unless a newer one comes before.
  void Offer(uint64_t number, SharedReport report) {
    absl::MutexLock lock(&mutex_);
    if (number <= number_ || finished_) return;
    number_ = number;
    next_ = std::move(report);
    Advance();
  }
  void Refuse(absl::Status why) {
    absl::MutexLock lock(&mutex_);
    End(std::move(why));
  }
  // Ends a stream with a write that has been under way since before `moment`.
  void EndIfStuckSince(SteadyTime moment) {
    {
      absl::MutexLock lock(&mutex_);
      if (current_ == nullptr || begun_ > moment) return;
    }
    context_->TryCancel();
  }

  void OnWriteDone(bool ok) override {
    if (ok) watch_->CountSent();
    absl::MutexLock lock(&mutex_);
    current_ = nullptr;
    if (ok && !cancelled_) {
      Advance();
    } else {
      End(absl::CancelledError("the client has left"));
    }
  }
  void OnCancel() override {
    absl::MutexLock lock(&mutex_);
    cancelled_ = true;
    if (current_ == nullptr) End(absl::CancelledError("the client has left"));
  }
  void OnDone() override {
    NodeWatch* const watch = watch_;
    watch->Forget(this);
    if (on_end_) on_end_(EndStatus());
    delete this;
    watch->CountEnd();
  }

 private:
  void Advance() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (current_ != nullptr || next_ == nullptr || finished_ || cancelled_) return;
    current_ = std::move(next_);
    next_ = nullptr;
    begun_ = SteadyNow();
    StartWrite(current_.get());
  }
  void End(absl::Status status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (finished_) return;
    finished_ = true;
    end_ = std::move(status);
    Finish(cri::ToGrpcStatus(end_));
  }
  absl::Status EndStatus() {
    absl::MutexLock lock(&mutex_);
    return end_;
  }

  NodeWatch* const watch_;
  grpc::CallbackServerContext* const context_;
  const std::function<void(const absl::Status&)> on_end_;
  absl::Mutex mutex_;
  uint64_t number_ ABSL_GUARDED_BY(mutex_) = 0;   // of the newest offered
  SharedReport next_ ABSL_GUARDED_BY(mutex_);     // null: none waits
  SharedReport current_ ABSL_GUARDED_BY(mutex_);  // under way; null: none
  SteadyTime begun_ ABSL_GUARDED_BY(mutex_);      // of the write under way
  bool cancelled_ ABSL_GUARDED_BY(mutex_) = false;
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status end_ ABSL_GUARDED_BY(mutex_);
};

NodeWatch::NodeWatch(Make make, NodeWatchOptions options)
    : make_(std::move(make)), options_(std::move(options)) {}

NodeWatch::~NodeWatch() = default;

NodeWatch::Reactor* NodeWatch::Open(grpc::CallbackServerContext* context,
                                    std::function<void(const absl::Status&)> on_end) {
  auto* stream = new Stream(this, context, std::move(on_end));
  absl::MutexLock lock(&mutex_);
  ++not_ended_;
  if (streams_.size() >= options_.most_streams) {
    stream->Refuse(absl::ResourceExhaustedError(
        absl::StrCat("the node has ", options_.most_streams, " watchers already")));
    return stream;
  }
  if (!is_running_) {
    is_running_ = thread_.TrySchedule([this] { Run(); });
    if (!is_running_) {
      stream->Refuse(absl::ResourceExhaustedError("no thread can be had to look at the node"));
      return stream;
    }
  }
  streams_.insert(stream);
  if (newest_.report != nullptr) stream->Offer(newest_.number, newest_.report);
  return stream;
}

void NodeWatch::Wake() {
  absl::MutexLock lock(&mutex_);
  if (streams_.empty() || woken_) return;
  woken_ = true;
  news_.Tell();
}

size_t NodeWatch::watchers() const {
  absl::MutexLock lock(&mutex_);
  return streams_.size();
}

uint64_t NodeWatch::sent() const {
  absl::MutexLock lock(&mutex_);
  return sent_;
}

void NodeWatch::CountSent() {
  absl::MutexLock lock(&mutex_);
  ++sent_;
}

void NodeWatch::CountEnd() {
  absl::MutexLock lock(&mutex_);
  --not_ended_;
}

void NodeWatch::AwaitEnd() {
  absl::MutexLock lock(&mutex_);
  const auto has_ended = [this]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) { return not_ended_ == 0; };
  mutex_.Await(absl::Condition(&has_ended));
}

void NodeWatch::Forget(Stream* stream) {
  absl::MutexLock lock(&mutex_);
  streams_.erase(stream);
  if (streams_.empty()) news_.Tell();
}

void NodeWatch::Run() {
  SteadyTime not_before = SteadyNow();
  SteadyTime grants_due = not_before;
  SteadyTime drift_due = not_before;
  while (AwaitNeed(not_before, std::min(grants_due, drift_due))) {
    const SteadyTime now = SteadyNow();
    const Looks looks{.drift = now >= drift_due, .grants = now >= grants_due};
    if (looks.drift) drift_due = SteadyAfter(options_.drift_every);
    if (looks.grants) grants_due = SteadyAfter(options_.grants_every);
    not_before = SteadyAfter(options_.least_interval);
    Publish(make_(looks));
    if (looks.drift && options_.has_new_drift && options_.has_new_drift()) {
      drift_due = std::min(drift_due, SteadyAfter(options_.confirm_after));
    }
  }
}

SteadyTime NodeWatch::Due(SteadyTime not_before, SteadyTime at_last) const {
  absl::MutexLock lock(&mutex_);
  if (streams_.empty()) return SteadyTime();
  return woken_ ? not_before : std::max(not_before, at_last);
}

bool NodeWatch::EndIfUnwatched() {
  absl::MutexLock lock(&mutex_);
  woken_ = false;
  if (!streams_.empty()) {
    EndStuckStreams();
    return false;
  }
  is_running_ = false;
  newest_.report = nullptr;  // old by the time of the next watcher
  newest_.bytes.clear();
  return true;
}

bool NodeWatch::AwaitNeed(SteadyTime not_before, SteadyTime at_last) {
  while (true) {
    const uint64_t seen = news_.count();
    const SteadyTime due = Due(not_before, at_last);
    if (SteadyNow() >= due) return !EndIfUnwatched();
    news_.Await(seen, due);
  }
}

void NodeWatch::EndStuckStreams() {
  const SteadyTime limit = SteadyNow() - absl::ToChronoNanoseconds(options_.write_limit);
  for (Stream* stream : streams_) stream->EndIfStuckSince(limit);
}

void NodeWatch::Publish(wire::NodeReport report) {
  std::string bytes = SerializedReport(report);
  auto shared = std::make_shared<const wire::NodeReport>(std::move(report));
  absl::MutexLock lock(&mutex_);
  if (newest_.report != nullptr && bytes == newest_.bytes) return;
  newest_ = {newest_.number + 1, std::move(shared), std::move(bytes)};
  for (Stream* stream : streams_) stream->Offer(newest_.number, newest_.report);
}

}  // namespace plimsoll::cluster
