// A transport with a send queue: a sender never waits, but can ask for room.
#ifndef PLIMSOLL_STREAMING_LINK_H_
#define PLIMSOLL_STREAMING_LINK_H_

#include <deque>
#include <list>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "streaming/async.h"
#include "streaming/transport.h"

namespace plimsoll::streaming {

struct LinkLimits {
  absl::Duration idle;   // without any traffic
  absl::Duration leave;  // for a client that has received everything to close its end
};

// Used in the loop's thread. The owner spawns Write, WatchIdle and WatchLeave, and joins them.
class Link {
 public:
  // Interval of checks whether a client that isn't read from has left.
  static constexpr absl::Duration kLook = absl::Seconds(1);
  // With more than this queued there is no room.
  static constexpr size_t kEnoughBytes = 256 * 1024;
  // Limit of the queue. Carried bytes wait for room; only answers don't, so a longer queue means a
  // client that asks and doesn't read.
  static constexpr size_t kTooManyBytes = 1024 * 1024;

  Link(asio::io_context& io, std::unique_ptr<Transport> transport, const LinkLimits& limits)
      : io_(io),
        transport_(std::move(transport)),
        limits_(limits),
        to_send_(io),
        idle_(io),
        lingering_(io) {}

  // Sends queued messages until Close and the queue's end, or until the connection breaks.
  asio::awaitable<void> Write();
  // Aborts a connection without any traffic for the idle timeout.
  asio::awaitable<void> WatchIdle();
  // Aborts a connection that its client doesn't close after the end: after the leave timeout if
  // everything has reached the client's machine, otherwise after the idle timeout.
  asio::awaitable<void> WatchLeave();

  asio::awaitable<absl::StatusOr<std::string>> Receive();
  // No effect once the link is over. With more than kTooManyBytes queued it aborts the connection.
  void Send(std::string message);
  // Waits for room. Waiters take turns in order of arrival: otherwise one that always has data
  // would starve the rest. False: the link is over.
  asio::awaitable<bool> RoomToSend();
  // Says goodbye once the queue is empty, and gives the client a while for its own.
  void Close();
  void Abort();
  // Nothing more will be sent.
  bool over() const { return over_; }
  const LinkLimits& limits() const { return limits_; }

  // Returns Transport::HasLeft.
  bool HasLeft() const { return transport_->HasLeft(); }
  // The client has closed, or can't be read any more: the watches may end.
  void EndOfClient();

 private:
  bool HasRoom() const { return queue_.bytes < kEnoughBytes; }
  // Wakes the first waiter only: waking all each time would take time in proportion to their
  // number.
  void WakeFirst();
  void WakeAll();

  asio::io_context& io_;
  std::unique_ptr<Transport> transport_;
  const LinkLimits limits_;
  Signal to_send_;
  Sleep idle_;
  Sleep lingering_;
  std::list<Signal> turns_;  // of the waiters for room
  struct Queue {
    std::deque<std::string> messages;
    size_t bytes = 0;  // with the message that is being sent
  };
  Queue queue_;
  bool closing_ = false;
  bool over_ = false;
  bool client_ended_ = false;
  uint64_t moves_ = 0;  // completed sends and receives
};

}  // namespace plimsoll::streaming

#endif  // PLIMSOLL_STREAMING_LINK_H_
