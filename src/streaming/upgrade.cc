#include "streaming/upgrade.h"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/buffers_to_string.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/field.hpp>
#include <boost/beast/websocket/error.hpp>
#include <boost/beast/websocket/stream.hpp>
#include <utility>

#include "absl/strings/str_cat.h"

namespace plimsoll::streaming {
namespace {

namespace beast = boost::beast;
namespace websocket = boost::beast::websocket;

constexpr size_t kMaxUpgradeBytes = 32 * 1024;

absl::Status EndOf(const ErrorCode& error) {
  if (error == asio::error::eof || error == websocket::error::closed ||
      error == asio::ssl::error::stream_truncated) {
    return absl::OutOfRangeError("the client has closed the connection");
  }
  return absl::UnavailableError(absl::StrCat("the connection broke: ", error.message()));
}

class ByteTransport final : public Transport {
 public:
  ByteTransport(Socket socket, std::string first)
      : socket_(std::move(socket)), first_(std::move(first)), buffer_(kMaxUpgradeBytes, '\0') {}

  asio::awaitable<absl::StatusOr<std::string>> Receive() override {
    if (!first_.empty()) co_return std::exchange(first_, std::string());
    ErrorCode error;
    const size_t size = co_await socket_.async_read_some(
        asio::buffer(buffer_), asio::redirect_error(asio::use_awaitable, error));
    if (error) co_return EndOf(error);
    co_return buffer_.substr(0, size);
  }
  asio::awaitable<absl::Status> Send(std::string bytes) override {
    ErrorCode error;
    co_await asio::async_write(socket_, asio::buffer(bytes),
                               asio::redirect_error(asio::use_awaitable, error));
    if (error) co_return EndOf(error);
    co_return absl::OkStatus();
  }
  bool HasUnsent() const override { return socket_.Unsent() > 0; }
  bool HasLeft() const override { return socket_.HasLeft(); }
  asio::awaitable<void> Finish() override { co_await socket_.Shutdown(); }
  void Abort() override { socket_.Close(); }

 private:
  Socket socket_;
  std::string first_;
  std::string buffer_;
};

class MessageTransport final : public Transport {
 public:
  MessageTransport(Socket socket, const WebSocketOptions& options)
      : executor_(socket.get_executor()),
        cancels_(std::make_shared<Cancels>()),
        stream_(std::move(socket)),
        options_(options) {
    // No timeouts here: the transport's users watch the time.
    stream_.set_option(websocket::stream_base::timeout{
        .handshake_timeout = websocket::stream_base::none(),
        .idle_timeout = websocket::stream_base::none(),
        .keep_alive_pings = false,
    });
    stream_.read_message_max(options_.max_message);
    stream_.auto_fragment(false);
  }

  asio::awaitable<absl::Status> Accept(UpgradeRequest request) {
    stream_.set_option(
        websocket::stream_base::decorator([this](websocket::response_type& response) {
          if (options_.protocol.empty()) return;
          response.set(beast::http::field::sec_websocket_protocol, options_.protocol);
        }));
    ErrorCode error;
    co_await stream_.async_accept(request, asio::redirect_error(asio::use_awaitable, error));
    stream_.text(options_.text);
    stream_.binary(!options_.text);
    if (error) co_return EndOf(error);
    co_return absl::OkStatus();
  }

  asio::awaitable<absl::StatusOr<std::string>> Receive() override {
    beast::flat_buffer buffer;
    ErrorCode error;
    if (options_.tunnel) {
      // A tunnel has no messages: take the bytes as they come.
      co_await stream_.async_read_some(
          buffer, kMaxUpgradeBytes,
          asio::bind_cancellation_slot(cancels_->reading.slot(),
                                       asio::redirect_error(asio::use_awaitable, error)));
    } else {
      co_await stream_.async_read(
          buffer, asio::bind_cancellation_slot(cancels_->reading.slot(),
                                               asio::redirect_error(asio::use_awaitable, error)));
    }
    if (error) co_return EndOf(error);
    co_return beast::buffers_to_string(buffer.data());
  }
  asio::awaitable<absl::Status> Send(std::string message) override {
    ErrorCode error;
    co_await stream_.async_write(asio::buffer(message),
                                 asio::redirect_error(asio::use_awaitable, error));
    if (error) co_return EndOf(error);
    co_return absl::OkStatus();
  }
  bool HasUnsent() const override { return stream_.next_layer().Unsent() > 0; }
  bool HasLeft() const override { return stream_.next_layer().HasLeft(); }
  asio::awaitable<void> Finish() override {
    ErrorCode ignored;
    co_await stream_.async_close(
        websocket::close_code::normal,
        asio::bind_cancellation_slot(cancels_->closing.slot(),
                                     asio::redirect_error(asio::use_awaitable, ignored)));
  }
  // A read that finds a broken frame during the goodbye waits for the goodbye's end, which waits
  // for the read: Beast then has both waiting for nothing that the socket could report. So cancel
  // them.
  void Abort() override {
    stream_.next_layer().Close();
    asio::post(executor_, [weak = std::weak_ptr<Cancels>(cancels_)] {
      const auto cancels = weak.lock();
      if (cancels == nullptr) return;
      // In this order: the goodbye waits for the read.
      cancels->reading.emit(asio::cancellation_type::terminal);
      cancels->closing.emit(asio::cancellation_type::terminal);
    });
  }

 private:
  struct Cancels {
    asio::cancellation_signal reading;
    asio::cancellation_signal closing;
  };

  const Socket::executor_type executor_;
  const std::shared_ptr<Cancels> cancels_;  // outlives the stream's operations
  websocket::stream<Socket, /*deflateSupported=*/false> stream_;
  const WebSocketOptions options_;
};

}  // namespace

std::unique_ptr<Transport> NewByteTransport(Socket socket, std::string first) {
  return std::make_unique<ByteTransport>(std::move(socket), std::move(first));
}

asio::awaitable<absl::StatusOr<std::unique_ptr<Transport>>> AcceptWebSocket(
    Socket socket, UpgradeRequest request, WebSocketOptions options) {
  auto transport = std::make_unique<MessageTransport>(std::move(socket), options);
  const absl::Status accepted = co_await transport->Accept(std::move(request));
  if (!accepted.ok()) co_return accepted;
  co_return std::unique_ptr<Transport>(std::move(transport));
}

}  // namespace plimsoll::streaming
