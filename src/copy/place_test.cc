#include "copy/place.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "base/dir_for_test.h"
#include "base/status.h"

namespace plimsoll::copy {
namespace {

using ::testing::HasSubstr;

class PlaceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(dir_.root().MakeDirs("root/etc/deep", 0755).ok());
    ASSERT_TRUE(dir_.root().ReplaceFile("root/etc/inside", "inside").ok());
    ASSERT_TRUE(dir_.root().ReplaceFile("outside", "outside").ok());
  }
  Place Container() {
    return Place::Container(UniqueFd(open((dir_.path() + "/root").c_str(), O_PATH)), "web:");
  }
  void Link(const std::string& target, const std::string& name) {
    ASSERT_EQ(symlink(target.c_str(), absl::StrCat(dir_.path(), "/root/", name).c_str()), 0);
  }
  static bool IsThere(const Place& place, const std::string& path, bool follow = true) {
    const auto spot = place.Find(path, follow);
    return spot.ok() && spot->info.has_value();
  }

  TestDir dir_;
};

TEST_F(PlaceTest, NothingLeadsOutOfAContainer) {
  const Place place = Container();
  Link(dir_.path(), "absolute");
  Link("../../..", "climbing");
  Link(dir_.path() + "/outside", "file");
  EXPECT_TRUE(IsThere(place, "/etc/inside"));
  EXPECT_TRUE(IsThere(place, "../../etc/inside"));
  for (const char* path : {"../outside", "/../outside", "absolute/outside", "climbing/outside",
                           "file", "etc/../../outside"}) {
    EXPECT_FALSE(IsThere(place, path)) << path;
  }
  // ".." stops at its own root, as for its processes.
  EXPECT_TRUE(IsThere(place, "climbing/etc/inside"));
}

TEST_F(PlaceTest, MagicLinksAreNotFollowed) {
  const Place place = Place::Container(UniqueFd(open("/proc", O_PATH)), "web:");
  EXPECT_EQ(ErrnoOf(place.Open("self/root", O_PATH | O_DIRECTORY).status()), ELOOP);
  EXPECT_EQ(ErrnoOf(place.Open("self/root/etc", O_PATH).status()), ELOOP);
}

TEST_F(PlaceTest, TheLastLinkIsFollowedOnlyIfAsked) {
  const Place place = Container();
  Link("etc/inside", "one");
  Link("/one", "etc/two");
  const auto link = place.Find("/etc/two", false);
  ASSERT_TRUE(link.ok()) << link.status();
  EXPECT_TRUE(S_ISLNK(link->info->st_mode));
  const auto file = place.Find("/etc/two", true);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_TRUE(S_ISREG(file->info->st_mode));
  EXPECT_EQ(file->name, "inside");
  Link("loop", "loop");
  EXPECT_EQ(ErrnoOf(place.Find("loop", true).status()), ELOOP);
}

TEST_F(PlaceTest, WhatIsMissingHasADirectory) {
  const Place place = Container();
  const auto spot = place.Find("etc/new/", true);
  ASSERT_TRUE(spot.ok()) << spot.status();
  EXPECT_EQ(spot->name, "new");
  EXPECT_FALSE(spot->info.has_value());
  const auto none = place.Find("none/new", true);
  EXPECT_TRUE(absl::IsNotFound(none.status()));
  EXPECT_THAT(none.status().message(), HasSubstr("web:none/"));
}

TEST_F(PlaceTest, DirectoriesNeedNoName) {
  const Place place = Container();
  for (const char* path : {"/", ".", "etc/.", "etc/deep/..", "/etc/deep/../"}) {
    const auto spot = place.Find(path, false);
    ASSERT_TRUE(spot.ok()) << path << spot.status();
    EXPECT_EQ(spot->name, ".") << path;
    EXPECT_TRUE(S_ISDIR(spot->info->st_mode)) << path;
  }
}

TEST(PlaceNamesTest, ASourceHasTheNameAtItsEnd) {
  EXPECT_EQ(LastName("/etc/hosts"), "hosts");
  EXPECT_EQ(LastName("dir//"), "dir");
  for (const char* path : {"/", ".", "..", "dir/.", "dir/..", "dir/./"}) {
    EXPECT_EQ(LastName(path), "") << path;
  }
  EXPECT_TRUE(MeansContent("."));
  EXPECT_TRUE(MeansContent("dir/./"));
  EXPECT_FALSE(MeansContent("dir/"));
  EXPECT_FALSE(MeansContent("dir."));
}

}  // namespace
}  // namespace plimsoll::copy
