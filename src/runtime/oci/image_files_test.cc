#include "runtime/oci/image_files.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/dir_for_test.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plimsoll::runtime {
namespace {

class ImageFilesTest : public ::testing::Test {
 protected:
  ImageFilesTest() { EXPECT_TRUE(dir_.root().MakeDirs("low/etc").ok()); }
  std::vector<std::string> Layers() { return {dir_.path() + "/low"}; }

  TestDir dir_;
  ImageFiles files_;
};

TEST_F(ImageFilesTest, ReadsWhatTheImageHas) {
  ASSERT_TRUE(dir_.root().ReplaceFile("low/etc/passwd", "app:x:5:5::/:/bin/sh\n").ok());
  const auto files = files_.Read(Layers());
  ASSERT_TRUE(files.ok()) << files.status();
  EXPECT_EQ((*files)->passwd, "app:x:5:5::/:/bin/sh\n");
  EXPECT_EQ((*files)->group, "");
}

// An image's author chooses these files. Without the check the first would block for ever.
TEST_F(ImageFilesTest, FifoIsRefusedAtOnce) {
  for (const std::string name : {"low/etc/passwd", "low/etc/group"}) {
    ASSERT_EQ(mkfifo(dir_.root().PathOf(name).c_str(), 0600), 0);
    EXPECT_TRUE(absl::IsInvalidArgument(files_.Read(Layers()).status())) << name;
    ASSERT_TRUE(dir_.root().RemoveFile(name).ok());
  }
}

}  // namespace
}  // namespace plimsoll::runtime
