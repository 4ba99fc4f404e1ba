#include "cli/stream_commands/port_forwarder.h"

#include <unistd.h>

#include <boost/asio/write.hpp>
#include <memory>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/unique_fd.h"
#include "cli/stream_commands/web_socket.h"
#include "cli/terminal/errors.h"
#include "cli/terminal/output.h"

namespace plimsoll::cli {
namespace {

using asio::ip::tcp;

constexpr size_t kForwardBytes = 32 * 1024;
// The pause when no descriptor is left for a further connection.
constexpr absl::Duration kOutOfDescriptors = absl::Milliseconds(100);
// After the client's end, a connection whose pod is silent for this long is closed.
constexpr absl::Duration kQuiet = absl::Seconds(10);

// One connection to a local port.
struct LocalConnection {
  LocalConnection(asio::io_context& io, tcp::socket from)
      : socket(std::move(from)), pod(io), quiet(io) {}
  tcp::socket socket;
  WebSocket pod;
  streaming::Sleep quiet;  // runs after the local client's end
  uint64_t heard = 0;      // messages from the pod
};

asio::awaitable<void> FromLocal(LocalConnection& connection) {
  tcp::socket& local = connection.socket;
  WebSocket& socket = connection.pod;
  std::string buffer(kForwardBytes, '\0');
  ErrorCode error;
  while (!socket.closed()) {
    co_await socket.Room();
    const size_t size = co_await local.async_read_some(
        asio::buffer(buffer), asio::redirect_error(asio::use_awaitable, error));
    if (error) break;
    socket.Send(absl::StrCat(std::string(1, '\0'), absl::string_view(buffer).substr(0, size)));
  }
  // The protocol can't end one half of a connection. The sent bytes get time to arrive and to be
  // answered.
  bool waits = error == asio::error::eof;
  while (waits && !socket.closed()) {
    const uint64_t before = connection.heard;
    const bool slept = co_await connection.quiet.For(kQuiet);
    waits = slept && (connection.heard != before || socket.has_queued());
  }
  socket.Close();
}

asio::awaitable<void> ToLocal(LocalConnection& connection) {
  tcp::socket& local = connection.socket;
  WebSocket& socket = connection.pod;
  int headers = 2;  // each channel begins with the port's number
  while (true) {
    const absl::StatusOr<std::string> message = co_await socket.Receive();
    if (!message.ok()) break;
    ++connection.heard;
    if (message->empty() || headers-- > 0) continue;
    const std::string data = message->substr(1);
    if ((*message)[0] == 1) {
      PrintNote(absl::StrCat("plimsoll: ", data, "\n"));
      continue;
    }
    ErrorCode error;
    co_await asio::async_write(local, asio::buffer(data),
                               asio::redirect_error(asio::use_awaitable, error));
    if (error) break;
  }
  socket.Close();
  connection.quiet.End();
  ErrorCode ignored;
  local.close(ignored);
}

using UrlOfPort = std::function<absl::StatusOr<std::string>(uint16_t port)>;

asio::awaitable<void> ForwardOne(asio::io_context& io, tcp::socket local, uint16_t port,
                                 const UrlOfPort& url_of) {
  const absl::StatusOr<std::string> text = url_of(port);
  const absl::StatusOr<HttpUrl> url = text.ok() ? ParseHttpUrl(*text) : text.status();
  LocalConnection connection(io, std::move(local));
  WebSocket& socket = connection.pod;
  absl::Status connected = url.status();
  if (url.ok()) connected = co_await socket.Connect(*url, "v4.channel.k8s.io");
  if (!connected.ok()) {
    PrintNote(absl::StrCat("plimsoll: port ", port, ": ", connected.message(), "\n"));
    co_return;
  }
  streaming::Tasks tasks(io);
  tasks.Spawn(socket.Write());
  tasks.Spawn(FromLocal(connection));
  tasks.Spawn(ToLocal(connection));
  co_await tasks.Join();
}

asio::awaitable<void> AcceptAll(asio::io_context& io, tcp::acceptor& acceptor, uint16_t port,
                                const UrlOfPort& url_of) {
  streaming::Sleep retry(io);
  while (true) {
    tcp::socket local(io);
    ErrorCode error;
    co_await acceptor.async_accept(local, asio::redirect_error(asio::use_awaitable, error));
    if (error == asio::error::operation_aborted) break;
    if (error) {
      co_await retry.For(kOutOfDescriptors);
      continue;
    }
    asio::co_spawn(io, ForwardOne(io, std::move(local), port, url_of),
                   [](const std::exception_ptr&) {});
  }
}

absl::StatusOr<tcp::acceptor> ListenAt(asio::io_context& io, uint16_t port) {
  tcp::acceptor acceptor(io);
  ErrorCode error;
  const tcp::endpoint endpoint(asio::ip::address_v4::loopback(), port);
  acceptor.open(endpoint.protocol(), error);
  if (!error) acceptor.set_option(tcp::acceptor::reuse_address(true), error);
  if (!error) acceptor.bind(endpoint, error);
  if (!error) acceptor.listen(tcp::acceptor::max_listen_connections, error);
  if (error) {
    return WithHint(absl::UnavailableError(
                        absl::StrCat("can't listen on 127.0.0.1:", port, ": ", error.message())),
                    "Take another port of this machine, or a free one, as in :80.");
  }
  return acceptor;
}

}  // namespace

absl::StatusOr<PortPair> ParsePortPair(const std::string& text) {
  const size_t colon = text.find(':');
  const std::string pod = colon == std::string::npos ? text : text.substr(colon + 1);
  const std::string local = colon == std::string::npos ? text : text.substr(0, colon);
  uint32_t pod_port = 0;
  uint32_t local_port = 0;
  if (!absl::SimpleAtoi(pod, &pod_port) || pod_port == 0 || pod_port > UINT16_MAX ||
      (!local.empty() && (!absl::SimpleAtoi(local, &local_port) || local_port > UINT16_MAX))) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", text, "\" is no pair of ports, as 8080:80, 80 or :80 would be"));
  }
  return PortPair{static_cast<uint16_t>(local_port), static_cast<uint16_t>(pod_port)};
}

absl::Status ForwardPorts(const std::vector<PortPair>& ports, const UrlOfPort& url_of, int ended) {
  asio::io_context io(1);
  std::vector<std::unique_ptr<tcp::acceptor>> acceptors;
  for (const PortPair& pair : ports) {
    PLIMSOLL_ASSIGN_OR_RETURN(tcp::acceptor acceptor, ListenAt(io, pair.local));
    ErrorCode error;
    const uint16_t local = acceptor.local_endpoint(error).port();
    acceptors.push_back(std::make_unique<tcp::acceptor>(std::move(acceptor)));
    asio::co_spawn(io, AcceptAll(io, *acceptors.back(), pair.pod, url_of),
                   [](const std::exception_ptr&) {});
    Print(absl::StrCat("Forwarding 127.0.0.1:", local, " to port ", pair.pod, "\n"));
  }
  streaming::AsyncFd until(io, UniqueFd(dup(ended)));
  asio::co_spawn(
      io, [&]() -> asio::awaitable<void> { co_await until.Readable(); },
      [&io](const std::exception_ptr&) { io.stop(); });
  io.run();
  return absl::OkStatus();
}

}  // namespace plimsoll::cli
