#include "image/registry/registry_relay.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "base/status.h"
#include "base/steady_time.h"
#include "image/names/reference.h"
#include "image/registry/http_head.h"

namespace plimsoll::image {
namespace {

constexpr char kPing[] = "/v2/";
constexpr char kChallenge[] = "WWW-Authenticate";
constexpr size_t kMaxConnections = 32;
constexpr absl::Duration kConnectPatience = absl::Minutes(1);
constexpr absl::Duration kStarvedPause = absl::Milliseconds(100);
// TLS's first byte (RFC 8446, section 5.1). skopeo tries it first, also where plain HTTP is
// allowed.
constexpr char kHandshake = 0x16;
constexpr uint16_t kHttpPort = 80;
constexpr uint16_t kHttpsPort = 443;

// The host and port of "host:5000", "[::1]:5000", "host".
std::pair<std::string, uint16_t> HostAndPortOf(const RegistryAddress& address) {
  const absl::string_view text = address.registry;
  const size_t colon = text.rfind(':');
  int port = address.plain ? kHttpPort : kHttpsPort;
  absl::string_view host = text;
  if (colon != absl::string_view::npos && text.find(']', colon) == absl::string_view::npos &&
      absl::SimpleAtoi(text.substr(colon + 1), &port)) {
    host = text.substr(0, colon);
  }
  if (absl::ConsumePrefix(&host, "[")) absl::ConsumeSuffix(&host, "]");
  return {std::string(host), static_cast<uint16_t>(port)};
}

absl::StatusOr<std::unique_ptr<dial::Stream>> Connect(const RegistryAddress& address,
                                                      const dial::Until& until) {
  const auto [host, port] = HostAndPortOf(address);
  dial::Until soon = until;
  soon.deadline = std::min(until.deadline, SteadyAfter(kConnectPatience));
  PLIMSOLL_ASSIGN_OR_RETURN(UniqueFd fd, dial::Connect(host, port, soon));
  std::unique_ptr<dial::Stream> stream = dial::Stream::OverSocket(std::move(fd), until);
  if (address.plain) return stream;
  if (!address.trust.has_value()) return dial::ClientOverTls(std::move(stream), host);
  return dial::ClientOverTls(std::move(stream), host, *address.trust);
}

struct Reply {
  HttpHead head;
  std::string rest;  // what has come of its body
};

absl::StatusOr<Reply> Ask(dial::Stream& server, const HttpHead& request) {
  PLIMSOLL_RETURN_IF_ERROR(server.Send(request.ToString()));
  Reply reply;
  PLIMSOLL_ASSIGN_OR_RETURN(reply.head, ReadHttpHead(server, &reply.rest));
  if (reply.head.Code() == 0) return absl::UnavailableError("the answer is no HTTP/1.1");
  return reply;
}

absl::StatusOr<HttpHead> Get(const RegistryAddress& address, absl::string_view path,
                             const dial::Until& until) {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::unique_ptr<dial::Stream> server, Connect(address, until));
  HttpHead request{.first = absl::StrCat("GET ", path, " HTTP/1.1")};
  request.fields = {{"Host", address.registry},
                    {"User-Agent", "plimsolld"},
                    {"Accept", "*/*"},
                    {"Connection", "close"}};
  PLIMSOLL_ASSIGN_OR_RETURN(Reply reply, Ask(*server, request));
  return std::move(reply.head);
}

// The answer where the registry gives none: skopeo shows its text.
std::string BadGateway(const RegistryAddress& address, const absl::Status& why) {
  const std::string text = absl::StrCat("no answer from ", address.registry, ": ", why.message());
  HttpHead head{.first = "HTTP/1.1 502 Bad Gateway"};
  head.fields = {{"Content-Type", "text/plain"},
                 {"Content-Length", absl::StrCat(text.size())},
                 {"Connection", "close"}};
  return head.ToString() + text;
}

std::vector<std::string> ChallengesIn(const HttpHead& head) {
  std::vector<std::string> challenges;
  for (const auto& [name, value] : head.fields) {
    if (absl::EqualsIgnoreCase(name, kChallenge)) challenges.push_back(value);
  }
  return challenges;
}

// The path of "GET /v2/x HTTP/1.1"; empty for a request that the relay doesn't serve.
std::string PathOf(const HttpHead& request) {
  const std::vector<std::string> words = absl::StrSplit(request.first, ' ');
  if (words.size() != 3 || (words[0] != "GET" && words[0] != "HEAD")) return "";
  return absl::StartsWith(words[1], kPing) ? words[1] : "";
}

}  // namespace

