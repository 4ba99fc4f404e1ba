#include "base/disk_usage.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <stop_token>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/dir_for_test.h"
#include "gtest/gtest.h"

namespace plimsoll {
namespace {

uint64_t BlocksOf(const FsRoot& root, const std::string& name) {
  struct stat info = {};
  EXPECT_EQ(fstatat(root.fd(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW), 0) << name;
  return static_cast<uint64_t>(info.st_blocks) * 512;
}

TEST(DiskUsageTest, CountsEachInodeOnceInBlocks) {
  TestDir dir;
  const FsRoot& root = dir.root();
  ASSERT_TRUE(root.MakeDirs("a/b").ok());
  ASSERT_TRUE(root.ReplaceFile("a/b/file", std::string(100'000, 'x')).ok());
  ASSERT_EQ(linkat(root.fd(), "a/b/file", root.fd(), "other-name", 0), 0);
  ASSERT_EQ(symlinkat("/", root.fd(), "a/everything"), 0);
  ASSERT_EQ(symlinkat(".", root.fd(), "a/b/loop"), 0);
  uint64_t expected = 0;
  for (const char* name : {".", "a", "a/b", "a/b/file", "a/everything", "a/b/loop"}) {
    expected += BlocksOf(root, name);
  }
  const auto usage = MeasureTree(root);
  ASSERT_TRUE(usage.ok()) << usage.status();
  EXPECT_EQ(usage->inodes, 6u);
  EXPECT_EQ(usage->bytes, expected);
  EXPECT_GE(usage->bytes, 100'000u);
}

TEST(DiskUsageTest, ASparseFileCountsWhatItHolds) {
  TestDir dir;
  const auto fd = dir.root().OpenFile("sparse", O_WRONLY | O_CREAT, 0600);
  ASSERT_TRUE(fd.ok());
  ASSERT_EQ(ftruncate(fd->get(), 1 << 30), 0);
  EXPECT_LT(MeasureTree(dir.root())->bytes, 1u << 20);
}

TEST(DiskUsageTest, CanBeCalledOff) {
  TestDir dir;
  ASSERT_TRUE(dir.root().MakeDirs("a/b").ok());
  std::stop_source stop;
  EXPECT_TRUE(MeasureTree(dir.root(), stop.get_token()).ok());
  stop.request_stop();
  const auto usage = MeasureTree(dir.root(), stop.get_token());
  EXPECT_TRUE(absl::IsCancelled(usage.status())) << usage.status();
}

TEST(DiskUsageTest, DeeperThanAPathCanBeLong) {
  TestDir dir;
  FsRoot at = dir.root();
  const std::string name(200, 'd');
  constexpr int kLevels = 130;  // 26,000 bytes of path
  for (int i = 0; i < kLevels; ++i) {
    ASSERT_TRUE(at.MakeDirs(name).ok());
    const auto below = at.Sub(name);
    ASSERT_TRUE(below.ok()) << below.status();
    at = *below;
  }
  ASSERT_TRUE(at.ReplaceFile("hidden", std::string(50'000, 'x')).ok());
  const auto usage = MeasureTree(dir.root());
  ASSERT_TRUE(usage.ok()) << usage.status();
  EXPECT_EQ(usage->inodes, 1u + kLevels + 1u);
  EXPECT_GE(usage->bytes, 50'000u);
}

}  // namespace
}  // namespace plimsoll
