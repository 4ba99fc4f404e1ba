#include "agent/node/conditions.h"

#include <nlohmann/json.hpp>

#include "gtest/gtest.h"

namespace plimsoll::agent {
namespace {

TEST(ConditionsTest, TheTimeOfTransitionMovesWithTheStatusAlone) {
  Conditions conditions;
  const absl::Time start = absl::FromUnixSeconds(1'000'000'000);
  EXPECT_TRUE(conditions.Set(kReady, false, "Pending", "a", start));
  EXPECT_FALSE(conditions.Set(kReady, false, "Pending", "a", start + absl::Seconds(1)));
  EXPECT_TRUE(conditions.Set(kReady, false, "Pending", "b", start + absl::Seconds(2)));
  EXPECT_EQ(conditions.Find(kReady)->since, start);
  EXPECT_EQ(conditions.Find(kReady)->message, "b");
  EXPECT_TRUE(conditions.Set(kReady, true, "Good", "c", start + absl::Seconds(3)));
  EXPECT_EQ(conditions.Find(kReady)->since, start + absl::Seconds(3));
  EXPECT_EQ(conditions.Find("Other"), nullptr);
  EXPECT_EQ(conditions.ToJson(start + absl::Minutes(1)),
            nlohmann::json::parse(R"([{"type": "Ready", "status": "True", "reason": "Good",
              "message": "c", "lastTransitionTime": "2001-09-09T01:46:43Z",
              "lastHeartbeatTime": "2001-09-09T01:47:40Z"}])"));
}

}  // namespace
}  // namespace plimsoll::agent
