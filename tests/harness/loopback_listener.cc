#include "harness/loopback_listener.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <utility>

#include "harness/kernel.h"

namespace plimsoll::testing {
namespace {

constexpr int kMaxWaiting = 16;

}  // namespace

LoopbackListener::LoopbackListener(int family) {
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
  if (!fd.valid() || bind(fd.get(), any, size) != 0 || listen(fd.get(), kMaxWaiting) != 0 ||
      getsockname(fd.get(), any, &size) != 0) {
    return;
  }
  port_ = ntohs(family == AF_INET ? v4->sin_port : v6->sin6_port);
  fd_ = std::move(fd);
}

UniqueFd LoopbackListener::Accept(absl::Duration limit) const {
  pollfd look = {fd_.get(), POLLIN, 0};
  const auto milliseconds = static_cast<int>(absl::ToInt64Milliseconds(Patience(limit)));
  if (poll(&look, 1, milliseconds) != 1) {
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

}  // namespace plimsoll::testing
