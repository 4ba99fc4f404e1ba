// For tests: a listening socket on the host's loopback network.
#ifndef PLIMSOLL_BASE_LOOPBACK_LISTENER_FOR_TEST_H_
#define PLIMSOLL_BASE_LOOPBACK_LISTENER_FOR_TEST_H_

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <cstdint>
#include <utility>

#include "absl/time/time.h"
#include "base/unique_fd.h"
#include "gtest/gtest.h"

namespace plimsoll {

class LoopbackListener {
 public:
  // Listens at 127.0.0.1 (AF_INET) or ::1 (AF_INET6), at a free port.
  explicit LoopbackListener(int family, int backlog = 16) {
    sockaddr_storage address = {};
    auto* const v4 = reinterpret_cast<sockaddr_in*>(&address);
    auto* const v6 = reinterpret_cast<sockaddr_in6*>(&address);
    socklen_t size = family == AF_INET ? sizeof(*v4) : sizeof(*v6);
    address.ss_family = static_cast<sa_family_t>(family);
    if (family == AF_INET) {
      v4->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    } else {
      v6->sin6_addr = in6addr_loopback;
    }
    UniqueFd fd(socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    if (!fd.valid() || bind(fd.get(), any, size) != 0 || listen(fd.get(), backlog) != 0 ||
        getsockname(fd.get(), any, &size) != 0) {
      return;
    }
    port_ = ntohs(family == AF_INET ? v4->sin_port : v6->sin6_port);
    fd_ = std::move(fd);
  }

  // False when the host has no such address.
  bool valid() const { return fd_.valid(); }
  int fd() const { return fd_.get(); }
  uint16_t port() const { return port_; }

  // The next connection; its sends and receives end with EAGAIN after a minute. When none comes
  // within `limit`, the test fails and the descriptor is invalid.
  UniqueFd Accept(absl::Duration limit = absl::Seconds(60)) const {
    pollfd look = {fd_.get(), POLLIN, 0};
    if (poll(&look, 1, static_cast<int>(absl::ToInt64Milliseconds(limit))) != 1) {
      ADD_FAILURE() << "nobody connects to port " << port_;
      return UniqueFd();
    }
    UniqueFd connection(accept4(fd_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    EXPECT_TRUE(connection.valid());
    const timeval minute = {.tv_sec = 60, .tv_usec = 0};
    for (const int way : {SO_RCVTIMEO, SO_SNDTIMEO}) {
      EXPECT_EQ(setsockopt(connection.get(), SOL_SOCKET, way, &minute, sizeof(minute)), 0);
    }
    return connection;
  }

 private:
  UniqueFd fd_;
  uint16_t port_ = 0;
};

}  // namespace plimsoll

#endif  // PLIMSOLL_BASE_LOOPBACK_LISTENER_FOR_TEST_H_
