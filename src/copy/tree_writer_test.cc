#include "copy/tree_writer.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/dir_for_test.h"
#include "image/layers/archive_reader.h"
#include "image/tar_for_test.h"

namespace plimsoll::copy {
namespace {

using image::TarBuilder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class TreeWriterTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(dir_.root().MakeDirs("into", 0755).ok()); }

  absl::Status Write(const std::string& tar, const std::string& target,
                     const WriteOptions& options) {
    const auto reader =
        image::ArchiveReader::Open(image::MemoryFile(tar), "stream", uint64_t{1} << 40);
    if (!reader.ok()) return reader.status();
    WriteOptions noting = options;
    noting.left_out = [this](const std::string& note) { notes_.push_back(note); };
    return WriteTree(**reader, Place::Host(), absl::StrCat(dir_.path(), "/", target), noting);
  }
  absl::Status Write(const TarBuilder& tar, const std::string& target, bool archive = false) {
    return Write(tar.Build(), target, {.source_name = "source", .archive = archive});
  }
  // All names of the stream go into "into".
  absl::Status WriteBare(const TarBuilder& tar) {
    return Write(tar.Build(), "into", {.bare = true});
  }
  std::string Read(const std::string& name) { return dir_.root().Read(name).value_or("(none)"); }
  std::vector<std::string> List(const std::string& name) { return *dir_.root().List(name); }
  std::string PathOf(const std::string& name) { return absl::StrCat(dir_.path(), "/", name); }

  TestDir dir_;
  std::vector<std::string> notes_;
};