bool IsBehindProxy(const RegistryAddress& address) {
  const auto variable = [](const char* upper, const char* lower) -> absl::string_view {
    const char* value = std::getenv(upper);
    if (value == nullptr || *value == '\0') value = std::getenv(lower);
    return value == nullptr ? "" : value;
  };
  const absl::string_view proxy =
      address.plain ? variable("HTTP_PROXY", "http_proxy") : variable("HTTPS_PROXY", "https_proxy");
  if (proxy.empty() || IsOnLoopback(address.registry)) return false;
  const std::string host = HostAndPortOf(address).first;
  for (absl::string_view each : absl::StrSplit(variable("NO_PROXY", "no_proxy"), ',')) {
    each = absl::StripAsciiWhitespace(each);
    absl::ConsumePrefix(&each, ".");
    if (each.empty()) continue;
    if (each == "*" || each == host || each == address.registry ||
        absl::EndsWith(host, absl::StrCat(".", each))) {
      return false;
    }
  }
  return true;
}

absl::StatusOr<std::vector<std::string>> FindChallenges(const RegistryAddress& address,
                                                        absl::string_view path,
                                                        const dial::Until& until) {
  constexpr int kOk = 200;
  constexpr int kUnauthorized = 401;
  PLIMSOLL_ASSIGN_OR_RETURN(const HttpHead open, Get(address, kPing, until));
  if (open.Code() != kOk || !ChallengesIn(open).empty()) {
    return absl::NotFoundError("the registry is not open at /v2/");
  }
  PLIMSOLL_ASSIGN_OR_RETURN(const HttpHead closed, Get(address, path, until));
  std::vector<std::string> challenges = ChallengesIn(closed);
  if (closed.Code() != kUnauthorized || challenges.empty()) {
    return absl::NotFoundError("the registry asks for no login there");
  }
  return challenges;
}

absl::StatusOr<std::unique_ptr<RegistryRelay>> RegistryRelay::Start(RelayOptions options) {
  std::unique_ptr<RegistryRelay> relay(new RegistryRelay(std::move(options)));
  if (!relay->options_.address.plain) {
    PLIMSOLL_ASSIGN_OR_RETURN(relay->identity_, dial::MakeLoopbackIdentity());
  }
  PLIMSOLL_RETURN_IF_ERROR(relay->Listen());
  relay->accepting_ = std::thread([raw = relay.get()] { raw->Accept(); });
  return relay;
}

absl::Status RegistryRelay::Listen() {
  struct sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto* const general = reinterpret_cast<struct sockaddr*>(&address);
  socklen_t size = sizeof(address);
  listener_.Reset(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!listener_.valid() || bind(listener_.get(), general, size) != 0 ||
      listen(listener_.get(), kMaxConnections) != 0 ||
      getsockname(listener_.get(), general, &size) != 0) {
    return ErrnoStatus(errno, "listen on the loopback network");
  }
  host_ = absl::StrCat("127.0.0.1:", ntohs(address.sin_port));
  return absl::OkStatus();
}

RegistryRelay::~RegistryRelay() {
  stopping_ = true;
  if (accepting_.joinable()) accepting_.join();
}

// Runs one thread for each connection; more than kMaxConnections are closed at once. If no
// descriptor is left, a waiting client would wake AwaitSocket again and again, hence the pause.
void RegistryRelay::Accept() {
  struct Connection {
    std::unique_ptr<std::atomic<bool>> ended = std::make_unique<std::atomic<bool>>(false);
    std::thread thread;
  };
  std::vector<Connection> connections;
  const dial::Until until{.given_up = [this] { return stopping_.load(); }};
  while (dial::AwaitSocket(listener_.get(), POLLIN, until).ok()) {
    UniqueFd fd(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!fd.valid()) absl::SleepFor(kStarvedPause);
    std::erase_if(connections, [](Connection& each) {
      if (!*each.ended) return false;
      each.thread.join();
      return true;
    });
    if (!fd.valid() || connections.size() >= kMaxConnections) continue;
    Connection& made = connections.emplace_back();
    made.thread = std::thread([this, ended = made.ended.get(), socket = std::move(fd)]() mutable {
      Serve(std::move(socket)).IgnoreError();  // the client sees its connection end
      *ended = true;
    });
  }
  for (Connection& each : connections) each.thread.join();
}

