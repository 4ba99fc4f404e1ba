#include "cli/node_commands/images.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plimsoll::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(PullHint, DoesNotBlameTheNameAlone) {
  EXPECT_THAT(PullHint(absl::StatusCode::kNotFound, "a"), HasSubstr("Check the name, or bring"));
  EXPECT_THAT(PullHint(absl::StatusCode::kUnavailable, "a b"),
              AllOf(HasSubstr("way from here to the registry"), Not(HasSubstr("Check the name")),
                    HasSubstr("--name 'a b'")));
  EXPECT_EQ(PullHint(absl::StatusCode::kResourceExhausted, "a"), "");
}

}  // namespace
}  // namespace plimsoll::cli
