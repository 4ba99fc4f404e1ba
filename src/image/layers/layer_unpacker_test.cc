#include "image/layers/layer_unpacker.h"

#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>

#include <cstring>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/programs/device_nodes_for_test.h"
#include "gtest/gtest.h"
#include "image/layers/layer_tree.h"
#include "image/layers/layer_unpacker_for_test.h"
#include "image/names/digest.h"

namespace plimsoll::image {
namespace {

using Attributes = TarBuilder::Attributes;

TEST_F(LayerUnpackerTest, KeepsOwnerModeTimeAndContent) {
  const std::string tar = TarBuilder()
                              .Dir("./", {.mode = 0711, .uid = 3, .gid = 4})
                              .Dir("bin/", {.mode = 01777, .mtime = 77})
                              .File("bin/su", "program", {.mode = 04755, .uid = 1000, .gid = 50})
                              .Symlink("bin/sh", "/bin/busybox")
                              .Build();
  const auto result = Unpack(tar);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(Read("diff/bin/su"), "program");
  const struct stat su = Lstat("diff/bin/su");
  EXPECT_EQ(su.st_mode, static_cast<mode_t>(S_IFREG | 04755));
  EXPECT_EQ(su.st_uid, 1000u);
  EXPECT_EQ(su.st_gid, 50u);
  EXPECT_EQ(su.st_mtim.tv_sec, 1'000'000'000);
  EXPECT_EQ(Lstat("diff/bin").st_mtim.tv_sec, 77) << "a file made in it changed the time";
  EXPECT_EQ(Lstat("diff/bin").st_mode & 07777, 01777u);
  EXPECT_EQ(Lstat("diff").st_uid, 3u);
  EXPECT_EQ(*dir_.root().ReadLink("diff/bin/sh"), "/bin/busybox");
  EXPECT_EQ(result->bytes, 7u);
  EXPECT_EQ(result->inodes, 3u);
}

TEST_F(LayerUnpackerTest, KeepsWhatTheRootDirectoryHas) {
  const std::string tar = TarBuilder()
                              .Dir("./", {.mode = 03750,
                                          .uid = 3,
                                          .gid = 4,
                                          .mtime = 78,
                                          .pax = {{"SCHILY.xattr.user.purpose", "ballast"}}})
                              .File("a", "x")
                              .Build();
  ASSERT_TRUE(Unpack(tar).ok());
  const std::string upper = TarBuilder().File("b", "x").Build();
  ASSERT_TRUE(Unpack(upper, {}, "upper", {Sub("diff")}).ok());
  for (const char* layer : {"diff", "upper"}) {
    const struct stat root = Lstat(layer);
    EXPECT_EQ(root.st_mode & 07777, 03750u) << layer;
    EXPECT_EQ(root.st_uid, 3u) << layer;
    EXPECT_EQ(root.st_gid, 4u) << layer;
    EXPECT_EQ(root.st_mtim.tv_sec, 78) << layer;
    EXPECT_EQ(Xattr(layer, "user.purpose"), "ballast") << layer;
  }
  const std::string own = TarBuilder().Dir(".", {.mode = 0700, .uid = 9}).Build();
  ASSERT_TRUE(Unpack(own, {}, "own", {Sub("diff")}).ok());
  EXPECT_EQ(Lstat("own").st_mode & 07777, 0700u) << "it says something of its own";
  EXPECT_EQ(Lstat("own").st_uid, 9u);
}

TEST_F(LayerUnpackerTest, AnOpaqueRootIsNotHandedOn) {
  if (!MayMakeDevices()) GTEST_SKIP() << kNeedsDevices;
  ASSERT_TRUE(Unpack(TarBuilder().File(".wh..wh..opq", "").Build()).ok());
  ASSERT_EQ(Xattr("diff", "trusted.overlay.opaque"), "y");
  ASSERT_TRUE(Unpack(TarBuilder().File("b", "x").Build(), {}, "upper", {Sub("diff")}).ok());
  EXPECT_EQ(Xattr("upper", "trusted.overlay.opaque"), "(none)");
}

TEST_F(LayerUnpackerTest, AllCompressionsGiveTheSameDiffId) {
  const std::string tar = TarBuilder().File("a", std::string(100'000, 'x')).Build();
  for (const char* filter : {"", "gzip", "zstd"}) {
    const std::string stored = *filter == '\0' ? tar : Compress(tar, filter);
    const auto result = Unpack(stored, {}, absl::StrCat("with-", filter));
    ASSERT_TRUE(result.ok()) << filter << ": " << result.status();
    EXPECT_EQ(result->digests.unpacked, DigestOf(tar)) << filter;
    EXPECT_EQ(result->digests.stored, DigestOf(stored)) << filter;
    EXPECT_EQ(Read(absl::StrCat("with-", filter, "/a")).size(), 100'000u);
  }
}

TEST_F(LayerUnpackerTest, DigestsCoverWhatFollowsTheArchive) {
  const std::string tar =
      absl::StrCat(TarBuilder().File("a", "1").Build(), std::string(300'000, 'z'));
  const auto result = Unpack(tar);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->digests.unpacked, DigestOf(tar));
}

TEST_F(LayerUnpackerTest, KeepsNamesThatAreNotAscii) {
  const std::string name = "gr\xc3\xbc\xc3\x9f";
  const std::string long_name = absl::StrCat(std::string(120, 'n'), name);
  const auto result = Unpack(TarBuilder()
                                 .File(name, "plain")
                                 .File(long_name, "pax")
                                 .File("broken\xff", "no utf-8")
                                 .Build());
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(Read(absl::StrCat("diff/", name)), "plain");
  EXPECT_EQ(Read(absl::StrCat("diff/", long_name)), "pax");
  EXPECT_EQ(Read("diff/broken\xff"), "no utf-8");
}

TEST_F(LayerUnpackerTest, KeepsXattrsOfUsersAndCapabilities) {
  // VFS_CAP_REVISION_2, effective, cap_net_raw.
  const std::string capability("\x01\0\0\x02\0\x20\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 20);
  const auto result = Unpack(TarBuilder()
                                 .File("ping", "p",
                                       {.mode = 0755,
                                        .uid = 5,
                                        .pax = {{"SCHILY.xattr.security.capability", capability},
                                                {"SCHILY.xattr.user.note", "hello"},
                                                {"SCHILY.xattr.security.selinux", "dropped"}}})
                                 .Build());
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(Xattr("diff/ping", "security.capability"), capability);
  EXPECT_EQ(Xattr("diff/ping", "user.note"), "hello");
  EXPECT_EQ(Xattr("diff/ping", "security.selinux"), "(none)");
}

TEST_F(LayerUnpackerTest, MakesDeviceNodesAndFifos) {
  if (!MayMakeDevices()) GTEST_SKIP() << kNeedsDevices;
  const auto result = Unpack(TarBuilder()
                                 .Node("null", '3', 1, 3)
                                 .Node("disk", '4', 7, 99)
                                 .Node("pipe", '6', 0, 0)
                                 .Build());
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(Lstat("diff/null").st_rdev, makedev(1, 3));
  EXPECT_EQ(Lstat("diff/null").st_mode, static_cast<mode_t>(S_IFCHR | 0620));
  EXPECT_EQ(Lstat("diff/disk").st_mode & S_IFMT, static_cast<mode_t>(S_IFBLK));
  EXPECT_EQ(Lstat("diff/pipe").st_mode & S_IFMT, static_cast<mode_t>(S_IFIFO));
}

TEST_F(LayerUnpackerTest, HardLinksShareAnInode) {
  const auto result = Unpack(TarBuilder()
                                 .File("a", "same")
                                 .HardLink("sub/b", "a")
                                 .HardLink("./c", "./sub/b")
                                 .HardLink("a", "a")
                                 .Build());
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(Lstat("diff/a").st_nlink, 3u);
  EXPECT_EQ(Read("diff/sub/b"), "same");
  EXPECT_EQ(result->bytes, 4u);
}

TEST_F(LayerUnpackerTest, SparseFilesKeepTheirHoles) {
  // GNU sparse format 0.1: one piece of data at the end of 64 MiB.
  const std::string data(4096, 'd');
  const std::string size = absl::StrCat(64 * 1024 * 1024);
  const auto result = Unpack(
      TarBuilder()
          .File("sparse", data,
                {.pax = {{"GNU.sparse.size", size},
                         {"GNU.sparse.numblocks", "1"},
                         {"GNU.sparse.map", absl::StrCat(64 * 1024 * 1024 - 4096, ",4096")}}})
          .Build());
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(Lstat("diff/sparse").st_size, 64 * 1024 * 1024);
  EXPECT_LT(Lstat("diff/sparse").st_blocks * 512, 1024 * 1024);
}

TEST_F(LayerUnpackerTest, WhiteoutsBecomeOverlayWhiteouts) {
  if (!MayMakeDevices()) GTEST_SKIP() << kNeedsDevices;
  const auto result = Unpack(TarBuilder()
                                 .File("dir/.wh.gone", "")
                                 .Dir("opaque/")
                                 .File("opaque/.wh..wh..opq", "")
                                 .File("opaque/new", "n")
                                 .File(".wh..wh.plnk", "")
                                 .File("kept", "k")
                                 .File(".wh.kept", "")
                                 .Build());
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_TRUE(IsWhiteout(Lstat("diff/dir/gone")));
  EXPECT_EQ(Xattr("diff/opaque", "trusted.overlay.opaque"), "y");
  EXPECT_EQ(Read("diff/opaque/new"), "n");
  EXPECT_EQ(Read("diff/kept"), "k") << "a whiteout speaks of lower layers only";
  EXPECT_EQ(dir_.root().List("diff")->size(), 3u);
}

TEST_F(LayerUnpackerTest, DirectoryOverAWhiteoutIsOpaque) {
  if (!MayMakeDevices()) GTEST_SKIP() << kNeedsDevices;
  const auto result = Unpack(TarBuilder()
                                 .File(".wh.a", "")
                                 .Dir("a/")
                                 .File(".wh.b", "")
                                 .File("b/made/on/the/way", "")
                                 .Dir("c/")
                                 .File(".wh.c", "")
                                 .Build());
  ASSERT_TRUE(result.ok()) << result.status();
  for (const char* name : {"diff/a", "diff/b", "diff/c"}) {
    EXPECT_EQ(Xattr(name, "trusted.overlay.opaque"), "y") << name;
  }
}

// Kaniko lists a removed directory's content before or after what took the directory's place.
TEST_F(LayerUnpackerTest, WhiteoutsBelowWhatReplacedTheirDirectory) {
  ASSERT_TRUE(
      Unpack(TarBuilder().File("f/x", "").File("l/x", "").File("b/x", "").Build(), {}, "lower")
          .ok());
  const std::string after = TarBuilder()
                                .Dir("./")
                                .File("f", "file")
                                .File("f/.wh.x", "")
                                .File("f/deeper/.wh.y", "")
                                .File("f/.wh..wh..opq", "")
                                .Symlink("l", "/gone")
                                .Build();
  const std::string before = TarBuilder()
                                 .File("f/.wh.x", "")
                                 .File("f/deeper/.wh.y", "")
                                 .File("l/.wh.x", "")
                                 .Dir("./")
                                 .File("f", "file")
                                 .Symlink("l", "/gone")
                                 .Build();
  for (const auto& [into, layer] : {std::pair("after", after), std::pair("before", before)}) {
    const auto result = Unpack(layer, {}, into, {Sub("lower")});
    ASSERT_TRUE(result.ok()) << into << ": " << result.status();
    EXPECT_EQ(Read(absl::StrCat(into, "/f")), "file") << into;
    EXPECT_TRUE(S_ISLNK(Lstat(absl::StrCat(into, "/l")).st_mode)) << into;
  }
  const auto file = Unpack(TarBuilder().File("f", "file").File("f/x", "").Build(), {}, "refused");
  EXPECT_TRUE(absl::IsInvalidArgument(file.status())) << file.status();
  EXPECT_HAS(file.status().message(), "open \"f\": Not a directory");
}

TEST_F(LayerUnpackerTest, LaterEntriesReplaceOrUpdate) {
  const auto result = Unpack(TarBuilder()
                                 .Dir("d/", {.mode = 0700})
                                 .File("d/in", "stays")
                                 .Dir("d/", {.mode = 0750})
                                 .File("f", "first")
                                 .File("f", "second")
                                 .Dir("dir-to-file/")
                                 .File("dir-to-file/x", "")
                                 .File("dir-to-file", "file")
                                 .File("file-to-dir", "")
                                 .Dir("file-to-dir/")
                                 .Symlink("link-to-dir", "d")
                                 .File("link-to-dir/through", "t")
                                 .Dir("link-to-dir/")
                                 .File("link-to-dir/beside", "b")
                                 .Build());
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(Lstat("diff/d").st_mode & 07777, 0750u);
  EXPECT_EQ(Read("diff/d/in"), "stays");
  EXPECT_EQ(Read("diff/f"), "second");
  EXPECT_EQ(Read("diff/dir-to-file"), "file");
  EXPECT_TRUE(S_ISDIR(Lstat("diff/file-to-dir").st_mode));
  EXPECT_EQ(Read("diff/d/through"), "t");
  EXPECT_EQ(Read("diff/link-to-dir/beside"), "b");
  EXPECT_FALSE(dir_.root().Exists("diff/d/beside"));
}

TEST_F(LayerUnpackerTest, ParentsComeFromTheLayersBelow) {
  ASSERT_TRUE(Unpack(TarBuilder()
                         .Dir("tmp/", {.mode = 01777})
                         .Dir("usr/bin/", {.mode = 0755})
                         .Symlink("bin", "usr/bin")
                         .Symlink("run", "/var/run")
                         .Dir("hidden/", {.mode = 0700})
                         .Build(),
                     {}, "lower")
                  .ok());
  ASSERT_TRUE(Unpack(TarBuilder().File(".wh.hidden", "").Build(), {}, "middle").ok());
  const auto result = Unpack(TarBuilder()
                                 .File("tmp/x", "")
                                 .File("bin/tool", "t")
                                 .File("run/pid", "1")
                                 .File("hidden/f", "")
                                 .Build(),
                             {}, "upper", {Sub("middle"), Sub("lower")});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(Lstat("upper/tmp").st_mode & 07777, 01777u);
  EXPECT_EQ(Read("upper/usr/bin/tool"), "t");
  EXPECT_FALSE(dir_.root().Exists("upper/bin")) << "would hide the link of the layer below";
  EXPECT_EQ(Read("upper/var/run/pid"), "1");
  EXPECT_EQ(Lstat("upper/hidden").st_mode & 07777, 0755u) << "whited out in between";
}

TEST_F(LayerUnpackerTest, RealOverlayShowsTheMergedTree) {
  if (!MayMakeDevices()) GTEST_SKIP() << kNeedsDevices;
  ASSERT_TRUE(Unpack(TarBuilder()
                         .File("etc/old", "old")
                         .File("etc/gone", "gone")
                         .File("var/cache/a", "a")
                         .Build(),
                     {}, "lower")
                  .ok());
  ASSERT_TRUE(Unpack(TarBuilder()
                         .File("etc/.wh.gone", "")
                         .File("etc/new", "new")
                         .File("var/cache/.wh..wh..opq", "")
                         .File("var/cache/b", "b")
                         .Build(),
                     {}, "upper", {Sub("lower")})
                  .ok());
  ASSERT_TRUE(dir_.root().MakeDirs("merged").ok());
  const std::string merged = dir_.root().PathOf("merged");
  const std::string options =
      absl::StrCat("lowerdir=", dir_.root().PathOf("upper"), ":", dir_.root().PathOf("lower"));
  if (mount("plimsoll-test", merged.c_str(), "overlay", MS_RDONLY, options.c_str()) != 0) {
    GTEST_SKIP() << "no overlayfs here: " << std::strerror(errno);
  }
  absl::Cleanup unmount = [&] { umount2(merged.c_str(), MNT_DETACH); };
  EXPECT_EQ(*dir_.root().List("merged/etc"), (std::vector<std::string>{"new", "old"}));
  EXPECT_EQ(*dir_.root().List("merged/var/cache"), (std::vector<std::string>{"b"}));
}

}  // namespace
}  // namespace plimsoll::image
