#include "kube/inherited_sockets.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "base/dir_for_test.h"

namespace plimsoll::kube {
namespace {

constexpr pid_t kSelf = 4711;

class InheritedSocketsTest : public testing::Test {
 protected:
  absl::StatusOr<std::map<std::string, UniqueFd>> Take(const std::string& pid,
                                                       const std::string& count, int first) {
    return InheritedSockets(
        [&](const char* name) -> const char* {
          if (std::string(name) == "LISTEN_PID") return pid.c_str();
          if (std::string(name) == "LISTEN_FDS") return count.c_str();
          return nullptr;
        },
        kSelf, first);
  }
  // Puts a descriptor at a free number of its own, as a service manager does, and gives it up.
  int PassOn(UniqueFd fd) {
    const int number = fcntl(fd.get(), F_DUPFD, 200);
    EXPECT_GE(number, 200);
    return number;
  }
  std::string PathTo(const std::string& name) const { return dir_.root().PathOf(name); }
  // Bound by its name, as by a service manager.
  UniqueFd Listener(const std::string& name) {
    UniqueFd listener(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    PathTo(name).copy(address.sun_path, sizeof(address.sun_path) - 1);
    EXPECT_EQ(bind(listener.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    EXPECT_EQ(listen(listener.get(), 8), 0);
    return listener;
  }

  TestDir dir_;
};

TEST_F(InheritedSocketsTest, SocketsAreKnownByTheirPaths) {
  const int first = PassOn(Listener("a.sock"));
  ASSERT_EQ(PassOn(Listener("b.sock")), first + 1);
  auto sockets = Take(absl::StrCat(kSelf), "2", first);
  ASSERT_TRUE(sockets.ok()) << sockets.status();
  EXPECT_EQ(sockets->size(), 2u);
  const UniqueFd b = TakeSocket(*sockets, PathTo("b.sock"));
  EXPECT_EQ(b.get(), first + 1);
  EXPECT_NE(fcntl(b.get(), F_GETFD) & FD_CLOEXEC, 0) << "no child gets it";
  EXPECT_FALSE(TakeSocket(*sockets, PathTo("b.sock")).valid());
  EXPECT_EQ(sockets->size(), 1u);
}

TEST_F(InheritedSocketsTest, OfAnotherProcessNothingIsTaken) {
  EXPECT_TRUE(Take("1", "2", 200)->empty());
  EXPECT_TRUE(Take("", "", 200)->empty());
  EXPECT_TRUE(Take("x", "1", 200)->empty());
}

TEST_F(InheritedSocketsTest, WhatIsNoListeningSocketIsNamed) {
  const auto fault_of = [&](UniqueFd fd) {
    const int first = PassOn(std::move(fd));
    return std::string(Take(absl::StrCat(kSelf), "1", first).status().message());
  };
  EXPECT_THAT(fault_of(UniqueFd(open("/dev/null", O_RDONLY | O_CLOEXEC))),
              testing::HasSubstr("inherited descriptor"));
  EXPECT_THAT(fault_of(UniqueFd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0))),
              testing::HasSubstr("is no listening unix socket with a path"));
  EXPECT_THAT(fault_of(UniqueFd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0))),
              testing::HasSubstr("use ListenStream= with a path"));
  EXPECT_EQ(Take(absl::StrCat(kSelf), "1", 300).status().code(), absl::StatusCode::kInvalidArgument)
      << "a descriptor that isn't open";
  EXPECT_THAT(std::string(Take(absl::StrCat(kSelf), "100", 200).status().message()),
              testing::HasSubstr("at most 16"));
}

}  // namespace
}  // namespace plimsoll::kube
