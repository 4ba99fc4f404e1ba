// Tests that the soak's own checks detect faults.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "soak/container_log.h"
#include "soak/event_check.h"

namespace plimsoll::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kTime[] = "2026-11-22T10:00:00.000000001Z ";

std::string Entry(const std::string& rest) {
  return absl::StrCat(kTime, rest, "\n");
}

class LogTest : public ::testing::Test {
 protected:
  LogTest() {
    written_.out = {"a", "b", "c"};
    written_.err = {"e"};
  }
  std::string Check(const std::string& text, LogEnd end = LogEnd::kComplete) {
    return std::string(CheckLog(text, written_, end).message());
  }

  WrittenLines written_;
  const std::string a_ = Entry("stdout F a");
  const std::string b_ = Entry("stdout F b");
  const std::string c_ = Entry("stdout F c");
  const std::string e_ = Entry("stderr F e");
};

TEST_F(LogTest, StreamsMayMixAndLinesMayComeInParts) {
  EXPECT_EQ(Check(a_ + b_ + e_ + c_), "");
  written_.out = {"aaabbb"};
  EXPECT_EQ(Check(Entry("stdout P aaa") + e_ + Entry("stdout F bbb")), "");
}

TEST_F(LogTest, ALineThatIsLostDoubledOrOutOfOrderIsSeen) {
  EXPECT_THAT(Check(a_ + b_ + e_), HasSubstr("stdout has 2 lines of 3: \"c\" is missing"));
  EXPECT_THAT(Check(a_ + c_ + e_), HasSubstr("line 2 of stdout, \"c\", should be \"b\""));
  EXPECT_THAT(Check(a_ + b_ + b_ + c_ + e_), HasSubstr("line 3 of stdout, \"b\", should be \"c\""));
  EXPECT_THAT(Check(a_ + b_ + c_ + c_ + e_), HasSubstr("line 4 of stdout, \"c\", is one too many"));
  EXPECT_THAT(Check(a_ + b_ + c_), HasSubstr("stderr has 0 lines of 1"));
  EXPECT_THAT(Check(b_ + a_ + c_ + e_), HasSubstr("line 1 of stdout"));
}

TEST_F(LogTest, AKilledWritersLogIsABeginning) {
  EXPECT_EQ(Check("", LogEnd::kCutOff), "");
  EXPECT_EQ(Check(a_ + b_, LogEnd::kCutOff), "");
  EXPECT_THAT(Check(a_ + c_, LogEnd::kCutOff), HasSubstr("should be \"b\""));
  written_.out = {"aaabbb"};
  EXPECT_EQ(Check(Entry("stdout P aaa"), LogEnd::kCutOff), "");
  EXPECT_THAT(Check(Entry("stdout P abb"), LogEnd::kCutOff), HasSubstr("\"abb\""));
  EXPECT_THAT(Check(Entry("stdout P aaabbb") + e_), HasSubstr("does not end"));
}

TEST_F(LogTest, WhatIsNoEntryIsSeen) {
  EXPECT_THAT(Check("hello\n"), HasSubstr("not an entry of a log: \"hello\""));
  EXPECT_THAT(Check(Entry("stdin F a")), HasSubstr("not an entry"));
  EXPECT_THAT(Check(Entry("stdout X a")), HasSubstr("not an entry"));
  EXPECT_THAT(Check(a_ + "2026-11-22T09:00:00Z stdout F b\n"), HasSubstr("older than"));
  EXPECT_THAT(Check(a_.substr(0, a_.size() - 1)), HasSubstr("does not end"));
}

class EventsTest : public ::testing::Test {
 protected:
  EventsTest() {
    Tell("pod", cri::CONTAINER_CREATED_EVENT);
    Tell("pod", cri::CONTAINER_STARTED_EVENT);
    Tell("c", cri::CONTAINER_CREATED_EVENT);
    Tell("c", cri::CONTAINER_STARTED_EVENT);
    Tell("c", cri::CONTAINER_STOPPED_EVENT, 3);
    Tell("pod", cri::CONTAINER_STOPPED_EVENT);
    Tell("c", cri::CONTAINER_DELETED_EVENT);
    Tell("pod", cri::CONTAINER_DELETED_EVENT);
  }
  void Tell(const std::string& id, cri::ContainerEventType type, std::optional<int> code = {}) {
    told_[id].push_back({++number_, type, static_cast<int64_t>(number_), code});
  }
  std::vector<std::string> Faults() { return EventFaults("pod", {container_}, told_); }

  uint64_t number_ = 0;
  ToldOfPod told_;
  ContainerStory container_{"c", "main", true, {3, 137}};
};

TEST_F(EventsTest, AWholeLifeHasNoFault) {
  EXPECT_THAT(Faults(), IsEmpty());
  container_.started = false;
  told_["c"].erase(told_["c"].begin() + 1);
  EXPECT_THAT(Faults(), IsEmpty());
}

TEST_F(EventsTest, OneThatIsLostInventedOrOutOfOrderIsSeen) {
  const ToldOfPod good = told_;
  told_["c"].pop_back();
  EXPECT_THAT(Faults(), ElementsAre("events of container main are CREATED, STARTED, STOPPED "
                                    "instead of CREATED, STARTED, STOPPED, DELETED"));
  told_ = good;
  std::swap(told_["c"][1], told_["c"][2]);
  EXPECT_THAT(Faults(), Contains(HasSubstr("CREATED, STOPPED, STARTED, DELETED instead of")));
  told_ = good;
  Tell("c", cri::CONTAINER_STOPPED_EVENT, 3);
  EXPECT_THAT(Faults(), ElementsAre(HasSubstr("DELETED, STOPPED instead of")));
  told_ = good;
  told_.erase("c");
  EXPECT_THAT(Faults(), ElementsAre(HasSubstr("are nothing instead of")));
  told_ = good;
  Tell("stranger", cri::CONTAINER_CREATED_EVENT);
  EXPECT_THAT(Faults(), ElementsAre("events of stranger, which nobody made: CREATED"));
  told_ = good;
  told_["pod"].pop_back();
  EXPECT_THAT(Faults(), ElementsAre(HasSubstr("events of the pod are CREATED, STARTED, STOPPED")));
}

TEST_F(EventsTest, AContainerOutsideItsPodsLifeIsSeen) {
  told_["c"][3].number = 100;
  EXPECT_THAT(Faults(), ElementsAre(HasSubstr("not between those of its pod")));
}

TEST_F(EventsTest, AnotherExitAndAnOlderTimeAreSeen) {
  told_["c"][2].exit_code = 4;
  EXPECT_THAT(Faults(), ElementsAre(HasSubstr("has exit code 4 instead of one of 3, 137")));
  told_["c"][2].exit_code.reset();
  EXPECT_THAT(Faults(), ElementsAre(HasSubstr("no container that has exited")));
  told_["c"][2].exit_code = 3;
  told_["c"][2].unix_nanos = 1;
  EXPECT_THAT(Faults(), ElementsAre(HasSubstr("older than the one before it")));
}

}  // namespace
}  // namespace plimsoll::testing
