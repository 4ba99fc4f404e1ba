// One upgraded connection to a client: bytes, or messages of a WebSocket.
#ifndef PLIMSOLL_STREAMING_TRANSPORT_H_
#define PLIMSOLL_STREAMING_TRANSPORT_H_

#include <boost/asio/awaitable.hpp>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "streaming/async.h"

namespace plimsoll::streaming {

// Used in the loop's thread. One Receive and one Send or Finish may run at once.
class Transport {
 public:
  virtual ~Transport() = default;
  // The next bytes, or the next message. OUT_OF_RANGE at the end, UNAVAILABLE if the connection
  // broke.
  virtual asio::awaitable<absl::StatusOr<std::string>> Receive() = 0;
  // Sends all of it; over a WebSocket as one message.
  virtual asio::awaitable<absl::Status> Send(std::string bytes) = 0;
  // True while sent bytes have not reached the client's machine.
  virtual bool HasUnsent() const = 0;
  // True if the client has closed, even with bytes of its own unread.
  virtual bool HasLeft() const = 0;
  // Says goodbye and sends no more. Over a WebSocket it waits for the client's goodbye.
  virtual asio::awaitable<void> Finish() = 0;
  // Ends all running calls.
  virtual void Abort() = 0;
};

}  // namespace plimsoll::streaming

#endif  // PLIMSOLL_STREAMING_TRANSPORT_H_
