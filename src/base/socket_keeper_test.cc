#include "base/socket_keeper.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/dir_for_test.h"
#include "base/wait_until_for_test.h"
#include "gtest/gtest.h"

namespace plimsoll {
namespace {

class SocketKeeperTest : public ::testing::Test {
 protected:
  SocketKeeperTest() {
    EXPECT_TRUE(dir_.root().MakeDirs("sockets", 0755).ok());
    auto listener = ListenAt({path_, 0600, std::nullopt});
    EXPECT_TRUE(listener.ok()) << listener.status();
    auto keeper = SocketKeeper::Start(
        {path_, 0600, std::nullopt}, [this](const UniqueFd& /*connection*/) { ++served_; },
        [this](const absl::Status& made) {
          ++(made.ok() ? made_ : absl::IsAlreadyExists(made) ? replaced_ : failed_);
        },
        *std::move(listener));
    EXPECT_TRUE(keeper.ok()) << keeper.status();
    keeper_ = *std::move(keeper);
  }
  bool Connects() {
    const int before = served_;
    sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = {}};
    path_.copy(address.sun_path, sizeof(address.sun_path) - 1);
    const UniqueFd client(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    return connect(client.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0 &&
           WaitUntil([&] { return served_ > before; });
  }

  TestDir dir_;
  const std::string path_ = dir_.path() + "/sockets/it.sock";
  std::atomic<int> served_ = 0, made_ = 0, failed_ = 0, replaced_ = 0;
  std::unique_ptr<SocketKeeper> keeper_;
};

TEST_F(SocketKeeperTest, AFileThatIsRemovedIsMadeAgain) {
  EXPECT_TRUE(Connects());
  for (int i = 1; i <= 3; ++i) {
    ASSERT_TRUE(dir_.root().RemoveFile("sockets/it.sock").ok());
    ASSERT_TRUE(WaitUntil([&] { return made_ == i; }));
    EXPECT_TRUE(Connects());
  }
}

TEST_F(SocketKeeperTest, ADirectoryThatComesAgainGetsTheFileAndIsWatched) {
  for (int i = 1; i <= 2; ++i) {
    const std::string away = dir_.path() + "/away" + std::to_string(i);
    ASSERT_EQ(rename((dir_.path() + "/sockets").c_str(), away.c_str()), 0);
    ASSERT_TRUE(WaitUntil([&] { return failed_ == i; }));
    ASSERT_TRUE(dir_.root().MakeDirs("sockets", 0755).ok());
    ASSERT_TRUE(WaitUntil([&] { return made_ == 2 * i - 1; }));
    ASSERT_TRUE(dir_.root().RemoveFile("sockets/it.sock").ok());
    ASSERT_TRUE(WaitUntil([&] { return made_ == 2 * i; }));
    EXPECT_TRUE(Connects());
  }
}

// Paths that lead to no file, as with ENOENT: lstat(2) says ELOOP, and then ENOTDIR.
TEST_F(SocketKeeperTest, WhatTakesTheDirectorysPlaceMayGoAgain) {
  const std::string directory = dir_.path() + "/sockets";
  const std::string other = dir_.path() + "/other";
  ASSERT_EQ(symlink(directory.c_str(), other.c_str()), 0);
  for (int i = 1; i <= 2; ++i) {
    ASSERT_EQ(renameat2(AT_FDCWD, other.c_str(), AT_FDCWD, directory.c_str(), RENAME_EXCHANGE), 0);
    ASSERT_TRUE(WaitUntil([&] { return failed_ == i; }));
    ASSERT_EQ(unlink(directory.c_str()), 0);
    ASSERT_TRUE(dir_.root().MakeDirs("sockets", 0755).ok());
    ASSERT_TRUE(WaitUntil([&] { return made_ == i; }));
    EXPECT_TRUE(Connects());
    ASSERT_EQ(rename(other.c_str(), (dir_.path() + "/away" + std::to_string(i)).c_str()), 0);
    ASSERT_TRUE(dir_.root().ReplaceFile("other", "").ok());
  }
}

// No watch of the directory reports that.
TEST_F(SocketKeeperTest, ALinkOnTheWayMayLeadElsewhere) {
  const std::string link = dir_.path() + "/link";
  ASSERT_TRUE(dir_.root().MakeDirs("one", 0755).ok());
  ASSERT_TRUE(dir_.root().MakeDirs("two", 0755).ok());
  ASSERT_EQ(symlink("one", link.c_str()), 0);
  const SocketFile file{link + "/it.sock", 0600, std::nullopt};
  auto listener = ListenAt(file);
  ASSERT_TRUE(listener.ok()) << listener.status();
  std::atomic<int> made = 0;
  const auto keeper = SocketKeeper::Start(
      file, [](const UniqueFd& /*connection*/) {},
      [&](const absl::Status& status) { made += status.ok() ? 1 : 0; }, *std::move(listener));
  ASSERT_TRUE(keeper.ok()) << keeper.status();
  ASSERT_TRUE(dir_.root().RemoveFile("one/it.sock").ok());
  ASSERT_TRUE(WaitUntil([&] { return made == 1; }));  // its first look is over
  ASSERT_EQ(unlink(link.c_str()), 0);
  ASSERT_EQ(symlink("two", link.c_str()), 0);
  EXPECT_TRUE(WaitUntil([&] { return made == 2; }));
  EXPECT_TRUE(dir_.root().Exists("two/it.sock"));
}

TEST_F(SocketKeeperTest, AFileThatTakesItsPlaceIsToldOnceAndLeftAlone) {
  EXPECT_TRUE(keeper_->HoldsPath());
  for (int i = 1; i <= 2; ++i) {
    ASSERT_TRUE(dir_.root().ReplaceFile("foreign", "mine").ok());
    ASSERT_EQ(rename((dir_.path() + "/foreign").c_str(), path_.c_str()), 0);
    ASSERT_TRUE(WaitUntil([&] { return replaced_ == i; }));
    EXPECT_FALSE(keeper_->HoldsPath());
    // Another change of the directory is another look.
    ASSERT_TRUE(dir_.root().ReplaceFile("sockets/other", "").ok());
    ASSERT_TRUE(dir_.root().RemoveFile("sockets/other").ok());
    EXPECT_EQ(dir_.root().Read("sockets/it.sock").value_or(""), "mine");
    ASSERT_TRUE(dir_.root().RemoveFile("sockets/it.sock").ok());
    ASSERT_TRUE(WaitUntil([&] { return made_ == i; }));
    EXPECT_EQ(replaced_, i);
    EXPECT_TRUE(keeper_->HoldsPath());
    EXPECT_TRUE(Connects());
  }
  EXPECT_EQ(failed_, 0);
}

TEST_F(SocketKeeperTest, AStartThatFailsRemovesTheListenersFile) {
  const SocketFile file{dir_.path() + "/sockets/other.sock", 0600, std::nullopt};
  auto listener = ListenAt(file);
  ASSERT_TRUE(listener.ok()) << listener.status();
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none_left = {0, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none_left), 0);
  const auto started = SocketKeeper::Start(
      file, [](const UniqueFd& /*connection*/) {}, [](const absl::Status& /*made*/) {},
      *std::move(listener));
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_FALSE(started.ok());
  EXPECT_FALSE(dir_.root().Exists("sockets/other.sock"));
  EXPECT_TRUE(Connects());
}

TEST_F(SocketKeeperTest, AServersEndRemovesItsOwnFileAlone) {
  ASSERT_TRUE(dir_.root().RemoveFile("sockets/it.sock").ok());
  ASSERT_TRUE(WaitUntil([&] { return made_ == 1; }));
  SocketKeeper::RemoveFile(std::move(keeper_));
  EXPECT_FALSE(dir_.root().Exists("sockets/it.sock"));
  EXPECT_EQ(made_, 1);
  SocketKeeper::RemoveFile(nullptr);
}

TEST_F(SocketKeeperTest, AServersEndLeavesAnothersFile) {
  ASSERT_TRUE(dir_.root().ReplaceFile("foreign", "mine").ok());
  ASSERT_EQ(rename((dir_.path() + "/foreign").c_str(), path_.c_str()), 0);
  ASSERT_TRUE(WaitUntil([&] { return replaced_ == 1; }));
  SocketKeeper::RemoveFile(std::move(keeper_));
  EXPECT_EQ(dir_.root().Read("sockets/it.sock").value_or(""), "mine");
}

TEST_F(SocketKeeperTest, ItsOwnFileMayGoAndComeBack) {
  const std::string away = dir_.path() + "/sockets/away";
  ASSERT_EQ(rename(path_.c_str(), away.c_str()), 0);
  ASSERT_TRUE(WaitUntil([&] { return made_ == 1; }));
  ASSERT_EQ(rename(path_.c_str(), (away + "2").c_str()), 0);
  ASSERT_TRUE(WaitUntil([&] { return made_ == 2; }));
  EXPECT_TRUE(keeper_->HoldsPath());
  EXPECT_EQ(replaced_, 0);
}

}  // namespace
}  // namespace plimsoll
