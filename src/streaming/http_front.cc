#include "streaming/http_front.h"

#include <boost/asio/buffer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/buffers_to_string.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/websocket/rfc6455.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "base/status.h"
#include "streaming/channel_protocol.h"
#include "streaming/port_forward_session.h"
#include "streaming/upgrade.h"
#include "streaming/wire.h"

namespace plimsoll::streaming {
namespace {

namespace beast = boost::beast;
namespace http = boost::beast::http;

constexpr uint32_t kMaxHeaderBytes = 16 * 1024;
// For TLS, the request and its answer.
constexpr absl::Duration kPatience = absl::Seconds(10);
// For a client that was refused or broke the protocol: time to take the answer and close.
constexpr absl::Duration kDiscard = absl::Seconds(1);
constexpr size_t kDiscardBytes = 16 * 1024;
constexpr size_t kMaxMessageBytes = 1024 * 1024;
constexpr size_t kMaxBase64Ports = 5;
constexpr size_t kNonceBytes = 16;
constexpr size_t kKeyCharacters = 24;
constexpr char kProtocolHeader[] = "X-Stream-Protocol-Version";
constexpr char kAcceptedHeader[] = "X-Accepted-Stream-Protocol-Versions";

// Closes a connection whose client hasn't sent its request, or taken the answer, in time.
class Watchdog {
 public:
  Watchdog(Socket& watched, absl::Duration patience) : timer_(watched.get_executor()) {
    timer_.expires_after(absl::ToChronoNanoseconds(patience));
    timer_.async_wait([socket = watched.tcp()](const ErrorCode& error) {
      const auto there = error ? nullptr : socket.lock();
      ErrorCode ignored;
      if (there != nullptr) there->close(ignored);
    });
  }
  void Rest() { timer_.cancel(); }

 private:
  asio::steady_timer timer_;
};

struct Refusal {
  int code = 400;
  std::string text;
  std::vector<std::string> headers;
};

Refusal NoToken() {
  return {404, "no such token: it was used, has expired, or never existed", {}};
}

std::vector<std::string> ListOf(const UpgradeRequest& request, absl::string_view name) {
  std::vector<std::string> list;
  const auto [begin, end] = request.equal_range(beast::string_view(name.data(), name.size()));
  for (auto at = begin; at != end; ++at) {
    AppendList(absl::string_view(at->value().data(), at->value().size()), &list);
  }
  return list;
}

bool HasWord(const std::vector<std::string>& list, absl::string_view word) {
  return absl::c_any_of(
      list, [&](const std::string& each) { return absl::EqualsIgnoreCase(each, word); });
}

bool IsSpdy(const UpgradeRequest& request) {
  return HasWord(ListOf(request, "Connection"), "upgrade") &&
         HasWord(ListOf(request, "Upgrade"), "spdy/3.1");
}

asio::awaitable<void> SendText(Socket& socket, std::string text) {
  ErrorCode ignored;
  co_await asio::async_write(socket, asio::buffer(text),
                             asio::redirect_error(asio::use_awaitable, ignored));
}

const char* ReasonOf(int code) {
  switch (code) {
    case 400:
      return "Bad Request";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 426:
      return "Upgrade Required";
  }
  return "Error";
}

asio::awaitable<void> Refuse(Socket& socket, const Refusal& refusal) {
  std::string text = absl::StrCat("HTTP/1.1 ", refusal.code, " ", ReasonOf(refusal.code),
                                  "\r\nContent-Type: text/plain; charset=utf-8\r\n"
                                  "Connection: close\r\nContent-Length: ",
                                  refusal.text.size() + 1, "\r\n");
  for (const std::string& header : refusal.headers) absl::StrAppend(&text, header, "\r\n");
  absl::StrAppend(&text, "\r\n", refusal.text, "\n");
  co_await SendText(socket, std::move(text));
  co_await socket.Shutdown();
  // Closing with bytes unread resets the connection, and the client may never see the answer.
  const Watchdog watchdog(socket, kDiscard);
  std::string unread(kDiscardBytes, '\0');
  ErrorCode error;
  while (!error) {
    co_await socket.async_read_some(asio::buffer(unread),
                                    asio::redirect_error(asio::use_awaitable, error));
  }
}

// The client's protocol.
struct Speech {
  bool websocket = false;
  ChannelProtocol channels;      // for a WebSocket that is no tunnel
  bool tunnel = false;           // SPDY in the messages of a WebSocket
  SpdyCommandProtocol commands;  // over SPDY
  std::string protocol;          // named in the answer; empty: none
};

absl::StatusOr<Speech> UnderstandWebSocket(StreamKind kind, const UpgradeRequest& request) {
  const std::vector<std::string> offered = ListOf(request, "Sec-WebSocket-Protocol");
  Speech speech;
  speech.websocket = true;
  if (kind == StreamKind::kPortForward && absl::c_linear_search(offered, kTunnelProtocol)) {
    speech.tunnel = true;
    speech.protocol = kTunnelProtocol;
    return speech;
  }
  const auto channels = kind == StreamKind::kPortForward ? ChoosePortProtocol(offered)
                                                         : ChooseCommandProtocol(offered);
  if (!channels.has_value()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "none of the subprotocols ", absl::StrJoin(offered, ", "), " is supported here"));
  }
  speech.channels = *channels;
  speech.protocol = channels->name;
  return speech;
}

