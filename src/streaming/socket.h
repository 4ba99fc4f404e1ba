// A TCP connection, with or without TLS, as one type: Beast's templates are instantiated once for
// both.
//
// Satisfies Asio's AsyncStream. Used in the loop's thread.
#ifndef PLIMSOLL_STREAMING_SOCKET_H_
#define PLIMSOLL_STREAMING_SOCKET_H_

#include <poll.h>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/beast/websocket/teardown.hpp>
#include <memory>
#include <utility>

#include "linux/tcp_peer.h"
#include "streaming/async.h"
#include "streaming/unsent.h"

namespace plimsoll::streaming {

class Socket {
 public:
  using executor_type = asio::ip::tcp::socket::executor_type;

  explicit Socket(asio::ip::tcp::socket socket)
      : tcp_(std::make_shared<asio::ip::tcp::socket>(std::move(socket))) {}
  // `context` outlives this.
  Socket(asio::ip::tcp::socket socket, asio::ssl::context& context) : Socket(std::move(socket)) {
    tls_ = std::make_unique<Tls>(*tcp_, context);
  }

  executor_type get_executor() { return tcp_->get_executor(); }

  template <typename Buffers, typename Token>
  auto async_read_some(const Buffers& buffers, Token&& token) {
    return asio::async_initiate<Token, void(ErrorCode, size_t)>(
        [this](auto&& handler, const Buffers& to) {
          using Handler = decltype(handler);
          if (tls_ != nullptr) return tls_->async_read_some(to, std::forward<Handler>(handler));
          return tcp_->async_read_some(to, std::forward<Handler>(handler));
        },
        token, buffers);
  }
  template <typename Buffers, typename Token>
  auto async_write_some(const Buffers& buffers, Token&& token) {
    return asio::async_initiate<Token, void(ErrorCode, size_t)>(
        [this](auto&& handler, const Buffers& from) {
          using Handler = decltype(handler);
          if (tls_ != nullptr) return tls_->async_write_some(from, std::forward<Handler>(handler));
          return tcp_->async_write_some(from, std::forward<Handler>(handler));
        },
        token, buffers);
  }

  // The TLS handshake, as server or client. Returns at once without TLS.
  asio::awaitable<ErrorCode> Handshake(
      asio::ssl::stream_base::handshake_type part = asio::ssl::stream_base::server) {
    ErrorCode error;
    if (tls_ != nullptr) {
      co_await tls_->async_handshake(part, asio::redirect_error(asio::use_awaitable, error));
    }
    co_return error;
  }
  // Ends this side's sending; the client may go on. With TLS it sends close_notify: without it the
  // client may take the end for a forged one.
  template <typename Token>
  auto AsyncShutdown(Token&& token) {
    return asio::async_initiate<Token, void(ErrorCode)>(
        [this](auto&& handler) {
          using Handler = decltype(handler);
          if (tls_ != nullptr) return ShutdownTls(std::forward<Handler>(handler));
          ShutdownTcp();
          asio::post(get_executor(), [handler = std::forward<Handler>(handler)]() mutable {
            handler(ErrorCode());
          });
        },
        token);
  }
  asio::awaitable<void> Shutdown() {
    ErrorCode ignored;
    co_await AsyncShutdown(asio::redirect_error(asio::use_awaitable, ignored));
    ShutdownTcp();
  }
  void Close() {
    ErrorCode ignored;
    tcp_->close(ignored);
  }
  // Bytes that the other side has not acknowledged, plus the end after Shutdown.
  int Unsent() const { return tcp_->is_open() ? UnsentBytes(tcp_->native_handle()) : 0; }
  // True if either side has closed, even with bytes of the other side unread. If the kernel holds
  // the end back behind unread bytes, it is seen only for a client on this machine.
  bool HasLeft() const {
    if (!tcp_->is_open()) return true;
    pollfd look = {tcp_->native_handle(), POLLRDHUP, 0};
    return poll(&look, 1, 0) > 0 || linux::TcpPeerHasClosed(tcp_->native_handle());
  }
  // Lets another owner close the socket while it is in use.
  std::weak_ptr<asio::ip::tcp::socket> tcp() const { return tcp_; }

 private:
  void ShutdownTcp() {
    ErrorCode ignored;
    tcp_->shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
  }
  // Asio would go on to wait for the client's close_notify and discard other bytes meanwhile, so
  // the reader would get neither. Pretending that it has come prevents that.
  template <typename Handler>
  void ShutdownTls(Handler&& handler) {
    SSL* const ssl = tls_->native_handle();
    const int before = SSL_get_shutdown(ssl);
    SSL_set_shutdown(ssl, before | SSL_RECEIVED_SHUTDOWN);
    tls_->async_shutdown(std::forward<Handler>(handler));  // never calls the handler by itself
    SSL_set_shutdown(ssl, SSL_get_shutdown(ssl) & (SSL_SENT_SHUTDOWN | before));
  }

  using Tls = asio::ssl::stream<asio::ip::tcp::socket&>;
  std::shared_ptr<asio::ip::tcp::socket> tcp_;
  std::unique_ptr<Tls> tls_;
};

// Hooks that Beast's WebSockets require of a stream that isn't Asio's own.
inline void beast_close_socket(Socket& socket) {
  socket.Close();
}
inline void teardown(boost::beast::role_type, Socket& socket, ErrorCode& error) {
  error = {};
  socket.Close();
}
template <typename Handler>
void async_teardown(boost::beast::role_type, Socket& socket, Handler&& handler) {
  socket.AsyncShutdown(std::forward<Handler>(handler));
}

}  // namespace plimsoll::streaming

#endif  // PLIMSOLL_STREAMING_SOCKET_H_
