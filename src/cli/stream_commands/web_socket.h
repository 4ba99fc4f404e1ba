// A client's WebSocket, in an event loop of Asio. For stream_client.cc and port_forwarder.cc alone:
// it includes Beast.
#ifndef PLIMSOLL_CLI_STREAM_COMMANDS_WEB_SOCKET_H_
#define PLIMSOLL_CLI_STREAM_COMMANDS_WEB_SOCKET_H_

#include <boost/asio/connect.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/beast/core/buffers_to_string.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/websocket/stream.hpp>
#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "streaming/async.h"
#include "streaming/socket.h"

namespace plimsoll::cli {

namespace asio = boost::asio;
using streaming::ErrorCode;

struct HttpUrl {
  std::string host;
  uint16_t port = 0;
  std::string path;
  bool tls = false;
};
// INVALID_ARGUMENT: the URL isn't "http://ADDRESS:PORT/PATH", or https.
absl::StatusOr<HttpUrl> ParseHttpUrl(const std::string& url);

// Used by the loop's thread.
class WebSocket {
 public:
  explicit WebSocket(asio::io_context& io) : io_(io), to_send_(io), room_(io) {}

  // Called once. With TLS, the certificate must be for the address and from an authority of this
  // system (SSL_CERT_FILE and SSL_CERT_DIR as in OpenSSL). A loopback address needs neither: the
  // owner of the port is as trusted as without TLS. UNAVAILABLE; FAILED_PRECONDITION: the
  // certificate is not trusted.
  asio::awaitable<absl::Status> Connect(HttpUrl url, std::string protocol);
  // One message; OUT_OF_RANGE: the server has closed the stream.
  asio::awaitable<absl::StatusOr<std::string>> Receive();
  // Sends the queue, until Close.
  asio::awaitable<void> Write();
  void Send(std::string message) {
    queued_bytes_ += message.size();
    queue_.push_back(std::move(message));
    to_send_.Notify();
  }
  // Returns once the queue is short.
  asio::awaitable<void> Room();
  // Ends all reads and writes.
  void Close();
  bool closed() const { return closed_; }
  bool has_queued() const { return queued_bytes_ > 0; }

 private:
  using Stream = boost::beast::websocket::stream<streaming::Socket, /*deflateSupported=*/false>;

  // The steps of Open: a TCP connection, then the WebSocket in it.
  asio::awaitable<absl::Status> Open(const HttpUrl& url);
  asio::awaitable<absl::Status> Upgrade(const HttpUrl& url, std::string protocol);

  asio::io_context& io_;
  std::unique_ptr<asio::ssl::context> tls_;
  std::optional<Stream> stream_;  // set by Open
  streaming::Signal to_send_;
  streaming::Signal room_;
  std::deque<std::string> queue_;
  size_t queued_bytes_ = 0;
  bool closed_ = false;
};

}  // namespace plimsoll::cli

#endif  // PLIMSOLL_CLI_STREAM_COMMANDS_WEB_SOCKET_H_