absl::StatusOr<Speech> UnderstandSpdy(StreamKind kind, const UpgradeRequest& request) {
  const std::vector<std::string> offered = ListOf(request, kProtocolHeader);
  Speech speech;
  if (kind == StreamKind::kPortForward) {
    speech.protocol = kPortForwardProtocol;
    if (offered.empty() || absl::c_linear_search(offered, kPortForwardProtocol)) return speech;
  } else if (const auto chosen = ChooseSpdyCommandProtocol(offered); chosen.has_value()) {
    speech.commands = *chosen;
    speech.protocol = chosen->name;
    return speech;
  }
  return absl::InvalidArgumentError(absl::StrCat("unable to upgrade: none of the protocols ",
                                                 absl::StrJoin(offered, ", "),
                                                 " is supported here"));
}

Refusal RefusalOfProtocol(StreamKind kind, bool websocket, const absl::Status& why) {
  Refusal refusal = {websocket ? 400 : 403, std::string(why.message()), {}};
  if (websocket) return refusal;
  const std::vector<std::string> accepted = kind == StreamKind::kPortForward
                                                ? std::vector<std::string>{kPortForwardProtocol}
                                                : SpdyCommandProtocols();
  for (const std::string& name : accepted) {
    refusal.headers.push_back(absl::StrCat(kAcceptedHeader, ": ", name));
  }
  return refusal;
}

// Reads on after a protocol error: closing with bytes unread would lose the wire's answer to it.
asio::awaitable<void> Discard(Link* link) {
  const auto end = std::chrono::steady_clock::now() + absl::ToChronoNanoseconds(kDiscard);
  while (std::chrono::steady_clock::now() < end) {
    const absl::StatusOr<std::string> dropped = co_await link->Receive();
    if (!dropped.ok()) break;
  }
}

// Reads from the client until it has left. Session: CommandSession or PortForwardSession.
template <typename Session>
asio::awaitable<void> ReadClient(Link* link, Wire* wire, Session* session) {
  bool closed = false;  // by the client, properly
  while (true) {
    const bool room = co_await session->RoomForInput();
    if (!room) break;
    const absl::StatusOr<std::string> received = co_await link->Receive();
    if (!received.ok()) {
      closed = absl::IsOutOfRange(received.status());
      break;
    }
    const absl::Status understood = wire->Receive(*received);
    if (understood.ok()) continue;
    session->OnGone();
    link->Close();
    co_await Discard(link);
    break;
  }
  link->EndOfClient();
  link->Abort();
  if (closed) {
    session->OnClosed();
  } else {
    session->OnGone();
  }
}

