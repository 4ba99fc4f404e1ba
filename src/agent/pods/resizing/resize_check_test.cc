#include "agent/pods/resizing/resize_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"

namespace plimsoll::agent {
namespace {

using ::testing::HasSubstr;

pod::Manifest WithResources(const std::string& resources, const std::string& more = "",
                            const std::string& restart_policy = "Always") {
  const auto pods = pod::ParseManifests(
      absl::StrCat("{apiVersion: v1, kind: Pod, metadata: {name: web}, spec: {restartPolicy: ",
                   restart_policy, ", containers: [{name: main, image: i, resources: ", resources,
                   more, "}]}}"),
      "web.yaml");
  EXPECT_TRUE(pods.ok()) << pods.status();
  return pods->front();
}

TEST(ResizeCheckTest, AmountsGoUpAndDownAndComeAnew) {
  const pod::Manifest before = WithResources("{requests: {cpu: 100m}}");
  EXPECT_TRUE(CheckResize(before, WithResources("{requests: {cpu: 50m}}")).ok());
  EXPECT_TRUE(CheckResize(before, WithResources("{requests: {cpu: 2, memory: 1Gi}}")).ok());
  EXPECT_TRUE(
      CheckResize(before, WithResources("{requests: {cpu: 100m}, limits: {cpu: 200m}}")).ok());
}

TEST(ResizeCheckTest, TheQosClassStays) {
  const absl::Status status =
      CheckResize(WithResources("{requests: {cpu: 100m}}"),
                  WithResources("{requests: {cpu: 100m, memory: 1Mi}, limits: {cpu: 100m, memory: "
                                "1Mi}}"));
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("Invalid value: \"Guaranteed\": Pod QOS Class may not change as a result "
                        "of resizing: it is Burstable"));
}

TEST(ResizeCheckTest, NoAmountIsTakenAway) {
  const absl::Status status =
      CheckResize(WithResources("{requests: {cpu: 100m}, limits: {memory: 1Gi}}"),
                  WithResources("{requests: {cpu: 100m}}"));
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("spec.containers[main].resources.limits: Forbidden: resource limits cannot "
                        "be removed: memory was 1Gi"));
}

TEST(ResizeCheckTest, ALimitOfZeroIsNone) {
  const absl::Status status =
      CheckResize(WithResources("{requests: {cpu: 0, memory: 1Mi}, limits: {cpu: 1800m}}"),
                  WithResources("{requests: {cpu: 0, memory: 1Mi}, limits: {cpu: 0}}"));
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("cannot be removed: cpu was 1800m"));
}

TEST(ResizeCheckTest, ASidecarIsNamedAsAnInitContainer) {
  const auto with = [](const std::string& requests) {
    const auto pods = pod::ParseManifests(
        absl::StrCat("{apiVersion: v1, kind: Pod, metadata: {name: web}, spec: {initContainers: "
                     "[{name: side, image: i, restartPolicy: Always, resources: {requests: {",
                     requests, "}}}], containers: [{name: main, image: i}]}}"),
        "web.yaml");
    EXPECT_TRUE(pods.ok()) << pods.status();
    return pods->front();
  };
  EXPECT_THAT(std::string(CheckResize(with("cpu: 1, memory: 1Mi"), with("cpu: 1")).message()),
              HasSubstr("spec.initContainers[side].resources.requests: Forbidden"));
}

TEST(ResizeCheckTest, APodThatRestartsNothingIsNotRestarted) {
  const std::string policy =
      ", resizePolicy: [{resourceName: memory, restartPolicy: RestartContainer}]";
  const pod::Manifest before =
      WithResources("{requests: {cpu: 100m, memory: 1Mi}}", policy, "Never");
  EXPECT_TRUE(
      CheckResize(before, WithResources("{requests: {cpu: 1, memory: 1Mi}}", policy, "Never"))
          .ok());
  const absl::Status status =
      CheckResize(before, WithResources("{requests: {cpu: 1, memory: 2Mi}}", policy, "Never"));
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("a change of memory restarts"));
  EXPECT_TRUE(CheckResize(WithResources("{requests: {memory: 1Mi}}", policy),
                          WithResources("{requests: {memory: 2Mi}}", policy))
                  .ok());
}

TEST(ResizeCheckTest, OnlyMoreNeedsRoom) {
  const pod::Manifest before = WithResources("{requests: {cpu: 100m, memory: 1Gi}}");
  EXPECT_FALSE(NeedsRoom(before, before));
  EXPECT_FALSE(NeedsRoom(before, WithResources("{requests: {cpu: 50m, memory: 1Gi}}")));
  EXPECT_TRUE(NeedsRoom(before, WithResources("{requests: {cpu: 50m, memory: 2Gi}}")));
  EXPECT_FALSE(
      NeedsRoom(before, WithResources("{requests: {cpu: 100m, memory: 1Gi}, limits: {cpu: 4}}")));
}

}  // namespace
}  // namespace plimsoll::agent
