#include "cli/sub_path.h"

#include <gtest/gtest.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "base/test_dir.h"

namespace plimsoll::cli {
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

// Whoever wrote the volume has no say in what else of the host is mounted.
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

}  // namespace
}  // namespace plimsoll::cli
