#include "agent/pods/life/class_keeper.h"

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/dir_for_test.h"
#include "cri/runtime/v1/api.grpc.pb.h"

namespace plimsoll::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Takes updates of classes, or refuses them.
class UpdatedRuntime : public ::runtime::v1::RuntimeService::Service {
 public:
  grpc::Status UpdateContainerResources(
      grpc::ServerContext*, const ::runtime::v1::UpdateContainerResourcesRequest* request,
      ::runtime::v1::UpdateContainerResourcesResponse*) override {
    for (const auto& [type, name] : request->class_resources().classes()) {
      calls.push_back(absl::StrCat(request->container_id(), " ", type, "=", name));
    }
    written = request->kubernetes_resources();
    has_written = request->has_kubernetes_resources();
    return answer;
  }
  grpc::Status UpdatePodSandboxConfig(grpc::ServerContext*,
                                      const ::runtime::v1::UpdatePodSandboxConfigRequest* request,
                                      ::runtime::v1::UpdatePodSandboxConfigResponse*) override {
    for (const auto& [type, name] : request->class_resources().class_()) {
      calls.push_back(absl::StrCat(request->pod_sandbox_id(), " ", type, "=", name));
    }
    return answer;
  }
  grpc::Status answer;
  std::vector<std::string> calls;
  ::runtime::v1::KubernetesResources written;  // of the last update of a container
  bool has_written = false;
};

class SteppedClock : public Clock {
 public:
  absl::Time Now() const override { return now; }
  absl::Time now = absl::FromUnixSeconds(1'000'000);
};

class ClassKeeperTest : public testing::Test {
 protected:
  void SetUp() override {
    const std::string address = absl::StrCat("unix://", dir_.path(), "/socket");
    grpc::ServerBuilder builder;
    builder.AddListeningPort(address, grpc::InsecureServerCredentials());
    builder.RegisterService(&runtime_);
    server_ = builder.BuildAndStart();
    ASSERT_NE(server_, nullptr);
    auto client = pod::Client::Open({.address = address});
    ASSERT_TRUE(client.ok()) << client.status();
    client_ = *std::move(client);
    record_.uid = "u";
    record_.key = {"default", "p"};
    observed_.sandboxes.push_back(
        {.id = "s", .ready = true, .ips = {}, .classes = qos::ClassNames{{"tier", "high"}}});
    ObservedContainer container;
    container.id = "c";
    container.name = "a";
    container.sandbox_id = "s";
    container.state = ObservedState::kRunning;
    container.classes = qos::ClassNames{{"rdt", "silver"}};
    observed_.containers.push_back(container);
  }
  ClassKeeper::Outcome Keep(const std::string& of_pod, const std::string& of_container) {
    const auto pods = pod::ParseManifests(
        absl::StrCat("{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {resources: {classes: "
                     "{",
                     of_pod, "}}, containers: [{name: a, image: i, resources: {classes: {",
                     of_container, "}, limits: {memory: 64Mi}}}]}}"),
        "p");
    EXPECT_TRUE(pods.ok()) << pods.status();
    return keeper_.Keep({*client_, clock_, events_, node_, writes_}, record_, pods->front(),
                        observed_);
  }
  std::vector<std::string> Reasons() {
    std::vector<std::string> reasons;
    for (const auto& event : events_.List(record_.key)) reasons.push_back(event["reason"]);
    return reasons;
  }

  const TestDir dir_;
  UpdatedRuntime runtime_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<pod::Client> client_;
  SteppedClock clock_;
  KubeEventLog events_{clock_, "n"};
  NodeClasses classes_{.pod = {{"tier", {{{"low", 0}, {"high", 0}}, "high", false}}},
                       .container = {{"rdt", {{{"gold", 2}, {"silver", 0}}, "silver", false}}}};
  std::function<absl::StatusOr<NodeClasses>()> node_ = [this] { return classes_; };
  PodRecord record_;
  ObservedPod observed_;
  bool writes_ = true;
  ClassKeeper keeper_;
};