template <typename Session>
asio::awaitable<void> RunSession(asio::io_context& io, Link* link, Wire* wire, Session* session) {
  Tasks tasks(io);
  session->Begin(wire);
  tasks.Spawn(link->Write());
  tasks.Spawn(link->WatchIdle());
  tasks.Spawn(link->WatchLeave());
  tasks.Spawn(ReadClient(link, wire, session));
  co_await session->Run();
  co_await tasks.Join();
}

asio::awaitable<void> ServeCommand(const FrontContext& context, const StreamRequest& request,
                                   const Speech& speech, std::unique_ptr<Transport> transport) {
  Link link(context.session.io, std::move(transport), context.limits);
  const std::unique_ptr<CommandSession> session =
      request.kind == StreamKind::kExec ? NewExecSession(context.session, request, &link)
                                        : NewAttachSession(context.session, request, &link);
  std::unique_ptr<Wire> wire;
  if (speech.websocket) {
    const uint32_t first = request.output ? kStdout : request.errors ? kStderr : kError;
    wire = NewChannelWire(speech.channels, CommandSession::WritableChannels(request), first, &link,
                          session.get());
  } else {
    wire = NewSpdyCommandWire(CommandSession::ExpectedChannels(request, speech.commands.resizes),
                              speech.commands.json_status, &link, session.get());
  }
  co_await RunSession(context.session.io, &link, wire.get(), session.get());
}

asio::awaitable<void> ServePorts(const FrontContext& context, const StreamRequest& request,
                                 const Speech& speech, std::unique_ptr<Transport> transport) {
  Link link(context.session.io, std::move(transport), context.limits);
  const bool spdy = !speech.websocket || speech.tunnel;
  PortForwardSession session(context.session, request, /*lasts=*/spdy, &link);
  const std::unique_ptr<Wire> wire =
      spdy ? NewSpdyPortWire(&link, &session)
           : NewChannelPortWire(speech.channels, request.ports, &link, &session);
  co_await RunSession(context.session.io, &link, wire.get(), &session);
}

asio::awaitable<absl::StatusOr<std::unique_ptr<Transport>>> Upgrade(Socket socket,
                                                                    UpgradeRequest request,
                                                                    std::string first,
                                                                    const Speech& speech) {
  if (speech.websocket) {
    WebSocketOptions options;
    options.protocol = speech.protocol;
    options.text = speech.channels.base64;
    options.tunnel = speech.tunnel;
    options.max_message = kMaxMessageBytes;
    absl::StatusOr<std::unique_ptr<Transport>> accepted =
        co_await AcceptWebSocket(std::move(socket), std::move(request), std::move(options));
    co_return std::move(accepted);
  }
  std::string answer =
      "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n";
  absl::StrAppend(&answer, kProtocolHeader, ": ", speech.protocol, "\r\n\r\n");
  co_await SendText(socket, std::move(answer));
  co_return NewByteTransport(std::move(socket), std::move(first));
}

// Checks Beast's requirements, and those of RFC 6455, section 4.2.1, on the key.
std::optional<Refusal> CheckWebSocket(const UpgradeRequest& request) {
  if (request.count(http::field::host) == 0) return Refusal{400, "no Host", {}};
  if (request[http::field::sec_websocket_version] != "13") {
    return Refusal{426, "the only version of WebSockets here is 13", {"Sec-WebSocket-Version: 13"}};
  }
  const auto key = request[http::field::sec_websocket_key];
  std::string nonce;
  if (!absl::Base64Unescape(absl::string_view(key.data(), key.size()), &nonce) ||
      key.size() != kKeyCharacters || nonce.size() != kNonceBytes) {
    return Refusal{400, "Sec-WebSocket-Key must be 16 bytes in base64", {}};
  }
  return std::nullopt;
}

