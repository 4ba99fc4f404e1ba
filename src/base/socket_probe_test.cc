#include "base/socket_probe.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include "base/dir_for_test.h"
#include "base/unique_fd.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plimsoll {
namespace {

using ::testing::HasSubstr;

class ProbeSocketTest : public ::testing::Test {
 protected:
  ProbeSocketTest() {
    address_.sun_family = AF_UNIX;
    std::memcpy(address_.sun_path, path_.data(), path_.size());
  }
  const sockaddr* address() const { return reinterpret_cast<const sockaddr*>(&address_); }
  UniqueFd Bound() const {
    UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(bind(fd.get(), address(), sizeof(address_)), 0);
    return fd;
  }

  TestDir dir_;
  const std::string path_ = dir_.path() + "/s";
  sockaddr_un address_ = {};
};

TEST_F(ProbeSocketTest, TellsWhetherSomebodyListens) {
  EXPECT_TRUE(absl::IsNotFound(ProbeSocket(path_))) << "no file";
  const UniqueFd fd = Bound();
  const absl::Status nobody = ProbeSocket(path_);
  EXPECT_TRUE(absl::IsNotFound(nobody)) << nobody;
  EXPECT_THAT(nobody.message(), HasSubstr("no process listens there"));
  ASSERT_EQ(listen(fd.get(), 1), 0);
  const absl::Status listens = ProbeSocket(path_);
  EXPECT_TRUE(listens.ok()) << listens;
  EXPECT_TRUE(absl::IsInvalidArgument(ProbeSocket("/" + std::string(200, 'x'))));
}

TEST_F(ProbeSocketTest, AFileIsNoSocket) {
  ASSERT_TRUE(dir_.root().ReplaceFile("s", "text").ok());
  for (const std::string& path : {path_, dir_.path()}) {
    const absl::Status file = ProbeSocket(path);
    EXPECT_TRUE(absl::IsFailedPrecondition(file)) << file;
    EXPECT_EQ(file.message(), path + " is no socket");
  }
}

TEST_F(ProbeSocketTest, AListenerThatNeverAcceptsIsOne) {
  const UniqueFd fd = Bound();
  ASSERT_EQ(listen(fd.get(), 0), 0);
  std::vector<UniqueFd> waiting;
  bool full = false;
  for (int i = 0; i < 100 && !full; ++i) {
    waiting.emplace_back(socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    full = connect(waiting.back().get(), address(), sizeof(address_)) != 0;
  }
  ASSERT_TRUE(full);
  ASSERT_EQ(errno, EAGAIN);
  const absl::Status listens = ProbeSocket(path_);  // a connect(2) that blocks waits forever
  EXPECT_TRUE(listens.ok()) << listens;
}

}  // namespace
}  // namespace plimsoll
