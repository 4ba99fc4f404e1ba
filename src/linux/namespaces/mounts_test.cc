#include "linux/namespaces/mounts.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/statvfs.h>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "base/dir_for_test.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "linux/namespaces/detached_overlay.h"

namespace plimsoll::linux {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(ParseMountInfo, ReadsEveryField) {
  const auto mounts = ParseMountInfo(
      "22 27 0:21 / /proc rw,relatime - proc proc rw\n"
      "36 35 98:0 /sub\\040dir /mnt\\134x\\011y rw,noatime shared:7 master:1 - ext4 /dev/sda1 "
      "rw,errors=continue\n"
      "40 27 0:9 / /none ro shared:3 - tmpfs  rw\n");
  ASSERT_TRUE(mounts.ok()) << mounts.status();
  ASSERT_EQ(mounts->size(), 3u);
  EXPECT_FALSE((*mounts)[0].shared);
  const MountInfo& second = (*mounts)[1];
  EXPECT_EQ(second.id, 36);
  EXPECT_EQ(second.parent_id, 35);
  EXPECT_EQ(second.root, "/sub dir");
  EXPECT_EQ(second.mount_point, "/mnt\\x\ty");
  EXPECT_THAT(second.options, ElementsAre("rw", "noatime"));
  EXPECT_TRUE(second.shared);
  EXPECT_EQ(second.fs_type, "ext4");
  EXPECT_EQ(second.source, "/dev/sda1");
  EXPECT_THAT(second.super_options, ElementsAre("rw", "errors=continue"));
  EXPECT_EQ((*mounts)[2].source, "");  // a mount without a source has an empty field
}

TEST(ParseMountInfo, RefusesOtherText) {
  for (const char* text :
       {"x", "22 27 0:21 / /proc rw proc proc rw", "a 27 0:21 / /p rw - proc p rw",
        "22 27 0:21 / - proc proc rw", "22 27 0:21 / /proc rw - proc"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(ParseMountInfo(text).status())) << text;
  }
  EXPECT_TRUE(ParseMountInfo("")->empty());
}

class MountTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(dir_.root().MakeDirs("a/b/c").ok());
    ASSERT_TRUE(dir_.root().MakeDirs("other").ok());
  }
  void TearDown() override { EXPECT_TRUE(UnmountBelow(real_, dir_.path()).ok()); }

  std::string Path(absl::string_view name) { return dir_.root().PathOf(name); }
  std::vector<std::string> MountPoints() {
    std::vector<std::string> points;
    const auto mounts = ReadMounts(real_);
    for (const MountInfo& mount : *mounts) points.push_back(mount.mount_point);
    return points;
  }

  bool IsShared(const std::string& path) {
    return absl::c_any_of(*ReadMounts(real_), [&](const MountInfo& mount) {
      return mount.mount_point == path && mount.shared;
    });
  }

  TestDir dir_;
  FsRoot real_ = *FsRoot::Open("/");
};

TEST_F(MountTest, KnowsTheMountOfAFile) {
  ASSERT_TRUE(BindMount(Path("a"), Path("a")).ok());
  ASSERT_EQ(mount(nullptr, Path("a").c_str(), nullptr, MS_SHARED, nullptr), 0);
  const auto look = [&](const char* name) {
    return MountOf(real_, *dir_.root().OpenFile(name, O_PATH));
  };
  ASSERT_TRUE(look("a/b/c").ok()) << look("a/b/c").status();
  EXPECT_EQ(look("a/b/c")->mount_point, Path("a"));
  EXPECT_TRUE(look("a/b")->shared);
  EXPECT_FALSE(look("a/b")->slave);
  ASSERT_TRUE(BindMount(Path("a"), Path("other")).ok());
  ASSERT_EQ(mount(nullptr, Path("other").c_str(), nullptr, MS_SLAVE, nullptr), 0);
  EXPECT_TRUE(look("other/b")->slave);
  EXPECT_FALSE(look("other/b")->shared);
  EXPECT_NE(look(".")->mount_point, Path("a"));
  EXPECT_EQ(*PathOfDescriptor(*dir_.root().OpenFile("a/b", O_PATH)), Path("a/b"));
}

