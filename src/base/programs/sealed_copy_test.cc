#include "base/programs/sealed_copy.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "base/dir_for_test.h"
#include "base/fs_root.h"
#include "base/programs/subprocess.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plimsoll {
namespace {

TEST(SealedCopyTest, RunsAndCanNotBeWritten) {
  const auto copy = SealedCopy("/bin/true", "a-copy");
  ASSERT_TRUE(copy.ok()) << copy.status();
  const std::string path = absl::StrCat("/proc/", getpid(), "/fd/", copy->get());
  const auto ran = RunProgram({.argv = {"true"}, .executable = path});
  ASSERT_TRUE(ran.ok()) << ran.status();
  EXPECT_TRUE(ran->exit.success());
  EXPECT_EQ(pwrite(copy->get(), "x", 1, 0), -1);
  EXPECT_EQ(errno, EPERM);
  EXPECT_EQ(ftruncate(copy->get(), 0), -1);
  const UniqueFd again(open(path.c_str(), O_WRONLY | O_CLOEXEC));
  EXPECT_EQ(again.valid() ? write(again.get(), "x", 1) : -1, -1);
}

// A container's root may change mode and owner of a file seen through /proc/<pid>/exe.
TEST(SealedCopyTest, OneWhoseModeOrOwnerWasChangedIsRenewed) {
  const auto copy = SealedCopy("/bin/true", "a-copy");
  ASSERT_TRUE(copy.ok()) << copy.status();
  const std::string path = absl::StrCat("/proc/", getpid(), "/fd/", copy->get());
  const UniqueFd seen(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  ASSERT_TRUE(RenewIfTouched(copy->get(), "a-copy").ok());
  ASSERT_EQ(fchmod(seen.get(), 0), 0);
  const auto refused = RunProgram({.argv = {"true"}, .executable = path});
  EXPECT_FALSE(refused.ok() && refused->exit.success());
  ASSERT_TRUE(RenewIfTouched(copy->get(), "a-copy").ok());
  ASSERT_EQ(fchmod(seen.get(), 0400), 0) << "of the old one, which nobody uses any more";
  const auto ran = RunProgram({.argv = {"true"}, .executable = path});
  ASSERT_TRUE(ran.ok()) << ran.status();
  EXPECT_TRUE(ran->exit.success());
  EXPECT_EQ(pwrite(copy->get(), "x", 1, 0), -1);
  const UniqueFd again(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  ASSERT_EQ(fchown(again.get(), 1, 1), 0);
  ASSERT_TRUE(RenewIfTouched(copy->get(), "a-copy").ok());
  struct stat info = {};
  ASSERT_EQ(fstat(copy->get(), &info), 0);
  EXPECT_EQ(info.st_uid, geteuid());
}

TEST(SealedCopyTest, NamesAFileThatIsNotThere) {
  TestDir dir;
  const auto copy = SealedCopy(dir.path() + "/missing", "a-copy");
  EXPECT_TRUE(absl::IsNotFound(copy.status())) << copy.status();
  EXPECT_THAT(std::string(copy.status().message()), ::testing::HasSubstr("/missing"));
}

}  // namespace
}  // namespace plimsoll
