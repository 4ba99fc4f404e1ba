#include "kubelet/combine.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kubelet/pods_for_test.h"

namespace plimsoll::kubelet {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

const absl::Status kNoSocket = absl::NotFoundError("there is no socket");

ToldPod ToldWeb() {
  return *ReadPod(AnswerOf(WebPod()), kWeb);
}

ToldGrants NoDevices() {
  return {{"web", {}}};
}

// Mounts have host paths, which only the container's creation has.
TEST(CombineTest, MountsAreNeverKnown) {
  const auto facts = Combine(ToldWeb(), NoDevices());
  ASSERT_TRUE(facts.ok()) << facts.status();
  EXPECT_TRUE(facts->has_spec);
  EXPECT_TRUE(facts->has_grants);
  EXPECT_EQ(facts->resources, ToldWeb().resources);
  EXPECT_EQ(facts->grants, NoDevices());
  EXPECT_THAT(facts->missing, ElementsAre(StartsWith("mounts: ")));
}

TEST(CombineTest, IdsOfDevicesAreNoPaths) {
  const auto facts = Combine(ToldWeb(), *ReadGrants(AnswerOf(WebGrants()), kWeb));
  EXPECT_THAT(facts->missing, ElementsAre(StartsWith("mounts: "), StartsWith("devices: "),
                                          StartsWith("CDI devices: ")));
}

TEST(CombineTest, BlockVolumesHaveNoPaths) {
  ToldPod pod = ToldWeb();
  pod.has_block_volumes = true;
  EXPECT_THAT(Combine(pod, NoDevices())->missing,
              ElementsAre(StartsWith("mounts: "), StartsWith("devices: ")));
}

TEST(CombineTest, DevicesOfInitContainersAreNotTold) {
  ToldPod pod = ToldWeb();
  pod.untold_devices.insert("setup");
  EXPECT_THAT(
      Combine(pod, NoDevices())->missing,
      ElementsAre(StartsWith("mounts: "), StartsWith("devices: "), StartsWith("CDI devices: ")));
}

TEST(CombineTest, WithoutThePodsService) {
  const auto facts = Combine(kNoSocket, *ReadGrants(AnswerOf(WebGrants()), kWeb));
  ASSERT_TRUE(facts.ok()) << facts.status();
  EXPECT_FALSE(facts->has_spec);
  EXPECT_TRUE(facts->resources.empty());
  EXPECT_TRUE(facts->has_grants);
  EXPECT_THAT(facts->missing, ElementsAre(HasSubstr("requests and limits"), StartsWith("mounts: "),
                                          HasSubstr("init containers"), HasSubstr("paths")));
  EXPECT_THAT(facts->missing[0], HasSubstr("there is no socket"));
}

TEST(CombineTest, WithoutPodResources) {
  const auto facts = Combine(ToldWeb(), kNoSocket);
  ASSERT_TRUE(facts.ok()) << facts.status();
  EXPECT_TRUE(facts->has_spec);
  EXPECT_FALSE(facts->has_grants);
  EXPECT_THAT(facts->grants, IsEmpty());
  EXPECT_THAT(facts->missing,
              ElementsAre(StartsWith("mounts: "), HasSubstr("PodResources: there is no socket")));
}

TEST(CombineTest, WithoutBoth) {
  const auto facts = Combine(kNoSocket, absl::DeadlineExceededError("no answer in time"));
  EXPECT_TRUE(absl::IsDeadlineExceeded(facts.status())) << facts.status();
  EXPECT_TRUE(absl::IsUnavailable(Combine(kNoSocket, kNoSocket).status()));
  EXPECT_THAT(facts.status().message(), HasSubstr("Pods service: there is no socket"));
  EXPECT_THAT(facts.status().message(), HasSubstr("PodResources: no answer in time"));
}

}  // namespace
}  // namespace plimsoll::kubelet