TEST_F(MountTest, KnowsWhichFileSystemsTheKernelHas) {
  EXPECT_TRUE(HasFileSystem("tmpfs"));
  EXPECT_TRUE(HasFileSystem("overlay"));
  EXPECT_FALSE(HasFileSystem("plimsoll-test"));
}

TEST_F(MountTest, BindsAndUnmounts) {
  ASSERT_TRUE(dir_.root().ReplaceFile("other/file", "x").ok());
  ASSERT_TRUE(BindMount(Path("other"), Path("a")).ok());
  EXPECT_TRUE(dir_.root().Exists("a/file"));
  EXPECT_TRUE(Unmount(Path("a")).ok());
  EXPECT_FALSE(dir_.root().Exists("a/file"));
  EXPECT_TRUE(Unmount(Path("a")).ok()) << "nothing mounted is fine";
  EXPECT_TRUE(Unmount(Path("missing")).ok());
  const absl::Status status = BindMount(Path("missing"), Path("a"));
  EXPECT_TRUE(absl::IsNotFound(status));
  EXPECT_THAT(status.message(), HasSubstr(Path("missing")));
}

TEST_F(MountTest, TmpfsHasItsSizeAndEndsWithTheMount) {
  ASSERT_TRUE(MountTmpfs(Path("a"), 1 << 20).ok());
  struct statvfs info = {};
  ASSERT_EQ(statvfs(Path("a").c_str(), &info), 0);
  EXPECT_EQ(info.f_blocks * info.f_frsize, 1u << 20);
  EXPECT_TRUE(Unmount(Path("a")).ok());
  EXPECT_TRUE(absl::IsNotFound(MountTmpfs(Path("missing"), 1 << 20)));
}

TEST_F(MountTest, BusyIsAnErrorUnlessLazy) {
  ASSERT_TRUE(BindMount(Path("other"), Path("a")).ok());
  const FsRoot held = *FsRoot::Open(Path("a"));
  EXPECT_TRUE(absl::IsFailedPrecondition(Unmount(Path("a"))));
  EXPECT_TRUE(Unmount(Path("a"), /*lazy=*/true).ok());
}

TEST_F(MountTest, PrivateMountPointIsMadeOnce) {
  ASSERT_TRUE(MakePrivateMountPoint(real_, Path("a")).ok());
  ASSERT_TRUE(MakePrivateMountPoint(real_, Path("a")).ok());
  EXPECT_EQ(absl::c_count(MountPoints(), Path("a")), 1);
  EXPECT_FALSE(IsShared(Path("a")));
  // A shared mount becomes private.
  ASSERT_EQ(mount(nullptr, Path("a").c_str(), nullptr, MS_SHARED, nullptr), 0);
  EXPECT_TRUE(IsShared(Path("a")));
  ASSERT_TRUE(MakePrivateMountPoint(real_, Path("a")).ok());
  EXPECT_FALSE(IsShared(Path("a")));
}

TEST_F(MountTest, APrivateMountPointHidesNoMountBelow) {
  ASSERT_TRUE(BindMount(Path("other"), Path("a/b")).ok());
  const absl::Status refused = MakePrivateMountPoint(real_, Path("a"));
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()), HasSubstr("hide the mount at " + Path("a/b")));
  EXPECT_EQ(absl::c_count(MountPoints(), Path("a")), 0);
}

// A mount that another one hides is none, though mountinfo lists it.
TEST_F(MountTest, AHiddenMountPointIsMadeAgain) {
  ASSERT_TRUE(BindMount(Path("other"), Path("a/b")).ok());
  EXPECT_TRUE(*IsMountPoint(real_, Path("a/b")));
  ASSERT_TRUE(BindMount(Path("a"), Path("a")).ok());
  EXPECT_TRUE(*IsMountPoint(real_, Path("a")));
  EXPECT_FALSE(*IsMountPoint(real_, Path("a/b")));
  const absl::Status made = MakePrivateMountPoint(real_, Path("a/b"));
  EXPECT_TRUE(made.ok()) << made;
  EXPECT_TRUE(*IsMountPoint(real_, Path("a/b")));
  // Uncovers the hidden one, for the test's end.
  EXPECT_TRUE(UnmountBelow(real_, Path("a")).ok());
}

