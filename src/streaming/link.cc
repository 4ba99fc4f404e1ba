#include "streaming/link.h"

#include <utility>

namespace plimsoll::streaming {
namespace {

// For a client to close its end after ours.
constexpr absl::Duration kLeave = absl::Seconds(10);

}  // namespace

asio::awaitable<void> Link::Write() {
  while (!over_) {
    if (queue_.empty()) {
      if (closing_) break;
      co_await to_send_.Wait();
      continue;
    }
    std::string message = std::move(queue_.front());
    queue_.pop_front();
    const size_t size = message.size();
    const absl::Status sent = co_await transport_->Send(std::move(message));
    ++moves_;
    queued_bytes_ -= size;
    if (!sent.ok()) Abort();
    if (queued_bytes_ < kEnoughBytes) room_.Notify();
  }
  if (!over_) {
    over_ = true;
    co_await transport_->Finish();
  }
  room_.Notify();
}

asio::awaitable<void> Link::WatchIdle() {
  while (!over_) {
    const uint64_t before = moves_;
    const bool slept = co_await idle_.For(idle_timeout_);
    if (!slept) break;
    if (moves_ == before) Abort();
  }
}

asio::awaitable<void> Link::WatchLeave() {
  while (!client_ended_) {
    const uint64_t before = moves_;
    const bool slept = co_await lingering_.For(kLeave);
    if (!slept) break;
    if ((hurrying_ || over_) && moves_ == before) Abort();
  }
}

asio::awaitable<absl::StatusOr<std::string>> Link::Receive() {
  absl::StatusOr<std::string> received = co_await transport_->Receive();
  ++moves_;
  co_return received;
}

void Link::Send(std::string message) {
  if (over_ || closing_) return;
  queued_bytes_ += message.size();
  queue_.push_back(std::move(message));
  to_send_.Notify();
}

asio::awaitable<bool> Link::RoomToSend() {
  while (!over_ && !closing_ && queued_bytes_ >= kEnoughBytes) co_await room_.Wait();
  co_return !over_ && !closing_;
}

void Link::Close() {
  Hurry();
  closing_ = true;
  to_send_.Notify();
  room_.Notify();
}

void Link::Abort() {
  over_ = true;
  transport_->Abort();
  to_send_.Notify();
  room_.Notify();
  idle_.End();
  lingering_.End();
}

void Link::EndOfClient() {
  client_ended_ = true;
  idle_.End();
  lingering_.End();
}

}  // namespace plimsoll::streaming
