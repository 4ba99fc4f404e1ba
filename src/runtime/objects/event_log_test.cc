#include "runtime/objects/event_log.h"

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
  const int handle =
      log.Listen([&](const Event& event, const EventSubject&) { seen.push_back(event.message); });
  log.Add(EventType::kImagePulled, "", "", "during");
  log.Unlisten(handle);
  log.Add(EventType::kImagePulled, "", "", "after");
  EXPECT_EQ(seen, std::vector<std::string>{"during"});
}

TEST(EventLogTest, ListenersSeeWhatAnEventIsAbout) {
  EventLog log;
  std::vector<std::string> seen;
  log.Listen([&](const Event& event, const EventSubject& subject) {
    seen.push_back(event.container_id.empty() ? "" : event.sandbox_id + "/" + event.container_id);
    if (subject.sandbox != nullptr) seen.back() = "sandbox " + subject.sandbox->id;
    if (subject.container != nullptr) seen.back() += " " + subject.container->reason;
  });
  SandboxRecord sandbox;
  sandbox.id = "s";
  log.Add(EventType::kSandboxStopped, sandbox, "");
  ContainerRecord container;
  container.id = "c";
  container.sandbox_id = "s";
  container.reason = "Error";
  log.Add(EventType::kContainerStopped, container, "");
  log.Add(EventType::kWarning, "s", "c", "");
  EXPECT_EQ(seen, (std::vector<std::string>{"sandbox s", "s/c Error", "s/c"}));
}

}  // namespace
}  // namespace plimsoll::runtime
