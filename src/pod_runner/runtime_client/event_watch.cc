#include "pod_runner/runtime_client/event_watch.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace plimsoll::pod {

EventWatch::EventWatch(std::unique_ptr<Client> client,
                       std::function<bool(const node::Event&)> wanted)
    : client_(std::move(client)), wanted_(std::move(wanted)) {
  // No limit: the reader of the events gives up first.
  client_->SetPatience({.wait = absl::InfiniteDuration(), .lost = nullptr, .back = nullptr});
  thread_ = std::thread([this] { Follow(); });
}

EventWatch::~EventWatch() {
  client_->Abandon();
  thread_.join();
}

uint64_t EventWatch::news() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return news_;
}

void EventWatch::Await(uint64_t seen, absl::Duration limit) const {
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait_for(lock, absl::ToChronoMilliseconds(std::min(limit, absl::Hours(1))),
                    [&] { return news_ > seen; });
}

void EventWatch::Follow() {
  while (true) {
    const auto hear = [this](const node::Event& event) {
      if (wanted_(event)) Tell();
      return true;
    };
    client_->own().ListEvents(/*since=*/0, /*follow=*/true, hear).IgnoreError();
    if (client_->abandoned()) return;
    Tell();
    if (!client_->AwaitDaemon()) return;
  }
}

void EventWatch::Tell() {
  const std::lock_guard<std::mutex> lock(mutex_);
  ++news_;
  changed_.notify_all();
}

}  // namespace plimsoll::pod
