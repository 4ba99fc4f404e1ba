#include "image/layers/tree_archiver.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "base/dir_for_test.h"
#include "base/programs/device_nodes_for_test.h"
#include "gtest/gtest.h"
#include "image/layers/archive_reader.h"
#include "image/layers/layer_unpacker.h"
#include "image/names/digest.h"
#include "image/tar_for_test.h"

namespace plimsoll::image {
namespace {

class TreeArchiverTest : public ::testing::Test {
 protected:
  TreeArchiverTest() {
    EXPECT_TRUE(dir_.root().MakeDirs("tree/a/b").ok());
    EXPECT_TRUE(dir_.root().MakeDirs("copy").ok());
  }
  std::string In(const std::string& path) { return dir_.root().PathOf(path); }

  absl::StatusOr<UnpackResult> RoundTrip() {
    UniqueFd tar = MemoryFile("");
    const absl::Status archived = ArchiveTree(*dir_.root().Sub("tree"), tar.get());
    if (!archived.ok()) return archived;
    lseek(tar.get(), 0, SEEK_SET);
    auto reader = ArchiveReader::Open(std::move(tar), "tree", 1 << 30);
    if (!reader.ok()) return reader.status();
    return UnpackLayer(**reader, *dir_.root().Sub("copy"), std::vector<FsRoot>());
  }

  TestDir dir_;
};

TEST_F(TreeArchiverTest, EverythingThatLayersKeepIsKept) {
  if (!MayMakeDevices()) GTEST_SKIP() << kNeedsDevices;
  const std::string name = absl::StrCat(std::string(110, 'n'), "gr\xc3\xbc\xc3\x9f");
  ASSERT_TRUE(dir_.root().ReplaceFile(absl::StrCat("tree/a/", name), "text", 0640).ok());
  ASSERT_TRUE(dir_.root().ReplaceFile("tree/a/odd\xff", "odd").ok());
  const std::string file = In(absl::StrCat("tree/a/", name));
  ASSERT_EQ(chown(file.c_str(), 1000, 2000), 0);
  ASSERT_EQ(chmod(file.c_str(), 04750), 0);
  ASSERT_EQ(setxattr(file.c_str(), "user.note", "x", 1, 0), 0);
  ASSERT_EQ(link(file.c_str(), In("tree/z-link").c_str()), 0);
  ASSERT_EQ(symlink("/etc/passwd", In("tree/symlink").c_str()), 0);
  ASSERT_EQ(mknod(In("tree/null").c_str(), S_IFCHR | 0666, makedev(1, 3)), 0);
  ASSERT_EQ(mkfifo(In("tree/fifo").c_str(), 0600), 0);
  ASSERT_EQ(chmod(In("tree").c_str(), 0711), 0);

  const auto result = RoundTrip();
  ASSERT_TRUE(result.ok()) << result.status();
  struct stat info = {};
  ASSERT_EQ(stat(In(absl::StrCat("copy/a/", name)).c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 04750u);
  EXPECT_EQ(info.st_uid, 1000u);
  EXPECT_EQ(info.st_gid, 2000u);
  EXPECT_EQ(info.st_nlink, 2u);
  char value = 0;
  EXPECT_EQ(getxattr(In("copy/z-link").c_str(), "user.note", &value, 1), 1);
  EXPECT_EQ(*dir_.root().Read("copy/z-link"), "text");
  EXPECT_EQ(*dir_.root().Read("copy/a/odd\xff"), "odd");
  EXPECT_EQ(*dir_.root().ReadLink("copy/symlink"), "/etc/passwd");
  ASSERT_EQ(lstat(In("copy/null").c_str(), &info), 0);
  EXPECT_EQ(info.st_rdev, makedev(1, 3));
  ASSERT_EQ(lstat(In("copy/fifo").c_str(), &info), 0);
  EXPECT_TRUE(S_ISFIFO(info.st_mode));
  ASSERT_EQ(stat(In("copy").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0711u);
}

TEST_F(TreeArchiverTest, TheSameTreeGivesTheSameBytes) {
  for (const char* name : {"x", "a/y", "a/b/z"}) {
    ASSERT_TRUE(dir_.root().ReplaceFile(absl::StrCat("tree/", name), name).ok());
  }
  std::string digests[2];
  for (std::string& digest : digests) {
    const UniqueFd tar = MemoryFile("");
    ASSERT_TRUE(ArchiveTree(*dir_.root().Sub("tree"), tar.get()).ok());
    lseek(tar.get(), 0, SEEK_SET);
    digest = *DigestOfFile(tar.get(), "tar");
  }
  EXPECT_EQ(digests[0], digests[1]);
}

TEST_F(TreeArchiverTest, FullDeviceIsAnError) {
  ASSERT_TRUE(dir_.root().ReplaceFile("tree/x", std::string(100'000, 'x')).ok());
  const UniqueFd full(open("/dev/full", O_WRONLY | O_CLOEXEC));
  EXPECT_FALSE(ArchiveTree(*dir_.root().Sub("tree"), full.get()).ok());
}

}  // namespace
}  // namespace plimsoll::image
