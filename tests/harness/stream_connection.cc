#include "harness/stream_connection.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/status.h"
#include "base/unique_fd.h"

namespace plimsoll::testing {
namespace {

constexpr absl::Duration kHead = absl::Seconds(30);

absl::Status AwaitReadable(int fd, absl::Duration limit) {
  pollfd look = {fd, POLLIN, 0};
  const int ready = poll(&look, 1, static_cast<int>(absl::ToInt64Milliseconds(limit)));
  if (ready > 0) return absl::OkStatus();
  if (ready < 0) return ErrnoStatus(errno, "poll");
  return absl::DeadlineExceededError(absl::StrCat("nothing came in ", absl::FormatDuration(limit)));
}

class TcpConnection : public StreamConnection {
 public:
  TcpConnection(UniqueFd fd, std::string path)
      : StreamConnection(std::move(path)), fd_(std::move(fd)) {}
  absl::Status Write(absl::string_view bytes) override {
    while (!bytes.empty()) {
      const ssize_t n = send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return ErrnoStatus(errno, "send");
      bytes.remove_prefix(static_cast<size_t>(n));
    }
    return absl::OkStatus();
  }
  void Shutdown() override { shutdown(fd_.get(), SHUT_WR); }
  void ResetAtClose() override {
    const linger at_once = {1, 0};
    setsockopt(fd_.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
  }
  absl::Status TellNobodyAtClose() override {
    const int on = 1;  // as for a socket that goes on elsewhere
    if (setsockopt(fd_.get(), IPPROTO_TCP, TCP_REPAIR, &on, sizeof(on)) == 0) {
      return absl::OkStatus();
    }
    return ErrnoStatus(errno, "TCP_REPAIR");
  }

 protected:
  absl::StatusOr<std::string> ReadSome(absl::Duration limit) override {
    PLIMSOLL_RETURN_IF_ERROR(AwaitReadable(fd_.get(), limit));
    std::string bytes(64 * 1024, '\0');
    const ssize_t n = recv(fd_.get(), bytes.data(), bytes.size(), 0);
    if (n < 0 && errno != ECONNRESET) return ErrnoStatus(errno, "recv");
    bytes.resize(n < 0 ? 0 : static_cast<size_t>(n));
    return bytes;
  }

  const UniqueFd fd_;
};

class TlsConnection final : public TcpConnection {
 public:
  TlsConnection(UniqueFd fd, std::string path) : TcpConnection(std::move(fd), std::move(path)) {}
  ~TlsConnection() override {
    SSL_free(ssl_);
    SSL_CTX_free(context_);
  }
  absl::Status Shake() {
    context_ = SSL_CTX_new(TLS_client_method());
    ssl_ = context_ == nullptr ? nullptr : SSL_new(context_);
    if (ssl_ == nullptr || SSL_set_fd(ssl_, fd_.get()) != 1 || SSL_connect(ssl_) != 1) {
      return absl::UnavailableError("no TLS handshake");
    }
    return absl::OkStatus();
  }
  absl::Status Write(absl::string_view bytes) override {
    if (bytes.empty() || SSL_write(ssl_, bytes.data(), static_cast<int>(bytes.size())) > 0) {
      return absl::OkStatus();
    }
    return absl::UnavailableError("SSL_write");
  }
  bool HasEndBeenSaid() const override { return end_said_; }

 protected:
  absl::StatusOr<std::string> ReadSome(absl::Duration limit) override {
    if (SSL_pending(ssl_) == 0) PLIMSOLL_RETURN_IF_ERROR(AwaitReadable(fd_.get(), limit));
    std::string bytes(16 * 1024, '\0');
    const int n = SSL_read(ssl_, bytes.data(), static_cast<int>(bytes.size()));
    end_said_ = n <= 0 && SSL_get_error(ssl_, n) == SSL_ERROR_ZERO_RETURN;
    bytes.resize(n > 0 ? static_cast<size_t>(n) : 0);
    return bytes;
  }

