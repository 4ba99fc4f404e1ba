#include "kubelet/caller.h"

#include <grpc/support/time.h>
#include <grpcpp/alarm.h>
#include <grpcpp/client_context.h>
#include <grpcpp/generic/generic_stub.h>
#include <pthread.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/text/printable.h"

namespace plimsoll::kubelet {
namespace {

// kubelet allows each of its services 100 calls a second, in bursts of 10, and refuses the others
// at once.
constexpr absl::Duration kRefusedPause = absl::Milliseconds(10);
constexpr size_t kMostMessageBytes = 300;

gpr_timespec ToGrpc(absl::Duration from_now) {
  return gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
                      gpr_time_from_nanos(absl::ToInt64Nanoseconds(from_now), GPR_TIMESPAN));
}

// gRPC's own refusal of an answer has the code of the server's refusal of a call.
bool IsTooLarge(const grpc::Status& status) {
  return absl::StartsWith(status.error_message(), "Received message larger than max");
}

absl::Status Translate(const grpc::Status& status, int most_bytes) {
  if (status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED) {
    return absl::DeadlineExceededError("no answer in time");
  }
  if (status.error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED && IsTooLarge(status)) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the answer has more than ", most_bytes, " bytes"));
  }
  const auto code = static_cast<absl::StatusCode>(status.error_code());
  if (status.error_message().empty()) return absl::Status(code, absl::StatusCodeToString(code));
  return absl::Status(code, Printable(status.error_message().substr(0, kMostMessageBytes)));
}

// The connection is good, whatever the answer says.
bool IsFromServer(const grpc::Status& status) {
  switch (status.error_code()) {
    case grpc::StatusCode::OK:
    case grpc::StatusCode::NOT_FOUND:
    case grpc::StatusCode::RESOURCE_EXHAUSTED:
    case grpc::StatusCode::UNIMPLEMENTED:
      return true;
    default:
      return false;
  }
}

std::string BytesOf(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  std::string bytes;
  if (!buffer.Dump(&slices).ok()) return bytes;
  bytes.reserve(buffer.Length());
  for (const grpc::Slice& slice : slices) {
    bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  }
  return bytes;
}

}  // namespace

// One call. Its address is its tag in the queue, which has at most one event of it: an answer or
// the end of a pause.
class Caller::UnderWay {
 public:
  UnderWay(Call call, Done done, Channels* channels)
      : call_(std::move(call)), done_(std::move(done)), channels_(channels) {}

  // Prepares an attempt. Begin follows an OK.
  absl::Status Connect() {
    attempt_.emplace();
    PLIMSOLL_ASSIGN_OR_RETURN(attempt_->lease, channels_->Get(call_.socket, call_.most_bytes));
    return absl::OkStatus();
  }

  // Proceed follows.
  void Begin(grpc::CompletionQueue* queue) {
    grpc::Slice bytes(call_.request);
    const grpc::ByteBuffer request(&bytes, 1);
    attempt_->context.set_deadline(ToGrpc(std::max(TimeUntil(call_.end), absl::ZeroDuration())));
    grpc::GenericStub stub(attempt_->lease.channel);
    attempt_->reader = stub.PrepareUnaryCall(&attempt_->context, call_.method, request, queue);
    attempt_->reader->StartCall();
    attempt_->reader->Finish(&attempt_->answer, &attempt_->status, this);
  }

  // After an event. True: it goes on, else `done` has been called.
  bool Proceed(grpc::CompletionQueue* queue) {
    if (pause_.has_value()) {
      pause_.reset();
      return Again(queue);
    }
    const grpc::Status status = attempt_->status;
    const bool was_fresh = attempt_->lease.is_fresh;
    if (!IsFromServer(status)) {
      channels_->Drop(call_.socket, call_.most_bytes, attempt_->lease);
    }
    // A kept connection that kubelet's restart has cut.
    if (status.error_code() == grpc::StatusCode::UNAVAILABLE && !was_fresh) return Again(queue);
    if (status.error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED && !IsTooLarge(status) &&
        TimeUntil(call_.end) > kRefusedPause) {
      attempt_.reset();
      pause_.emplace();
      pause_->Set(queue, ToGrpc(kRefusedPause), this);
      return true;
    }
    if (!status.ok()) {
      done_(Translate(status, call_.most_bytes));
      return false;
    }
    std::string bytes = BytesOf(attempt_->answer);
    attempt_.reset();
    done_(std::move(bytes));
    return false;
  }

 private:
  struct Attempt {
    Channels::Lease lease;
    grpc::ClientContext context;
    grpc::ByteBuffer answer;
    grpc::Status status;
    std::unique_ptr<grpc::ClientAsyncResponseReader<grpc::ByteBuffer>> reader;
  };

  bool Again(grpc::CompletionQueue* queue) {
    attempt_.reset();
    const absl::Status connected = Connect();
    if (connected.ok()) {
      Begin(queue);
    } else {
      done_(connected);
    }
    return connected.ok();
  }

  const Call call_;
  const Done done_;
  Channels* const channels_;
  std::optional<Attempt> attempt_;
  std::optional<grpc::Alarm> pause_;
};

Caller::~Caller() {
  {
    const absl::MutexLock lock(&mutex_);
    mutex_.Await(absl::Condition(this, &Caller::IsIdle));
  }
  queue_.Shutdown();
  void* tag = nullptr;
  bool ok = false;
  while (queue_.Next(&tag, &ok)) {
  }
}

void Caller::Start(Call call, Done done) {
  auto under_way = std::make_unique<UnderWay>(std::move(call), done, &channels_);
  const absl::Status connected = under_way->Connect();
  if (!connected.ok()) {
    done(connected);
    return;
  }
  if (!CountOne()) {
    done(absl::UnavailableError("the machine gives no further thread"));
    return;
  }
  under_way.release()->Begin(&queue_);
}

bool Caller::CountOne() {
  const absl::MutexLock lock(&mutex_);
  if (!is_awaiting_ && !thread_.TrySchedule([this] { AwaitAnswers(); })) return false;
  is_awaiting_ = true;
  ++under_way_;
  return true;
}

bool Caller::StillAwaits(int ended) {
  const absl::MutexLock lock(&mutex_);
  under_way_ -= ended;
  is_awaiting_ = under_way_ > 0;
  return is_awaiting_;
}

void Caller::AwaitAnswers() {
  pthread_setname_np(pthread_self(), "kubelet-answers");
  void* tag = nullptr;
  bool ok = false;
  int ended = 0;
  do {
    if (!queue_.Next(&tag, &ok)) return;
    std::unique_ptr<UnderWay> under_way(static_cast<UnderWay*>(tag));
    ended = under_way->Proceed(&queue_) ? 0 : 1;
    if (ended == 0) under_way.release();  // the queue's again
  } while (StillAwaits(ended));
}

}  // namespace plimsoll::kubelet
