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

// Used in the loop's thread. One Receive and one Send or Finish may be under way at once.
class Transport {
 public:
  virtual ~Transport() = default;
  // What comes next: some bytes, or one message. OUT_OF_RANGE at the end, UNAVAILABLE when the
  // connection broke.
  virtual asio::awaitable<absl::StatusOr<std::string>> Receive() = 0;
  // All of it; of a WebSocket as one message.
  virtual asio::awaitable<absl::Status> Send(std::string bytes) = 0;
  // Whether something of what was sent has not reached the client's machine.
  virtual bool HasUnsent() const = 0;
  // Whether the client has closed, though something of it may not have been received.
  virtual bool HasLeft() const = 0;
  // Says goodbye: nothing more is sent. Of a WebSocket, until the client has said it too.
  virtual asio::awaitable<void> Finish() = 0;
  // Ends what is under way.
  virtual void Abort() = 0;
};

}  // namespace plimsoll::streaming

#endif  // PLIMSOLL_STREAMING_TRANSPORT_H_
