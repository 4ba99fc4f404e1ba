#include "image/layer_unpacker.h"

#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>

#include <cstring>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/dir_for_test.h"
#include "base/status.h"
#include "gtest/gtest.h"
#include "image/digest.h"
#include "image/layer_tree.h"
#include "image/tar_for_test.h"

namespace plimsoll::image {
namespace {

using Attributes = TarBuilder::Attributes;

class LayerUnpackerTest : public ::testing::Test {
 protected:
  LayerUnpackerTest() { EXPECT_TRUE(dir_.root().MakeDirs("diff", 0755).ok()); }

  absl::StatusOr<UnpackResult> Unpack(const std::string& stream, const UnpackLimits& limits = {},
                                      const std::string& into = "diff",
                                      const std::vector<FsRoot>& lowers = {}) {
    EXPECT_TRUE(dir_.root().MakeDirs(into, 0755).ok());
    const auto diff = dir_.root().Sub(into);
    PLIMSOLL_ASSIGN_OR_RETURN(const auto reader,
                              ArchiveReader::Open(MemoryFile(stream), "layer", limits.max_bytes));
    return UnpackLayer(*reader, *diff, lowers, limits);
  }

  // The unpacking error; fails the test without one, or when something appears outside.
  std::string Refused(const std::string& stream, const UnpackLimits& limits = {}) {
    EXPECT_TRUE(dir_.root().ReplaceFile("outside", "untouched").ok());
    const auto result = Unpack(stream, limits);
    EXPECT_FALSE(result.ok());
    EXPECT_EQ(dir_.root().List(".")->size(), 2u) << "something was made beside the layer";
    EXPECT_EQ(*dir_.root().Read("outside"), "untouched");
    struct stat info = {};
    EXPECT_EQ(lstat(dir_.root().PathOf("outside").c_str(), &info), 0);
    EXPECT_EQ(info.st_nlink, 1u) << "a hard link to the file outside was made";
    return result.ok() ? "" : std::string(result.status().ToString());
  }

  struct stat Lstat(const std::string& path) {
    struct stat info = {};
    EXPECT_EQ(lstat(dir_.root().PathOf(path).c_str(), &info), 0) << path;
    return info;
  }
  std::string Xattr(const std::string& path, const char* name) {
    char value[256];
    const ssize_t n = lgetxattr(dir_.root().PathOf(path).c_str(), name, value, sizeof(value));
    return n < 0 ? "(none)" : std::string(value, static_cast<size_t>(n));
  }
  std::string Read(const std::string& path) { return dir_.root().Read(path).value_or("(none)"); }
  FsRoot Sub(const std::string& path) { return *dir_.root().Sub(path); }

