#include "base/text/problems.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"

namespace plimsoll {
namespace {

TEST(Problems, AreToldTogether) {
  absl::Status first = absl::NotFoundError("one");
  first.SetPayload("hint", absl::Cord("look"));
  const absl::Status both = AlsoTell(first, absl::InternalError("two\nthree"));
  EXPECT_TRUE(absl::IsNotFound(both));
  EXPECT_EQ(both.message(), "one\ntwo\nthree");
  EXPECT_EQ(both.GetPayload("hint"), absl::Cord("look"));
  EXPECT_EQ(AlsoTell(absl::OkStatus(), both), both);
  EXPECT_EQ(AlsoTell(both, absl::OkStatus()), both);
  EXPECT_TRUE(AlsoTell(absl::OkStatus(), absl::OkStatus()).ok());
  EXPECT_FALSE(HasFurtherProblems(both));
  EXPECT_FALSE(HasFurtherProblems(absl::OkStatus()));
}

// A text of 400,000 problems took minutes: each was added to a copy of all before it.
TEST(Problems, OnlyTheFirstHundredAreTold) {
  absl::Status problems;
  std::string told;
  for (int i = 0; i < 100; ++i) {
    problems = AlsoTell(problems, absl::InvalidArgumentError(absl::StrCat("problem ", i)));
    absl::StrAppend(&told, "problem ", i, "\n");
  }
  EXPECT_EQ(absl::StrCat(problems.message(), "\n"), told);
  EXPECT_FALSE(HasFurtherProblems(problems));
  for (int i = 0; i < 400'000; ++i) {
    problems = AlsoTell(problems, absl::InvalidArgumentError("one more"));
  }
  EXPECT_EQ(problems.message(), told + "and further ones, which were not looked at");
  EXPECT_TRUE(HasFurtherProblems(problems));
  const absl::Status last = AlsoTell(absl::NotFoundError("first"), problems);
  EXPECT_TRUE(HasFurtherProblems(last));
  EXPECT_EQ(last.message(), absl::StrCat("first\n", told.substr(0, told.find("problem 99")),
                                         "and further ones, which were not looked at"));
}

}  // namespace
}  // namespace plimsoll
