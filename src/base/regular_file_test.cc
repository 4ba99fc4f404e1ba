#include "base/regular_file.h"

#include <unistd.h>

#include <string>

#include "base/dir_for_test.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plimsoll {
namespace {

using ::testing::HasSubstr;

TEST(RegularFileTest, WhatIsNoneIsReadByNobody) {
  const TestDir dir;
  const FsRoot& root = dir.root();
  ASSERT_TRUE(root.ReplaceFile("a", "123456").ok());
  EXPECT_EQ(ReadRegularFile(root, "a", 6).value_or("none"), "123456");
  EXPECT_TRUE(absl::IsResourceExhausted(ReadRegularFile(root, "a", 5).status()));
  ASSERT_TRUE(root.MakeDirs("directory").ok());
  ASSERT_EQ(mkfifoat(root.fd(), "fifo", 0600), 0);
  ASSERT_EQ(symlinkat("fifo", root.fd(), "link"), 0);
  const auto refusal = [&](const std::string& name) {
    const absl::Status status = ReadRegularFile(root, name).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    return std::string(status.message());
  };
  EXPECT_EQ(refusal("directory"),
            root.PathOf("directory") + ": is a directory, not a regular file");
  EXPECT_EQ(refusal("fifo"), root.PathOf("fifo") + ": is a FIFO, not a regular file");
  EXPECT_EQ(refusal("link"), root.PathOf("link") + ": is a FIFO, not a regular file");
  EXPECT_THAT(ReadRegularFile(*FsRoot::Open("/dev"), "zero").status().message(),
              HasSubstr("zero: is a character device, not a regular file"));
}

}  // namespace
}  // namespace plimsoll
