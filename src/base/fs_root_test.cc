#include "base/fs_root.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "base/dir_for_test.h"
#include "base/no_descriptors_for_test.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lookup/child_for_test.h"
#include "lookup/system_call_filter_for_test.h"

namespace plimsoll {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class FsRootTest : public ::testing::Test {
 protected:
  TestDir dir_;
  const FsRoot& root_ = dir_.root();
};

TEST(FsRoot, ANewParentIsOpenToOthers) {
  const TestDir dir;
  const mode_t mask = umask(022);
  const auto root = FsRoot::OpenOrCreate(dir.path() + "/new/state");
  umask(mask);
  ASSERT_TRUE(root.ok()) << root.status();
  EXPECT_EQ(dir.root().Stat("new")->st_mode & 07777, 0755u);
  EXPECT_EQ(dir.root().Stat("new/state")->st_mode & 07777, 0700u);
}

TEST_F(FsRootTest, ReplacesAndReads) {
  ASSERT_TRUE(root_.ReplaceFile("a", "one", 0640).ok());
  ASSERT_TRUE(root_.ReplaceFile("a", "two", 0640, /*sync=*/true).ok());
  EXPECT_EQ(*root_.Read("a"), "two");
  EXPECT_EQ(root_.Stat("a")->st_mode & 0777, 0640u);
  EXPECT_THAT(*root_.List("."), ElementsAre("a"));
}

TEST_F(FsRootTest, AReplacedFileHasItsModeWhateverTheUmask) {
  const mode_t before = umask(077);
  const absl::Status replaced = root_.ReplaceFile("a", "x", 0644);
  umask(before);
  ASSERT_TRUE(replaced.ok()) << replaced;
  EXPECT_EQ(root_.Stat("a")->st_mode & 0777, 0644u);
}

TEST_F(FsRootTest, ReadRefusesWhatIsTooLarge) {
  ASSERT_TRUE(root_.ReplaceFile("a", "123456").ok());
  EXPECT_TRUE(absl::IsResourceExhausted(root_.Read("a", 5).status()));
  EXPECT_TRUE(root_.Read("a", 6).ok());
}

TEST_F(FsRootTest, WriteNeedsAnExistingFile) {
  EXPECT_TRUE(absl::IsNotFound(root_.Write("cpu.shares", "2")));
  ASSERT_TRUE(root_.ReplaceFile("cpu.shares", "1024\n").ok());
  ASSERT_TRUE(root_.Write("cpu.shares", "2").ok());
  EXPECT_EQ(*root_.Read("cpu.shares"), "2");
}

TEST_F(FsRootTest, WriteErrorNamesFileAndValue) {
  EXPECT_THAT(root_.Write("sub/file", "7").message(), HasSubstr(dir_.path() + "/sub/file"));
}

TEST_F(FsRootTest, LinksAndDotsStayBelowTheRoot) {
  ASSERT_TRUE(root_.MakeDirs("etc").ok());
  ASSERT_TRUE(root_.ReplaceFile("etc/passwd", "inside").ok());
  ASSERT_EQ(symlink("/etc/passwd", root_.PathOf("absolute").c_str()), 0);
  ASSERT_EQ(symlink("../../../../etc/passwd", root_.PathOf("relative").c_str()), 0);
  EXPECT_EQ(*root_.Read("absolute"), "inside");
  EXPECT_EQ(*root_.Read("relative"), "inside");
  EXPECT_EQ(*root_.Read("../../etc/passwd"), "inside");
  EXPECT_EQ(*root_.ReadLink("absolute"), "/etc/passwd");
}

TEST_F(FsRootTest, MakeDirsIsRepeatable) {
  ASSERT_TRUE(root_.MakeDirs("a/b/c").ok());
  EXPECT_TRUE(root_.MakeDirs("/a/b/c/").ok());
  EXPECT_TRUE(root_.Exists("a/b/c"));
  EXPECT_TRUE(*root_.Has("a/b/c"));
  EXPECT_FALSE(*root_.Has("a/b/c/d"));
  const absl::StatusOr<bool> not_seen = [&] {
    const NoDescriptors none;
    return root_.Has("a/b/c");
  }();
  EXPECT_TRUE(absl::IsResourceExhausted(not_seen.status())) << not_seen.status();
  ASSERT_TRUE(root_.ReplaceFile("file", "").ok());
  EXPECT_FALSE(root_.MakeDirs("file/x").ok());
}

TEST_F(FsRootTest, RemovingNothingIsFine) {
  EXPECT_TRUE(root_.RemoveFile("x").ok());
  EXPECT_TRUE(root_.RemoveDir("x/y").ok());
  EXPECT_TRUE(root_.RemoveTree("x/y/z").ok());
}

TEST_F(FsRootTest, RemoveTreeDoesNotFollowLinks) {
  TestDir other;
  ASSERT_TRUE(other.root().ReplaceFile("keep", "x").ok());
  ASSERT_TRUE(root_.MakeDirs("t/deep/er").ok());
  ASSERT_EQ(symlink(other.path().c_str(), root_.PathOf("t/link").c_str()), 0);
  ASSERT_TRUE(root_.RemoveTree("t").ok());
  EXPECT_FALSE(root_.Exists("t"));
  EXPECT_TRUE(other.root().Exists("keep"));
}

TEST_F(FsRootTest, RemoveTreeStopsAtABindMount) {
  TestDir other;
  ASSERT_TRUE(other.root().ReplaceFile("keep", "x").ok());
  ASSERT_TRUE(root_.MakeDirs("t/mnt").ok());
  if (mount(other.path().c_str(), root_.PathOf("t/mnt").c_str(), nullptr, MS_BIND, nullptr) != 0) {
    GTEST_SKIP() << "mounting needs root";
  }
  EXPECT_TRUE(absl::IsFailedPrecondition(root_.RemoveTree("t")));
  EXPECT_TRUE(other.root().Exists("keep"));
  ASSERT_EQ(umount(root_.PathOf("t/mnt").c_str()), 0);
}

TEST_F(FsRootTest, SubIsARootOfItsOwn) {
  ASSERT_TRUE(root_.MakeDirs("sub").ok());
  ASSERT_TRUE(root_.ReplaceFile("outside", "x").ok());
  const auto sub = root_.Sub("sub");
  ASSERT_TRUE(sub.ok());
  EXPECT_TRUE(absl::IsNotFound(sub->Read("../outside").status()));
  EXPECT_EQ(sub->path(), dir_.path() + "/sub");
}

// Blocks openat2 like RestrictSUIDSGID= of systemd (ENOSYS) and other filters (EPERM).
TEST_F(FsRootTest, WorksWhereAFilterRefusesOpenat2) {
  if (!TakesFilters()) GTEST_SKIP() << "needs system call filters, which qemu-user lacks";
  for (const int error : {ENOSYS, EPERM}) {
    const std::string failed = InChild([&]() -> std::string {
      if (!RefuseSystemCall(SYS_openat2, error)) return "no filter";
      if (!root_.MakeDirs("a/b").ok()) return "MakeDirs";
      if (!root_.ReplaceFile("a/b/file", "one").ok()) return "ReplaceFile";
      if (!root_.Write("a/b/file", "two").ok()) return "Write";
      symlink("/a/b", root_.PathOf("link").c_str());
      symlink("/etc", root_.PathOf("out").c_str());
      if (root_.Read("link/../b/file").value_or("") != "two") return "Read";
      if (!absl::IsNotFound(root_.Read("out/passwd").status())) return "a link leads out";
      if (!absl::IsNotFound(root_.Read("../../../../../etc/passwd").status()))
        return ".. leads out";
      if (root_.ReadLink("link").value_or("") != "/a/b") return "ReadLink";
      if (root_.List("link").value_or(std::vector<std::string>()).size() != 1) return "List";
      if (root_.Has("a/none").value_or(true) || !root_.Exists("a/b")) return "Has";
      if (root_.OpenFile("a/b/file", O_WRONLY | O_CREAT | O_EXCL, 0600).status().code() !=
          absl::StatusCode::kAlreadyExists) {
        return "O_EXCL";
      }
      for (const char* name : {"a", "link", "out"}) {
        if (!root_.RemoveTree(name).ok()) return "RemoveTree";
      }
      return root_.List(".").value_or(std::vector<std::string>{"?"}).empty() ? "" : "left";
    });
    EXPECT_EQ(failed, "") << error;
  }
}

TEST_F(FsRootTest, RemoveTreeStopsAtABindMountWithoutOpenat2) {
  if (geteuid() != 0) GTEST_SKIP() << "mounting needs root";
  TestDir other;
  ASSERT_TRUE(other.root().ReplaceFile("keep", "x").ok());
  ASSERT_TRUE(root_.MakeDirs("t/mnt").ok());
  ASSERT_EQ(mount(other.path().c_str(), root_.PathOf("t/mnt").c_str(), nullptr, MS_BIND, nullptr),
            0);
  EXPECT_EQ(InChild([&] {
              RefuseSystemCall(SYS_openat2, ENOSYS);
              return std::string(root_.RemoveTree("t").message());
            }),
            "remove " + root_.PathOf("t/mnt") + ": something is mounted there; unmount it first");
  EXPECT_TRUE(other.root().Exists("keep"));
  ASSERT_EQ(umount(root_.PathOf("t/mnt").c_str()), 0);
}

}  // namespace
}  // namespace plimsoll
