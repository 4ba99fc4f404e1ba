#include "base/socket_file.h"

#include <sys/stat.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "base/dir_for_test.h"
#include "base/socket_probe.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plimsoll {
namespace {

using ::testing::HasSubstr;

TEST(SocketFile, APathMustFitASocketsAddress) {
  EXPECT_TRUE(CheckSocketPath("/run/agent.sock").ok());
  EXPECT_TRUE(CheckSocketPath("/run/a..b").ok());
  for (const std::string& path :
       {std::string("run/agent.sock"), std::string(), absl::StrCat("/", std::string(106, 'x')),
        std::string("/run/../agent.sock"), std::string("/run/.."), std::string("/a\0b", 4)}) {
    EXPECT_TRUE(absl::IsInvalidArgument(CheckSocketPath(path))) << path;
  }
}

TEST(SocketFile, AnUnfinishedSocketIsHiddenInTheSameDirectory) {
  EXPECT_EQ(UnfinishedSocket("/run/a/agent.sock"), "/run/a/.agent.sock");
  EXPECT_EQ(UnfinishedSocket("/agent.sock"), "/.agent.sock");
}

TEST(SocketFile, AListenersFileHasItsMode) {
  const TestDir dir;
  const std::string path = dir.path() + "/s";
  const auto listener = ListenAt({path, 0600, std::nullopt});
  ASSERT_TRUE(listener.ok()) << listener.status();
  struct stat info;
  ASSERT_EQ(stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0600u);
  EXPECT_TRUE(ProbeSocket(path).ok());
  EXPECT_FALSE(dir.root().Exists(".s"));
}

TEST(SocketFile, ALeftSocketIsReplacedAndALivingOneIsNot) {
  const TestDir dir;
  const std::string path = dir.path() + "/s";
  EXPECT_TRUE(CheckNobodyListens(path).ok());
  ASSERT_TRUE(ListenAt({path, 0600, std::nullopt}).ok());  // closed at once: its file stays
  EXPECT_TRUE(CheckNobodyListens(path).ok());
  const auto listener = ListenAt({path, 0600, std::nullopt});
  ASSERT_TRUE(listener.ok()) << listener.status();
  const absl::Status refused = CheckNobodyListens(path);
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_THAT(refused.message(), HasSubstr("another process listens"));
}

TEST(SocketFile, AFileOfAnotherKindIsLeftAlone) {
  const TestDir dir;
  ASSERT_TRUE(dir.root().ReplaceFile("s", "text").ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(CheckNobodyListens(dir.path() + "/s")));
}

TEST(SocketFile, AFailedListenLeavesNothing) {
  const TestDir dir;
  EXPECT_TRUE(absl::IsNotFound(ListenAt({dir.path() + "/no/s", 0600, std::nullopt}).status()));
  ASSERT_TRUE(dir.root().MakeDirs("s").ok());  // rename(2) can't replace a directory
  EXPECT_FALSE(ListenAt({dir.path() + "/s", 0600, std::nullopt}).ok());
  EXPECT_FALSE(dir.root().Exists(".s"));
}

}  // namespace
}  // namespace plimsoll
