#include "pod_runner/pod_files/sub_path.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/dir_for_test.h"
#include "base/swap_loop_for_test.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "linux/namespaces/mounts.h"
#include "pod_runner/pod_files/mount_sub_paths.h"

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
  // The paths of the opened descriptors.
  absl::StatusOr<std::string> Resolve(const std::string& sub_path) {
    return PathOf(OpenSubPath(*FsRoot::Open("/"), volume_, sub_path));
  }
  absl::StatusOr<std::string> Make(const std::string& sub_path) {
    return PathOf(MakeSubPath(*FsRoot::Open("/"), volume_, sub_path));
  }
  static absl::StatusOr<std::string> PathOf(const absl::StatusOr<UniqueFd>& opened) {
    if (!opened.ok()) return opened.status();
    return linux::PathOfDescriptor(*opened);
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
  const absl::StatusOr<std::string> made = Make("a/new//deep");
  umask(before);
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_EQ(*made, volume_ + "/a/new/deep");
  for (const char* path : {"volume/a/new", "volume/a/new/deep"}) {
    EXPECT_EQ(dir_.root().Stat(path)->st_mode & 07777, 0777u) << path;
  }
  ASSERT_TRUE(dir_.root().ReplaceFile("volume/a/file", "x").ok());
  EXPECT_EQ(*Make("a/file"), volume_ + "/a/file");
  EXPECT_FALSE(Make("a/file/below").ok());
}

TEST_F(SubPathTest, ALinkOutOfTheVolumeIsNamed) {
  Link("/etc", "l");
  Link("b/none", "a/dangling");
  const std::string why = ", which isn't in the volume; links lead to places in the volume only";
  EXPECT_EQ(Make("l").status().message(), "l is a symbolic link to /etc" + why);
  EXPECT_EQ(Make("l/new").status().message(), "l is a symbolic link to /etc" + why);
  EXPECT_EQ(Make("a/dangling").status().message(), "a/dangling is a symbolic link to b/none" + why);
}

TEST_F(SubPathTest, NothingIsMadeOutOfTheVolume) {
  Link("../outside", "beside");
  Link(dir_.path() + "/outside", "absolute");
  Link("a", "to_a");
  for (const char* path : {"beside/new", "absolute/new", "beside", "absolute"}) {
    EXPECT_FALSE(Make(path).ok()) << path;
  }
  EXPECT_TRUE(dir_.root().List("outside")->empty());
  EXPECT_EQ(*Make("to_a/new"), volume_ + "/a/new");
}

// A container renames its own directory to the name of the new one, which is never given the
// volume's mode then.
TEST_F(SubPathTest, NoDirectoryThatWasThereGetsAnotherMode) {
  ASSERT_EQ(chmod(volume_.c_str(), 0777), 0);
  ASSERT_TRUE(dir_.root().MakeDirs("volume/secret", 0700).ok());
  // Keeps it from the removal below, which goes by a name that is swapped.
  ASSERT_TRUE(dir_.root().ReplaceFile("volume/secret/file", "").ok());
  const ino_t secret = dir_.root().Stat("volume/secret")->st_ino;
  const SwapLoopForTest swaps(volume_, "secret", "new");
  const absl::Time end = absl::Now() + absl::Seconds(1);
  while (absl::Now() < end) {
    Make("new").IgnoreError();
    for (const char* path : {"volume/new", "volume/secret"}) {
      const auto info = dir_.root().Stat(path);
      if (!info.ok()) continue;
      if (info->st_ino == secret) {
        ASSERT_EQ(info->st_mode & 0777, 0700u);
      } else {
        dir_.root().RemoveDir(path).IgnoreError();
      }
    }
  }
}

class MountSubPathsTest : public SubPathTest {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "mounts need root";
    ASSERT_TRUE(dir_.root().MakeDirs("pod").ok());
    char real[PATH_MAX];
    ASSERT_NE(realpath(dir_.path().c_str(), real), nullptr);
    pod_ = absl::StrCat(real, "/pod");
    container_.name = "main";
  }
  void TearDown() override { linux::UnmountBelow(host_, dir_.path()).IgnoreError(); }
  void Mount(const std::string& sub_path, const std::string& propagation = "") {
    container_.mounts.push_back({.volume = "v", .sub_path = sub_path, .propagation = propagation});
    sub_paths_.push_back(sub_path);
    config_.add_mounts();
  }
  absl::Status Bind() {
    return MountSubPaths(host_, pod_, container_, sub_paths_, {{"v", volume_}}, config_);
  }
  std::string HostPath(int mount) { return config_.mounts(mount).host_path(); }
  std::vector<std::string> MountPoints() {
    std::vector<std::string> points;
    const auto mounts = linux::ReadMounts(host_);
    EXPECT_TRUE(mounts.ok());
    for (const linux::MountInfo& each : *mounts) {
      if (absl::StartsWith(each.mount_point, pod_)) points.push_back(each.mount_point);
    }
    return points;
  }
  linux::MountInfo MountAt(const std::string& path) {
    return *linux::MountOf(host_, *host_.OpenFile(path, O_PATH));
  }

  const FsRoot host_ = *FsRoot::Open("/");
  std::string pod_;
  ContainerManifest container_;
  std::vector<std::string> sub_paths_;
  ::runtime::v1::ContainerConfig config_;
};