TEST_F(ClassKeeperTest, ContainersAndPodsHaveCallsOfTheirOwn) {
  const ClassKeeper::Outcome outcome = Keep("tier: low", "rdt: gold");
  EXPECT_THAT(runtime_.calls, ElementsAre("s tier=low", "c rdt=gold"));
  EXPECT_THAT(outcome.changed, ElementsAre("c", "s"));
  EXPECT_EQ(outcome.pause, absl::InfiniteDuration());
  EXPECT_THAT(Reasons(), ElementsAre("ClassesUpdated", "ClassesUpdated"));
}

// KEP-4112 "UpdateContainerResources".
TEST_F(ClassKeeperTest, AClassGoesAlongWithTheResourcesAsWritten) {
  Keep("", "rdt: gold");
  ASSERT_TRUE(runtime_.has_written);
  EXPECT_EQ(runtime_.written.limits().at("memory").string(), "64Mi");
  EXPECT_EQ(runtime_.written.requests().at("memory").string(), "64Mi");
  // A resize is no matter of this update.
  record_.actuated = {{"kind", "Pod"}};
  observed_.containers[0].resources.emplace().written.emplace().limits["memory"] =
      *resources::Quantity::Parse("96Mi");
  Keep("", "rdt: gold");
  EXPECT_EQ(runtime_.written.limits().at("memory").string(), "96Mi");
  writes_ = false;
  Keep("", "rdt: gold");
  EXPECT_FALSE(runtime_.has_written) << "the gate is off";
}

TEST_F(ClassKeeperTest, WhatIsInForceIsLeftAlone) {
  EXPECT_THAT(Keep("tier: high", "rdt: silver").changed, IsEmpty());
  EXPECT_THAT(Keep("", "").changed, IsEmpty());
  classes_ = {};  // the gate is off
  EXPECT_THAT(Keep("tier: low", "rdt: gold").changed, IsEmpty());
  EXPECT_THAT(runtime_.calls, IsEmpty());
}

TEST_F(ClassKeeperTest, ARefusalIsToldAndTriedAgainAfterAPause) {
  runtime_.answer = {grpc::StatusCode::RESOURCE_EXHAUSTED, "gold is full"};
  ClassKeeper::Outcome outcome = Keep("", "rdt: gold");
  EXPECT_THAT(outcome.changed, IsEmpty());
  EXPECT_EQ(outcome.pause, BackOff::kFirst);
  ASSERT_THAT(Reasons(), ElementsAre("FailedUpdateClasses"));
  EXPECT_THAT(events_.List(record_.key)[0]["message"].get<std::string>(),
              HasSubstr("QoS classes can't be changed to rdt=gold: "));
  clock_.now += absl::Seconds(4);
  outcome = Keep("", "rdt: gold");
  EXPECT_EQ(outcome.pause, BackOff::kFirst - absl::Seconds(4));
  EXPECT_EQ(runtime_.calls.size(), 1u);
  runtime_.answer = grpc::Status::OK;
  clock_.now += absl::Seconds(6);
  EXPECT_THAT(Keep("", "rdt: gold").changed, ElementsAre("c"));
}

TEST_F(ClassKeeperTest, AnotherChangeWaitsForNoRetry) {
  classes_.container["rdt"].capacities["bronze"] = 0;
  runtime_.answer = {grpc::StatusCode::RESOURCE_EXHAUSTED, "gold is full"};
  Keep("", "rdt: gold");
  runtime_.answer = grpc::Status::OK;
  EXPECT_THAT(Keep("", "rdt: bronze").changed, ElementsAre("c"));
}

TEST_F(ClassKeeperTest, ARuntimeThatIsAwayIsAskedAgainSoon) {
  runtime_.answer = {grpc::StatusCode::UNAVAILABLE, "starting"};
  EXPECT_EQ(Keep("", "rdt: gold").pause, absl::Seconds(1));
  EXPECT_THAT(Reasons(), IsEmpty());
  node_ = [] { return absl::UnavailableError("away"); };
  EXPECT_EQ(Keep("", "rdt: gold").pause, absl::Seconds(1));
  node_ = nullptr;
  EXPECT_EQ(Keep("", "rdt: gold").pause, absl::InfiniteDuration());
}

}  // namespace
}  // namespace plimsoll::agent
