#include "cli/node_commands/packaged_image.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/dir_for_test.h"

namespace plimsoll::cli {
namespace {

TEST(PackagedImage, TheDirectoryIsInTheProgramsPrefix) {
  EXPECT_EQ(PackagedImagesOf("/usr/bin/plimsoll"), "/usr/share/plimsoll/images");
  EXPECT_EQ(PackagedImagesOf("/opt/p/bin/plimsoll"), "/opt/p/share/plimsoll/images");
  EXPECT_EQ(PackagedImagesOf("/home/me/plimsoll"), "");
  EXPECT_EQ(PackagedImagesOf("plimsoll"), "");
}

TEST(PackagedImage, AFileIsFoundByItsImagesNameAlone) {
  TestDir dir;
  ASSERT_TRUE(dir.root().MakeDirs("images/plimsoll.dev/examples").ok());
  ASSERT_TRUE(dir.root().ReplaceFile("images/plimsoll.dev/examples/busybox.tar", "x").ok());
  ASSERT_TRUE(dir.root().ReplaceFile("outside.tar", "x").ok());
  const std::string images = dir.path() + "/images";
  const std::string file = images + "/plimsoll.dev/examples/busybox.tar";
  EXPECT_EQ(PackagedImageFile(images, "plimsoll.dev/examples/busybox"), file);
  EXPECT_EQ(PackagedImageFile(images, "plimsoll.dev/examples/busybox:latest"), file);
  for (const char* other :
       {"plimsoll.dev/examples/busybox:1.35", "plimsoll.dev/examples",
        "plimsoll.dev/examples/other", "plimsoll.dev/examples/busybox@sha256:00", "../outside",
        "plimsoll.dev/../../outside", "", "/plimsoll.dev/examples/busybox",
        "plimsoll.dev//examples/busybox"}) {
    EXPECT_EQ(PackagedImageFile(images, other), "") << other;
  }
  EXPECT_EQ(PackagedImageFile("", "plimsoll.dev/examples/busybox"), "");
}

}  // namespace
}  // namespace plimsoll::cli
