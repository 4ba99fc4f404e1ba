#include "kube/publish/event_board.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "absl/strings/str_cat.h"

namespace plimsoll::kube {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const absl::Time kEight = absl::FromUnixSeconds(1'800'000'000);  // 2027-01-15T08:00:00Z

// A board at a time of its own.
class EventBoardTest : public testing::Test {
 protected:
  void Add(const std::string& reason, const std::string& note) {
    board_.Add({.reason = reason, .is_warning = true, .note = note}, now_, time_);
  }
  void Pass(absl::Duration duration) {
    now_ += absl::ToChronoNanoseconds(duration);
    time_ += duration;
  }
  // "reason note xcount" of all that may be written now, which it writes.
  std::vector<std::string> WriteAll() {
    std::vector<std::string> written;
    while (const auto event = board_.Next(now_)) {
      written.push_back(
          absl::StrCat(event->event.reason, " ", event->event.note, " x", event->count));
      board_.Written(event->event.reason, now_);
    }
    return written;
  }

  EventBoard board_;
  SteadyTime now_ = SteadyNow();
  absl::Time time_ = kEight;
};

TEST_F(EventBoardTest, EachReasonHasItsBurst) {
  for (const char* note : {"a", "b", "c"}) {
    Add("Drifted", note);
    EXPECT_THAT(WriteAll(), ElementsAre(absl::StrCat("Drifted ", note, " x1")));
  }
  Add("Drifted", "d");
  EXPECT_THAT(WriteAll(), IsEmpty());
  Add("Changed", "e");
  EXPECT_THAT(WriteAll(), ElementsAre("Changed e x1"));
}

TEST_F(EventBoardTest, WhatWaitsIsCountedAndTheNewestTold) {
  for (int i = 0; i < 10; ++i) {
    Add("Drifted", absl::StrCat(i));
    WriteAll();
  }
  Pass(EventBoard::kRefill - absl::Seconds(1));
  EXPECT_THAT(WriteAll(), IsEmpty());
  Pass(absl::Seconds(2));
  EXPECT_THAT(WriteAll(), ElementsAre("Drifted 9 x7"));
  // An hour later the bucket has its burst, and no more.
  Pass(absl::Hours(1));
  for (int i = 0; i < 10; ++i) Add("Drifted", "x");
  EXPECT_THAT(WriteAll(), ElementsAre("Drifted x x10"));
}

TEST_F(EventBoardTest, AFailedWriteIsTriedAgainUnderTheSameName) {
  Add("Drifted", "a");
  const auto first = board_.Next(now_);
  Pass(absl::Minutes(1));
  const auto second = board_.Next(now_);
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->id, second->id);
}

TEST_F(EventBoardTest, TellsWhenTheNextMayBeWritten) {
  EXPECT_EQ(board_.NextMoment(), kNever);
  for (int i = 0; i < 4; ++i) {
    Add("Drifted", "x");
    WriteAll();
  }
  const SteadyTime moment = board_.NextMoment();
  EXPECT_GT(moment, now_ + absl::ToChronoNanoseconds(absl::Minutes(4)));
  now_ = moment;
  EXPECT_EQ(WriteAll().size(), 1u);
  EXPECT_EQ(board_.NextMoment(), kNever);
}

TEST_F(EventBoardTest, ReasonsAreBounded) {
  for (int i = 0; i < 1000; ++i) Add(absl::StrCat("Reason", i), "x");
  const std::vector<std::string> written = WriteAll();
  EXPECT_EQ(written.size(), EventBoard::kMostReasons);
  EXPECT_THAT(written, testing::Contains("NodeChanged x x969"));
}

TEST_F(EventBoardTest, ObjectIsWhatTheServerTakes) {
  Add("Drifted", "rdt=gold: 3 tasks");
  WaitingEvent event = *board_.Next(now_);
  event.id = "0123456789abcdef";
  EXPECT_EQ(EventObject(event, {"n1", "uid-1"}), nlohmann::json::parse(R"({
    "apiVersion": "events.k8s.io/v1", "kind": "Event",
    "metadata": {"namespace": "default", "name": "n1.0123456789abcdef"},
    "eventTime": "2027-01-15T08:00:00.000000Z",
    "type": "Warning", "reason": "Drifted", "action": "Observed", "note": "rdt=gold: 3 tasks",
    "reportingController": "plimsoll.dev/plimsoll-kube", "reportingInstance": "n1",
    "regarding": {"apiVersion": "v1", "kind": "Node", "name": "n1", "uid": "uid-1"}})"));
}

TEST_F(EventBoardTest, ObjectOfLongTextsStaysWithinTheLimits) {
  for (int i = 0; i < 4; ++i) Add("Drifted", std::string(5000, 'x'));
  const nlohmann::json object = EventObject(*board_.Next(now_), {std::string(253, 'n'), "u"});
  EXPECT_EQ(object["note"].get<std::string>().size(), 1024u);
  EXPECT_THAT(object["note"].get<std::string>(),
              HasSubstr("... (the last of 4 such events since 08:00:00 UTC)"));
  EXPECT_EQ(object["reportingInstance"].get<std::string>().size(), 128u);
  EXPECT_EQ(object["metadata"]["name"].get<std::string>().size(), 253u);
}

}  // namespace
}  // namespace plimsoll::kube
