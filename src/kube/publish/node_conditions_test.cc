#include "kube/publish/node_conditions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "kube/publish/reports_for_test.h"

namespace plimsoll::kube {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const absl::Time kNoon = absl::FromUnixSeconds(1'800'000'000);  // 2027-01-15T08:00:00Z

std::vector<std::string> ConditionTexts(const std::vector<NodeCondition>& conditions) {
  std::vector<std::string> texts;
  for (const NodeCondition& each : conditions) {
    texts.push_back(absl::StrCat(each.type, " ", each.status, " ", each.reason));
  }
  return texts;
}

TEST(NodeConditions, OfANodeWithoutTrouble) {
  EXPECT_THAT(ConditionTexts(ConditionsOf(ReportOf(HybridWithCxl()))),
              ElementsAre("PlimsollUnavailable False RuntimeAvailable",
                          "PlimsollClassesDrifted False ClassesInForce",
                          "PlimsollPartitionLost False PartitionInForce",
                          "PlimsollTopologyUnknown False TopologyKnown",
                          "PlimsollDegraded False NoTrouble"));
}

TEST(NodeConditions, EachTroubleHasItsPlace) {
  NodeReport report;
  report.types = {RdtType()};
  report.types[0].classes[0].drift = {"container web: 3 tasks are in group \"other\""};
  report.troubles = {{"PartitionLost", "NUMA node 1 is gone"},
                     {"TopologyUnknown", "the provider doesn't answer"},
                     {"StoreFull", "no space left"},
                     {"", "something"}};
  const std::vector<NodeCondition> conditions = ConditionsOf(report);
  EXPECT_THAT(ConditionTexts(conditions),
              ElementsAre("PlimsollUnavailable False RuntimeAvailable",
                          "PlimsollClassesDrifted True ClassesDrifted",
                          "PlimsollPartitionLost True PartitionLost",
                          "PlimsollTopologyUnknown True TopologyUnknown",
                          "PlimsollDegraded True StoreFull"));
  EXPECT_EQ(conditions[1].message, "rdt=gold: container web: 3 tasks are in group \"other\"");
  EXPECT_EQ(conditions[2].message, "NUMA node 1 is gone");
  EXPECT_EQ(conditions[4].message, "StoreFull: no space left; : something");
}

TEST(NodeConditions, MessagesAndReasonsAreBounded) {
  NodeReport report;
  report.types = {RdtType()};
  for (int i = 0; i < 10; ++i) report.types[0].classes[0].drift.push_back(absl::StrCat("d", i));
  report.troubles = {{"not a\nreason", std::string(5000, 'x')}};
  const std::vector<NodeCondition> conditions = ConditionsOf(report);
  EXPECT_THAT(conditions[1].message, HasSubstr("rdt=gold: d4; and 5 more"));
  EXPECT_EQ(conditions[4].reason, "Degraded");
  EXPECT_EQ(conditions[4].message.size(), 1000u);
}

TEST(NodeConditions, ADriftIsToldOnce) {
  NodeReport report;
  report.types = {RdtType()};
  report.types[0].classes[0].drift = {"container web: d1"};
  report.troubles = {{"ClassDrift", "class \"gold\" of type \"rdt\": container web: d1"}};
  EXPECT_EQ(ConditionsOf(report)[1].message, "rdt=gold: container web: d1");
  report.types.clear();
  EXPECT_THAT(ConditionsOf(report)[1].message, HasSubstr("class \"gold\""));
}

TEST(NodeConditions, WithoutRuntimeNothingElseIsKnown) {
  const std::vector<NodeCondition> conditions = ConditionsWithoutRuntime();
  ASSERT_EQ(conditions.size(), 5u);
  EXPECT_EQ(conditions[0].status, "True");
  for (size_t i = 1; i < 5; ++i) EXPECT_EQ(conditions[i].status, "Unknown");
}

const json& ReadyNode() {
  static const auto& node = *new json(json::parse(R"({"status": {"conditions": [
    {"type": "Ready", "status": "True", "reason": "KubeletReady"},
    {"type": "PlimsollDegraded", "status": "True", "reason": "StoreFull", "message": "old",
     "lastTransitionTime": "2026-01-01T00:00:00Z"}]}})"));
  return node;
}

TEST(NodeConditions, PatchHasOnlyWhatDiffers) {
  const NodeCondition mine{kDegraded, "True", "StoreFull", "new"};
  EXPECT_EQ(ConditionsPatch(ReadyNode(), {mine}, kNoon), json::parse(R"({"status": {"conditions": [
    {"type": "PlimsollDegraded", "status": "True", "reason": "StoreFull", "message": "new",
     "lastHeartbeatTime": "2027-01-15T08:00:00Z"}]}})"));
  const NodeCondition other{kDegraded, "False", "NoTrouble", ""};
  EXPECT_EQ(
      ConditionsPatch(ReadyNode(), {other}, kNoon)["status"]["conditions"][0]["lastTransitionTime"],
      "2027-01-15T08:00:00Z");
  const NodeCondition same{kDegraded, "True", "StoreFull", "old"};
  EXPECT_TRUE(ConditionsPatch(ReadyNode(), {same}, kNoon).is_null());
}

TEST(NodeConditions, PatchRemovesWhatIsNotWanted) {
  EXPECT_EQ(ConditionsPatch(ReadyNode(), {}, kNoon), json::parse(R"({"status": {"conditions": [
              {"type": "PlimsollDegraded", "$patch": "delete"}]}})"));
}

TEST(NodeConditions, TakesANodeOfAnyShape) {
  for (const char* text : {R"({"status": {"conditions": [1, null, {"type": 5}]}})",
                           R"({"status": {"conditions": {"type": "PlimsollDegraded"}}})", "[]"}) {
    EXPECT_THAT(OwnConditionsOf(json::parse(text)), IsEmpty()) << text;
    EXPECT_TRUE(ConditionsPatch(json::parse(text), {}, kNoon).is_null()) << text;
  }
}

}  // namespace
}  // namespace plimsoll::kube