TEST_F(MountTest, UnmountsStacksAndNestsInnermostFirst) {
  ASSERT_TRUE(BindMount(Path("a"), Path("a")).ok());
  ASSERT_TRUE(BindMount(Path("a"), Path("a")).ok());
  ASSERT_TRUE(BindMount(Path("other"), Path("a/b")).ok());
  ASSERT_TRUE(BindMount(Path("other"), Path("a/b")).ok());
  ASSERT_TRUE(dir_.root().MakeDirs("ab").ok());
  ASSERT_TRUE(BindMount(Path("other"), Path("ab")).ok());
  ASSERT_TRUE(UnmountBelow(real_, Path("a")).ok());
  EXPECT_EQ(absl::c_count(MountPoints(), Path("a")), 0);
  EXPECT_EQ(absl::c_count(MountPoints(), Path("a/b")), 0);
  EXPECT_EQ(absl::c_count(MountPoints(), Path("ab")), 1) << "a name that only begins alike stays";
  EXPECT_TRUE(UnmountBelow(real_, Path("missing")).ok());
}

class DetachedOverlayTest : public MountTest {
 protected:
  void SetUp() override {
    for (const char* layer : {"top", "odd:na,me", "base"}) {
      ASSERT_TRUE(dir_.root().MakeDirs(layer).ok());
      ASSERT_TRUE(dir_.root().ReplaceFile(absl::StrCat(layer, "/common"), layer).ok());
      ASSERT_TRUE(dir_.root().ReplaceFile(absl::StrCat(layer, "/in-", layer), layer).ok());
    }
    layers_ = {Path("top"), Path("odd:na,me"), Path("base")};
  }

  void ExpectOverlay(const absl::StatusOr<UniqueFd>& overlay) {
    ASSERT_TRUE(overlay.ok()) << overlay.status();
    const auto view = FsRoot::Open(absl::StrCat("/proc/self/fd/", overlay->get()));
    ASSERT_TRUE(view.ok()) << view.status();
    EXPECT_EQ(*view->Read("common"), "top");
    EXPECT_EQ(*view->Read("in-odd:na,me"), "odd:na,me");
    EXPECT_EQ(*view->Read("in-base"), "base");
    EXPECT_FALSE(view->ReplaceFile("new", "x").ok()) << "read-only";
    EXPECT_THAT(MountPoints(), Not(Contains(HasSubstr(dir_.path()))));
  }

  std::vector<std::string> layers_;
};

TEST_F(DetachedOverlayTest, StacksLayersTopFirst) {
  ExpectOverlay(OpenDetachedOverlay(layers_));
}

TEST_F(DetachedOverlayTest, StacksLayersWithoutFsopen) {
  ExpectOverlay(OverlayByNamespace(layers_));
}

TEST_F(DetachedOverlayTest, TakesMoreLayersThanOneFsconfigStringHolds) {
  for (int i = 0; i < 60; ++i) {
    layers_.push_back(Path(absl::StrCat("layer", i)));
    ASSERT_TRUE(dir_.root().MakeDirs(absl::StrCat("layer", i)).ok());
  }
  ExpectOverlay(OpenDetachedOverlay(layers_));
  ExpectOverlay(OverlayByNamespace(layers_));
}

TEST_F(DetachedOverlayTest, ASingleLayerIsShownReadOnly) {
  const auto view = OpenDetachedOverlay({Path("base")});
  ASSERT_TRUE(view.ok()) << view.status();
  const auto root = FsRoot::Open(absl::StrCat("/proc/self/fd/", view->get()));
  ASSERT_TRUE(root.ok()) << root.status();
  EXPECT_EQ(*root->Read("common"), "base");
  EXPECT_FALSE(root->ReplaceFile("new", "x").ok());
  EXPECT_TRUE(dir_.root().ReplaceFile("base/new", "x").ok()) << "the directory itself is as before";
}

TEST_F(DetachedOverlayTest, ErrorsNameTheLayer) {
  EXPECT_TRUE(absl::IsInvalidArgument(OpenDetachedOverlay({}).status()));
  const auto missing = OpenDetachedOverlay({Path("top"), Path("nowhere")});
  EXPECT_TRUE(absl::IsNotFound(missing.status()));
  EXPECT_THAT(missing.status().message(), HasSubstr("nowhere"));
}

}  // namespace
}  // namespace plimsoll::linux
