// The publisher's requests to a server that obeys, and the objects that they leave.
#include "kube/publish/publish_round.h"

#include "kube/publish/metadata_patch.h"
#include "kube/publish/remove_published.h"
#include "kube/publish/round_fixture_for_test.h"

namespace plimsoll::kube {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::IsEmpty;

const std::string kReadNode = std::string("GET ") + kNodePath;
const std::string kPatchNode = std::string("PATCH ") + kNodePath;
const std::string kPatchStatus = std::string("PATCH ") + kStatusPath;
const std::string kReadObject = std::string("GET ") + kObjectPath;
const std::string kPatchObject = std::string("PATCH ") + kObjectPath;
const std::string kPostObject = "POST /apis/topology.node.k8s.io/v1alpha2/noderesourcetopologies";
const std::string kPostEvent = "POST /apis/events.k8s.io/v1/namespaces/default/events";

class PublishRoundTest : public RoundTest {
 protected:
  PublishRoundTest() {
    PutNode();
    Begin();
  }
  // Everything is published, and ten seconds have passed.
  void Settle() {
    Report(Healthy());
    Round();
    Pass(absl::Seconds(10));
    EXPECT_THAT(Round(), IsEmpty());
  }
};

TEST_F(PublishRoundTest, NothingIsAskedWithoutAReport) {
  EXPECT_THAT(Round(), IsEmpty());
  EXPECT_EQ(Wait(), absl::InfiniteDuration());
}

// The requests of a node's first start: docs/kubernetes.md counts with them.
TEST_F(PublishRoundTest, AFirstStartIsFiveRequests) {
  Report(Healthy());
  EXPECT_THAT(Round(), ElementsAre(kReadNode, kPatchNode, kPatchStatus, kReadObject, kPostObject));
  EXPECT_EQ(Label("plimsoll.dev/class.rdt.gold"), "true");
  EXPECT_EQ(Label("plimsoll.dev/topology.numa-nodes"), "2");
  EXPECT_EQ(Label("kubernetes.io/os"), "linux");
  EXPECT_EQ(Condition("Ready"), "True");
  EXPECT_EQ(Condition("PlimsollClassesDrifted"), "False");
  const json object = server_.Get(kObjectPath);
  EXPECT_EQ(object["metadata"]["ownerReferences"][0]["uid"], "uid-n1");
  EXPECT_EQ(object["zones"].size(), 9u);
  EXPECT_THAT(Events(), IsEmpty());
  EXPECT_THAT(notes_, IsEmpty());
}

TEST_F(PublishRoundTest, AtRestItReadsTwiceInTwentyMinutes) {
  Settle();
  EXPECT_THAT(RunFor(absl::Minutes(19)), IsEmpty());
  EXPECT_THAT(RunFor(absl::Minutes(20)), ElementsAre(kReadNode, kReadObject));
}

TEST_F(PublishRoundTest, ARestartReadsAndWritesNothing) {
  Settle();
  Begin();
  Report(Healthy());
  EXPECT_THAT(Round(), ElementsAre(kReadNode, kReadObject));
}

TEST_F(PublishRoundTest, ExclusiveCpusAreOnePatchInTenSeconds) {
  Settle();
  const auto report = [&](const char* cpus) {
    NodeReport taken = Healthy();
    taken.exclusive = Exclusive{.cpus = cpus, .memory = {}, .devices = {}, .device_totals = {}};
    Report(taken);
  };
  report("0");
  EXPECT_THAT(Round(), ElementsAre(kPatchObject));
  report("0-1");
  EXPECT_THAT(Round(), IsEmpty());
  EXPECT_EQ(Wait(), absl::Seconds(10));
  report("0-2");
  Pass(absl::Seconds(9));
  EXPECT_THAT(Round(), IsEmpty());
  Pass(absl::Seconds(1));
  EXPECT_THAT(Round(), ElementsAre(kPatchObject));
  const json object = server_.Get(kObjectPath);
  for (const json& zone : object.at("zones")) {
    if (zone["name"] == "node-0") {
      EXPECT_EQ(zone["resources"][0]["available"], "1");
    }
  }
}

TEST_F(PublishRoundTest, DriftIsAConditionAndAnEvent) {
  Settle();
  Report(WithDrift("container web has left its group"));
  EXPECT_THAT(Round(), ElementsAre(kPatchStatus, kPostEvent));
  EXPECT_EQ(Condition("PlimsollClassesDrifted"), "True");
  EXPECT_EQ(Condition("Ready"), "True");
  Report(Healthy());
  Pass(absl::Seconds(10));
  EXPECT_THAT(Round(), ElementsAre(kPatchStatus, kPostEvent));
  EXPECT_EQ(Condition("PlimsollClassesDrifted"), "False");
  EXPECT_THAT(Events(), testing::UnorderedElementsAre(
                            "Warning ClassesDrifted: rdt=gold: container web has left its group",
                            "Normal ClassesInForce: the kernel has each class as it was asked"));
}

TEST_F(PublishRoundTest, ARestartDoesNotTellStandingDriftAgain) {
  Settle();
  Report(WithDrift("x"));
  Round();
  Begin();
  Report(WithDrift("x"));
  EXPECT_THAT(Round(), ElementsAre(kReadNode, kReadObject));
  EXPECT_EQ(Events().size(), 1u);
}

// A flapping class: conditions at most each ten seconds, events as many as the bucket has.
TEST_F(PublishRoundTest, FlappingIsBounded) {
  Settle();
  std::vector<std::string> lines;
  for (int second = 0; second < 600; ++second) {
    Report(second % 2 == 0 ? WithDrift("x") : Healthy());
    for (std::string& line : Round()) lines.push_back(std::move(line));
    Pass(absl::Seconds(1));
  }
  EXPECT_LE(std::count(lines.begin(), lines.end(), kPatchStatus), 60);
  EXPECT_LE(Events().size(), 2u * (3 + 2));
}

TEST_F(PublishRoundTest, HotPlugIsAnEventAndNewNumbers) {
  Settle();
  NodeReport report = Healthy();
  report.topology = TopologyOf(kSnc);
  Report(report);
  EXPECT_THAT(Round(), ElementsAre(kPatchNode, kPatchObject, kPostEvent));
  EXPECT_EQ(Label("plimsoll.dev/topology.numa-nodes"), "4");
  ASSERT_EQ(Events().size(), 1u);
  EXPECT_THAT(Events()[0],
              testing::StartsWith("Normal TopologyChanged: zones numa-2, numa-3 came"));
}

TEST_F(PublishRoundTest, AClassThatGoesLosesItsLabel) {
  Settle();
  NodeReport report = Healthy();
  report.types[0].unavailable = "no resctrl file system";
  Report(report);
  EXPECT_THAT(Round(), ElementsAre(kPatchNode, kPostEvent));
  EXPECT_EQ(Label("plimsoll.dev/class.rdt.gold"), "");
  EXPECT_EQ(Label("plimsoll.dev/topology.numa-nodes"), "2");
}

TEST_F(PublishRoundTest, ASilentRuntimeIsToldAfterHalfAMinute) {
  Settle();
  Lose();
  EXPECT_THAT(Round(), IsEmpty());
  EXPECT_EQ(Wait(), absl::Seconds(30));
  Pass(absl::Seconds(29));
  Lose();  // a further attempt of the link's
  EXPECT_THAT(Round(), IsEmpty());
  Pass(absl::Seconds(1));
  EXPECT_THAT(Round(), ElementsAre(kPatchStatus, kPostEvent));
  EXPECT_EQ(Condition("PlimsollUnavailable"), "True");
  EXPECT_EQ(Condition("PlimsollClassesDrifted"), "Unknown");
  EXPECT_EQ(Label("plimsoll.dev/class.rdt.gold"), "true");
  Report(Healthy());
  Pass(absl::Seconds(10));
  EXPECT_THAT(Round(), ElementsAre(kPatchStatus, kPostEvent));
  EXPECT_EQ(Condition("PlimsollUnavailable"), "False");
}

TEST_F(PublishRoundTest, ARestartOfTheRuntimeIsNotTold) {
  Settle();
  Lose();
  Round();
  Pass(absl::Seconds(5));
  Report(Healthy());
  EXPECT_THAT(Round(), IsEmpty());
  EXPECT_THAT(RunFor(absl::Minutes(5)), IsEmpty());
}

TEST_F(PublishRoundTest, ARuntimeThatNeverAnsweredIsToldAndNothingElseTouched) {
  Lose();
  EXPECT_THAT(Round(), IsEmpty());
  Pass(absl::Seconds(30));
  EXPECT_THAT(Round(), ElementsAre(kReadNode, kPatchStatus, kPostEvent));
  EXPECT_EQ(Condition("PlimsollUnavailable"), "True");
}

TEST_F(PublishRoundTest, NothingOptedForIsNothingWritten) {
  options_.publish = {};
  options_.publish.conditions = false;
  options_.publish.events = false;
  options_.publish.topology = false;
  Begin();
  Report(WithDrift("x"));
  EXPECT_THAT(Round(), ElementsAre(kReadNode, kReadObject));
  EXPECT_THAT(RunFor(absl::Hours(1)), testing::Each(kReadNode));
}

TEST_F(PublishRoundTest, WhatIsNoLongerOptedForIsRemoved) {
  Settle();
  options_.publish = {};
  options_.publish.conditions = false;
  options_.publish.topology = false;
  Begin();
  Report(Healthy());
  EXPECT_THAT(Round(), ElementsAre(kReadNode, kPatchNode, kPatchStatus, kReadObject,
                                   std::string("DELETE ") + kObjectPath));
  json node = server_.Get(kNodePath);
  EXPECT_EQ(node["metadata"]["labels"], json({{"kubernetes.io/os", "linux"}}));
  EXPECT_EQ(node["metadata"]["annotations"], json({{"a", "b"}}));
  EXPECT_EQ(node["status"]["conditions"].size(), 1u);
  EXPECT_TRUE(server_.Get(kObjectPath).is_null());
}

TEST_F(PublishRoundTest, RemovalLeavesTheNodeAsItWas) {
  const json before = server_.Get(kNodePath);
  Settle();
  ASSERT_TRUE(RemovePublished(server_, "n1").ok());
  json after = server_.Get(kNodePath);
  after["metadata"]["resourceVersion"] = before["metadata"]["resourceVersion"];
  EXPECT_EQ(after, before);
  EXPECT_TRUE(server_.Get(kObjectPath).is_null());
  server_.TakeLines();
  // Once more there is nothing to do.
  EXPECT_TRUE(RemovePublished(server_, "n1").ok());
  EXPECT_THAT(server_.TakeLines(), ElementsAre(kReadNode, kReadObject));
  server_.Remove(kNodePath);
  EXPECT_TRUE(RemovePublished(server_, "n1").ok());
}

TEST_F(PublishRoundTest, RemovalGoesOnAfterARefusal) {
  Settle();
  server_.Fail("PATCH", kStatusPath, absl::PermissionDeniedError("no"));
  server_.Fail("DELETE", "", absl::UnavailableError("away"));
  const absl::Status status = RemovePublished(server_, "n1");
  EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(std::string(status.message()),
              testing::AllOf(testing::HasSubstr("conditions are left"),
                             testing::HasSubstr("the NodeResourceTopology is left")));
  EXPECT_EQ(Label("plimsoll.dev/class.rdt.gold"), "");
}

}  // namespace
}  // namespace plimsoll::kube
