#include "runtime/objects/image_events.h"

#include "gtest/gtest.h"
#include "runtime/objects/fakes_for_test.h"

namespace plimsoll::runtime {
namespace {

TEST(ImageEventsTest, TellsWhatHappenedAndNothingElse) {
  EventLog events;
  const auto images = WithImageEvents(std::make_unique<FakeImages>(), &events);
  EXPECT_FALSE(images->Pull("busybox", {}, nullptr).ok());
  EXPECT_FALSE(images->Import("/x", "busybox", nullptr).ok());
  EXPECT_TRUE(images->Remove("not-there").ok());
  EXPECT_TRUE(events.Since(0).empty());
  EXPECT_TRUE(images->Remove("busybox").ok());
  ASSERT_EQ(events.Since(0).size(), 1u);
  EXPECT_EQ(events.Since(0)[0].type, EventType::kImageRemoved);
  EXPECT_EQ(events.Since(0)[0].message, "busybox, sha256:1");
}

}  // namespace
}  // namespace plimsoll::runtime
