#include "cli/command/as_before.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "cli/terminal/errors.h"

namespace plimsoll::cli {
namespace {

const std::string kId(64, 'a');
const std::string kShortId(12, 'a');

std::string Said(const std::string& message) {
  return std::string(
      AsBefore(absl::InvalidArgumentError(message), {"container", kId, "web/a"}).message());
}

TEST(AsBeforeTest, TheUsersNameStandsForTheDaemonsId) {
  EXPECT_EQ(Said(absl::StrCat("update container ", kId, ": no CPU 7")),
            "container web/a is as before: no CPU 7");
  EXPECT_EQ(Said(absl::StrCat("container a (", kShortId, "): no class type \"foo\"")),
            "container web/a is as before: no class type \"foo\"");
  EXPECT_EQ(Said(absl::StrCat("update container ", kId, ": container a (", kShortId, "): why")),
            "container web/a is as before: why");
  EXPECT_EQ(Said(absl::StrCat("container ", kId, " has just ended")),
            "container web/a is as before: container web/a has just ended");
}

TEST(AsBeforeTest, OthersAreNamedAsTheyWere) {
  EXPECT_EQ(Said("container b (0123456789ab): why"),
            "container web/a is as before: container b (0123456789ab): why");
}

TEST(AsBeforeTest, WithoutAnAnswerNothingIsSaidOfTheState) {
  const absl::Status lost = absl::UnavailableError("Socket closed");
  EXPECT_EQ(AsBefore(lost, {"container", kId, "web/a"}), lost);
  EXPECT_TRUE(AsBefore(absl::OkStatus(), {"container", kId, "web/a"}).ok());
}

TEST(AsBeforeTest, AHintThatIsThereStays) {
  const absl::Status refused = WithHint(absl::FailedPreconditionError("no"), "ask again");
  EXPECT_EQ(HintOf(AsBefore(refused, {"pod", kId, "web"})), "ask again");
  EXPECT_EQ(HintOf(AsBefore(absl::NotFoundError("no"), {"pod", kId, "web"})),
            "Its present values: plimsoll inspect web");
}

}  // namespace
}  // namespace plimsoll::cli
