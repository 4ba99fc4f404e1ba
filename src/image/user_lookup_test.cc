#include "image/user_lookup.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "absl/strings/match.h"
#include "base/dir_for_test.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plimsoll::image {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr absl::string_view kPasswd =
    "root:x:0:0:root:/root:/bin/sh\n"
    "broken line\n"
    "huge:x:99999999999:1::/:/bin/sh\n"
    "app:x:1000:100:App:/home/app:/bin/sh\n"
    "7:x:1007:107::/home/seven:/bin/sh\n"
    "nohome:x:1001:100:::\n";
constexpr absl::string_view kGroup =
    "root:x:0:\n"
    "disk:x:6:root,app\n"
    "users:x:100:app\n"
    "audio:x:29:app\n"
    "audio2:x:29:app\n"
    "broken:x:nan:app\n";

ResolvedUser MustResolve(absl::string_view spec) {
  absl::StatusOr<ResolvedUser> user = ResolveUser(spec, kPasswd, kGroup);
  EXPECT_TRUE(user.ok()) << spec << ": " << user.status();
  return user.ok() ? *user : ResolvedUser{.uid = 77777};
}

TEST(ResolveUser, EmptyIsRootWithItsGroups) {
  EXPECT_EQ(MustResolve(""), (ResolvedUser{0, 0, {6}, "/root"}));
}

TEST(ResolveUser, NameTakesGroupsAndHomeFromTheFiles) {
  EXPECT_EQ(MustResolve("app"), (ResolvedUser{1000, 100, {6, 29}, "/home/app"}));
}

TEST(ResolveUser, KnownNumberIsTheSameUser) {
  EXPECT_EQ(MustResolve("1000"), MustResolve("app"));
}

TEST(ResolveUser, UnknownNumberHasGroupZeroAndRootDirectory) {
  EXPECT_EQ(MustResolve("4242"), (ResolvedUser{4242, 0, {}, "/"}));
}

TEST(ResolveUser, GroupReplacesTheUsersOwnAndDropsTheOthers) {
  EXPECT_EQ(MustResolve("app:disk"), (ResolvedUser{1000, 6, {}, "/home/app"}));
  EXPECT_EQ(MustResolve("1000:1234"), (ResolvedUser{1000, 1234, {}, "/home/app"}));
}

// Otherwise an image could turn a request for a uid other than root's into root.
TEST(ResolveUser, DigitsAreNoName) {
  EXPECT_EQ(MustResolve("7"), (ResolvedUser{7, 0, {}, "/"}));
  constexpr absl::string_view kLies = "1000:x:0:0::/root:/bin/sh\n";
  constexpr absl::string_view kGroupLies = "1000:x:0:\nwheel:x:10:1000\n";
  const auto user = ResolveUser("1000:1000", kLies, kGroupLies);
  ASSERT_TRUE(user.ok()) << user.status();
  EXPECT_EQ(*user, (ResolvedUser{1000, 1000, {}, "/"}));
  EXPECT_EQ(*ResolveUser("1000", kLies, kGroupLies), (ResolvedUser{1000, 0, {}, "/"}));
}

TEST(ResolveUser, EmptyHomeIsTheRootDirectory) {
  EXPECT_EQ(MustResolve("nohome").home, "/");
}

TEST(ResolveUser, UnknownNamesAreNotFoundAndNamed) {
  const auto user = ResolveUser("nobody", kPasswd, kGroup);
  EXPECT_TRUE(absl::IsNotFound(user.status()));
  EXPECT_TRUE(absl::StrContains(user.status().message(), "\"nobody\""));
  const auto group = ResolveUser("app:wheel", kPasswd, kGroup);
  EXPECT_TRUE(absl::IsNotFound(group.status()));
  EXPECT_TRUE(absl::StrContains(group.status().message(), "\"wheel\""));
  const auto hostile = ResolveUser("\x1b[31m\nplimsoll", kPasswd, kGroup);
  EXPECT_TRUE(absl::StrContains(hostile.status().message(), "\"\\x1b[31m\\nplimsoll\""));
}

TEST(ResolveUser, AnEmptyGroupIsNone) {
  EXPECT_EQ(MustResolve("1000:"), MustResolve("1000"));
  EXPECT_EQ(MustResolve("app:"), MustResolve("app"));
  EXPECT_EQ(MustResolve(":"), MustResolve(""));
}

TEST(ResolveUser, MalformedSpecsAreRefused) {
  for (absl::string_view spec :
       {"app::", "a:b:c", "4294967295", "99999999999999", "0:4294967295"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(ResolveUser(spec, kPasswd, kGroup).status())) << spec;
  }
  EXPECT_TRUE(absl::IsNotFound(ResolveUser("-1", kPasswd, kGroup).status()));
  EXPECT_TRUE(absl::IsNotFound(ResolveUser(" 1", kPasswd, kGroup).status()));
}

TEST(ResolveUser, NoFilesAtAllStillResolvesNumbers) {
  const auto user = ResolveUser("12:34", "", "");
  ASSERT_TRUE(user.ok()) << user.status();
  EXPECT_EQ(*user, (ResolvedUser{12, 34, {}, "/"}));
}

TEST(ReadUserFile, SymlinkInTheImageStaysInTheImage) {
  TestDir dir;
  ASSERT_TRUE(dir.root().MakeDirs("etc").ok());
  ASSERT_TRUE(dir.root().ReplaceFile("passwd", "inside:x:5:5::/in:/bin/sh\n").ok());
  ASSERT_EQ(symlink("/passwd", dir.root().PathOf("etc/passwd").c_str()), 0);
  const auto text = ReadUserFile(dir.root(), "etc/passwd");
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_EQ(*text, "inside:x:5:5::/in:/bin/sh\n");
}

TEST(ReadUserFile, NoneIsEmpty) {
  TestDir dir;
  const auto text = ReadUserFile(dir.root(), "etc/passwd");
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_EQ(*text, "");
}

TEST(ReadUserFile, FifoDoesNotBlock) {
  TestDir dir;
  ASSERT_EQ(mkfifo(dir.root().PathOf("passwd").c_str(), 0600), 0);
  EXPECT_TRUE(absl::IsInvalidArgument(ReadUserFile(dir.root(), "passwd").status()));
}

TEST(ReadUserFile, DeviceIsNotOpened) {
  TestDir dir;
  if (mknod(dir.root().PathOf("passwd").c_str(), S_IFCHR | 0600, makedev(1, 5)) != 0) {
    GTEST_SKIP() << "making a device node needs root and CAP_MKNOD";
  }
  EXPECT_TRUE(absl::IsInvalidArgument(ReadUserFile(dir.root(), "passwd").status()));
}

TEST(ReadUserFile, TooLargeIsRefused) {
  TestDir dir;
  ASSERT_TRUE(dir.root().ReplaceFile("passwd", "").ok());
  ASSERT_EQ(truncate(dir.root().PathOf("passwd").c_str(), (16 << 20) + 1), 0);
  EXPECT_TRUE(absl::IsResourceExhausted(ReadUserFile(dir.root(), "passwd").status()));
}

TEST(GroupsOf, ListsMembershipsOnly) {
  EXPECT_THAT(GroupsOf("app", kGroup), ElementsAre(6, 29, 100));
  EXPECT_THAT(GroupsOf("ap", kGroup), IsEmpty());
}

}  // namespace
}  // namespace plimsoll::image
