#include "kubelet/connect.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <thread>

#include "base/dir_for_test.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plimsoll::kubelet {
namespace {

using ::testing::HasSubstr;

absl::StatusOr<UniqueFd> ConnectToRoot(const std::string& path) {
  auto found = FindSocket(path);
  if (!found.ok()) return found.status();
  return Connect(*found, path);
}

constexpr uid_t kNobody = 65534;

class ConnectTest : public ::testing::Test {
 protected:
  // Bound in the directory, not yet listening.
  UniqueFd Bind(const std::string& name) {
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, Path(name).c_str(), sizeof(address.sun_path) - 1);
    UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    return fd;
  }
  UniqueFd Listen(const std::string& name, int backlog = 8) {
    UniqueFd fd = Bind(name);
    EXPECT_EQ(listen(fd.get(), backlog), 0);
    return fd;
  }
  std::string Path(const std::string& name) const { return dir_.path() + "/" + name; }

  TestDir dir_;
};

TEST_F(ConnectTest, ConnectsToRootsListener) {
  const UniqueFd listener = Listen("s");
  const auto connection = ConnectToRoot(Path("s"));
  ASSERT_TRUE(connection.ok()) << connection.status();
  const UniqueFd peer(accept(listener.get(), nullptr, nullptr));
  ASSERT_EQ(send(peer.get(), "x", 1, 0), 1);
  char byte = 0;
  EXPECT_EQ(recv(connection->get(), &byte, 1, 0), 1);
}

TEST_F(ConnectTest, APathMayBeLongerThanASocketsAddress) {
  const std::string deep = std::string(60, 'a') + "/" + std::string(60, 'b');
  ASSERT_TRUE(dir_.root().MakeDirs(deep).ok());
  const UniqueFd listener = Listen("s");
  ASSERT_EQ(rename(Path("s").c_str(), Path(deep + "/s").c_str()), 0);
  EXPECT_TRUE(ConnectToRoot(Path(deep + "/s")).ok());
}

TEST_F(ConnectTest, NamesWhatIsWrong) {
  const auto missing = ConnectToRoot(Path("none")).status();
  EXPECT_TRUE(absl::IsNotFound(missing)) << missing;
  EXPECT_THAT(missing.message(), HasSubstr(Path("none")));

  ASSERT_TRUE(dir_.root().ReplaceFile("file", "").ok());
  const auto file = ConnectToRoot(Path("file")).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(file)) << file;
  EXPECT_THAT(file.message(), HasSubstr("no socket"));

  { const UniqueFd gone = Listen("stale"); }
  const auto stale = ConnectToRoot(Path("stale")).status();
  EXPECT_TRUE(absl::IsUnavailable(stale)) << stale;
  EXPECT_THAT(stale.message(), HasSubstr("no process listens"));
}

TEST_F(ConnectTest, AFileAtTheSamePathIsAnother) {
  const UniqueFd first = Listen("s");
  const auto found = FindSocket(Path("s"));
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_TRUE(FindSocket(Path("s"))->IsSameFile(*found));
  const UniqueFd second = Listen("t");
  ASSERT_EQ(rename(Path("t").c_str(), Path("s").c_str()), 0);
  EXPECT_FALSE(FindSocket(Path("s"))->IsSameFile(*found));
}

TEST_F(ConnectTest, FollowsNoLink) {
  const UniqueFd listener = Listen("s");
  ASSERT_EQ(symlink("s", Path("link").c_str()), 0);
  EXPECT_TRUE(absl::IsFailedPrecondition(ConnectToRoot(Path("link")).status()));
}

TEST_F(ConnectTest, NeverWaitsForAListenerThatAcceptsNothing) {
  const UniqueFd listener = Listen("s", 0);
  std::vector<UniqueFd> connections;
  absl::Status status;
  while (status.ok() && connections.size() < 100) {
    auto connection = ConnectToRoot(Path("s"));
    status = connection.status();
    if (status.ok()) connections.push_back(*std::move(connection));
  }
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_THAT(status.message(), HasSubstr("accepts no connections"));
}

TEST_F(ConnectTest, RefusesAnotherUsersFile) {
  const UniqueFd listener = Listen("s");
  ASSERT_EQ(chown(Path("s").c_str(), kNobody, 0), 0);
  const auto status = ConnectToRoot(Path("s")).status();
  EXPECT_TRUE(absl::IsPermissionDenied(status)) << status;
  EXPECT_THAT(status.message(), HasSubstr("owner is user 65534"));
}

// A user that root's file was handed to.
TEST_F(ConnectTest, RefusesAnotherUsersListener) {
  const UniqueFd listener = Bind("s");
  // The raw call changes this thread's user alone.
  std::thread([&] {
    ASSERT_EQ(syscall(SYS_setresuid, kNobody, kNobody, kNobody), 0);
    ASSERT_EQ(listen(listener.get(), 8), 0);
  }).join();
  const auto status = ConnectToRoot(Path("s")).status();
  EXPECT_TRUE(absl::IsPermissionDenied(status)) << status;
  EXPECT_THAT(status.message(), HasSubstr("listener is user 65534"));
}

}  // namespace
}  // namespace plimsoll::kubelet
