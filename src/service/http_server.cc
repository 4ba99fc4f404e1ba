#include "service/http_server.h"

#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "base/status.h"
#include "base/text/listen_address.h"

namespace plimsoll {
namespace {

constexpr size_t kMaxRequest = 8 * 1024;
constexpr int kBacklog = 128;

const char* ReasonOf(int code) {
  switch (code) {
    case 200:
      return "OK";
    case 400:
      return "Bad Request";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 503:
      return "Service Unavailable";
  }
  return "Error";
}

std::string Format(const HttpResponse& response, bool with_body) {
  return absl::StrCat("HTTP/1.1 ", response.code, " ", ReasonOf(response.code),
                      "\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8",
                      "\r\nContent-Length: ", response.body.size(), "\r\nConnection: close\r\n\r\n",
                      with_body ? response.body : "");
}

// "host:port" and "[v6]:port".
absl::StatusOr<UniqueFd> ListenOn(const std::string& address) {
  const size_t colon = address.rfind(':');
  if (colon == std::string::npos) return absl::InvalidArgumentError("no port");
  // getaddrinfo takes the rest of 65536.
  if (!IsPort(address.substr(colon + 1))) {
    return absl::InvalidArgumentError("the port must be a number from 0 to 65535");
  }
  if (colon == 0) return absl::InvalidArgumentError("no host; 0.0.0.0 is every address");
  absl::string_view host = absl::string_view(address).substr(0, colon);
  if (absl::ConsumePrefix(&host, "[")) absl::ConsumeSuffix(&host, "]");
  addrinfo hints = {};
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error =
      getaddrinfo(std::string(host).c_str(), address.substr(colon + 1).c_str(), &hints, &found);
  if (error != 0) return absl::UnavailableError(gai_strerror(error));
  const absl::Cleanup free_found = [&] { freeaddrinfo(found); };
  UniqueFd fd(socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.valid()) return ErrnoStatus(errno, "socket");
  const int on = 1;
  setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (bind(fd.get(), found->ai_addr, found->ai_addrlen) != 0) return ErrnoStatus(errno, "bind");
  if (listen(fd.get(), kBacklog) != 0) return ErrnoStatus(errno, "listen");
  return fd;
}

int PortOf(int fd) {
  sockaddr_storage address = {};
  socklen_t size = sizeof(address);
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) return 0;
  // Both families have the port at the same place.
  return ntohs(reinterpret_cast<const sockaddr_in*>(&address)->sin_port);
}

}  // namespace

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Start(const std::string& address,
                                                              Handler handler, Limits limits,
                                                              Warn warn) {
  absl::StatusOr<UniqueFd> listener = ListenOn(address);
  if (!listener.ok()) return absl::UnavailableError(listener.status().message());
  UniqueFd stop(eventfd(0, EFD_CLOEXEC));
  if (!stop.valid()) return ErrnoStatus(errno, "eventfd");
  const int port = PortOf(listener->get());
  return std::unique_ptr<HttpServer>(new HttpServer(*std::move(listener), std::move(stop), port,
                                                    std::move(handler), limits, std::move(warn)));
}

HttpServer::HttpServer(UniqueFd listener, UniqueFd stop, int port, Handler handler, Limits limits,
                       Warn warn)
    : listener_(std::move(listener)),
      stop_(std::move(stop)),
      port_(port),
      handler_(std::move(handler)),
      limits_(limits),
      warn_(std::move(warn)),
      thread_([this] { Loop(); }) {}

HttpServer::~HttpServer() {
  const uint64_t one = 1;
  stopping_ = true;
  while (write(stop_.get(), &one, sizeof(one)) < 0 && errno == EINTR) {
  }
  thread_.join();
}

