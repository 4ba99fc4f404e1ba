#include "cli/stream_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plimsoll::cli {
namespace {

using ::testing::HasSubstr;

TEST(ExitCodeOf, IsInTheStatus) {
  EXPECT_EQ(ExitCodeOf(R"({"status": "Success"})").value_or(-1), 0);
  EXPECT_EQ(ExitCodeOf(R"({"status": "Failure", "reason": "NonZeroExitCode",
                           "details": {"causes": [{"reason": "ExitCode", "message": "7"}]}})")
                .value_or(-1),
            7);
}

TEST(ExitCodeOf, IsAnErrorWhereThereIsNone) {
  EXPECT_THAT(std::string(ExitCodeOf(R"({"status": "Failure", "message": "no such container"})")
                              .status()
                              .message()),
              HasSubstr("no such container"));
  for (const char* text : {"", "garbage", "[]", R"({"reason": "NonZeroExitCode", "details": 1})"}) {
    EXPECT_FALSE(ExitCodeOf(text).ok()) << text;
  }
}

TEST(CarryCommand, RefusesOtherUrls) {
  EXPECT_TRUE(absl::IsUnimplemented(CarryCommand("https://127.0.0.1:1/exec/a", {}).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(CarryCommand("ftp://x/", {}).status()));
  EXPECT_TRUE(absl::IsUnavailable(CarryCommand("http://127.0.0.1:1/exec/a", {}).status()));
}

}  // namespace
}  // namespace plimsoll::cli
