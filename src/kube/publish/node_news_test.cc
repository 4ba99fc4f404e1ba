#include "kube/publish/node_news.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "kube/publish/reports_for_test.h"

namespace plimsoll::kube {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> EventTexts(const std::vector<NodeEvent>& events) {
  std::vector<std::string> texts;
  for (const NodeEvent& event : events) {
    texts.push_back(
        absl::StrCat(event.is_warning ? "Warning " : "Normal ", event.reason, ": ", event.note));
  }
  return texts;
}

NodeCondition Drifted(const std::string& status, const std::string& message) {
  return {kClassesDrifted, status, status == "True" ? "ClassesDrifted" : "ClassesInForce", message};
}

TEST(NodeNews, TroubleIsToldWhenItComesChangesAndGoes) {
  NodeNews news;
  news.Begin({});
  EXPECT_THAT(news.Compare(nullptr, {Drifted("False", "")}), IsEmpty());
  EXPECT_THAT(EventTexts(news.Compare(nullptr, {Drifted("True", "a")})),
              ElementsAre("Warning ClassesDrifted: a"));
  EXPECT_THAT(news.Compare(nullptr, {Drifted("True", "a")}), IsEmpty());
  EXPECT_THAT(EventTexts(news.Compare(nullptr, {Drifted("True", "b")})),
              ElementsAre("Warning ClassesDrifted: b"));
  EXPECT_THAT(news.Compare(nullptr, {Drifted("Unknown", "")}), IsEmpty());
  EXPECT_THAT(news.Compare(nullptr, {Drifted("True", "b")}), IsEmpty());
  EXPECT_THAT(EventTexts(news.Compare(nullptr, {Drifted("False", "fine")})),
              ElementsAre("Normal ClassesInForce: fine"));
}

TEST(NodeNews, ARestartTellsNothingTwice) {
  NodeNews news;
  news.Begin({Drifted("True", "a")});
  EXPECT_THAT(news.Compare(nullptr, {Drifted("True", "a")}), IsEmpty());
  NodeNews other;
  other.Begin({Drifted("True", "a")});
  EXPECT_THAT(EventTexts(other.Compare(nullptr, {Drifted("False", "fine")})),
              ElementsAre("Normal ClassesInForce: fine"));
}

TEST(NodeNews, AFirstTopologyIsNoNewsAndAChangeIs) {
  NodeNews news;
  news.Begin({});
  const auto small = std::make_shared<const NodeReport>(ReportOf(TopologyOf(kCcx)));
  const auto large = std::make_shared<const NodeReport>(ReportOf(TopologyOf(kTwoPackages)));
  const auto none = std::make_shared<const NodeReport>();
  EXPECT_THAT(news.Compare(small, {}), IsEmpty());
  EXPECT_THAT(news.Compare(none, {}), IsEmpty());
  EXPECT_THAT(EventTexts(news.Compare(large, {})),
              ElementsAre("Normal TopologyChanged: CPUs 4-7 came; zones package-1, numa-1 came; "
                          "zones cache-3-cpu0, cache-3-cpu2 went; "
                          "memory of numa-0: 1Gi instead of 2Gi"));
  EXPECT_THAT(news.Compare(large, {}), IsEmpty());
}

TEST(NodeNews, ClassesThatComeAndGoAreTold) {
  NodeNews news;
  news.Begin({});
  NodeReport report;
  report.types = {RdtType()};
  const auto compare = [&] {
    return EventTexts(news.Compare(std::make_shared<const NodeReport>(report), {}));
  };
  EXPECT_THAT(compare(), IsEmpty());
  report.types[0].classes[0].name = "silver";
  EXPECT_THAT(compare(), ElementsAre("Normal ClassesChanged: class rdt=gold went; "
                                     "class rdt=silver came"));
  report.types[0].unavailable = "no resctrl";
  EXPECT_THAT(compare(), ElementsAre("Normal ClassesChanged: class rdt=bronze went: no resctrl; "
                                     "class rdt=silver went: no resctrl"));
  // A type that the machine can't have has no classes.
  report.types[0].classes.clear();
  EXPECT_THAT(compare(), IsEmpty());
  report.types = {RdtType()};
  EXPECT_THAT(compare(), ElementsAre("Normal ClassesChanged: class rdt=bronze came; "
                                     "class rdt=gold came"));
}

}  // namespace
}  // namespace plimsoll::kube
