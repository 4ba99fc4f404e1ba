#include "base/remove_tree.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "base/dir_for_test.h"
#include "base/unique_fd.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plimsoll {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Runs `mkdir d; cd d` over and over, with a file and a second directory at every hundredth level.
void MakeDeep(const FsRoot& root, int levels) {
  UniqueFd here(openat(root.fd(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  for (int i = 0; i < levels; ++i) {
    ASSERT_EQ(mkdirat(here.get(), "d", 0700), 0);
    if (i % 100 == 0) {
      ASSERT_EQ(mkdirat(here.get(), "e", 0700), 0);
      const UniqueFd file(openat(here.get(), "f", O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
      ASSERT_TRUE(file.valid());
    }
    here = UniqueFd(openat(here.get(), "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    ASSERT_TRUE(here.valid());
  }
}

TEST(RemoveTree, TwentyThousandLevelsNeedFewDescriptors) {
  TestDir dir;
  MakeDeep(dir.root(), 20'000);
  ASSERT_FALSE(::testing::Test::HasFatalFailure());
  struct rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  absl::Cleanup put_back = [&] { setrlimit(RLIMIT_NOFILE, &before); };
  const UniqueFd next(open("/", O_PATH | O_CLOEXEC));  // the lowest free number
  struct rlimit few = before;
  few.rlim_cur = static_cast<rlim_t>(next.get()) + 5;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  const absl::Status removed = dir.root().RemoveTree("d");
  EXPECT_TRUE(removed.ok()) << removed;
  EXPECT_TRUE(dir.root().RemoveTree("e").ok());
  EXPECT_TRUE(dir.root().RemoveTree("f").ok());
  EXPECT_THAT(*dir.root().List("."), IsEmpty());
}

TEST(RemoveTree, WideAndDeepTogether) {
  TestDir dir;
  for (int i = 0; i < 5; ++i) {
    for (int j = 0; j < 5; ++j) {
      const std::string place = absl::StrCat("top/", i, "/", j, "/empty");
      ASSERT_TRUE(dir.root().MakeDirs(place).ok());
      ASSERT_TRUE(dir.root().ReplaceFile(absl::StrCat("top/", i, "/", j, "/file"), "x").ok());
    }
  }
  ASSERT_TRUE(dir.root().ReplaceFile("beside", "x").ok());
  ASSERT_TRUE(RemoveTreeAt(dir.root().fd(), "top", "top").ok());
  EXPECT_THAT(*dir.root().List("."), ::testing::ElementsAre("beside"));
}

TEST(RemoveTree, AnImmutableFileIsCalledWhatItIs) {
  TestDir dir;
  ASSERT_TRUE(dir.root().MakeDirs("top/sub").ok());
  ASSERT_TRUE(dir.root().ReplaceFile("top/sub/file", "x").ok());
  const UniqueFd file = *dir.root().OpenFile("top/sub/file", O_RDONLY);
  int flags = 0;
  if (ioctl(file.get(), FS_IOC_GETFLAGS, &flags) != 0) GTEST_SKIP() << "needs file attributes";
  const int before = flags;
  flags |= FS_IMMUTABLE_FL;
  if (ioctl(file.get(), FS_IOC_SETFLAGS, &flags) != 0) {
    GTEST_SKIP() << "needs a file system and a capability for immutable files";
  }
  const absl::Status kept = dir.root().RemoveTree("top");
  ASSERT_EQ(ioctl(file.get(), FS_IOC_SETFLAGS, &before), 0);
  EXPECT_TRUE(absl::IsPermissionDenied(kept)) << kept;
  EXPECT_THAT(kept.message(), HasSubstr("top/sub/file"));
  EXPECT_THAT(kept.message(), HasSubstr("Operation not permitted"));
  const absl::Status removed = dir.root().RemoveTree("top");
  EXPECT_TRUE(removed.ok()) << removed;
}

TEST(RemoveTree, FileAndNothingAreFine) {
  TestDir dir;
  ASSERT_TRUE(dir.root().ReplaceFile("file", "x").ok());
  EXPECT_TRUE(RemoveTreeAt(dir.root().fd(), "file", "file").ok());
  EXPECT_TRUE(RemoveTreeAt(dir.root().fd(), "file", "file").ok());
  EXPECT_FALSE(dir.root().Exists("file"));
}

}  // namespace
}  // namespace plimsoll
