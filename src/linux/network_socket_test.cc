#include "linux/network_socket.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"

namespace plimsoll::linux {
namespace {

sockaddr_in Loopback() {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

TEST(NetworkSocket, IsOfTheNamespaceThatItsPathNames) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root, to make a network namespace";
  // A thread that waits in a network namespace of its own, where loopback is down.
  int done[2];
  int there[2];
  ASSERT_EQ(pipe(done), 0);
  ASSERT_EQ(pipe(there), 0);
  std::thread other([&] {
    const bool made = unshare(CLONE_NEWNET) == 0;
    const int tid = made ? gettid() : -1;
    EXPECT_EQ(write(there[1], &tid, sizeof(tid)), static_cast<ssize_t>(sizeof(tid)));
    char byte;
    EXPECT_EQ(read(done[0], &byte, 1), 0);
  });
  int tid = -1;
  EXPECT_EQ(read(there[0], &tid, sizeof(tid)), static_cast<ssize_t>(sizeof(tid)));
  EXPECT_GT(tid, 0) << "no network namespace could be made";

  const std::string path = absl::StrCat("/proc/self/task/", tid, "/ns/net");
  const auto socket = MakeNetworkSocket(path, AF_INET, SOCK_STREAM);
  EXPECT_TRUE(socket.ok()) << socket.status();
  if (socket.ok()) {
    // In this process's own namespace the connection would be refused: nobody listens there.
    sockaddr_in address = Loopback();
    address.sin_port = htons(1);
    EXPECT_EQ(connect(socket->get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), -1);
    EXPECT_EQ(errno, ENETUNREACH);
  }
  close(done[1]);
  other.join();
  for (const int fd : {done[0], there[0], there[1]}) close(fd);
}

TEST(NetworkSocket, IsOfTheOwnNamespaceWithoutAPath) {
  const auto listener = MakeNetworkSocket("", AF_INET, SOCK_STREAM);
  ASSERT_TRUE(listener.ok());
  sockaddr_in address = Loopback();
  ASSERT_EQ(bind(listener->get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  ASSERT_EQ(listen(listener->get(), 1), 0);
  socklen_t size = sizeof(address);
  ASSERT_EQ(getsockname(listener->get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
  const auto client = MakeNetworkSocket("", AF_INET, SOCK_STREAM);
  ASSERT_TRUE(client.ok());
  EXPECT_NE(fcntl(client->get(), F_GETFL) & O_NONBLOCK, 0);
  const int connected =
      connect(client->get(), reinterpret_cast<sockaddr*>(&address), sizeof(address));
  EXPECT_TRUE(connected == 0 || errno == EINPROGRESS);
  pollfd poller = {client->get(), POLLOUT, 0};
  ASSERT_EQ(poll(&poller, 1, 10'000), 1);
  int error = -1;
  socklen_t error_size = sizeof(error);
  ASSERT_EQ(getsockopt(client->get(), SOL_SOCKET, SO_ERROR, &error, &error_size), 0);
  EXPECT_EQ(error, 0);
}

TEST(NetworkSocket, SaysWhatIsNotThere) {
  EXPECT_TRUE(absl::IsNotFound(MakeNetworkSocket("/nowhere/net", AF_INET, SOCK_STREAM).status()));
  EXPECT_FALSE(MakeNetworkSocket("/dev/null", AF_INET, SOCK_STREAM).ok());
}

}  // namespace
}  // namespace plimsoll::linux
