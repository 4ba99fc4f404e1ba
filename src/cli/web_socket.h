// A WebSocket of a client, in an event loop of Asio's. For stream_client.cc and its like: it
// includes Beast.
#ifndef PLIMSOLL_CLI_WEB_SOCKET_H_
#define PLIMSOLL_CLI_WEB_SOCKET_H_

#include <boost/asio/connect.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/buffers_to_string.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/websocket/stream.hpp>
#include <chrono>
#include <deque>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "streaming/async.h"

namespace plimsoll::cli {

namespace asio = boost::asio;
using streaming::ErrorCode;

struct HttpUrl {
  std::string host;
  uint16_t port = 0;
  std::string path;
};
// INVALID_ARGUMENT for what is not "http://ADDRESS:PORT/PATH"; UNIMPLEMENTED for https.
absl::StatusOr<HttpUrl> ParseHttpUrl(const std::string& url);

// Used in the loop's thread.
class WebSocket {
 public:
  explicit WebSocket(asio::io_context& io) : stream_(io), to_send_(io), room_(io) {}

  asio::awaitable<absl::Status> Connect(HttpUrl url, std::string protocol);
  // One message; OUT_OF_RANGE when the server has closed.
  asio::awaitable<absl::StatusOr<std::string>> Receive();
  // Sends what is queued, until Close.
  asio::awaitable<void> Write();
  void Send(std::string message) {
    queued_bytes_ += message.size();
    queue_.push_back(std::move(message));
    to_send_.Notify();
  }
  // Returns when little is queued.
  asio::awaitable<void> Room();
  // Ends everything.
  void Close();
  bool closed() const { return closed_; }
  bool has_queued() const { return queued_bytes_ > 0; }

 private:
  boost::beast::websocket::stream<asio::ip::tcp::socket, /*deflateSupported=*/false> stream_;
  streaming::Signal to_send_;
  streaming::Signal room_;
  std::deque<std::string> queue_;
  size_t queued_bytes_ = 0;
  bool closed_ = false;
};

}  // namespace plimsoll::cli

#endif  // PLIMSOLL_CLI_WEB_SOCKET_H_
