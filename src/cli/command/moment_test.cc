#include "cli/command/moment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/terminal/errors.h"

namespace plimsoll::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

const absl::Time kNow = absl::FromUnixSeconds(1'700'000'000);

TEST(Moment, IsATimeAgoOrATime) {
  EXPECT_EQ(*ReadMoment("--since", "10m", kNow), kNow - absl::Minutes(10));
  EXPECT_EQ(*ReadMoment("--since", "1h30m", kNow), kNow - absl::Minutes(90));
  EXPECT_EQ(*ReadMoment("--since", "0", kNow), kNow);
  EXPECT_EQ(*ReadMoment("--since", "2023-11-14T22:13:20Z", kNow), kNow);
  EXPECT_EQ(*ReadMoment("--since", "2023-11-14T23:13:20+01:00", kNow), kNow);
  EXPECT_EQ(*ReadMoment("--since", "2023-11-14T22:13:20.250Z", kNow),
            kNow + absl::Milliseconds(250));
}

TEST(Moment, WithoutAZoneIsThisMachines) {
  const absl::Time local =
      absl::FromCivil(absl::CivilSecond(2023, 11, 14, 22, 13, 20), absl::LocalTimeZone());
  EXPECT_EQ(*ReadMoment("--until", "2023-11-14T22:13:20", kNow), local);
  EXPECT_EQ(*ReadMoment("--until", "2023-11-14 22:13:20", kNow), local);
  EXPECT_EQ(*ReadMoment("--until", "2023-11-14", kNow),
            absl::FromCivil(absl::CivilSecond(2023, 11, 14), absl::LocalTimeZone()));
}

TEST(Moment, WhatCannotBeIsAUsageError) {
  for (const char* text : {"", "soon", "-5m", "10", "2023-13-01T00:00:00Z", "inf"}) {
    const absl::Status refused = ReadMoment("--since", text, kNow).status();
    if (std::string(text) == "inf" && refused.ok()) continue;
    EXPECT_TRUE(IsUsageError(refused)) << text;
    EXPECT_THAT(std::string(refused.message()), AllOf(HasSubstr("--since"), HasSubstr("10m")));
  }
}

}  // namespace
}  // namespace plimsoll::cli