TEST_F(MountSubPathsTest, TheOpenedOnesAreBoundWhateverTheirPathsBecome) {
  ASSERT_TRUE(dir_.root().ReplaceFile("volume/a/file", "mine").ok());
  ASSERT_TRUE(dir_.root().ReplaceFile("outside/file", "the host's").ok());
  Mount("a");
  Mount("a/file");
  Mount("made");
  ASSERT_TRUE(Bind().ok());
  ASSERT_EQ(rename((volume_ + "/a").c_str(), (volume_ + "/b").c_str()), 0);
  Link(dir_.path() + "/outside", "a");
  EXPECT_EQ(*host_.Read(HostPath(0) + "/file"), "mine");
  EXPECT_EQ(*host_.Read(HostPath(1)), "mine");
  EXPECT_TRUE(host_.List(HostPath(2))->empty());
  EXPECT_EQ(MountPoints().size(), 3u);
  // The next run gets what is there by then; the link leads nowhere in the volume.
  EXPECT_TRUE(absl::IsNotFound(Bind()));
  EXPECT_THAT(MountPoints(), ::testing::IsEmpty());
}

TEST_F(MountSubPathsTest, NoneIsLeft) {
  Mount("a");
  Mount("a/b");
  ASSERT_TRUE(Bind().ok());
  // A process that was killed meanwhile has bound them already.
  ASSERT_TRUE(Bind().ok());
  EXPECT_EQ(MountPoints().size(), 2u);
  EXPECT_TRUE(*HasMountedSubPaths(host_, pod_));
  // Mounted over, and in use.
  ASSERT_TRUE(linux::BindMount(volume_, HostPath(0)).ok());
  const auto used = host_.Sub(HostPath(0));
  EXPECT_TRUE(UnmountSubPathsOfPod(host_, pod_, {"main"}).ok());
  EXPECT_EQ(MountPoints().size(), 3u);
  EXPECT_TRUE(UnmountSubPathsOfPod(host_, pod_).ok());
  EXPECT_THAT(MountPoints(), ::testing::IsEmpty());
  EXPECT_FALSE(*HasMountedSubPaths(host_, pod_));
  EXPECT_TRUE(UnmountSubPaths(host_, pod_, "main").ok());
  EXPECT_TRUE(host_.Exists(volume_ + "/a/b"));
}

// The tree of a pod is never removed through a bind that was forgotten.
TEST_F(MountSubPathsTest, AForgottenOneStopsTheRemovalOfTheTree) {
  ASSERT_TRUE(dir_.root().ReplaceFile("volume/a/file", "mine").ok());
  Mount("a");
  ASSERT_TRUE(Bind().ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(host_.RemoveTree(pod_)));
  EXPECT_EQ(*host_.Read(volume_ + "/a/file"), "mine");
}

TEST_F(MountSubPathsTest, PropagationIsTheVolumes) {
  ASSERT_TRUE(linux::BindMount(volume_, volume_).ok());
  ASSERT_EQ(mount(nullptr, volume_.c_str(), nullptr, MS_SHARED, nullptr), 0);
  Mount("a");
  Mount("a", "HostToContainer");
  Mount("a", "Bidirectional");
  ASSERT_TRUE(Bind().ok());
  ASSERT_TRUE(linux::MountTmpfs(volume_ + "/a/b", 4096).ok());
  EXPECT_NE(MountAt(HostPath(0) + "/b").fs_type, "tmpfs");
  EXPECT_EQ(MountAt(HostPath(1) + "/b").fs_type, "tmpfs");
  EXPECT_TRUE(MountAt(HostPath(1)).slave);
  EXPECT_EQ(MountAt(HostPath(2) + "/b").fs_type, "tmpfs");
  EXPECT_TRUE(MountAt(HostPath(2)).shared);
  // The volume keeps its mount, also one that came through the bind.
  ASSERT_TRUE(dir_.root().MakeDirs("volume/a/c").ok());
  ASSERT_TRUE(linux::MountTmpfs(HostPath(2) + "/c", 4096).ok());
  ASSERT_TRUE(UnmountSubPaths(host_, pod_, "main").ok());
  EXPECT_EQ(MountAt(volume_ + "/a/b").fs_type, "tmpfs");
  EXPECT_EQ(MountAt(volume_ + "/a/c").fs_type, "tmpfs");
}

// The runtime refuses propagation that would spread nothing.
TEST_F(MountSubPathsTest, APrivateVolumeSpreadsNothing) {
  ASSERT_TRUE(linux::BindMount(volume_, volume_).ok());
  ASSERT_EQ(mount(nullptr, volume_.c_str(), nullptr, MS_PRIVATE, nullptr), 0);
  ASSERT_TRUE(linux::BindMount(pod_, pod_).ok());
  ASSERT_EQ(mount(nullptr, pod_.c_str(), nullptr, MS_SHARED, nullptr), 0);
  for (const char* propagation : {"", "HostToContainer", "Bidirectional"}) {
    Mount("a", propagation);
  }
  ASSERT_TRUE(Bind().ok());
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(MountAt(HostPath(i)).shared || MountAt(HostPath(i)).slave) << i;
  }
}

TEST_F(MountSubPathsTest, MountsBelowComeAlong) {
  ASSERT_TRUE(linux::MountTmpfs(volume_ + "/a/b", 4096).ok());
  Mount("a");
  ASSERT_TRUE(Bind().ok());
  EXPECT_EQ(MountAt(HostPath(0) + "/b").fs_type, "tmpfs");
}

// Else each bind would hold all binds before it, and their number would double.
TEST_F(MountSubPathsTest, AVolumeThatHoldsThePodIsBoundAlone) {
  for (int i = 0; i < 8; ++i) Mount(dir_.path().substr(1));
  volume_ = "/";
  ASSERT_TRUE(Bind().ok());
  EXPECT_EQ(MountPoints().size(), 8u);
}

}  // namespace
}  // namespace plimsoll::pod