  TestDir dir_;
};

#define EXPECT_HAS(text, part) EXPECT_TRUE(absl::StrContains(text, part)) << (text)

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

// Hostile layers, one test each. All must be refused with nothing written outside the layer.

TEST_F(LayerUnpackerTest, HostileParentEscape) {
  EXPECT_HAS(Refused(TarBuilder().File("../outside", "owned").Build()), "entry \"../outside\"");
  EXPECT_HAS(Refused(TarBuilder().File("a/../../outside", "owned").Build()), "\"..\"");
}

TEST_F(LayerUnpackerTest, AbsoluteNamesMeanTheLayersOwnRoot) {
  const std::string target = dir_.root().PathOf("outside");
  ASSERT_TRUE(dir_.root().ReplaceFile("outside", "untouched").ok());
  const auto result = Unpack(TarBuilder()
                                 .Dir("/")
                                 .Dir("/etc/")
                                 .File("/etc/x", "x")
                                 .File("//y", "y")
                                 .HardLink("/usr/y", "/etc/x")
                                 .File(target, "inside")
                                 .Build());
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(Read("diff/etc/x"), "x");
  EXPECT_EQ(Read("diff/y"), "y");
  EXPECT_EQ(Lstat("diff/usr/y").st_ino, Lstat("diff/etc/x").st_ino);
  EXPECT_EQ(Read("outside"), "untouched");
  EXPECT_EQ(Read(absl::StrCat("diff", target)), "inside");
}

TEST_F(LayerUnpackerTest, AbsoluteWhiteoutsHideLowerFiles) {
  ASSERT_TRUE(Unpack(TarBuilder().File("etc/x", "").File("var/a", "").Build(), {}, "lower").ok());
  ASSERT_TRUE(Unpack(TarBuilder().File("/etc/.wh.x", "").File("/var/.wh..wh..opq", "").Build(), {},
                     "diff", {Sub("lower")})
                  .ok());
  EXPECT_TRUE(IsWhiteout(Lstat("diff/etc/x")));
  EXPECT_EQ(Xattr("diff/var", "trusted.overlay.opaque"), "y");
}

TEST_F(LayerUnpackerTest, HostileAbsolutePathThatClimbsOut) {
  EXPECT_HAS(Refused(TarBuilder().File("/../outside", "owned").Build()), "\"..\"");
  EXPECT_HAS(Refused(TarBuilder().File("/a/../../outside", "owned").Build()), "\"..\"");
}

TEST_F(LayerUnpackerTest, HostileSymlinkThenWriteThroughIt) {
  const std::string error =
      Refused(TarBuilder().Symlink("up", "../").File("up/outside", "owned").Build());
  EXPECT_HAS(error, "entry \"up/outside\"");
  EXPECT_HAS(error, "leads out of the layer through a symbolic link");
}

TEST_F(LayerUnpackerTest, HostileSymlinkChainThatClimbsOut) {
  Refused(TarBuilder()
              .Dir("a/b/")
              .Symlink("a/b/c", "../../..")
              .Symlink("d", "a/b/c")
              .File("d/outside", "owned")
              .Build());
}

TEST_F(LayerUnpackerTest, HostileSymlinkLoop) {
  EXPECT_HAS(Refused(TarBuilder().Symlink("a", "b").Symlink("b", "a").File("a/x", "").Build()),
             "more than 40 symbolic links");
}

TEST_F(LayerUnpackerTest, AbsoluteSymlinkMeansTheLayersOwnRoot) {
  const std::string target = dir_.path();  // exists on the host
  ASSERT_TRUE(dir_.root().ReplaceFile("outside", "untouched").ok());
  ASSERT_TRUE(
      Unpack(TarBuilder().Symlink("abs", target).File("abs/outside", "inside").Build()).ok());
  EXPECT_EQ(Read("outside"), "untouched");
  EXPECT_EQ(Read(absl::StrCat("diff", target, "/outside")), "inside");
}

TEST_F(LayerUnpackerTest, HostileSymlinkOfALowerLayer) {
  ASSERT_TRUE(Unpack(TarBuilder().Symlink("up", "..").Build(), {}, "diff/lower").ok());
  const auto result = Unpack(TarBuilder().File("up/outside", "owned").Build(), {}, "diff/upper",
                             {Sub("diff/lower")});
  EXPECT_TRUE(absl::IsInvalidArgument(result.status())) << result.status();
  EXPECT_FALSE(dir_.root().Exists("diff/outside"));
}

TEST_F(LayerUnpackerTest, HostileHardLinkToOutside) {
  EXPECT_HAS(Refused(TarBuilder().HardLink("x", "../outside").Build()),
             "hard link to \"../outside\"");
  EXPECT_HAS(Refused(TarBuilder().HardLink("x", "/../outside").Build()), "\"..\"");
  EXPECT_HAS(Refused(TarBuilder().HardLink("x", dir_.root().PathOf("outside")).Build()),
             "no such file");
}

TEST_F(LayerUnpackerTest, HostileHardLinkViaSymlink) {
  EXPECT_HAS(Refused(TarBuilder().Symlink("up", "..").HardLink("x", "up/outside").Build()),
             "leads out of the layer");
}

TEST_F(LayerUnpackerTest, HostileHardLinkToASymlinkThatLeadsOut) {
  EXPECT_HAS(Refused(TarBuilder().Symlink("s", "../outside").HardLink("x", "s").Build()),
             "symbolic link that leads out");
}

TEST_F(LayerUnpackerTest, AHardLinkToALowerFileCopiesItIntoTheLayer) {
  ASSERT_TRUE(Unpack(TarBuilder()
                         .Dir("usr/bin", {.mode = 0750, .uid = 3, .gid = 4})
                         .File("usr/bin/tool", "binary", {.mode = 04755, .uid = 5, .gid = 6})
                         .Symlink("bin", "usr/bin")
                         .Symlink("usr/bin/alias", "tool")
                         .Build(),
                     {}, "lower")
                  .ok());
  ASSERT_TRUE(Unpack(TarBuilder().File("other", "").Build(), {}, "middle").ok());
  const auto result = Unpack(TarBuilder()
                                 .HardLink("opt/tool", "bin/tool")
                                 .HardLink("opt/second", "/usr/bin/tool")
                                 .HardLink("opt/alias", "usr/bin/alias")
                                 .Build(),
                             {}, "diff", {Sub("middle"), Sub("lower")});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(Read("diff/opt/tool"), "binary");
  const struct stat linked = Lstat("diff/usr/bin/tool");
  EXPECT_EQ(linked.st_nlink, 3u);
  EXPECT_EQ(linked.st_mode & 07777, 04755u);
  EXPECT_EQ(linked.st_uid, 5u);
  EXPECT_EQ(linked.st_gid, 6u);
  EXPECT_EQ(linked.st_mtim.tv_sec, Lstat("lower/usr/bin/tool").st_mtim.tv_sec);
  EXPECT_EQ(Lstat("diff/opt/tool").st_ino, linked.st_ino);
  EXPECT_EQ(Lstat("diff/opt/second").st_ino, linked.st_ino);
  EXPECT_EQ(Lstat("diff/usr/bin").st_mode & 07777, 0750u);
  EXPECT_TRUE(S_ISLNK(Lstat("diff/opt/alias").st_mode));
  EXPECT_EQ(Lstat("lower/usr/bin/tool").st_nlink, 1u) << "the lower layer was changed";
  EXPECT_EQ(result->bytes, 6u);
}

TEST_F(LayerUnpackerTest, HardLinksThroughALowerLinkFindWhatTheLayerHas) {
  ASSERT_TRUE(Unpack(TarBuilder()
                         .File("usr/bin/tool", "old")
                         .File("usr/bin/other", "old")
                         .Symlink("bin", "usr/bin")
                         .Build(),
                     {}, "lower")
                  .ok());
  const auto result = Unpack(TarBuilder()
                                 .HardLink("first", "bin/tool")
                                 .HardLink("second", "bin/tool")
                                 .File("usr/bin/other", "new")
                                 .HardLink("third", "bin/other")
                                 .Build(),
                             {}, "diff", {Sub("lower")});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(Lstat("diff/second").st_ino, Lstat("diff/usr/bin/tool").st_ino);
  EXPECT_EQ(Lstat("diff/usr/bin/tool").st_nlink, 3u);
  EXPECT_EQ(Read("diff/third"), "new");
}

TEST_F(LayerUnpackerTest, AHardLinkToAHiddenLowerFileIsRefused) {
  ASSERT_TRUE(
      Unpack(TarBuilder().File("a/f", "").File("b/f", "").Symlink("l", "a").Build(), {}, "lower")
          .ok());
  ASSERT_TRUE(Unpack(TarBuilder().File("b/.wh..wh..opq", "").Build(), {}, "middle").ok());
  const std::vector<FsRoot> lowers = {Sub("middle"), Sub("lower")};
  for (const std::string& tar :
       {TarBuilder().File("a/.wh.f", "").HardLink("x", "a/f").Build(),
        TarBuilder().File(".wh.a", "").HardLink("x", "a/f").Build(),
        TarBuilder().HardLink("x", "b/f").Build(), TarBuilder().HardLink("x", "a").Build(),
        TarBuilder().HardLink("x", "a/g").Build(),
        TarBuilder().File("a/.wh.f", "").HardLink("x", "l/f").Build()}) {
    EXPECT_TRUE(dir_.root().RemoveTree("diff").ok());
    const auto result = Unpack(tar, {}, "diff", lowers);
    EXPECT_TRUE(absl::IsInvalidArgument(result.status())) << result.status();
    EXPECT_FALSE(dir_.root().Exists("diff/x"));
  }
}

TEST_F(LayerUnpackerTest, CopiesOfLowerFilesCountAgainstTheLimit) {
  ASSERT_TRUE(Unpack(TarBuilder().File("f", std::string(5000, 'x')).Build(), {}, "lower").ok());
  const auto result =
      Unpack(TarBuilder().HardLink("x", "f").Build(), {.max_bytes = 4096}, "diff", {Sub("lower")});
  EXPECT_TRUE(absl::IsResourceExhausted(result.status())) << result.status();
}

TEST_F(LayerUnpackerTest, HostileHardLinkToNothing) {
  EXPECT_HAS(Refused(TarBuilder().HardLink("x", "missing/file").Build()), "no such file");
}

TEST_F(LayerUnpackerTest, HostileHardLinkReplacingItsOwnTarget) {
  EXPECT_HAS(Refused(TarBuilder().File("d/f", "").HardLink("d", "d/f").Build()), "below the link");
}

TEST_F(LayerUnpackerTest, HostileDeviceNodeFlood) {
  TarBuilder tar;
  for (int i = 0; i < 50; ++i) tar.Node(absl::StrCat("d", i), '3', 1, 3);
  EXPECT_HAS(Refused(tar.Build(), {.max_entries = 40}), "more than 40 entries");
}

TEST_F(LayerUnpackerTest, HostilePathsThatFillTheMemory) {
  TarBuilder tar;
  for (int i = 0; i < 10; ++i) tar.Dir(absl::StrCat(std::string(90, 'd'), i));
  tar.Dir(absl::StrCat(std::string(90, 'd'), 0));  // counts once
  tar.File(std::string(95, 'f'), "");              // isn't kept
  EXPECT_HAS(Refused(tar.Build(), {.max_path_bytes = 909}), "more than 909 bytes");
  const auto fits = Unpack(tar.Build(), {.max_path_bytes = 910}, "other");
  EXPECT_TRUE(fits.ok()) << fits.status();
}

TEST_F(LayerUnpackerTest, HostileTruncatedTar) {
  const std::string tar = TarBuilder().File("a", std::string(10'000, 'a')).Build();
  EXPECT_HAS(Refused(tar.substr(0, 5'000)), "DATA_LOSS");
}

TEST_F(LayerUnpackerTest, HostileTruncatedGzip) {
  std::string noise;
  for (int i = 0; i < 20'000; ++i) absl::StrAppend(&noise, i * 7919 % 10007, ",");
  const std::string gzip = Compress(TarBuilder().File("a", noise).Build(), "gzip");
  EXPECT_HAS(Refused(gzip.substr(0, gzip.size() / 2)), "DATA_LOSS");
  EXPECT_HAS(Refused(gzip.substr(0, gzip.size() - 10)), "DATA_LOSS");
}

TEST_F(LayerUnpackerTest, HostileNotATar) {
  ASSERT_TRUE(Unpack("", {}, "no-bytes").ok());
  EXPECT_TRUE(dir_.root().List("no-bytes")->empty());
  ASSERT_TRUE(dir_.root().RemoveTree("no-bytes").ok());
  EXPECT_HAS(Refused(std::string(4096, 'q')), "DATA_LOSS");
}

TEST_F(LayerUnpackerTest, HostilePathTooLong) {
  std::string path = "x";
  while (path.size() <= 4096) path += "/component";
  EXPECT_HAS(Refused(TarBuilder().File(path, "").Build()), "valid are 4096");
  Refused(TarBuilder().File(std::string(256, 'n'), "").Build());
}

TEST_F(LayerUnpackerTest, HostilePathTooDeep) {
  std::string path = "d";
  for (int i = 0; i < 300; ++i) path += "/d";
  EXPECT_HAS(Refused(TarBuilder().File(path, "").Build()), "deep");
}

TEST_F(LayerUnpackerTest, HostileOverlayXattr) {
  EXPECT_HAS(Refused(TarBuilder()
                         .Dir("d/", {.mode = 0755,
                                     .pax = {{"SCHILY.xattr.trusted.overlay.redirect", "/etc"}}})
                         .Build()),
             "trusted.overlay.redirect");
  EXPECT_HAS(
      Refused(
          TarBuilder().File("f", "", {.pax = {{"SCHILY.xattr.user.overlay.opaque", "y"}}}).Build()),
      "user.overlay.opaque");
}

TEST_F(LayerUnpackerTest, HostileXattrTooLarge) {
  EXPECT_HAS(
      Refused(TarBuilder()
                  .File("f", "", {.pax = {{"SCHILY.xattr.user.big", std::string(70'000, 'x')}}})
                  .Build()),
      "RESOURCE_EXHAUSTED");
}

TEST_F(LayerUnpackerTest, HostileWhiteoutNames) {
  for (const char* name : {".wh.", ".wh..", ".wh...", "a/.wh..."}) {
    EXPECT_HAS(Refused(TarBuilder().File(name, "").Build()), "names no file") << name;
  }
  EXPECT_HAS(Refused(TarBuilder().File(".wh.a/b", "").Build()), "through a whiteout");
}

TEST_F(LayerUnpackerTest, HostileDecompressionBomb) {
  const std::string bomb =
      Compress(TarBuilder().File("zeros", std::string(8 << 20, '\0')).Build(), "gzip");
  EXPECT_HAS(Refused(bomb, {.max_bytes = 1 << 20}), "RESOURCE_EXHAUSTED");
}

TEST_F(LayerUnpackerTest, HostileSparseFileOfHugeSize) {
  EXPECT_HAS(Refused(TarBuilder()
                         .File("s", "",
                               {.pax = {{"GNU.sparse.size", "4611686018427387904"},
                                        {"GNU.sparse.numblocks", "0"}}})
                         .Build()),
             "RESOURCE_EXHAUSTED");
}

TEST_F(LayerUnpackerTest, HostileParentThatIsAFile) {
  EXPECT_HAS(Refused(TarBuilder().File("f", "").File("f/x", "").Build()), "not a directory");
}

TEST_F(LayerUnpackerTest, HostileNamesAreTheImagesFault) {
  const std::string name(256, 'n');
  const struct {
    std::string tar;
    const char* what;
  } cases[] = {
      {TarBuilder().File(name, "x").Build(), "File name too long"},
      {TarBuilder().Dir(name).Build(), "File name too long"},
      {TarBuilder().File(absl::StrCat(name, "/x"), "x").Build(), "File name too long"},
      {TarBuilder().Symlink(name, "x").Build(), "File name too long"},
      {TarBuilder().Node(name, '6', 0, 0).Build(), "File name too long"},
      {TarBuilder().File("a", "x").HardLink(name, "a").Build(), "File name too long"},
      {TarBuilder().HardLink("a", name).Build(), "File name too long"},
      {TarBuilder().HardLink("a", absl::StrCat(name, "/x")).Build(), "File name too long"},
      {TarBuilder().Symlink("a", name).File("a/x", "x").Build(), "File name too long"},
      {TarBuilder().File(absl::StrCat(".wh.", name), "").Build(), "File name too long"},
      {TarBuilder().File("a", "x").File("a/b", "x").Build(), "not a directory"},
      {TarBuilder().File("a", "x").HardLink("b", "a/c").Build(), "not a directory"},
      {TarBuilder().Symlink("a", "b").Symlink("b", "a").File("a/x", "x").Build(), "symbolic links"},
      {TarBuilder().Symlink("a", std::string(5000, 'l')).Build(), "too long"},
  };
  for (const auto& each : cases) {
    const std::string error = Refused(each.tar);
    EXPECT_HAS(error, "INVALID_ARGUMENT");
    EXPECT_HAS(error, each.what);
    EXPECT_HAS(error, "entry \"");
    ASSERT_TRUE(dir_.root().RemoveTree("diff").ok());
  }
}

TEST_F(LayerUnpackerTest, LimitsHeaders) {
  TarBuilder tar;
  for (int i = 0; i < 10; ++i) {
    tar.File(absl::StrCat("file-", i), "x",
             {.pax = {{"SCHILY.xattr.user.x", std::string(90, 'x')}}});
  }
  const std::string error = Refused(tar.Build(), {.max_header_bytes = 500});
  EXPECT_HAS(error, "RESOURCE_EXHAUSTED");
  EXPECT_HAS(error, "more than 500 bytes");
  EXPECT_HAS(error, "entry \"file-4\"");
}

TEST_F(LayerUnpackerTest, LayersOfOneImageShareABudget) {
  ImageBudget entries(3, 1000);
  UnpackLimits limits;
  limits.budget = &entries;
  const std::string two = TarBuilder().File("a", "x").File("b", "x").Build();
  ASSERT_TRUE(Unpack(two, limits).ok());
  const auto refused = Unpack(two, limits, "second");
  EXPECT_HAS(refused.status().ToString(), "RESOURCE_EXHAUSTED");
  EXPECT_HAS(refused.status().message(), "the image's layers have more than 3 entries together");
  ImageBudget bytes(100, 1000);
  limits.budget = &bytes;
  ASSERT_TRUE(Unpack(TarBuilder().File("a", std::string(900, 'x')).Build(), limits, "third").ok());
  const auto large = Unpack(TarBuilder().File("a", std::string(101, 'x')).Build(), limits, "4th");
  EXPECT_HAS(large.status().message(), "the image's layers have more than 1000 bytes together");
}

TEST_F(LayerUnpackerTest, HostileRootThatIsNoDirectory) {
  Refused(TarBuilder().Symlink("./", "/etc").Build());
}

}  // namespace
}  // namespace plimsoll::image