TEST_F(TreeWriterTest, AFileBecomesItsTargetOrGoesIntoIt) {
  const TarBuilder file = TarBuilder().File("top", "text", {.mode = 06754});
  ASSERT_TRUE(Write(file, "new").ok());
  EXPECT_EQ(Read("new"), "text");
  EXPECT_EQ(dir_.root().Stat("new")->st_mode & 07777, 0754u) << "set-id bits need --archive";
  EXPECT_EQ(dir_.root().Stat("new")->st_mtim.tv_sec, 1'000'000'000);
  ASSERT_TRUE(Write(file, "into").ok());
  EXPECT_EQ(Read("into/source"), "text");
  ASSERT_TRUE(Write(TarBuilder().File("top", "other"), "new").ok());
  EXPECT_EQ(Read("new"), "other");
  EXPECT_THAT(Write(file, "none/new").message(), HasSubstr("No such file"));
  EXPECT_THAT(Write(file, "missing/").message(), HasSubstr("missing/: No such file"));
  EXPECT_THAT(Write(file, "new/").message(), HasSubstr("Not a directory"));
}

TEST_F(TreeWriterTest, ADirectoryBecomesItsTargetOrGoesIntoIt) {
  const TarBuilder tree = TarBuilder().Dir("top", {.mode = 0711}).File("top/a", "text");
  ASSERT_TRUE(Write(tree, "new").ok());
  EXPECT_EQ(Read("new/a"), "text");
  EXPECT_EQ(dir_.root().Stat("new")->st_mode & 07777, 0711u);
  EXPECT_EQ(dir_.root().Stat("new")->st_mtim.tv_sec, 1'000'000'000);
  ASSERT_TRUE(Write(tree, "into").ok());
  EXPECT_EQ(Read("into/source/a"), "text");
  EXPECT_EQ(dir_.root().Stat("into")->st_mode & 07777, 0755u);
  ASSERT_TRUE(Write(tree.Build(), "into", {.source_name = "source", .content = true}).ok());
  EXPECT_EQ(Read("into/a"), "text");
  EXPECT_EQ(dir_.root().Stat("into")->st_mode & 07777, 0755u) << "it was there";
  ASSERT_TRUE(dir_.root().ReplaceFile("file", "").ok());
  EXPECT_THAT(Write(tree, "file").message(), HasSubstr("a directory can't be copied onto it"));
}

TEST_F(TreeWriterTest, KindsAreNotReplacedByOthers) {
  ASSERT_TRUE(dir_.root().MakeDirs("into/source/a", 0755).ok());
  ASSERT_TRUE(dir_.root().ReplaceFile("into/source/b", "kept").ok());
  ASSERT_EQ(mkfifo(PathOf("into/source/c").c_str(), 0644), 0);
  const TarBuilder top = TarBuilder().Dir("top");
  EXPECT_THAT(Write(TarBuilder(top).File("top/a", ""), "into").message(),
              HasSubstr("into/source/a: the existing file is a directory; it isn't replaced"));
  EXPECT_THAT(Write(TarBuilder(top).Dir("top/b"), "into").message(),
              HasSubstr("a directory can't replace the existing file"));
  EXPECT_THAT(Write(TarBuilder(top).File("top/c", ""), "into").message(), HasSubstr("a FIFO"));
  EXPECT_THAT(List("into/source"), ElementsAre("a", "b", "c"));
}

TEST_F(TreeWriterTest, ATargetsLinkIsFollowedAndOneInTheTreeIsNot) {
  ASSERT_TRUE(dir_.root().ReplaceFile("real", "old").ok());
  ASSERT_EQ(symlink("real", PathOf("link").c_str()), 0);
  ASSERT_TRUE(Write(TarBuilder().File("top", "new"), "link").ok());
  EXPECT_EQ(Read("real"), "new");
  EXPECT_TRUE(dir_.root().ReadLink("link").ok());

  ASSERT_EQ(symlink("../real", PathOf("into/a").c_str()), 0);
  ASSERT_TRUE(WriteBare(TarBuilder().File("a", "own")).ok());
  EXPECT_EQ(Read("real"), "new");
  EXPECT_EQ(Read("into/a"), "own");
}

TEST_F(TreeWriterTest, NothingIsWrittenOutsideOfTheTarget) {
  ASSERT_TRUE(dir_.root().MakeDirs("victim", 0755).ok());
  const std::string victim = PathOf("victim");
  const TarBuilder streams[] = {
      TarBuilder().File("../victim/x", "bad"),
      TarBuilder().File("a/../../victim/x", "bad"),
      TarBuilder().File(absl::StrCat(victim, "/x"), "bad"),
      TarBuilder().Symlink("way", victim).File("way/x", "bad"),
      TarBuilder().Symlink("way", "../victim").File("way/x", "bad"),
      TarBuilder().Symlink("way", victim).Dir("way").File("way/x", "bad"),
      TarBuilder().Dir("way").Symlink("way", victim).File("way/x", "bad"),
      TarBuilder().Symlink("a", "..").Symlink("b", "a/victim").File("b/x", "bad"),
      TarBuilder().Symlink("way", victim).HardLink("way/x", "way"),
      TarBuilder().Symlink("x", absl::StrCat(victim, "/x")).HardLink("y", "x").File("y/z", ""),
      TarBuilder().HardLink("x", "../outside"),
      TarBuilder().HardLink("x", absl::StrCat(victim, "/y")),
  };
  for (const TarBuilder& stream : streams) {
    EXPECT_FALSE(WriteBare(stream).ok());
    EXPECT_THAT(List("victim"), IsEmpty());
    ASSERT_TRUE(dir_.root().RemoveTree("into").ok());
    ASSERT_TRUE(dir_.root().MakeDirs("into", 0755).ok());
  }
  // A name that would be written through a link replaces the link.
  ASSERT_TRUE(WriteBare(TarBuilder().Symlink("x", victim + "/x").File("x", "own")).ok());
  EXPECT_THAT(List("victim"), IsEmpty());
  EXPECT_EQ(Read("into/x"), "own");
}

TEST_F(TreeWriterTest, AStreamOfOneTopHasNoOther) {
  const auto status = Write(TarBuilder().File("top", "").File("other", "bad"), "into");
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(List("into"), ElementsAre("source"));
}

TEST_F(TreeWriterTest, HardLinksAreOfFilesOfTheStreamOnly) {
  ASSERT_TRUE(dir_.root().ReplaceFile("into/secret", "secret").ok());
  ASSERT_TRUE(WriteBare(TarBuilder().File("a", "text").HardLink("b", "a").HardLink("b", "a")).ok());
  EXPECT_EQ(dir_.root().Stat("into/a")->st_ino, dir_.root().Stat("into/b")->st_ino);
  const auto status = WriteBare(TarBuilder().HardLink("c", "secret"));
  EXPECT_THAT(status.message(),
              HasSubstr("hard link to secret, but this copy did not write that file"));
  EXPECT_THAT(List("into"), ElementsAre("a", "b", "secret"));
}

TEST_F(TreeWriterTest, DevicesAreLeftOut) {
  ASSERT_TRUE(WriteBare(TarBuilder().Node("null", '3', 1, 3).Node("fifo", '6', 0, 0)).ok());
  EXPECT_THAT(List("into"), IsEmpty());
  EXPECT_THAT(notes_, ElementsAre("null is a character device", "fifo is a FIFO"));
}

TEST_F(TreeWriterTest, WhatIsCutOffLeavesNoHalfFile) {
  ASSERT_TRUE(dir_.root().ReplaceFile("into/b", "old").ok());
  const std::string whole =
      TarBuilder().File("a", "text").File("b", std::string(100'000, 'x')).Build();
  EXPECT_TRUE(absl::IsDataLoss(Write(whole.substr(0, 60'000), "into", {.bare = true})));
  EXPECT_THAT(List("into"), ElementsAre("a", "b"));
  EXPECT_EQ(Read("into/b"), "old");
  // A cut between two files is noticed, too.
  const std::string one = TarBuilder().File("a", "text").Build().substr(0, 1024);
  EXPECT_TRUE(absl::IsDataLoss(Write(one, "into", {.bare = true})));
}

TEST_F(TreeWriterTest, ArchivesKeepOwnersAndModes) {
  if (geteuid() != 0) GTEST_SKIP() << "only root gives files to others";
  const TarBuilder tree = TarBuilder()
                              .Dir("top", {.mode = 02750, .uid = 7, .gid = 8})
                              .File("top/a", "text", {.mode = 04755, .uid = 1000, .gid = 2000});
  ASSERT_TRUE(Write(tree, "new", /*archive=*/true).ok());
  EXPECT_EQ(dir_.root().Stat("new/a")->st_uid, 1000u);
  EXPECT_EQ(dir_.root().Stat("new/a")->st_gid, 2000u);
  EXPECT_EQ(dir_.root().Stat("new/a")->st_mode & 07777, 04755u);
  EXPECT_EQ(dir_.root().Stat("new")->st_mode & 07777, 02750u);
  EXPECT_EQ(dir_.root().Stat("new")->st_gid, 8u);
  ASSERT_TRUE(Write(tree, "mine").ok());
  EXPECT_EQ(dir_.root().Stat("mine/a")->st_uid, geteuid());
}

TEST_F(TreeWriterTest, LinksThatAreSwappedMeanwhileLeadNowhere) {
  ASSERT_TRUE(dir_.root().MakeDirs("victim", 0755).ok());
  ASSERT_TRUE(dir_.root().MakeDirs("into/way", 0755).ok());
  ASSERT_EQ(symlink(PathOf("victim").c_str(), PathOf("into/other").c_str()), 0);
  TarBuilder tree;
  // Each file's directory must be looked up again.
  for (int i = 0; i < 100; ++i) tree.File(absl::StrCat("way/", i), "x").File("here", "");
  std::atomic<bool> done = false;
  std::thread swapper([&] {
    while (!done) {
      syscall(SYS_renameat2, AT_FDCWD, PathOf("into/way").c_str(), AT_FDCWD,
              PathOf("into/other").c_str(), RENAME_EXCHANGE);
    }
  });
  const absl::Time end = absl::Now() + absl::Seconds(1);
  while (absl::Now() < end) WriteBare(tree).IgnoreError();
  done = true;
  swapper.join();
  EXPECT_THAT(List("victim"), IsEmpty());
}

}  // namespace
}  // namespace plimsoll::copy
