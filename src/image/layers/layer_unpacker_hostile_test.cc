// Layers that are wrong, or want more than they may have.
#include <sys/stat.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/programs/device_nodes_for_test.h"
#include "image/layers/layer_tree.h"
#include "image/layers/layer_unpacker_for_test.h"

namespace plimsoll::image {
namespace {

using Attributes = TarBuilder::Attributes;

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
  if (!MayMakeDevices()) GTEST_SKIP() << kNeedsDevices;
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
  if (!MayMakeDevices()) GTEST_SKIP() << kNeedsDevices;
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
  if (!MayMakeDevices()) GTEST_SKIP() << kNeedsDevices;
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
  const auto result =
      Unpack(TarBuilder()
                 .Dir("d/", {.mode = 0755,
                             .pax = {{"SCHILY.xattr.trusted.overlay.redirect", "/etc"},
                                     {"SCHILY.xattr.user.overlay.opaque", "y"},
                                     {"SCHILY.xattr.user.kept", "k"}}})
                 .File("f", "", {.pax = {{"SCHILY.xattr.user.overlay.metacopy", ""}}})
                 .Build());
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(Xattr("diff/d", "trusted.overlay.redirect"), "(none)");
  EXPECT_EQ(Xattr("diff/d", "user.overlay.opaque"), "(none)");
  EXPECT_EQ(Xattr("diff/d", "user.kept"), "k");
  EXPECT_EQ(Xattr("diff/f", "user.overlay.metacopy"), "(none)");
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
  EXPECT_HAS(Refused(TarBuilder().File("f", "").File("f/x", "").Build()), "Not a directory");
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
      {TarBuilder().File("a", "x").File("a/b", "x").Build(), "Not a directory"},
      {TarBuilder().File("a", "x").HardLink("b", "a/c").Build(), "Not a directory"},
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
