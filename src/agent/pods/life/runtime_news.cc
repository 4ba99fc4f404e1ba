#include "agent/pods/life/runtime_news.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "pod_runner/runtime_client/labels.h"

namespace plimsoll::agent {
namespace {

namespace cri = ::runtime::v1;

// The stream is asked for again after this.
constexpr absl::Duration kReconnect = absl::Seconds(1);
// A runtime may get the stream by an upgrade.
constexpr absl::Duration kAskAgain = absl::Minutes(1);

template <typename Object>
std::string UidOf(const Object& object) {
  const auto it = object.labels().find(pod::kPodUidLabel);
  return it == object.labels().end() ? "" : it->second;
}

}  // namespace

RuntimeNews::RuntimeNews(std::unique_ptr<pod::Client> events, std::unique_ptr<pod::Client> lists,
                         Pace pace, Hooks hooks)
    : events_(std::move(events)),
      lists_(std::move(lists)),
      pace_(pace),
      hooks_(std::move(hooks)),
      event_thread_([this] { FollowEvents(); }),
      list_thread_([this] { FollowLists(); }) {}

RuntimeNews::~RuntimeNews() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    is_ending_ = true;
    turned_.notify_all();
  }
  events_->Abandon();
  lists_->Abandon();
  event_thread_.join();
  list_thread_.join();
}

bool RuntimeNews::Rest(absl::Duration pause) {
  std::unique_lock<std::mutex> lock(mutex_);
  return !turned_.wait_for(lock, absl::ToChronoMilliseconds(pause), [this] { return is_ending_; });
}

bool RuntimeNews::RestByStream(absl::Duration pause) {
  std::unique_lock<std::mutex> lock(mutex_);
  turned_.wait_for(lock, absl::ToChronoMilliseconds(pause),
                   [this] { return is_ending_ || stream_since_ > SteadyNow(); });
  return !is_ending_;
}

bool RuntimeNews::HasStream() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return stream_since_ <= SteadyNow();
}

void RuntimeNews::FollowEvents() {
  const auto expect_stream = [this](SteadyTime since) {
    const std::lock_guard<std::mutex> lock(mutex_);
    stream_since_ = since;
    turned_.notify_all();
  };
  absl::Duration pause;
  bool is_told = false;
  do {
    expect_stream(SteadyAfter(pace_.open_stream));
    const absl::Status status =
        events_->WatchContainers([&](const cri::ContainerEventResponse& event) {
          is_told = false;
          expect_stream(SteadyNow());
          hooks_.changed(event.pod_sandbox_status().metadata().uid());
          return true;
        });
    expect_stream(kNever);
    if (absl::IsDataLoss(status) && !std::exchange(is_told, true)) hooks_.unreadable();
    pause = absl::IsUnimplemented(status) ? kAskAgain : kReconnect;
  } while (Rest(pause));
}

absl::StatusOr<RuntimeNews::Picture> RuntimeNews::Look() {
  PLIMSOLL_ASSIGN_OR_RETURN(const auto sandboxes, lists_->ListPodSandboxes());
  PLIMSOLL_ASSIGN_OR_RETURN(const auto containers, lists_->ListContainers());
  Picture picture;
  for (const cri::PodSandbox& each : sandboxes) {
    absl::StrAppend(&picture[UidOf(each)], each.id(), "=", each.state(), " ");
  }
  for (const cri::Container& each : containers) {
    absl::StrAppend(&picture[UidOf(each)], each.id(), "=", each.state(), " ");
  }
  return picture;
}

void RuntimeNews::FollowLists() {
  Picture last;
  std::optional<absl::StatusCode> told;
  bool has_stream = false;
  do {
    has_stream = HasStream();  // before the look, which sees what came before the stream
    absl::StatusOr<Picture> now = Look();
    if (lists_->abandoned()) return;
    if (told != now.status().code()) {
      told = now.status().code();
      hooks_.answers(now.status());
    }
    if (!now.ok()) continue;
    for (const auto& [uid, text] : *now) {
      const auto it = last.find(uid);
      if (it == last.end() || it->second != text) hooks_.changed(uid);
    }
    for (const auto& [uid, text] : last) {
      if (!now->contains(uid)) hooks_.changed(uid);
    }
    last = *std::move(now);
  } while (has_stream && told == absl::StatusCode::kOk ? RestByStream(pace_.with_events)
                                                       : Rest(pace_.without_events));
}

}  // namespace plimsoll::agent