absl::Status RegistryRelay::Serve(UniqueFd fd) {
  const dial::Until until{.given_up = [this] { return stopping_.load(); }};
  if (options_.address.plain) {
    PLIMSOLL_RETURN_IF_ERROR(dial::AwaitSocket(fd.get(), POLLIN, until));
    char first = 0;
    if (recv(fd.get(), &first, 1, MSG_PEEK) == 1 && first == kHandshake) return absl::OkStatus();
    return Answer(*dial::Stream::OverSocket(std::move(fd), until));
  }
  PLIMSOLL_ASSIGN_OR_RETURN(
      const std::unique_ptr<dial::Stream> client,
      dial::ServerOverTls(dial::Stream::OverSocket(std::move(fd), until), identity_));
  return Answer(*client);
}

// A redirect that stays in the registry stays in the relay: clients drop credentials elsewhere.
std::string RegistryRelay::LocationHere(absl::string_view location) const {
  const RegistryAddress& address = options_.address;
  absl::string_view path = location;
  const std::string itself =
      absl::StrCat(address.plain ? "http" : "https", "://", address.registry);
  absl::ConsumePrefix(&path, itself);
  if (!absl::ConsumePrefix(&path, absl::StrCat(options_.path, "/"))) return std::string(location);
  return absl::StrCat(kPing, path);
}

absl::Status RegistryRelay::Answer(dial::Stream& client) {
  std::string behind;
  PLIMSOLL_ASSIGN_OR_RETURN(HttpHead request, ReadHttpHead(client, &behind));
  const std::string path = PathOf(request);
  if (path.empty()) return client.Send("HTTP/1.1 405 Method Not Allowed\r\n\r\n");
  if (!options_.authorization.empty()) {
    if (request.Get("Authorization") != options_.authorization) {
      return client.Send(absl::StrCat("HTTP/1.1 401 Unauthorized\r\n", kChallenge,
                                      ": Basic realm=\"relay\"\r\nContent-Length: 0\r\n\r\n"));
    }
    request.Remove("Authorization");
  }
  for (const char* name : {"Host", "Connection", "Expect"}) request.Remove(name);
  for (const auto& [name, value] : options_.headers) request.Remove(name);
  request.first = absl::StrReplaceAll(
      request.first, {{absl::StrCat(" ", kPing), absl::StrCat(" ", options_.path, "/")}});
  request.fields.insert(request.fields.begin(),
                        {{"Host", options_.address.registry}, {"Connection", "close"}});
  request.fields.insert(request.fields.end(), options_.headers.begin(), options_.headers.end());

  const dial::Until until{.given_up = [this] { return stopping_.load(); }};
  const absl::StatusOr<std::unique_ptr<dial::Stream>> server = Connect(options_.address, until);
  absl::StatusOr<Reply> asked =
      server.ok() ? Ask(**server, request) : absl::StatusOr<Reply>(server.status());
  if (!asked.ok()) return client.Send(BadGateway(options_.address, asked.status()));
  Reply reply = *std::move(asked);
  if (path == kPing && ChallengesIn(reply.head).empty()) {
    for (const std::string& each : options_.challenges) {
      reply.head.fields.emplace_back(kChallenge, each);
    }
  }
  for (auto& [name, value] : reply.head.fields) {
    if (absl::EqualsIgnoreCase(name, "Location")) value = LocationHere(value);
  }
  reply.head.Remove("Connection");
  reply.head.fields.emplace_back("Connection", "close");
  PLIMSOLL_RETURN_IF_ERROR(client.Send(reply.head.ToString()));
  absl::Status more;
  while (more.ok()) {
    PLIMSOLL_RETURN_IF_ERROR(client.Send(reply.rest));
    reply.rest.clear();
    more = (*server)->Receive(&reply.rest);
  }
  // A body without a length ends with the connection.
  return absl::IsOutOfRange(more) ? client.End() : more;
}

}  // namespace plimsoll::image
