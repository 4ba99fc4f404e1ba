// A transport with a queue in front: whoever sends doesn't wait, but can ask for room.
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
  absl::Duration idle;   // for which nothing moves
  absl::Duration leave;  // for a client that has all that was sent to close its end
};

// Used in the loop's thread. Whoever makes one spawns Write, WatchIdle and WatchLeave, and joins
// them.
class Link {
 public:
  // How often is looked whether a client that isn't read from has left.
  static constexpr absl::Duration kLook = absl::Seconds(1);
  // With more than this queued there is no room.
  static constexpr size_t kEnoughBytes = 256 * 1024;
  // A client for which more than this is queued asks, and doesn't take the answers: what is carried
  // waits for room, only answers don't.
  static constexpr size_t kTooManyBytes = 1024 * 1024;

  Link(asio::io_context& io, std::unique_ptr<Transport> transport, const LinkLimits& limits)
      : io_(io),
        transport_(std::move(transport)),
        limits_(limits),
        to_send_(io),
        idle_(io),
        lingering_(io) {}

  // Sends what is queued until Close and the end of the queue, or until the connection breaks.
  asio::awaitable<void> Write();
  // Aborts a connection on which nothing has moved for the idle timeout.
  asio::awaitable<void> WatchIdle();
  // Aborts a connection whose client doesn't close it after the end: in the time to leave once
  // everything has reached the client's machine, in the idle timeout before.
  asio::awaitable<void> WatchLeave();

  asio::awaitable<absl::StatusOr<std::string>> Receive();
  // No effect once it is over. With more than kTooManyBytes queued it aborts the connection.
  void Send(std::string message);
  // Returns when there is room, to those who wait in the order in which they came: else one that
  // always has something to send would leave the others none. False: it is over.
  asio::awaitable<bool> RoomToSend();
  // Says goodbye when all that is queued has been sent. The client is given a while for its own.
  void Close();
  void Abort();
  // Nothing more will be sent.
  bool over() const { return over_; }
  const LinkLimits& limits() const { return limits_; }

  // As Transport::HasLeft.
  bool HasLeft() const { return transport_->HasLeft(); }
  // The client has closed, or can't be read any more: what watches may end.
  void EndOfClient();

 private:
  bool HasRoom() const { return queue_.bytes < kEnoughBytes; }
  // Wakes the one whose turn it is: to wake all of them each time would take each time as long as
  // there are many.
  void WakeFirst();
  void WakeAll();

  asio::io_context& io_;
  std::unique_ptr<Transport> transport_;
  const LinkLimits limits_;
  Signal to_send_;
  Sleep idle_;
  Sleep lingering_;
  std::list<Signal> turns_;  // of those who wait for room, each its own
  struct Queue {
    std::deque<std::string> messages;
    size_t bytes = 0;  // with the message that is being sent
  };
  Queue queue_;
  bool closing_ = false;
  bool over_ = false;
  bool client_ended_ = false;
  uint64_t moves_ = 0;  // sends and receives that came to an end
};

}  // namespace plimsoll::streaming

#endif  // PLIMSOLL_STREAMING_LINK_H_