// Objections to the request before its token is used.
std::optional<Refusal> Check(const UpgradeRequest& request, const std::optional<Route>& route,
                             bool websocket, size_t more) {
  if (!route.has_value()) return Refusal{404, "no such path", {}};
  if (request.method() != http::verb::get && request.method() != http::verb::post) {
    return Refusal{405, "only GET and POST", {"Allow: GET, POST"}};
  }
  if (!websocket && !IsSpdy(request)) {
    return Refusal{400, "unable to upgrade: neither to SPDY/3.1 nor to a WebSocket", {}};
  }
  if (websocket && more > 0) return Refusal{400, "more follows the request", {}};
  return websocket ? CheckWebSocket(request) : std::nullopt;
}

// Objections to a request that differs from its token's stream.
std::optional<Refusal> CheckAgainst(const StreamRequest& wanted, StreamKind kind, bool websocket,
                                    const Speech& speech) {
  if (wanted.kind != kind) return NoToken();
  if (kind != StreamKind::kPortForward) return std::nullopt;
  if (websocket && !speech.tunnel && wanted.ports.empty()) {
    return Refusal{
        400, "PortForward named no ports, and this protocol needs them in the request", {}};
  }
  if (speech.channels.base64 && wanted.ports.size() > kMaxBase64Ports) {
    return Refusal{
        400, "base64 protocols have one digit for a channel, enough for at most 5 ports", {}};
  }
  return std::nullopt;
}

asio::awaitable<void> ServeRequest(const FrontContext& context, Watchdog* watchdog, Socket socket,
                                   UpgradeRequest request, std::string more) {
  const bool websocket = beast::websocket::is_upgrade(request);
  const std::optional<Route> route =
      ParseTarget(absl::string_view(request.target().data(), request.target().size()));
  if (const auto refusal = Check(request, route, websocket, more.size()); refusal.has_value()) {
    co_await Refuse(socket, *refusal);
    co_return;
  }
  const absl::StatusOr<Speech> speech =
      websocket ? UnderstandWebSocket(route->kind, request) : UnderstandSpdy(route->kind, request);
  if (!speech.ok()) {
    const Refusal refusal = RefusalOfProtocol(route->kind, websocket, speech.status());
    co_await Refuse(socket, refusal);
    co_return;
  }
  std::optional<Refusal> misfit;
  const auto fits = [&](const StreamRequest& asked) {
    misfit = CheckAgainst(asked, route->kind, websocket, *speech);
    return !misfit.has_value();
  };
  const std::optional<StreamRequest> wanted = context.tokens.Take(route->token, fits);
  if (!wanted.has_value()) {
    const Refusal refusal = misfit.value_or(NoToken());
    co_await Refuse(socket, refusal);
    co_return;
  }
  absl::StatusOr<std::unique_ptr<Transport>> transport =
      co_await Upgrade(std::move(socket), std::move(request), std::move(more), *speech);
  watchdog->Rest();
  if (!transport.ok()) co_return;
  if (wanted->kind == StreamKind::kPortForward) {
    co_await ServePorts(context, *wanted, *speech, *std::move(transport));
  } else {
    co_await ServeCommand(context, *wanted, *speech, *std::move(transport));
  }
}

}  // namespace

asio::awaitable<void> ServeConnection(FrontContext context, Socket socket) {
  Watchdog watchdog(socket, kPatience);
  const ErrorCode shaken = co_await socket.Handshake();
  if (shaken) co_return;
  beast::flat_buffer buffer;
  http::request_parser<http::empty_body> parser;
  parser.header_limit(kMaxHeaderBytes);
  ErrorCode error;
  co_await http::async_read_header(socket, buffer, parser,
                                   asio::redirect_error(asio::use_awaitable, error));
  if (error) {
    const Refusal refusal = {400, "that is no HTTP request", {}};
    if (error != http::error::end_of_stream) co_await Refuse(socket, refusal);
    co_return;
  }
  std::string more = beast::buffers_to_string(buffer.data());
  UpgradeRequest request = parser.release();
  co_await ServeRequest(context, &watchdog, std::move(socket), std::move(request), std::move(more));
}

}  // namespace plimsoll::streaming