 private:
  SSL_CTX* context_ = nullptr;
  SSL* ssl_ = nullptr;
  bool end_said_ = false;
};

absl::StatusOr<UniqueFd> ConnectTo(const std::string& host, uint16_t port) {
  sockaddr_storage address = {};
  auto* v4 = reinterpret_cast<sockaddr_in*>(&address);
  auto* v6 = reinterpret_cast<sockaddr_in6*>(&address);
  socklen_t size = sizeof(*v4);
  if (inet_pton(AF_INET, host.c_str(), &v4->sin_addr) == 1) {
    v4->sin_family = AF_INET;
    v4->sin_port = htons(port);
  } else if (inet_pton(AF_INET6, host.c_str(), &v6->sin6_addr) == 1) {
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(port);
    size = sizeof(*v6);
  } else {
    return absl::InvalidArgumentError(absl::StrCat("no address: ", host));
  }
  UniqueFd fd(socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd.valid()) return ErrnoStatus(errno, "socket");
  if (connect(fd.get(), reinterpret_cast<sockaddr*>(&address), size) != 0) {
    return ErrnoStatus(errno, absl::StrCat("connect to ", host, ":", port));
  }
  return fd;
}

}  // namespace

absl::StatusOr<std::unique_ptr<StreamConnection>> StreamConnection::Connect(
    const std::string& url) {
  absl::string_view rest = url;
  const bool tls = absl::ConsumePrefix(&rest, "https://");
  if (!tls && !absl::ConsumePrefix(&rest, "http://")) {
    return absl::InvalidArgumentError(absl::StrCat("no URL: ", url));
  }
  const size_t slash = rest.find('/');
  absl::string_view host = rest.substr(0, slash);
  const size_t colon = host.rfind(':');
  uint32_t port = 0;
  if (slash == absl::string_view::npos || colon == absl::string_view::npos ||
      !absl::SimpleAtoi(host.substr(colon + 1), &port)) {
    return absl::InvalidArgumentError(absl::StrCat("no URL with a port and a path: ", url));
  }
  host = host.substr(0, colon);
  if (absl::ConsumePrefix(&host, "[")) absl::ConsumeSuffix(&host, "]");
  const std::string path(rest.substr(slash));
  PLIMSOLL_ASSIGN_OR_RETURN(UniqueFd fd, ConnectTo(std::string(host), static_cast<uint16_t>(port)));
  if (!tls) {
    return std::unique_ptr<StreamConnection>(std::make_unique<TcpConnection>(std::move(fd), path));
  }
  auto connection = std::make_unique<TlsConnection>(std::move(fd), path);
  PLIMSOLL_RETURN_IF_ERROR(connection->Shake());
  return std::unique_ptr<StreamConnection>(std::move(connection));
}

absl::StatusOr<std::string> StreamConnection::Read(absl::Duration limit) {
  if (!unread_.empty()) return std::exchange(unread_, std::string());
  return ReadSome(limit);
}

absl::StatusOr<std::string> StreamConnection::ReadExactly(size_t size, absl::Duration limit) {
  while (unread_.size() < size) {
    PLIMSOLL_ASSIGN_OR_RETURN(const std::string more, ReadSome(limit));
    if (more.empty()) return absl::OutOfRangeError("the server has closed the connection");
    unread_ += more;
  }
  const std::string bytes = unread_.substr(0, size);
  unread_.erase(0, size);
  return bytes;
}

absl::StatusOr<HttpAnswer> StreamConnection::Request(const std::string& method,
                                                     const Headers& headers) {
  std::string text = absl::StrCat(method, " ", path_, " HTTP/1.1\r\nHost: ", host_, "\r\n");
  for (const auto& [name, value] : headers) absl::StrAppend(&text, name, ": ", value, "\r\n");
  PLIMSOLL_RETURN_IF_ERROR(Write(absl::StrCat(text, "\r\n")));
  size_t end = std::string::npos;
  while ((end = unread_.find("\r\n\r\n")) == std::string::npos) {
    PLIMSOLL_ASSIGN_OR_RETURN(const std::string more, ReadSome(kHead));
    if (more.empty()) return absl::OutOfRangeError("the server has closed the connection");
    unread_ += more;
  }
  HttpAnswer answer;
  const std::string head = unread_.substr(0, end);
  unread_.erase(0, end + 4);
  const std::vector<std::string> lines = absl::StrSplit(head, "\r\n");
  const std::vector<std::string> words = absl::StrSplit(lines[0], ' ');
  if (words.size() < 2 || !absl::SimpleAtoi(words[1], &answer.code)) {
    return absl::InternalError(absl::StrCat("no answer of HTTP: ", lines[0]));
  }
  for (size_t i = 1; i < lines.size(); ++i) {
    const std::pair<std::string, std::string> header =
        absl::StrSplit(lines[i], absl::MaxSplits(':', 1));
    answer.headers[absl::AsciiStrToLower(header.first)] =
        std::string(absl::StripAsciiWhitespace(header.second));
  }
  if (answer.code != 101) answer.body = unread_;
  return answer;
}

}  // namespace plimsoll::testing
