// What listens in a pod, and what its connections hold.
#ifndef PLIMSOLL_STREAMING_POD_FOR_TEST_H_
#define PLIMSOLL_STREAMING_POD_FOR_TEST_H_

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <cctype>
#include <cerrno>
#include <cstdint>
#include <fstream>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "base/unique_fd.h"
#include "gtest/gtest.h"
#include "streaming/fake_backend_for_test.h"

namespace plimsoll::streaming {

// The most that both sockets of a TCP connection hold in one direction.
inline size_t SocketBytes() {
  size_t bytes = 0;
  for (const char* name : {"tcp_rmem", "tcp_wmem"}) {
    std::ifstream file(absl::StrCat("/proc/sys/net/ipv4/", name));
    size_t least = 0;
    size_t usual = 0;
    size_t most = 0;
    file >> least >> usual >> most;
    EXPECT_GT(most, 0u) << name;
    bytes += most;
  }
  return bytes;
}

// Whether nothing more comes, as the other end has closed; what came before is read away.
inline bool HasEnded(int connection) {
  char buffer[4096];
  ssize_t n = 1;
  while (n > 0) n = recv(connection, buffer, sizeof(buffer), 0);
  return n == 0 || errno == ECONNRESET;
}

// On 127.0.0.1 or ::1.
class Listener {
 public:
  // `buffer`: bytes of each buffer of its connections, which the kernel doubles; 0: the usual.
  Listener(int family, int backlog, int buffer = 0)
      : fd_(socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    if (buffer > 0) SizeBuffers(fd_.get(), buffer);
    sockaddr_storage address = {};
    socklen_t size = sizeof(sockaddr_in);
    if (family == AF_INET) {
      auto* v4 = reinterpret_cast<sockaddr_in*>(&address);
      v4->sin_family = AF_INET;
      v4->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    } else {
      auto* v6 = reinterpret_cast<sockaddr_in6*>(&address);
      v6->sin6_family = AF_INET6;
      v6->sin6_addr = in6addr_loopback;
      size = sizeof(sockaddr_in6);
    }
    there_ = bind(fd_.get(), reinterpret_cast<sockaddr*>(&address), size) == 0 &&
             listen(fd_.get(), backlog) == 0;
    size = sizeof(address);
    getsockname(fd_.get(), reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(reinterpret_cast<sockaddr_in*>(&address)->sin_port);
  }
  // The next connection, whose waits have an end. Not valid where none comes.
  UniqueFd Accept() const {
    pollfd look = {fd_.get(), POLLIN, 0};
    if (poll(&look, 1, kWaitSeconds * 1000) <= 0) return UniqueFd();
    UniqueFd connection(accept4(fd_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    const timeval limit = {kWaitSeconds, 0};
    for (const int wait : {SO_RCVTIMEO, SO_SNDTIMEO}) {
      setsockopt(connection.get(), SOL_SOCKET, wait, &limit, sizeof(limit));
    }
    return connection;
  }
  int fd() const { return fd_.get(); }
  bool there() const { return there_; }
  uint16_t port() const { return port_; }

 private:
  static constexpr int kWaitSeconds = 60;

  const UniqueFd fd_;
  bool there_ = false;
  uint16_t port_ = 0;
};

// Answers with what it hears, in capital letters.
class Echo {
 public:
  explicit Echo(int family) : listener_(family, 8), thread_([this] { Serve(); }) {}
  ~Echo() {
    shutdown(listener_.fd(), SHUT_RDWR);
    thread_.join();
  }
  bool there() const { return listener_.there(); }
  uint16_t port() const { return listener_.port(); }

 private:
  void Serve() {
    while (true) {
      const UniqueFd client(accept(listener_.fd(), nullptr, nullptr));
      if (!client.valid()) return;
      char buffer[4096];
      for (ssize_t n = recv(client.get(), buffer, sizeof(buffer), 0); n > 0;
           n = recv(client.get(), buffer, sizeof(buffer), 0)) {
        for (ssize_t i = 0; i < n; ++i) buffer[i] = static_cast<char>(toupper(buffer[i]));
        if (send(client.get(), buffer, static_cast<size_t>(n), MSG_NOSIGNAL) != n) break;
      }
      if (send(client.get(), ".", 1, MSG_NOSIGNAL) != 1) continue;
    }
  }

  const Listener listener_;
  std::thread thread_;
};

}  // namespace plimsoll::streaming

#endif  // PLIMSOLL_STREAMING_POD_FOR_TEST_H_
