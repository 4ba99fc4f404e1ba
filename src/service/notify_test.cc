#include "service/notify.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/dir_for_test.h"
#include "base/unique_fd.h"
#include "base/wait_until_for_test.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plimsoll {
namespace {

class NotifyTest : public ::testing::Test {
 protected:
  void TearDown() override { unsetenv("NOTIFY_SOCKET"); }

  // A bound datagram socket; a `path` with a leading NUL is abstract.
  static UniqueFd Bind(const std::string& path) {
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.data(), path.size());
    UniqueFd fd(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size());
    EXPECT_EQ(bind(fd.get(), reinterpret_cast<sockaddr*>(&address), size), 0) << strerror(errno);
    return fd;
  }
  static std::string Receive(const UniqueFd& fd) {
    char buffer[100];
    const ssize_t length = recv(fd.get(), buffer, sizeof(buffer), 0);
    return length < 0 ? "nothing" : std::string(buffer, static_cast<size_t>(length));
  }

  TestDir dir_;
};

TEST_F(NotifyTest, SendsToAPath) {
  const std::string path = dir_.root().PathOf("notify");
  const UniqueFd manager = Bind(path);
  setenv("NOTIFY_SOCKET", path.c_str(), 1);
  ASSERT_TRUE(NotifyServiceManager("READY=1").ok());
  EXPECT_EQ(Receive(manager), "READY=1");
  ASSERT_TRUE(NotifyServiceManager("STOPPING=1\nSTATUS=bye").ok());
  EXPECT_EQ(Receive(manager), "STOPPING=1\nSTATUS=bye");
}

TEST_F(NotifyTest, SendsToAnAbstractSocket) {
  const std::string name = absl::StrCat("plimsoll-test-", getpid());
  const UniqueFd manager = Bind(std::string(1, '\0') + name);
  setenv("NOTIFY_SOCKET", ("@" + name).c_str(), 1);
  ASSERT_TRUE(NotifyServiceManager("READY=1").ok());
  EXPECT_EQ(Receive(manager), "READY=1");
}

// A manager that is busy, or stopped, holds up nothing here.
TEST_F(NotifyTest, AManagerThatReadsNothingGetsItLater) {
  const std::string path = dir_.root().PathOf("notify");
  const UniqueFd manager = Bind(path);
  setenv("NOTIFY_SOCKET", path.c_str(), 1);
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  const UniqueFd other(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  while (sendto(other.get(), "x", 1, MSG_DONTWAIT, reinterpret_cast<const sockaddr*>(&address),
                sizeof(address)) == 1) {
  }
  ASSERT_TRUE(NotifyServiceManager("READY=1").ok());
  ASSERT_TRUE(NotifyServiceManager("STOPPING=1").ok());
  for (int i = 2; i < 64; ++i) ASSERT_TRUE(NotifyServiceManager("STATUS=waits").ok());
  EXPECT_TRUE(absl::IsUnavailable(NotifyServiceManager("STATUS=is one too many")));
  EXPECT_EQ(Receive(manager), "x");
  EXPECT_TRUE(WaitUntil([&] { return Receive(manager) == "READY=1"; }));
  EXPECT_TRUE(WaitUntil([&] { return Receive(manager) == "STOPPING=1"; }));
  for (int i = 2; i < 64; ++i) {
    ASSERT_TRUE(WaitUntil([&] { return Receive(manager) == "STATUS=waits"; })) << i;
  }
}

TEST_F(NotifyTest, NobodyToTellIsFine) {
  EXPECT_TRUE(NotifyServiceManager("READY=1").ok());
  setenv("NOTIFY_SOCKET", "", 1);
  EXPECT_TRUE(NotifyServiceManager("READY=1").ok());
}

TEST_F(NotifyTest, ABadSocketIsAnError) {
  setenv("NOTIFY_SOCKET", "relative", 1);
  EXPECT_TRUE(absl::IsInvalidArgument(NotifyServiceManager("READY=1")));
  setenv("NOTIFY_SOCKET", std::string(200, '/').c_str(), 1);
  EXPECT_TRUE(absl::IsInvalidArgument(NotifyServiceManager("READY=1")));
  setenv("NOTIFY_SOCKET", dir_.root().PathOf("none").c_str(), 1);
  EXPECT_TRUE(absl::IsNotFound(NotifyServiceManager("READY=1")));
}

TEST_F(NotifyTest, ReadyFdGetsOneByteAndIsClosed) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const UniqueFd reader(ends[0]);
  ASSERT_TRUE(NotifyReadyFd(ends[1]).ok());
  char buffer[10];
  EXPECT_EQ(read(reader.get(), buffer, sizeof(buffer)), 1);
  EXPECT_EQ(read(reader.get(), buffer, sizeof(buffer)), 0);  // the other end is closed
  EXPECT_TRUE(NotifyReadyFd(-1).ok());
}

}  // namespace
}  // namespace plimsoll
