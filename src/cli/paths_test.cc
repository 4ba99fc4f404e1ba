#include "cli/paths.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "base/dir_for_test.h"

namespace plimsoll::cli {
namespace {

using ::testing::HasSubstr;

TEST(ReadInput, ReadsAFileOrSaysWhyNot) {
  TestDir dir;
  ASSERT_TRUE(dir.root().ReplaceFile("pod.yaml", "kind: Pod\n").ok());
  EXPECT_EQ(ReadInput(dir.path() + "/pod.yaml").value(), "kind: Pod\n");
  EXPECT_THAT(std::string(ReadInput("/nonexistent/pod.yaml").status().message()),
              HasSubstr("open /nonexistent/pod.yaml: No such file"));
  EXPECT_THAT(std::string(ReadInput(dir.path()).status().message()),
              HasSubstr(dir.path() + " is a directory; name a file in it"));
}

}  // namespace
}  // namespace plimsoll::cli
