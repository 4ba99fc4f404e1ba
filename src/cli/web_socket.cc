#include "cli/web_socket.h"

#include <boost/asio/ip/address.hpp>
#include <boost/beast/http/field.hpp>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace plimsoll::cli {
namespace {

namespace websocket = boost::beast::websocket;

constexpr size_t kEnoughBytes = 256 * 1024;
constexpr size_t kMaxMessageBytes = 16 * 1024 * 1024;

}  // namespace

absl::StatusOr<HttpUrl> ParseHttpUrl(const std::string& url) {
  if (absl::StartsWith(url, "https://")) {
    return absl::UnimplementedError(
        "the daemon streams by TLS (streaming.certificate), which this program doesn't speak; use "
        "crictl or kubectl");
  }
  absl::string_view rest = url;
  const bool http = absl::ConsumePrefix(&rest, "http://");
  const size_t slash = rest.find('/');
  absl::string_view host = rest.substr(0, slash);
  const size_t colon = host.rfind(':');
  HttpUrl parsed;
  uint32_t port = 0;
  if (!http || slash == absl::string_view::npos || colon == absl::string_view::npos ||
      !absl::SimpleAtoi(host.substr(colon + 1), &port) || port == 0 || port > UINT16_MAX) {
    return absl::InvalidArgumentError(absl::StrCat("the daemon gave no URL but \"", url, "\""));
  }
  host = host.substr(0, colon);
  if (absl::ConsumePrefix(&host, "[")) absl::ConsumeSuffix(&host, "]");
  parsed.host = std::string(host);
  parsed.port = static_cast<uint16_t>(port);
  parsed.path = std::string(rest.substr(slash));
  return parsed;
}

asio::awaitable<absl::Status> WebSocket::Connect(HttpUrl url, std::string protocol) {
  ErrorCode error;
  const auto address = asio::ip::make_address(url.host, error);
  if (error) co_return absl::InvalidArgumentError(absl::StrCat("no address: ", url.host));
  const asio::ip::tcp::endpoint endpoint(address, url.port);
  co_await stream_.next_layer().async_connect(endpoint,
                                              asio::redirect_error(asio::use_awaitable, error));
  if (error) {
    co_return absl::UnavailableError(absl::StrCat("no connection to the daemon's streaming server ",
                                                  url.host, ":", url.port, ": ", error.message()));
  }
  stream_.next_layer().set_option(asio::ip::tcp::no_delay(true), error);
  stream_.binary(true);
  stream_.read_message_max(kMaxMessageBytes);
  stream_.set_option(
      websocket::stream_base::decorator([protocol](websocket::request_type& request) {
        request.set(boost::beast::http::field::sec_websocket_protocol, protocol);
      }));
  websocket::response_type response;
  co_await stream_.async_handshake(response, url.host, url.path,
                                   asio::redirect_error(asio::use_awaitable, error));
  if (error) {
    co_return absl::UnavailableError(
        absl::StrCat("the daemon's streaming server refuses: ", response.result_int(), " ",
                     response.body().empty() ? error.message() : response.body()));
  }
  co_return absl::OkStatus();
}

asio::awaitable<absl::StatusOr<std::string>> WebSocket::Receive() {
  boost::beast::flat_buffer buffer;
  ErrorCode error;
  co_await stream_.async_read(buffer, asio::redirect_error(asio::use_awaitable, error));
  if (error == websocket::error::closed) {
    co_return absl::OutOfRangeError("the stream has ended");
  }
  if (error) {
    co_return absl::UnavailableError(
        absl::StrCat("the connection to the daemon broke: ", error.message()));
  }
  co_return boost::beast::buffers_to_string(buffer.data());
}

asio::awaitable<void> WebSocket::Write() {
  while (!closed_) {
    if (queue_.empty()) {
      co_await to_send_.Wait();
      continue;
    }
    const std::string message = std::move(queue_.front());
    queue_.pop_front();
    ErrorCode error;
    co_await stream_.async_write(asio::buffer(message),
                                 asio::redirect_error(asio::use_awaitable, error));
    queued_bytes_ -= message.size();
    room_.Notify();
    if (error) Close();
  }
  room_.Notify();
}

asio::awaitable<void> WebSocket::Room() {
  while (!closed_ && queued_bytes_ >= kEnoughBytes) co_await room_.Wait();
}

void WebSocket::Close() {
  if (closed_) return;
  closed_ = true;
  ErrorCode ignored;
  stream_.next_layer().close(ignored);
  to_send_.Notify();
  room_.Notify();
}

}  // namespace plimsoll::cli
