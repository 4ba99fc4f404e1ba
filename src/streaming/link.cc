#include "streaming/link.h"

#include <utility>

namespace plimsoll::streaming {

asio::awaitable<void> Link::Write() {
  while (!over_) {
    if (queue_.messages.empty()) {
      if (closing_) break;
      co_await to_send_.Wait();
      continue;
    }
    std::string message = std::move(queue_.messages.front());
    queue_.messages.pop_front();
    const size_t size = message.size();
    const absl::Status sent = co_await transport_->Send(std::move(message));
    ++moves_;
    queue_.bytes -= size;
    if (!sent.ok()) Abort();
    if (HasRoom()) WakeFirst();
  }
  if (!over_) {
    over_ = true;
    co_await transport_->Finish();
  }
  WakeAll();
}

asio::awaitable<void> Link::WatchIdle() {
  while (!over_) {
    const uint64_t before = moves_;
    const bool slept = co_await idle_.For(limits_.idle);
    if (!slept) break;
    if (moves_ == before) Abort();
  }
}

asio::awaitable<void> Link::WatchLeave() {
  absl::Duration waited = absl::ZeroDuration();  // since the end of sending
  while (!client_ended_) {
    const bool was_over = over_;
    const bool slept = co_await lingering_.For(limits_.leave);
    if (!slept) break;
    if (!was_over) continue;
    waited += limits_.leave;
    // A client that sends to a closed socket loses the bytes still on their way to it.
    if (!transport_->HasUnsent() || waited >= limits_.idle) Abort();
  }
}

asio::awaitable<absl::StatusOr<std::string>> Link::Receive() {
  absl::StatusOr<std::string> received = co_await transport_->Receive();
  ++moves_;
  co_return received;
}

void Link::Send(std::string message) {
  if (over_ || closing_) return;
  queue_.bytes += message.size();
  queue_.messages.push_back(std::move(message));
  to_send_.Notify();
  if (queue_.bytes > kTooManyBytes) Abort();
}

asio::awaitable<bool> Link::RoomToSend() {
  if (!over_ && !closing_ && (!HasRoom() || !turns_.empty())) {
    const auto turn = turns_.emplace(turns_.end(), io_);
    while (!over_ && !closing_ && (!HasRoom() || turn != turns_.begin())) co_await turn->Wait();
    turns_.erase(turn);
    // The next one may have room, too.
    WakeFirst();
  }
  co_return !over_ && !closing_;
}

void Link::WakeFirst() {
  if (!turns_.empty()) turns_.front().Notify();
}

void Link::WakeAll() {
  for (Signal& turn : turns_) turn.Notify();
}

void Link::Close() {
  closing_ = true;
  to_send_.Notify();
  WakeAll();
}

void Link::Abort() {
  over_ = true;
  transport_->Abort();
  to_send_.Notify();
  WakeAll();
  idle_.End();
  lingering_.End();
}

void Link::EndOfClient() {
  client_ended_ = true;
  idle_.End();
  lingering_.End();
}

}  // namespace plimsoll::streaming
