#include "runtime/event_log.h"

#include "gtest/gtest.h"

namespace plimsoll::runtime {
namespace {

TEST(EventLogTest, KeepsTheNewestUpToItsCapacity) {
  EventLog log(3);
  for (int i = 0; i < 5; ++i) log.Add(EventType::kWarning, "s", "c", std::to_string(i));
  const std::vector<Event> all = log.Since(0);
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all.front().message, "2");
  EXPECT_EQ(all.front().sequence, 3u);
  EXPECT_EQ(log.Since(4).size(), 1u);
}

TEST(EventLogTest, ListenersSeeWhatComesUntilTheyLeave) {
  EventLog log;
  log.Add(EventType::kImagePulled, "", "", "before");
  std::vector<std::string> seen;
  const int handle = log.Listen([&](const Event& event) { seen.push_back(event.message); });
  log.Add(EventType::kImagePulled, "", "", "during");
  log.Unlisten(handle);
  log.Add(EventType::kImagePulled, "", "", "after");
  EXPECT_EQ(seen, std::vector<std::string>{"during"});
}

}  // namespace
}  // namespace plimsoll::runtime
