#include "kube/driver/slices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "kube/driver/node_for_test.h"

namespace plimsoll::kube {
namespace {

using Json = nlohmann::json;

std::vector<PoolDevice> ManyDevices(int count) {
  NodeReport report = ReportForTest();
  report.types.resize(1);
  report.types[0].classes.clear();
  for (int i = 0; i < count; ++i) {
    report.types[0].classes.push_back({absl::StrFormat("c%04d", i), 0, 0, "", {}});
  }
  return PoolDevicesOf(report);
}

TEST(SlicesTest, ASliceIsTheNodesAndGoesWithIt) {
  const auto slices = SlicesOf(PoolDevicesOf(ReportForTest()), {"n1", "uid-1", true});
  ASSERT_EQ(slices.size(), 1u);
  const Json& slice = slices[0];
  EXPECT_EQ(slice["metadata"], Json::parse(R"({"name": "n1-classes-0", "ownerReferences":
      [{"apiVersion": "v1", "kind": "Node", "name": "n1", "uid": "uid-1"}]})"));
  EXPECT_EQ(slice["spec"]["driver"], "classes.plimsoll.dev");
  EXPECT_EQ(slice["spec"]["nodeName"], "n1");
  EXPECT_EQ(slice["spec"]["pool"], Json::parse(R"({"name": "n1", "resourceSliceCount": 1})"));
  EXPECT_EQ(slice["spec"]["devices"].size(), 4u);
}

TEST(SlicesTest, ManyClassesAreSeveralSlicesOfOnePool) {
  const auto slices = SlicesOf(ManyDevices(129), {"n1", "uid-1", true});
  ASSERT_EQ(slices.size(), 3u);
  EXPECT_EQ(slices[0]["spec"]["devices"].size(), 64u);
  EXPECT_EQ(slices[2]["spec"]["devices"].size(), 1u);
  EXPECT_EQ(slices[2]["metadata"]["name"], "n1-classes-2");
  for (const Json& each : slices) EXPECT_EQ(each["spec"]["pool"]["resourceSliceCount"], 3);
  EXPECT_TRUE(SlicesOf({}, {"n1", "uid-1", true}).empty());
}

TEST(SlicesTest, DriftIsATaint) {
  auto devices = PoolDevicesOf(ReportForTest());
  devices[3].drift = "thread 7 is in resctrl group /";
  const Json slice = SlicesOf(devices, {"n1", "uid-1", true})[0];
  EXPECT_EQ(slice["spec"]["devices"][3]["taints"],
            Json::parse(R"([{"key": "classes.plimsoll.dev/drift", "effect": "NoSchedule"}])"));
  EXPECT_FALSE(slice["spec"]["devices"][2].contains("taints"));
  const Json plain = SlicesOf(devices, {"n1", "uid-1", /*taints=*/false})[0];
  EXPECT_FALSE(plain["spec"]["devices"][3].contains("taints"));
}

TEST(SlicesTest, NamesOfNodesOfAnyLengthFit) {
  const std::string longest(253, 'a');
  EXPECT_LE(SliceName(longest, 99).size(), 253u);
  EXPECT_NE(SliceName(longest, 0), SliceName(std::string(252, 'a') + "b", 0));
  EXPECT_EQ(SliceName("n1.example.com", 1), "n1.example.com-classes-1");
}

TEST(SlicesTest, WhatTheServerAddsIsNotOurs) {
  auto devices = PoolDevicesOf(ReportForTest());
  devices[3].drift = "d";
  Json sent = SlicesOf(devices, {"n1", "uid-1", true})[0];
  Json seen = sent;
  SetGeneration(seen, 4);
  seen["metadata"]["uid"] = "x";
  seen["metadata"]["resourceVersion"] = "7";
  seen["metadata"]["ownerReferences"][0]["controller"] = false;
  seen["spec"]["devices"][3]["taints"][0]["timeAdded"] = "2026-11-26T00:00:00Z";
  EXPECT_EQ(OwnPart(sent), OwnPart(seen));
  EXPECT_EQ(GenerationOf(seen), 4);
  EXPECT_FALSE(DroppedOf(sent, seen).any());
  seen["metadata"]["ownerReferences"][0]["uid"] = "uid-2";
  EXPECT_NE(OwnPart(sent), OwnPart(seen));
}

TEST(SlicesTest, MissingMembersAreNoticed) {
  auto devices = PoolDevicesOf(ReportForTest());
  devices[3].drift = "d";
  const Json sent = SlicesOf(devices, {"n1", "uid-1", true})[0];
  Json answer = sent;
  answer["spec"]["devices"][3].erase("taints");
  EXPECT_TRUE(DroppedOf(sent, answer).taints);
  EXPECT_FALSE(DroppedOf(sent, answer).multiple_allocations);
  answer["spec"]["devices"][0].erase("allowMultipleAllocations");
  EXPECT_TRUE(DroppedOf(sent, answer).multiple_allocations);
}

TEST(SlicesTest, ObjectsOfAnyShapeAreRead) {
  for (const char* text :
       {"null", "[]", "7", R"({"metadata": 1, "spec": "s"})", R"({"spec": {"pool": []}})",
        R"({"spec": {"pool": {"generation": "x"}, "devices": {"taints": 1}}})",
        R"({"spec": {"pool": {"generation": 9223372036854775807}}})",
        R"({"spec": {"pool": {"generation": 18446744073709551615}}})",
        R"({"spec": {"pool": {"generation": -1}}})", R"({"spec": {"pool": {"generation": 1.5}}})",
        R"({"spec": {"devices": [1, {"taints": [2, {}]}, {"taints": "x"}]}})",
        R"({"metadata": {"ownerReferences": [1, null]}})"}) {
    const Json object = Json::parse(text);
    EXPECT_EQ(GenerationOf(object), 0) << text;
    EXPECT_TRUE(OwnPart(object).is_object()) << text;
    const Json sent = SlicesOf(PoolDevicesOf(ReportForTest()), {"n1", "u", true})[0];
    EXPECT_FALSE(DroppedOf(sent, object).taints) << text;
  }
}

}  // namespace
}  // namespace plimsoll::kube
