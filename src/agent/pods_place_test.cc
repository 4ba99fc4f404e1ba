#include "agent/pods_place.h"

#include <thread>

#include "gtest/gtest.h"

namespace plimsoll::agent {
namespace {

TEST(PodsPlaceTest, TheEndEndsTheWaitForPods) {
  PodsPlace place;
  absl::Status waited;
  std::thread waits([&] {
    waited = place.Await([](AgentPods&) {
      ADD_FAILURE() << "there are no pods";
      return absl::OkStatus();
    });
  });
  place.End();
  waits.join();
  EXPECT_TRUE(absl::IsCancelled(waited)) << waited;
}

TEST(PodsPlaceTest, WithoutPodsNothingIsCalled) {
  PodsPlace place;
  place.With([](AgentPods&) { ADD_FAILURE() << "there are no pods"; });
  EXPECT_EQ(place.get(), nullptr);
}

}  // namespace
}  // namespace plimsoll::agent