void HttpServer::Loop() {
  while (true) {
    std::vector<pollfd> polls = {{stop_.get(), POLLIN, 0}, {listener_.get(), POLLIN, 0}};
    absl::Time next = absl::InfiniteFuture();
    for (const Connection& connection : connections_) {
      const short events = connection.out.empty() ? POLLIN : POLLOUT;
      polls.push_back({connection.fd.get(), events, 0});
      next = std::min(next, connection.deadline);
    }
    const int64_t wait =
        next == absl::InfiniteFuture()
            ? -1
            : std::max<int64_t>(absl::ToInt64Milliseconds(next - absl::Now()), 0) + 1;
    if (poll(polls.data(), polls.size(), static_cast<int>(wait)) < 0) {
      if (stopping_) return;
      if (errno != EINTR) Rest(errno);
      continue;
    }
    has_warned_ = false;
    if (polls[0].revents != 0) return;
    size_t index = 2;
    for (auto it = connections_.begin(); it != connections_.end(); ++index) {
      const bool over = (polls[index].revents != 0 && !Serve(*it)) || it->deadline <= absl::Now();
      it = over ? connections_.erase(it) : std::next(it);
    }
    if (polls[1].revents != 0) Accept();
  }
}

// poll(2) has no memory, or fewer descriptors are allowed than are open: this may pass.
void HttpServer::Rest(int error) {
  if (warn_ && !std::exchange(has_warned_, true)) {
    warn_(absl::StrCat("port ", port_, ": can't wait for requests: ", std::strerror(error),
                       "; tries again"));
  }
  absl::SleepFor(absl::Milliseconds(100));
}

void HttpServer::Accept() {
  // Not all at once: a connection accepted now must still exist when its request is read.
  for (size_t accepted = 0; accepted <= limits_.connections / 2; ++accepted) {
    UniqueFd fd(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!fd.valid()) {
      // Without a descriptor accept fails again and again: free one, or wait a little.
      if (errno != EMFILE && errno != ENFILE) return;
      if (connections_.empty()) {
        absl::SleepFor(absl::Milliseconds(100));
      } else {
        connections_.pop_front();
      }
      return;
    }
    // A silent connection is closed before one that is being answered.
    if (connections_.size() >= limits_.connections) {
      const auto silent = std::find_if(connections_.begin(), connections_.end(),
                                       [](const Connection& c) { return c.out.empty(); });
      connections_.erase(silent == connections_.end() ? connections_.begin() : silent);
    }
    connections_.push_back({std::move(fd), absl::Now() + limits_.patience, "", ""});
  }
}

bool HttpServer::Serve(Connection& connection) const {
  if (connection.out.empty()) {
    char buffer[4096];
    const ssize_t n = read(connection.fd.get(), buffer, sizeof(buffer));
    if (n < 0) return errno == EINTR || errno == EAGAIN;
    if (n == 0) return false;
    connection.in.append(buffer, static_cast<size_t>(n));
    if (absl::StrContains(connection.in, "\r\n\r\n")) {
      connection.out = Answer(connection.in);
    } else if (connection.in.size() > kMaxRequest) {
      connection.out = Format({400, "the request is too long\n"}, true);
    } else {
      return true;
    }
  }
  const ssize_t n =
      send(connection.fd.get(), connection.out.data(), connection.out.size(), MSG_NOSIGNAL);
  if (n < 0) return errno == EINTR || errno == EAGAIN;
  connection.out.erase(0, static_cast<size_t>(n));
  if (!connection.out.empty()) return true;
  shutdown(connection.fd.get(), SHUT_WR);
  return false;
}

std::string HttpServer::Answer(absl::string_view request) const {
  const std::vector<absl::string_view> words =
      absl::StrSplit(request.substr(0, request.find("\r\n")), ' ');
  if (words.size() != 3 || !absl::StartsWith(words[2], "HTTP/1.")) {
    return Format({400, "that is no HTTP request\n"}, true);
  }
  const bool head = words[0] == "HEAD";
  if (!head && words[0] != "GET") return Format({405, "only GET and HEAD\n"}, true);
  return Format(handler_(words[1].substr(0, words[1].find('?'))), !head);
}

}  // namespace plimsoll
