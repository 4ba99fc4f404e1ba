#include "agent/pods/life/retries.h"

#include <gtest/gtest.h>

namespace plimsoll::agent {
namespace {

class RetriesTest : public testing::Test {
 protected:
  absl::Time now_ = absl::FromUnixSeconds(1'700'000'000);
  Retries retries_;
};

TEST_F(RetriesTest, PausesGrowWithEachFailure) {
  EXPECT_EQ(retries_.Left("sandbox", now_), absl::ZeroDuration());
  EXPECT_FALSE(retries_.HasFailed("sandbox"));
  EXPECT_EQ(retries_.OnFailure("sandbox", now_), BackOff::kFirst);
  EXPECT_TRUE(retries_.HasFailed("sandbox"));
  now_ += absl::Seconds(4);
  EXPECT_EQ(retries_.Left("sandbox", now_), BackOff::kFirst - absl::Seconds(4));
  EXPECT_EQ(retries_.Left("other", now_), absl::ZeroDuration());
  now_ += absl::Minutes(1);
  EXPECT_EQ(retries_.Left("sandbox", now_), absl::ZeroDuration()) << "it is due";
  EXPECT_TRUE(retries_.HasFailed("sandbox"));
  EXPECT_EQ(retries_.OnFailure("sandbox", now_), 2 * BackOff::kFirst);
}

TEST_F(RetriesTest, OneThatIsHastenedKeepsItsPauses) {
  retries_.OnFailure("devices", now_);
  retries_.Hasten("devices");
  EXPECT_EQ(retries_.Left("devices", now_), absl::ZeroDuration());
  EXPECT_EQ(retries_.OnFailure("devices", now_), 2 * BackOff::kFirst);
}

TEST_F(RetriesTest, OneThatIsForgottenStartsOver) {
  retries_.OnFailure("resize", now_);
  retries_.OnFailure("resize", now_);
  retries_.Forget("resize");
  EXPECT_EQ(retries_.Left("resize", now_), absl::ZeroDuration());
  EXPECT_EQ(retries_.OnFailure("resize", now_), BackOff::kFirst);
}

}  // namespace
}  // namespace plimsoll::agent
