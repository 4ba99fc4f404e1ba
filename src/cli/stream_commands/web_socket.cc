#include "cli/stream_commands/web_socket.h"

#include <openssl/err.h>
#include <openssl/sslerr.h>

#include <boost/asio/ip/address.hpp>
#include <boost/asio/ssl/host_name_verification.hpp>
#include <boost/beast/http/field.hpp>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace plimsoll::cli {
namespace {

namespace websocket = boost::beast::websocket;

constexpr size_t kEnoughBytes = 256 * 1024;
constexpr size_t kMaxMessageBytes = 16 * 1024 * 1024;

absl::Status Failed(absl::string_view what, const HttpUrl& url, const ErrorCode& error) {
  return absl::UnavailableError(absl::StrCat(what, " the daemon's streaming server ", url.host, ":",
                                             url.port, ": ", error.message()));
}

// The TLS context of a client. An empty `host` takes any certificate.
std::unique_ptr<asio::ssl::context> MakeTls(const std::string& host) {
  auto context = std::make_unique<asio::ssl::context>(asio::ssl::context::tls_client);
  ErrorCode ignored;
  context->set_options(asio::ssl::context::default_workarounds | asio::ssl::context::no_tlsv1 |
                           asio::ssl::context::no_tlsv1_1,
                       ignored);
  if (host.empty()) {
    context->set_verify_mode(asio::ssl::verify_none, ignored);
    return context;
  }
  // An error here shows later: no certificate is trusted then.
  context->set_default_verify_paths(ignored);
  context->set_verify_mode(asio::ssl::verify_peer, ignored);
  context->set_verify_callback(asio::ssl::host_name_verification(host), ignored);
  return context;
}

}  // namespace

absl::StatusOr<HttpUrl> ParseHttpUrl(const std::string& url) {
  absl::string_view rest = url;
  const bool tls = absl::ConsumePrefix(&rest, "https://");
  const bool http = tls || absl::ConsumePrefix(&rest, "http://");
  const size_t slash = rest.find('/');
  absl::string_view host = rest.substr(0, slash);
  const size_t colon = host.rfind(':');
  HttpUrl parsed;
  uint32_t port = 0;
  if (!http || slash == absl::string_view::npos || colon == absl::string_view::npos ||
      !absl::SimpleAtoi(host.substr(colon + 1), &port) || port == 0 || port > UINT16_MAX) {
    return absl::InvalidArgumentError(
        absl::StrCat("the daemon's answer is no URL but \"", url, "\""));
  }
  host = host.substr(0, colon);
  if (absl::ConsumePrefix(&host, "[")) absl::ConsumeSuffix(&host, "]");
  parsed.host = std::string(host);
  parsed.port = static_cast<uint16_t>(port);
  parsed.path = std::string(rest.substr(slash));
  parsed.tls = tls;
  return parsed;
}

asio::awaitable<absl::Status> WebSocket::Open(const HttpUrl& url) {
  ErrorCode error;
  const auto address = asio::ip::make_address(url.host, error);
  if (error) co_return absl::InvalidArgumentError(absl::StrCat("no address: ", url.host));
  const asio::ip::tcp::endpoint endpoint(address, url.port);
  asio::ip::tcp::socket socket(io_);
  co_await socket.async_connect(endpoint, asio::redirect_error(asio::use_awaitable, error));
  if (error) co_return Failed("no connection to", url, error);
  socket.set_option(asio::ip::tcp::no_delay(true), error);
  if (!url.tls) {
    stream_.emplace(streaming::Socket(std::move(socket)));
    co_return absl::OkStatus();
  }
  const bool verify = !address.is_loopback();
  tls_ = MakeTls(verify ? url.host : "");
  stream_.emplace(streaming::Socket(std::move(socket), *tls_));
  error = co_await stream_->next_layer().Handshake(asio::ssl::stream_base::client);
  if (error && verify && ERR_GET_REASON(error.value()) == SSL_R_CERTIFICATE_VERIFY_FAILED) {
    co_return absl::FailedPreconditionError(absl::StrCat(
        "the certificate of the daemon's streaming server (streaming.certificate) is not trusted "
        "for ",
        url.host, ", and that is no loopback address: ", error.message(),
        "; use a loopback address (streaming.address), or a certificate for ", url.host,
        " of an authority that this system trusts"));
  }
  if (error) co_return Failed("no TLS with", url, error);
  co_return absl::OkStatus();
}

asio::awaitable<absl::Status> WebSocket::Upgrade(const HttpUrl& url, std::string protocol) {
  stream_->binary(true);
  stream_->read_message_max(kMaxMessageBytes);
  stream_->set_option(
      websocket::stream_base::decorator([protocol](websocket::request_type& request) {
        request.set(boost::beast::http::field::sec_websocket_protocol, protocol);
      }));
  websocket::response_type response;
  ErrorCode error;
  co_await stream_->async_handshake(response, url.host, url.path,
                                    asio::redirect_error(asio::use_awaitable, error));
  if (error) {
    co_return absl::UnavailableError(
        absl::StrCat("the daemon's streaming server refuses: ", response.result_int(), " ",
                     response.body().empty() ? error.message() : response.body()));
  }
  co_return absl::OkStatus();
}

asio::awaitable<absl::Status> WebSocket::Connect(HttpUrl url, std::string protocol) {
  const absl::Status open = co_await Open(url);
  if (!open.ok()) co_return open;
  co_return co_await Upgrade(url, std::move(protocol));
}

asio::awaitable<absl::StatusOr<std::string>> WebSocket::Receive() {
  boost::beast::flat_buffer buffer;
  ErrorCode error;
  co_await stream_->async_read(buffer, asio::redirect_error(asio::use_awaitable, error));
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
    co_await stream_->async_write(asio::buffer(message),
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
  if (stream_.has_value()) stream_->next_layer().Close();
  to_send_.Notify();
  room_.Notify();
}

}  // namespace plimsoll::cli
