#include "runtime/log_place.h"

#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "base/dir_for_test.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plimsoll::runtime {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class LogPlaceTest : public ::testing::Test {
 protected:
  absl::Status Prepare(const std::string& name) {
    return PrepareLog(dir_.root(), "/logs/pod", "/logs/pod/" + name).status();
  }
  void ExpectRefused(const std::string& name, const std::string& why) {
    const absl::Status status = Prepare(name);
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
    EXPECT_THAT(std::string(status.message()),
                AllOf(HasSubstr("/logs/pod/" + name), HasSubstr(why)));
  }

  TestDir dir_;
};

TEST_F(LogPlaceTest, DirectoriesAreMade) {
  ASSERT_TRUE(Prepare("a/0.log").ok());
  EXPECT_EQ(dir_.root().Stat("logs/pod/a")->st_mode & 07777, 0755u);
  EXPECT_TRUE(absl::IsNotFound(dir_.root().Stat("logs/pod/a/0.log").status()));
  ASSERT_TRUE(dir_.root().ReplaceFile("logs/pod/a/0.log", "kept").ok());
  EXPECT_TRUE(Prepare("a/0.log").ok()) << "kubelet may have begun it";
  EXPECT_EQ(*dir_.root().Read("logs/pod/a/0.log"), "kept");
}

TEST_F(LogPlaceTest, WithoutADirectoryOfThePodsItIsTheLogsOwn) {
  EXPECT_TRUE(PrepareLog(dir_.root(), "", "/elsewhere/x/0.log").ok());
  EXPECT_TRUE(S_ISDIR(dir_.root().Stat("elsewhere/x")->st_mode));
  EXPECT_TRUE(PrepareLog(dir_.root(), "", "").ok());
}

TEST_F(LogPlaceTest, OnlyARegularFileIsALog) {
  ASSERT_TRUE(Prepare("a/0.log").ok());
  ASSERT_EQ(mkfifo(dir_.root().PathOf("logs/pod/a/fifo").c_str(), 0600), 0);
  ExpectRefused("a/fifo", "is a FIFO; it must be a regular file");
  ExpectRefused("a", "is a directory");
}

TEST_F(LogPlaceTest, AFileInTheWayAndLongNamesAreTheClientsFault) {
  ASSERT_TRUE(Prepare("a/0.log").ok());
  ASSERT_TRUE(dir_.root().ReplaceFile("logs/pod/file", "").ok());
  const absl::Status below = Prepare("file/0.log");
  EXPECT_TRUE(absl::IsFailedPrecondition(below)) << below;
  const absl::Status file =
      PrepareLog(dir_.root(), "/logs/pod/file", "/logs/pod/file/0.log").status();
  EXPECT_TRUE(absl::IsFailedPrecondition(file)) << file;
  EXPECT_THAT(std::string(file.message()), HasSubstr("not a directory"));
  for (const std::string& name : {std::string(300, 'a'), std::string(300, 'a') + "/0.log"}) {
    const absl::Status status = Prepare(name);
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  }
}

TEST_F(LogPlaceTest, NoLinkIsFollowed) {
  ASSERT_TRUE(dir_.root().MakeDirs("victim").ok());
  ASSERT_TRUE(Prepare("a/0.log").ok());
  ASSERT_EQ(symlink("../../../victim/file", dir_.root().PathOf("logs/pod/a/link").c_str()), 0);
  ExpectRefused("a/link", "/logs/pod/a/link is a symlink");
  ASSERT_EQ(symlink("../../victim", dir_.root().PathOf("logs/pod/b").c_str()), 0);
  ExpectRefused("b/c/0.log", "/logs/pod/b is a symlink");
  ASSERT_EQ(symlink("../victim", dir_.root().PathOf("logs/link").c_str()), 0);
  for (const char* directory : {"/logs/link", "/logs/link/"}) {
    const absl::Status pods =
        PrepareLog(dir_.root(), directory, absl::StrCat(directory, "/0.log")).status();
    EXPECT_TRUE(absl::IsFailedPrecondition(pods)) << pods;
    EXPECT_THAT(std::string(pods.message()), HasSubstr("/logs/link is a symlink"));
  }
  EXPECT_TRUE(dir_.root().List("victim")->empty());
}

TEST_F(LogPlaceTest, LinksAboveThePodsDirectoryAreResolvedOnce) {
  ASSERT_TRUE(dir_.root().MakeDirs("disk/logs").ok());
  ASSERT_EQ(symlink("disk/logs", dir_.root().PathOf("logs").c_str()), 0);
  const auto place = PrepareLog(dir_.root(), "/logs/pod/", "/logs/pod/a/0.log");
  ASSERT_TRUE(place.ok()) << place.status();
  EXPECT_EQ(place->directory, dir_.path() + "/disk/logs/pod");
  EXPECT_EQ(place->path, dir_.path() + "/disk/logs/pod/a/0.log");
}

TEST_F(LogPlaceTest, TheKernelsFilesAreNoLogs) {
  const auto host = FsRoot::Open("/");
  ASSERT_TRUE(host.ok()) << host.status();
  for (const char* directory : {"/proc/sys/kernel", "/sys/kernel"}) {
    const absl::Status status =
        PrepareLog(*host, directory, absl::StrCat(directory, "/none/0.log")).status();
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("kernel's own file systems"));
  }
}

}  // namespace
}  // namespace plimsoll::runtime
