// Transports over a connection whose HTTP request has been read. (The files that include this
// include Beast, at ten seconds of compile time each.)
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

using HttpRequest = boost::beast::http::request<boost::beast::http::empty_body>;

// `first`: what was read already.
std::unique_ptr<Transport> NewByteTransport(Socket socket, std::string first);

struct WebSocketOptions {
  std::string protocol;    // that the answer names; empty: none
  bool text = false;       // whether messages are text
  bool tunnel = false;     // messages are pieces of a stream of bytes
  size_t max_message = 0;  // bytes; a longer one ends the connection
};
// Answers the request for a WebSocket.
asio::awaitable<absl::StatusOr<std::unique_ptr<Transport>>> AcceptWebSocket(
    Socket socket, HttpRequest request, WebSocketOptions options);

}  // namespace plimsoll::streaming

#endif  // PLIMSOLL_STREAMING_UPGRADE_H_
