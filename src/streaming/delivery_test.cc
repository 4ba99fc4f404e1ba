#include "streaming/delivery.h"

#include <gtest/gtest.h>

#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace plimsoll::streaming {
namespace {

TEST(DeliveryTest, MovesWhileTheTargetsTakeSomething) {
  const LinkLimits limits = {.idle = absl::Hours(1), .leave = absl::Milliseconds(1)};
  Delivery delivery;
  delivery.Passed(100);
  EXPECT_TRUE(delivery.Moves(/*unsent=*/100, limits));
  absl::SleepFor(absl::Milliseconds(2));
  EXPECT_TRUE(delivery.Moves(/*unsent=*/50, limits));
  absl::SleepFor(absl::Milliseconds(2));
  EXPECT_FALSE(delivery.Moves(/*unsent=*/50, limits));
}

TEST(DeliveryTest, EndsWithTheIdleTimeoutThoughSomethingMoves) {
  const LinkLimits limits = {.idle = absl::Milliseconds(1), .leave = absl::Hours(1)};
  Delivery delivery;
  delivery.Passed(100);
  EXPECT_TRUE(delivery.Moves(/*unsent=*/100, {.idle = absl::Hours(1), .leave = absl::Hours(1)}));
  absl::SleepFor(absl::Milliseconds(2));
  EXPECT_FALSE(delivery.Moves(/*unsent=*/10, limits));
}

}  // namespace
}  // namespace plimsoll::streaming
