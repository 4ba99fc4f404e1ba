#include "agent/pod_admission.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plimsoll::agent {
namespace {

using ::testing::HasSubstr;

class PodAdmissionTest : public testing::Test {
 protected:
  PodAdmissionTest() {
    node_.ready = true;
    node_.allocatable = {{"cpu", resources::Quantity::FromInt(2)},
                         {"pods", resources::Quantity::FromInt(1)}};
  }
  static pod::Manifest Pod(const std::string& cpu) {
    return pod::ParseManifests(
               "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: c, "
               "image: "
               "i, resources: {requests: {cpu: " +
                   cpu + "}}}]}}",
               "p")
        ->front();
  }
  NodeState node_;
  ClassAdmission classes_;
};

TEST_F(PodAdmissionTest, AReadyNodeTakesWhatFits) {
  const auto verdict = AdmitPod(node_, classes_, Pod("2"), {});
  ASSERT_TRUE(verdict.ok()) << verdict.status();
  EXPECT_FALSE(verdict->has_value());
}

TEST_F(PodAdmissionTest, TooMuchIsRejectedByItsResource) {
  EXPECT_EQ((*AdmitPod(node_, classes_, Pod("3"), {}))->reason, "OutOfcpu");
  const pod::Manifest other = Pod("1");
  EXPECT_EQ((*AdmitPod(node_, classes_, Pod("1"), {&other}))->reason, "OutOfpods");
}

TEST_F(PodAdmissionTest, EphemeralStorageIsAdmittedLikeAnyResource) {
  const auto asking = [](const std::string& storage) {
    return pod::ParseManifests(
               "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: c, "
               "image: i, resources: {requests: {ephemeral-storage: " +
                   storage + "}}}]}}",
               "p")
        ->front();
  };
  node_.allocatable["ephemeral-storage"] = *resources::Quantity::Parse("252Gi");
  const auto verdict = AdmitPod(node_, classes_, asking("100Ti"), {});
  ASSERT_TRUE(verdict.ok()) << verdict.status();
  ASSERT_TRUE(verdict->has_value());
  EXPECT_EQ((*verdict)->reason, "OutOfephemeral-storage");
  EXPECT_FALSE((*AdmitPod(node_, classes_, asking("252Gi"), {})).has_value());
}

TEST_F(PodAdmissionTest, AClassThatTheRuntimeDoesNotListIsRejectedUnlessItIsPassed) {
  pod::Manifest pod = Pod("1");
  pod.annotations["rdt.resources.alpha.kubernetes.io/default"] = "gold";
  EXPECT_EQ((*AdmitPod(node_, classes_, pod, {}))->reason, "UnknownClassType");
  classes_.pass_unadvertised = true;
  EXPECT_FALSE(AdmitPod(node_, classes_, pod, {})->has_value());
  // A runtime that lists types has said what it has.
  classes_.classes.container["blockio"].capacities["slow"] = 0;
  EXPECT_EQ((*AdmitPod(node_, classes_, pod, {}))->reason, "UnknownClassType");
  classes_.enabled = false;
  EXPECT_FALSE(AdmitPod(node_, classes_, pod, {})->has_value());
}

TEST_F(PodAdmissionTest, PlacesOfAClassAreCountedOverAllPods) {
  node_.allocatable["pods"] = resources::Quantity::FromInt(9);
  node_.allocatable["cpu"] = resources::Quantity::FromInt(9);
  classes_.classes.container["rdt"].capacities["gold"] = 1;
  pod::Manifest pod = Pod("1");
  pod.annotations["rdt.resources.alpha.kubernetes.io/default"] = "gold";
  EXPECT_FALSE(AdmitPod(node_, classes_, pod, {})->has_value());
  EXPECT_EQ((*AdmitPod(node_, classes_, pod, {&pod}))->reason, "OutOfClass");
}

TEST_F(PodAdmissionTest, ANodeThatIsNotReadyTakesNothingNow) {
  node_.ready = false;
  node_.reason = "TopologyPending";
  node_.message = "no topology yet";
  const absl::Status status = AdmitPod(node_, classes_, Pod("1"), {}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()), HasSubstr("TopologyPending: no topology yet"));
  node_.reason = kNodeNotReadyReason;
  EXPECT_TRUE(AdmitPod(node_, classes_, Pod("1"), {}).ok());
}

}  // namespace
}  // namespace plimsoll::agent
