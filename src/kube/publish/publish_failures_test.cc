// The publisher against a server that fails, refuses, or has other writers.
#include "kube/publish/metadata_patch.h"
#include "kube/publish/publish_round.h"
#include "kube/publish/round_fixture_for_test.h"

namespace plimsoll::kube {
namespace {

using nlohmann::json;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class PublishFailuresTest : public RoundTest {
 protected:
  PublishFailuresTest() { Begin(); }
  void Settle() {
    PutNode();
    Report(Healthy());
    Round();
    Pass(absl::Seconds(10));
    EXPECT_THAT(Round(), IsEmpty());
  }
  size_t Count(const std::vector<std::string>& lines, const std::string& part) {
    return static_cast<size_t>(std::count_if(
        lines.begin(), lines.end(),
        [&](const std::string& line) { return line.find(part) != std::string::npos; }));
  }
};

TEST_F(PublishFailuresTest, ANodeThatIsNotThereYetIsAwaited) {
  Report(Healthy());
  std::vector<absl::Duration> waits;
  for (int i = 0; i < 9; ++i) {
    EXPECT_EQ(Round().size(), 1u);
    waits.push_back(Wait());
    Pass(Wait());
  }
  EXPECT_EQ(waits.front(), absl::Seconds(1));
  EXPECT_EQ(waits.back(), absl::Minutes(2));
  EXPECT_EQ(notes_.size(), 1u);
  PutNode();
  EXPECT_EQ(Round().size(), 5u);
  EXPECT_EQ(Label("plimsoll.dev/class.rdt.gold"), "true");
  EXPECT_THAT(notes_, ElementsAre(HasSubstr("the Node is not read: "), "the Node is read again"));
  EXPECT_THAT(warnings_, ElementsAre(HasSubstr("the Node is not read: ")))
      << "that it is read again is no warning";
}

// Ten minutes without the server, while the node changes each second.
TEST_F(PublishFailuresTest, AnOutageCostsFewRequestsAndIsMadeUpFor) {
  Settle();
  server_.Fail("", "", absl::UnavailableError("no connection"), FakeApiClient::kAlways);
  std::vector<std::string> lines;
  for (int second = 0; second < 600; ++second) {
    Report(WithDrift(absl::StrCat("look ", second)));
    for (std::string& line : Round()) lines.push_back(std::move(line));
    Pass(absl::Seconds(1));
  }
  // Conditions and events, each with waits of 1, 2, 4, ... 120 s.
  EXPECT_LE(lines.size(), 2u * 11);
  EXPECT_EQ(notes_.size(), 2u);
  server_.Heal();
  RunFor(absl::Minutes(2));
  EXPECT_EQ(Condition("PlimsollClassesDrifted"), "True");
  ASSERT_EQ(Events().size(), 1u);
  EXPECT_THAT(Events()[0], HasSubstr("look 599 (the last of 600 such events since 08:00:10 UTC)"));
  EXPECT_EQ(notes_.size(), 4u);
}

TEST_F(PublishFailuresTest, ARefusalOfOneKindLeavesTheOthers) {
  PutNode();
  for (const char* refused : {kStatusPath, "/events", "/apis/topology.node.k8s.io/"}) {
    server_.Fail("", refused, absl::PermissionDeniedError("forbidden"), FakeApiClient::kAlways);
  }
  Report(WithDrift("x"));
  EXPECT_EQ(Round().size(), 5u);
  EXPECT_EQ(Label("plimsoll.dev/class.rdt.gold"), "true");
  EXPECT_THAT(notes_, ElementsAre(HasSubstr("conditions: not published: "),
                                  HasSubstr("the NodeResourceTopology: not published: "),
                                  HasSubstr("events: not published: ")));
  // Six refused requests in an hour for each, told once.
  EXPECT_LE(RunFor(absl::Hours(1)).size(), 3u * 6 + 6);
  EXPECT_EQ(notes_.size(), 3u);
  server_.Heal();
  RunFor(absl::Minutes(11));
  EXPECT_EQ(Condition("PlimsollClassesDrifted"), "True");
  EXPECT_FALSE(server_.Get(kObjectPath).is_null());
  EXPECT_EQ(Events().size(), 1u);
}

TEST_F(PublishFailuresTest, LabelsMayBeTheKindThatIsRefused) {
  PutNode();
  // A webhook of the administrator's that refuses labels.
  server_.BeforeEach([&](const ApiRequest& request) {
    if (request.method == "PATCH" && request.path == kNodePath) {
      server_.Fail("PATCH", kNodePath, absl::InvalidArgumentError("denied the request"));
    }
  });
  Report(Healthy());
  Round();
  EXPECT_EQ(Condition("PlimsollClassesDrifted"), "False");
  EXPECT_FALSE(server_.Get(kObjectPath).is_null());
  EXPECT_THAT(notes_, ElementsAre(HasSubstr("labels and annotations: not published: ")));
}

TEST_F(PublishFailuresTest, WithoutTheCrdItIsToldOnceAndAskedEachHour) {
  PutNode();
  server_.Unknown("/apis/topology.node.k8s.io/");
  Report(Healthy());
  Round();
  EXPECT_THAT(notes_, ElementsAre(HasSubstr("no CustomResourceDefinition")));
  const std::vector<std::string> lines = RunFor(absl::Hours(24));
  EXPECT_LE(Count(lines, "topology.node.k8s.io"), 2u * 24);
  EXPECT_GE(Count(lines, "topology.node.k8s.io"), 2u * 23);
  EXPECT_EQ(notes_.size(), 1u);
  server_.Heal();
  RunFor(absl::Hours(1));
  EXPECT_FALSE(server_.Get(kObjectPath).is_null());
  EXPECT_THAT(notes_, Contains("the NodeResourceTopology: published again"));
}

TEST_F(PublishFailuresTest, AnotherExportersObjectIsLeftAlone) {
  PutNode();
  const json foreign = {{"zones", json::array()}};
  server_.Put(kObjectPath, foreign);
  Report(Healthy());
  EXPECT_EQ(Count(Round(), "topology.node.k8s.io"), 1u);
  EXPECT_THAT(notes_, ElementsAre(HasSubstr("is another exporter's")));
  EXPECT_EQ(server_.Get(kObjectPath)["zones"], json::array());
  EXPECT_LE(Count(RunFor(absl::Hours(2)), "topology.node.k8s.io"), 2u);
  options_.publish.topology = false;
  Begin();
  Report(Healthy());
  Round();
  EXPECT_FALSE(server_.Get(kObjectPath).is_null());
}

TEST_F(PublishFailuresTest, AnotherWriterBetweenReadingAndWritingIsNotOverwrittenUnseen) {
  Settle();
  bool is_done = false;
  server_.BeforeEach([&](const ApiRequest& request) {
    if (is_done || request.method != "PATCH" || request.path != kObjectPath) return;
    is_done = true;
    json object = server_.Get(kObjectPath);
    object["metadata"]["labels"]["app.kubernetes.io/managed-by"] = "another";
    server_.Put(kObjectPath, object);
  });
  NodeReport taken = Healthy();
  taken.exclusive = Exclusive{.cpus = "0", .memory = {}, .devices = {}, .device_totals = {}};
  Report(taken);
  RunFor(absl::Minutes(1));
  EXPECT_THAT(notes_, Contains(HasSubstr("is another exporter's")));
}

TEST_F(PublishFailuresTest, ConflictsAreReadAnewAndTriedAgain) {
  Settle();
  server_.Fail("PATCH", "", absl::AbortedError("the object has been modified"), 3);
  NodeReport report = WithDrift("x");
  report.topology = TopologyOf(kSnc);
  Report(report);
  RunFor(absl::Minutes(1));
  EXPECT_EQ(Label("plimsoll.dev/topology.numa-nodes"), "4");
  EXPECT_EQ(Condition("PlimsollClassesDrifted"), "True");
  EXPECT_EQ(server_.Get(kObjectPath)["zones"].size(), 15u);
}

TEST_F(PublishFailuresTest, ANodeMadeAnewIsPublishedAnew) {
  Settle();
  server_.Remove(kNodePath);
  Report(WithDrift("x"));
  Round();
  PutNode("uid-2");
  RunFor(absl::Minutes(5));
  EXPECT_EQ(Label("plimsoll.dev/class.rdt.gold"), "true");
  EXPECT_EQ(Condition("PlimsollClassesDrifted"), "True");
  EXPECT_EQ(server_.Get(kObjectPath)["metadata"]["ownerReferences"][0]["uid"], "uid-2");
}

// Two programs that want different things of a key would write it without end, were it not for the
// pace of looking: three writes an hour.
TEST_F(PublishFailuresTest, AFightOverAKeyIsSlow) {
  Settle();
  server_.BeforeEach([&](const ApiRequest& request) {
    if (request.method != "GET" || request.path != kNodePath) return;
    json node = server_.Get(kNodePath);
    node["metadata"]["labels"]["plimsoll.dev/topology.numa-nodes"] = "7";
    server_.Put(kNodePath, node);
  });
  const std::vector<std::string> lines = RunFor(absl::Hours(1));
  EXPECT_LE(Count(lines, "PATCH"), 3u);
  EXPECT_GE(Count(lines, "PATCH"), 2u);
  EXPECT_EQ(Label("plimsoll.dev/topology.numa-nodes"), "2");
}

TEST_F(PublishFailuresTest, RemovedPartsAreMendedAtTheNextLook) {
  Settle();
  server_.Remove(kObjectPath);
  PutNode();  // as if nobody had written to it
  RunFor(absl::Minutes(20));
  EXPECT_EQ(Label("plimsoll.dev/class.rdt.gold"), "true");
  EXPECT_EQ(Condition("PlimsollClassesDrifted"), "False");
  EXPECT_FALSE(server_.Get(kObjectPath).is_null());
}

// A server whose CRD lacks a zone's "parent": it drops the field.
class PruningServer : public FakeApiClient {
 public:
  absl::StatusOr<json> Call(const ApiRequest& request, absl::Duration patience) override {
    absl::StatusOr<json> answer = FakeApiClient::Call(request, patience);
    if (!answer.ok() || request.method == "GET" || !answer->contains("zones")) return answer;
    for (json& zone : (*answer)["zones"]) zone.erase("parent");
    Put(kObjectPath, *answer);
    return Get(kObjectPath);
  }
};

TEST_F(PublishFailuresTest, AServerThatDropsFieldsIsNotWrittenToAtEachLook) {
  PruningServer server;
  server.Put(kNodePath, json::object());
  const auto writes = [&](absl::Duration duration) {
    Report(Healthy());
    const SteadyTime end = now_ + absl::ToChronoNanoseconds(duration);
    while (now_ < end) {
      const auto next = round_->Run({now_, time_});
      Pass(absl::FromChrono(std::min(next.value_or(end), end) - now_));
    }
    const std::vector<std::string> lines = server.TakeLines();
    EXPECT_GE(Count(lines, std::string("GET ") + kObjectPath), 5u);
    return Count(lines, "POST /apis/topology") + Count(lines, std::string("PATCH ") + kObjectPath);
  };
  for (int start = 0; start < 2; ++start) {
    // A restart knows no earlier write, and writes once more.
    round_ = std::make_unique<PublishRound>(server, "n1", options_);
    EXPECT_EQ(writes(absl::Hours(2)), 1u);
  }
  EXPECT_FALSE(server.Get(kObjectPath)["zones"][1].contains("parent"));
}

TEST_F(PublishFailuresTest, AnEventWhoseAnswerWasLostIsWrittenOnce) {
  Settle();
  server_.BeforeEach([&](const ApiRequest& request) {
    if (request.method != "POST" || request.path.find("/events") == std::string::npos) return;
    json event = request.body;
    const std::string name = event["metadata"]["name"];
    if (!server_.Get(absl::StrCat(request.path, "/", name)).is_null()) return;
    server_.Put(absl::StrCat(request.path, "/", name), event);
    server_.Fail("POST", "/events", absl::UnavailableError("connection reset"));
  });
  Report(WithDrift("x"));
  RunFor(absl::Minutes(5));
  EXPECT_EQ(Events().size(), 1u);
}

TEST_F(PublishFailuresTest, AnAnswerThatIsNoNodeIsNotTaken) {
  server_.Put(kNodePath, json::object());
  json node = server_.Get(kNodePath);
  node["metadata"]["uid"] = 5;
  server_.Put(kNodePath, node);
  Report(Healthy());
  EXPECT_EQ(Round().size(), 1u);
  EXPECT_THAT(notes_, ElementsAre(HasSubstr("is not this Node")));
}

TEST_F(PublishFailuresTest, WhatCantBeATopologyIsToldOnce) {
  Settle();
  NodeReport broken = Healthy();
  broken.topology->zones[1].parent = "nowhere";
  for (int i = 0; i < 3; ++i) {
    Report(broken);
    Round();
    Pass(absl::Seconds(10));
  }
  EXPECT_THAT(notes_, ElementsAre(HasSubstr("facts of the topology are left out"),
                                  HasSubstr("the NodeResourceTopology stays as it is")));
  EXPECT_FALSE(server_.Get(kObjectPath).is_null());
}

TEST_F(PublishFailuresTest, AStoppedClientEndsTheRounds) {
  PutNode();
  server_.Stop();
  Report(Healthy());
  EXPECT_TRUE(absl::IsCancelled(round_->Run({now_, time_}).status()));
}

}  // namespace
}  // namespace plimsoll::kube
