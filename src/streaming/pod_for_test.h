// Listeners of a pod, and the buffers of their connections.
#ifndef PLIMSOLL_STREAMING_POD_FOR_TEST_H_
#define PLIMSOLL_STREAMING_POD_FOR_TEST_H_

#include <sys/socket.h>

#include <cctype>
#include <cerrno>
#include <cstdint>
#include <fstream>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "base/loopback_listener_for_test.h"
#include "base/unique_fd.h"
#include "gtest/gtest.h"
#include "streaming/fake_backend_for_test.h"

namespace plimsoll::streaming {

// Most bytes that both sockets of a TCP connection hold in one direction.
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

// True if the other end has closed; discards earlier bytes.
inline bool HasEnded(int connection) {
  char buffer[4096];
  ssize_t n = 1;
  while (n > 0) n = recv(connection, buffer, sizeof(buffer), 0);
  return n == 0 || errno == ECONNRESET;
}

// Answers its input in capital letters.
class Echo {
 public:
  explicit Echo(int family) : listener_(family, 8), thread_([this] { Serve(); }) {}
  ~Echo() {
    shutdown(listener_.fd(), SHUT_RDWR);
    thread_.join();
  }
  bool there() const { return listener_.valid(); }
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

  const LoopbackListener listener_;
  std::thread thread_;
};

}  // namespace plimsoll::streaming

#endif  // PLIMSOLL_STREAMING_POD_FOR_TEST_H_
