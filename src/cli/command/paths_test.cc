#include "cli/command/paths.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "base/dir_for_test.h"

namespace plimsoll::cli {
namespace {

using ::testing::HasSubstr;

TEST(ReadUserFile, ReadsAFileOrSaysWhyNot) {
  TestDir dir;
  ASSERT_TRUE(dir.root().ReplaceFile("pod.yaml", "kind: Pod\n").ok());
  const std::string file = dir.path() + "/pod.yaml";
  for (const FileKinds kinds : {FileKinds::kAny, FileKinds::kRegularOrPipe}) {
    EXPECT_EQ(ReadUserFile(file, kinds, 10).value(), "kind: Pod\n");
    EXPECT_TRUE(absl::IsResourceExhausted(ReadUserFile(file, kinds, 9).status()));
    EXPECT_THAT(std::string(ReadUserFile("/nonexistent/pod.yaml", kinds, 10).status().message()),
                HasSubstr("open /nonexistent/pod.yaml: No such file"));
    EXPECT_THAT(std::string(ReadUserFile(dir.path(), kinds, 10).status().message()),
                HasSubstr(dir.path() + " is a directory; name a file in it"));
  }
}

TEST(ReadUserFile, ADeviceIsReadWhereAnyFileIs) {
  EXPECT_EQ(ReadUserFile("/dev/null", FileKinds::kAny, 0).value(), "");
  EXPECT_TRUE(
      absl::IsInvalidArgument(ReadUserFile("/dev/null", FileKinds::kRegularOrPipe, 0).status()));
}

}  // namespace
}  // namespace plimsoll::cli
