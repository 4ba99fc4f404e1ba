#include "linux/tcp_peer.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <string>

#include "base/loopback_listener_for_test.h"
#include "base/unique_fd.h"
#include "base/wait_until_for_test.h"
#include "gtest/gtest.h"

namespace plimsoll::linux {
namespace {

// A connection over the loopback network, with both its ends.
class TcpPeerTest : public ::testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    const LoopbackListener listener(GetParam());
    if (!listener.valid()) GTEST_SKIP() << "this host has no such address";
    client_.Reset(socket(GetParam(), SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_storage address = {};
    socklen_t size = sizeof(address);
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    ASSERT_EQ(getsockname(listener.fd(), any, &size), 0);
    ASSERT_EQ(connect(client_.get(), any, size), 0);
    server_ = listener.Accept();
    ASSERT_TRUE(server_.valid());
  }
  // Writes until the buffers are full.
  void Fill() {
    ASSERT_EQ(fcntl(client_.get(), F_SETFL, O_NONBLOCK), 0);
    const std::string much(64 * 1024, 'x');
    pollfd look = {client_.get(), POLLOUT, 0};
    while (poll(&look, 1, 200) > 0) {
      if (send(client_.get(), much.data(), much.size(), MSG_NOSIGNAL) < 0) {
        ASSERT_EQ(errno, EAGAIN);
      }
    }
  }
  bool HasBeenTold() const {
    pollfd look = {server_.get(), POLLRDHUP, 0};
    return poll(&look, 1, 0) > 0;
  }
  UniqueFd client_;
  UniqueFd server_;
};

TEST_P(TcpPeerTest, AnOpenEndIsEstablishedOnBothSides) {
  EXPECT_EQ(StateOfTcpPeer(server_.get()), TCP_ESTABLISHED);
  EXPECT_EQ(StateOfTcpPeer(client_.get()), TCP_ESTABLISHED);
  EXPECT_FALSE(TcpPeerHasClosed(server_.get()));
}

TEST_P(TcpPeerTest, AnEndThatIsHeldUpByWhatNobodyReadsHasClosed) {
  Fill();
  EXPECT_FALSE(TcpPeerHasClosed(server_.get()));
  client_.Reset();
  EXPECT_FALSE(HasBeenTold()) << "so there would be nothing to find out";
  EXPECT_TRUE(TcpPeerHasClosed(server_.get()));
}

TEST_P(TcpPeerTest, AClosedHalfIsSeenToo) {
  ASSERT_EQ(shutdown(client_.get(), SHUT_WR), 0);
  EXPECT_TRUE(TcpPeerHasClosed(server_.get()));
  EXPECT_FALSE(TcpPeerHasClosed(client_.get())) << "the server has not";
}

TEST_P(TcpPeerTest, AnEndThatIsGoneCannotBeTold) {
  const linger at_once = {1, 0};
  ASSERT_EQ(setsockopt(client_.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once)), 0);
  client_.Reset();
  EXPECT_TRUE(WaitUntil([this] { return HasBeenTold(); }));
  EXPECT_FALSE(TcpPeerHasClosed(server_.get()));
}

INSTANTIATE_TEST_SUITE_P(Families, TcpPeerTest, ::testing::Values(AF_INET, AF_INET6),
                         [](const auto& family) {
                           return family.param == AF_INET ? "IPv4" : "IPv6";
                         });

TEST(TcpPeer, AnIpv4ConnectionOfAnIpv6SocketIsOne) {
  const LoopbackListener listener(AF_INET);
  ASSERT_TRUE(listener.valid());
  const UniqueFd client(socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!client.valid()) GTEST_SKIP() << "this host has no IPv6";
  sockaddr_in6 address = {};
  address.sin6_family = AF_INET6;
  address.sin6_port = htons(listener.port());
  address.sin6_addr.s6_addr[10] = address.sin6_addr.s6_addr[11] = 0xff;
  address.sin6_addr.s6_addr32[3] = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(connect(client.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  UniqueFd server = listener.Accept();
  ASSERT_TRUE(server.valid());
  EXPECT_EQ(StateOfTcpPeer(client.get()), TCP_ESTABLISHED);
  server.Reset();
  EXPECT_TRUE(TcpPeerHasClosed(client.get()));
}

TEST(TcpPeer, WhatIsNoTcpConnectionHasNone) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  const UniqueFd first(ends[0]);
  const UniqueFd second(ends[1]);
  EXPECT_EQ(StateOfTcpPeer(first.get()), std::nullopt);
  EXPECT_EQ(StateOfTcpPeer(LoopbackListener(AF_INET).fd()), std::nullopt);
  EXPECT_FALSE(TcpPeerHasClosed(-1));
}

}  // namespace
}  // namespace plimsoll::linux
