#include "base/sealed_copy.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "base/fs_root.h"
#include "base/subprocess.h"
#include "base/test_dir.h"
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

TEST(SealedCopyTest, NamesAFileThatIsNotThere) {
  TestDir dir;
  const auto copy = SealedCopy(dir.path() + "/missing", "a-copy");
  EXPECT_TRUE(absl::IsNotFound(copy.status())) << copy.status();
  EXPECT_THAT(std::string(copy.status().message()), ::testing::HasSubstr("/missing"));
}

}  // namespace
}  // namespace plimsoll
