#include "pod_runner/sub_path.h"

#include <gtest/gtest.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "base/dir_for_test.h"

namespace plimsoll::pod {
namespace {

class SubPathTest : public ::testing::Test {
 protected:
  SubPathTest() {
    EXPECT_TRUE(dir_.root().MakeDirs("volume/a/b").ok());
    EXPECT_TRUE(dir_.root().MakeDirs("outside").ok());
    char real[PATH_MAX];
    EXPECT_NE(realpath(dir_.path().c_str(), real), nullptr);
    volume_ = absl::StrCat(real, "/volume");
  }
  void Link(const std::string& target, const std::string& name) {
    EXPECT_EQ(symlink(target.c_str(), absl::StrCat(volume_, "/", name).c_str()), 0);
  }
  absl::StatusOr<std::string> Resolve(const std::string& sub_path) {
    return ResolveSubPath(*FsRoot::Open("/"), volume_, sub_path);
  }

  TestDir dir_;
  std::string volume_;
};

TEST_F(SubPathTest, IsWhatItNames) {
  ASSERT_TRUE(dir_.root().ReplaceFile("volume/a/file", "x").ok());
  EXPECT_EQ(*Resolve("a/b"), volume_ + "/a/b");
  EXPECT_EQ(*Resolve("a//file"), volume_ + "/a/file");
  EXPECT_TRUE(absl::IsNotFound(Resolve("a/c").status())) << Resolve("a/c").status();
}

TEST_F(SubPathTest, LinksInTheVolumeAreFollowed) {
  Link("a", "to_a");
  EXPECT_EQ(*Resolve("to_a/b"), volume_ + "/a/b");
}

// Links in a volume can't mount other files of the host.
TEST_F(SubPathTest, NoLinkLeadsOutOfTheVolume) {
  Link("/", "root");
  Link("../..", "up");
  Link("../outside", "beside");
  Link(dir_.path() + "/outside", "absolute");
  EXPECT_EQ(*Resolve("root"), volume_);
  EXPECT_EQ(*Resolve("up/a"), volume_ + "/a");
  EXPECT_TRUE(absl::IsNotFound(Resolve("beside").status()));
  EXPECT_TRUE(absl::IsNotFound(Resolve("absolute").status()));
  EXPECT_TRUE(absl::IsNotFound(Resolve("root/etc/passwd").status()));
}

TEST_F(SubPathTest, WhatIsNotThereIsMadeInTheVolumesMode) {
  ASSERT_EQ(chmod(volume_.c_str(), 0777), 0);
  const mode_t before = umask(077);
  const absl::StatusOr<std::string> made = MakeSubPath(*FsRoot::Open("/"), volume_, "a/new//deep");
  umask(before);
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_EQ(*made, volume_ + "/a/new/deep");
  for (const char* path : {"volume/a/new", "volume/a/new/deep"}) {
    EXPECT_EQ(dir_.root().Stat(path)->st_mode & 07777, 0777u) << path;
  }
  ASSERT_TRUE(dir_.root().ReplaceFile("volume/a/file", "x").ok());
  EXPECT_EQ(*MakeSubPath(*FsRoot::Open("/"), volume_, "a/file"), volume_ + "/a/file");
  EXPECT_FALSE(MakeSubPath(*FsRoot::Open("/"), volume_, "a/file/below").ok());
}

TEST_F(SubPathTest, NothingIsMadeOutOfTheVolume) {
  Link("../outside", "beside");
  Link(dir_.path() + "/outside", "absolute");
  Link("a", "to_a");
  for (const char* path : {"beside/new", "absolute/new", "beside", "absolute"}) {
    EXPECT_FALSE(MakeSubPath(*FsRoot::Open("/"), volume_, path).ok()) << path;
  }
  EXPECT_TRUE(dir_.root().List("outside")->empty());
  EXPECT_EQ(*MakeSubPath(*FsRoot::Open("/"), volume_, "to_a/new"), volume_ + "/a/new");
}

}  // namespace
}  // namespace plimsoll::pod
