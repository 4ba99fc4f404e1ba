#include "monitor/make_below.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "base/dir_for_test.h"
#include "base/fs_root.h"
#include "base/swap_loop_for_test.h"
#include "base/unique_fd.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plimsoll::monitor {
namespace {

using ::testing::IsEmpty;

class MakeBelowTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(dir_.root().MakeDirs("root/etc", 0755).ok());
    ASSERT_TRUE(dir_.root().MakeDirs("outside", 0755).ok());
    descriptor_.Reset(open(root_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  }
  void Link(const std::string& name, const std::string& text) {
    ASSERT_EQ(symlink(text.c_str(), absl::StrCat(root_, "/", name).c_str()), 0);
  }
  // "", or the error's text.
  std::string Make(const std::string& path, Kind kind = Kind::kDirectory,
                   Making making = Making::kBehindLinks) {
    return MakeBelow(descriptor_.get(), path.c_str(), kind, making, Owner()) ? "" : strerror(errno);
  }
  bool IsDirectory(const std::string& path) {
    const auto info = dir_.root().Stat("root/" + path);
    return info.ok() && S_ISDIR(info->st_mode);
  }
  bool IsFile(const std::string& path) {
    const auto info = dir_.root().Stat("root/" + path);
    return info.ok() && S_ISREG(info->st_mode);
  }
  std::vector<std::string> Outside() { return *dir_.root().List("outside"); }

  TestDir dir_;
  const std::string root_ = dir_.path() + "/root";
  UniqueFd descriptor_;
};

TEST_F(MakeBelowTest, TheTargetOfALinkThatLeadsNowhere) {
  ASSERT_TRUE(dir_.root().MakeDirs("root/var", 0755).ok());
  Link("var/run", "/run");
  Link("data", "mnt/data");
  EXPECT_EQ(Make("/var/run/secrets/x"), "");
  EXPECT_TRUE(IsDirectory("run/secrets/x"));
  EXPECT_EQ(Make("/data/f", Kind::kFile), "");
  EXPECT_TRUE(IsFile("mnt/data/f"));
  EXPECT_EQ(dir_.root().Stat("root/mnt/data/f")->st_mode & 0777, 0644u);
}

TEST_F(MakeBelowTest, TheLinkMayBeTheEndOfThePath) {
  Link("etc/resolv.conf", "../run/x/stub");
  Link("data", "/mnt/data/");
  EXPECT_EQ(Make("/etc/resolv.conf", Kind::kFile), "");
  EXPECT_TRUE(IsFile("run/x/stub"));
  EXPECT_EQ(Make("/data"), "");
  EXPECT_TRUE(IsDirectory("mnt/data"));
}

TEST_F(MakeBelowTest, OneLinkMayLeadToAnother) {
  Link("a", "b/c");
  Link("b", "./d/../e");
  EXPECT_EQ(Make("/a/x"), "");
  EXPECT_TRUE(IsDirectory("e/c/x"));
}

TEST_F(MakeBelowTest, NothingIsMadeOutside) {
  Link("climbs", "../../../../outside/a");
  Link("absolute", dir_.path() + "/outside/b");
  Link("out", "../outside");
  for (const char* path : {"/climbs/x", "/absolute/x", "/out/c", "/../outside/d"}) {
    EXPECT_EQ(Make(path, Kind::kDirectory, Making::kAll), "") << path;
  }
  EXPECT_THAT(Outside(), IsEmpty());
  EXPECT_TRUE(IsDirectory("outside/a/x"));
  EXPECT_TRUE(IsDirectory(dir_.path().substr(1) + "/outside/b/x"));
  EXPECT_TRUE(IsDirectory("outside/c"));
  EXPECT_TRUE(IsDirectory("outside/d"));
}

TEST_F(MakeBelowTest, WithoutALinkTheRestIsLeftToTheRuntime) {
  EXPECT_EQ(Make("/etc/a/b"), "");
  EXPECT_FALSE(IsDirectory("etc/a"));
  EXPECT_EQ(Make("/etc/a/b", Kind::kDirectory, Making::kAll), "");
  EXPECT_TRUE(IsDirectory("etc/a/b"));
}

TEST_F(MakeBelowTest, WhatIsThereStays) {
  ASSERT_TRUE(dir_.root().ReplaceFile("root/etc/f", "text", 0600).ok());
  Link("link", "etc/f");
  EXPECT_EQ(Make("/link", Kind::kFile), "");
  EXPECT_EQ(*dir_.root().Read("root/etc/f"), "text");
  EXPECT_EQ(dir_.root().Stat("root/etc/f")->st_mode & 0777, 0600u);
  EXPECT_EQ(Make("/etc", Kind::kFile), "") << "the runtime says that it is none";
}

TEST_F(MakeBelowTest, ADeepPathNeedsFewDescriptors) {
  struct rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const absl::Cleanup put_back = [&before] { setrlimit(RLIMIT_NOFILE, &before); };
  // The lowest free number; some above it may be taken.
  const UniqueFd next(open("/", O_PATH | O_CLOEXEC));
  struct rlimit few = before;
  few.rlim_cur = static_cast<rlim_t>(next.get()) + 20;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  std::string path;
  for (int i = 0; i < 500; ++i) path += "/d";
  EXPECT_EQ(Make(path, Kind::kDirectory, Making::kAll), "");
  EXPECT_TRUE(IsDirectory(path.substr(1)));
}

TEST_F(MakeBelowTest, PathsThatCanNotBe) {
  ASSERT_TRUE(dir_.root().ReplaceFile("root/file", "", 0600).ok());
  Link("below", "file/x");
  Link("one", "two");
  Link("two", "one");
  EXPECT_EQ(Make("/below"), strerror(ENOTDIR));
  EXPECT_EQ(Make("/file/x"), strerror(ENOTDIR));
  EXPECT_EQ(Make("/one/x"), strerror(ELOOP));
  EXPECT_EQ(Make("/" + std::string(256, 'a')), strerror(ENAMETOOLONG));
  EXPECT_EQ(Make("/" + std::string(5000, 'a')), strerror(ENAMETOOLONG));
}

TEST_F(MakeBelowTest, BelongsToTheOwner) {
  if (geteuid() != 0) GTEST_SKIP() << "another owner needs root";
  Link("data", "/mnt/data");
  Owner owner;
  owner.uid = 1000;
  owner.gid = 2000;
  ASSERT_TRUE(MakeBelow(descriptor_.get(), "/data/f", Kind::kFile, Making::kBehindLinks, owner));
  for (const char* path : {"root/mnt", "root/mnt/data", "root/mnt/data/f"}) {
    const auto info = dir_.root().Stat(path);
    ASSERT_TRUE(info.ok());
    EXPECT_EQ(info->st_uid, 1000u) << path;
    EXPECT_EQ(info->st_gid, 2000u) << path;
  }
}

// A name that becomes a link to the outside between the look and the making.
TEST_F(MakeBelowTest, ASwappedNameDoesNotLeadOutside) {
  ASSERT_TRUE(dir_.root().MakeDirs("root/swap/d", 0755).ok());
  Link("swap/e", dir_.path() + "/outside");
  Link("way", "/swap/d/in");
  const SwapLoopForTest swaps(root_ + "/swap", "d", "e");
  for (int i = 0; i < 300; ++i) Make(absl::StrCat("/way/", i));
  EXPECT_THAT(Outside(), IsEmpty());
}

}  // namespace
}  // namespace plimsoll::monitor
