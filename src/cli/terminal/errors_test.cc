#include "cli/terminal/errors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"

namespace plimsoll::cli {
namespace {

using ::testing::HasSubstr;

TEST(Errors, IdsAreShortAndDigestsWhole) {
  const std::string id = absl::StrCat("0123456789ab", std::string(52, 'c'));
  const auto text = [](const std::string& message) {
    return FormatError(absl::InternalError(message));
  };
  EXPECT_EQ(text(absl::StrCat("update container ", id, ": no")),
            "plimsoll: update container 0123456789ab: no\n");
  EXPECT_EQ(text(id), "plimsoll: 0123456789ab\n");
  for (const std::string& whole :
       {absl::StrCat("sha256:", id), absl::StrCat(id, "0"), absl::StrCat("/run/", id)}) {
    EXPECT_EQ(text(absl::StrCat("x ", whole, " y")), absl::StrCat("plimsoll: x ", whole, " y\n"));
  }
}

TEST(Errors, TextOfOthersDrivesNoTerminal) {
  const absl::Status status =
      WithHint(absl::NotFoundError("user \"\x1b[31m\x9b\x07\" is not there\nm.yaml:2: \xc2\x9b"),
               "see \x1b");
  EXPECT_EQ(FormatError(status),
            "plimsoll: user \"\\x1b[31m\\x9b\\x07\" is not there\nm.yaml:2: \\x9b\n  see \\x1b\n");
}

TEST(Errors, OnAFullDiskPruneMakesRoom) {
  for (const char* text : {"No space left on device", "Disk quota exceeded"}) {
    EXPECT_THAT(HintOf(absl::ResourceExhaustedError(absl::StrCat(
                    "store sandbox 1: database /var/lib/plimsoll/plimsoll.db: ", text))),
                HasSubstr("`plimsoll prune`"));
  }
  EXPECT_EQ(HintOf(absl::ResourceExhaustedError("/mnt/a: write: No space left on device")), "");
  EXPECT_EQ(HintOf(absl::ResourceExhaustedError("write /run/plimsoll/a: No space left on device")),
            "")
      << "neither images nor ended pods are there";
}

TEST(Errors, TheVerbIsSaidOnce) {
  EXPECT_EQ(AnnotateOnce(absl::NotFoundError("pull docker.io/a:b: none"), "pull", "a").message(),
            "pull docker.io/a:b: none");
  EXPECT_EQ(AnnotateOnce(absl::NotFoundError("none"), "pull", "a").message(), "pull a: none");
  EXPECT_TRUE(AnnotateOnce(absl::OkStatus(), "pull", "a").ok());
}

}  // namespace
}  // namespace plimsoll::cli
