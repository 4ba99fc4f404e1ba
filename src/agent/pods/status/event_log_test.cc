#include "agent/pods/status/event_log.h"

#include <gtest/gtest.h>

namespace plimsoll::agent {
namespace {

class FixedClock : public Clock {
 public:
  absl::Time Now() const override { return now; }
  absl::Time now = absl::FromUnixSeconds(1764000000);
};

class EventLogTest : public testing::Test {
 protected:
  FixedClock clock_;
  KubeEventLog log_{clock_, "node-1", 3};
  const InvolvedObject a_{.key = {"default", "a"}, .uid = "1", .container = "web"};
  const InvolvedObject b_{.key = {"default", "b"}, .uid = "2", .container = ""};
};

TEST_F(EventLogTest, AnEventIsAV1Event) {
  log_.Add(a_, "Warning", "BackOff", "restarting failed container");
  const nlohmann::json event = log_.List(std::nullopt).front();
  EXPECT_EQ(event["kind"], "Event");
  EXPECT_EQ(event["involvedObject"]["name"], "a");
  EXPECT_EQ(event["involvedObject"]["fieldPath"], "spec.containers{web}");
  EXPECT_EQ(event["type"], "Warning");
  EXPECT_EQ(event["reason"], "BackOff");
  EXPECT_EQ(event["count"], 1);
  EXPECT_EQ(event["firstTimestamp"], "2025-11-24T16:00:00Z");
  EXPECT_EQ(event["source"]["host"], "node-1");
}

TEST_F(EventLogTest, ARepetitionCountsUpAndComesLast) {
  log_.Add(a_, "Normal", "Pulled", "x");
  log_.Add(b_, "Normal", "Pulled", "x");
  clock_.now += absl::Seconds(5);
  log_.Add(a_, "Normal", "Pulled", "x");
  const auto events = log_.List(std::nullopt);
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[1]["count"], 2);
  EXPECT_EQ(events[1]["firstTimestamp"], "2025-11-24T16:00:00Z");
  EXPECT_EQ(events[1]["lastTimestamp"], "2025-11-24T16:00:05Z");
}

TEST_F(EventLogTest, AListIsOfOnePod) {
  log_.Add(a_, "Normal", "Started", "x");
  log_.Add(b_, "Normal", "Started", "x");
  log_.Add({.kind = "Node", .key = {"", "a"}, .uid = "n", .container = ""}, "Warning", "Bad", "x");
  EXPECT_EQ(log_.List(PodKey{"default", "a"}).size(), 1u);
}

TEST_F(EventLogTest, TheOldestGoesBeyondTheLimitAndLongTextIsCut) {
  for (int i = 0; i < 5; ++i)
    log_.Add(a_, "Normal", "R" + std::to_string(i), std::string(5000, 'x'));
  const auto events = log_.List(std::nullopt);
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events.front()["reason"], "R2");
  EXPECT_EQ(events.front()["message"].get<std::string>().size(), 1024u);
}

TEST_F(EventLogTest, ANoisyObjectDrivesOutItsOwnEventsOnly) {
  KubeEventLog log(clock_, "node-1", 200);
  log.Add(b_, "Normal", "Started", "x");
  for (int i = 0; i < 300; ++i) log.Add(a_, "Warning", "Failed", std::to_string(i));
  EXPECT_EQ(log.List(b_.key).size(), 1u);
  const auto noisy = log.List(a_.key);
  ASSERT_EQ(noisy.size(), 20u);
  EXPECT_EQ(noisy.back()["message"], "299");
  EXPECT_EQ(noisy.front()["message"], "280");
}

}  // namespace
}  // namespace plimsoll::agent
