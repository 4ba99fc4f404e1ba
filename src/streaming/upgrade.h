// Transports over a connection whose HTTP request has been read. Including this header costs ten
// seconds of compile time: it includes Beast.
#ifndef PLIMSOLL_STREAMING_UPGRADE_H_
#define PLIMSOLL_STREAMING_UPGRADE_H_

#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/message.hpp>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "streaming/socket.h"
#include "streaming/transport.h"

namespace plimsoll::streaming {

using UpgradeRequest = boost::beast::http::request<boost::beast::http::empty_body>;

// `first`: bytes already read.
std::unique_ptr<Transport> NewByteTransport(Socket socket, std::string first);

struct WebSocketOptions {
  std::string protocol;    // named in the answer; empty: none
  bool text = false;       // messages are text
  bool tunnel = false;     // messages are pieces of a byte stream
  size_t max_message = 0;  // bytes; a longer one ends the connection
};
// Answers the request by accepting the WebSocket.
asio::awaitable<absl::StatusOr<std::unique_ptr<Transport>>> AcceptWebSocket(
    Socket socket, UpgradeRequest request, WebSocketOptions options);

}  // namespace plimsoll::streaming

#endif  // PLIMSOLL_STREAMING_UPGRADE_H_
