#include "agent/pods/devices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"

namespace plimsoll::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;
using Ids = std::vector<std::string>;

constexpr char kGpu[] = "example.com/gpu";

// GPUs v/gpu=0 to 2, and a serial port.
NodeDevices Devices() {
  NodeDevices devices;
  for (const char* name : {"v.com/gpu=0", "v.com/gpu=1", "v.com/gpu=2"}) {
    devices[kGpu].push_back({.cdi_name = name, .node = {}});
  }
  devices["example.com/serial"].push_back(
      {.cdi_name = "", .node = {"/dev/ttyS0", "/dev/serial", "rw"}});
  return devices;
}

std::string Container(const std::string& name, int gpus, const std::string& more = "") {
  return absl::StrCat("{name: ", name, ", image: i, resources: {limits: {", kGpu, ": ", gpus, "}}",
                      more, "}");
}

pod::Manifest Pod(const std::string& inits, const std::string& containers) {
  const auto pods = pod::ParseManifests(
      absl::StrCat("{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {initContainers: [",
                   inits, "], containers: [", containers, "]}}"),
      "f");
  EXPECT_TRUE(pods.ok()) << pods.status();
  return pods.ok() ? pods->front() : pod::Manifest();
}

TEST(DevicesTest, TheNodesCapacityIsTheirNumber) {
  const resources::ResourceList counts = DeviceCounts(Devices());
  EXPECT_EQ(counts.at(kGpu).Value(), 3);
  EXPECT_EQ(counts.at("example.com/serial").Value(), 1);
}

TEST(DevicesTest, EachContainerGetsItsOwn) {
  DeviceClaims claims;
  EXPECT_FALSE(ClaimDevices(Devices(), Pod("", Container("a", 1) + "," + Container("b", 1)),
                            {"v.com/gpu=0"}, claims));
  EXPECT_EQ(claims["a"][kGpu], Ids{"v.com/gpu=1"});
  EXPECT_EQ(claims["b"][kGpu], Ids{"v.com/gpu=2"});
  EXPECT_THAT(IdsOf(claims), UnorderedElementsAre("v.com/gpu=1", "v.com/gpu=2"));
}

TEST(DevicesTest, WithoutEnoughThePodIsRejectedAndNothingIsClaimed) {
  DeviceClaims claims;
  const auto verdict = ClaimDevices(Devices(), Pod("", Container("a", 1) + "," + Container("b", 2)),
                                    {"v.com/gpu=0"}, claims);
  ASSERT_TRUE(verdict.has_value());
  EXPECT_EQ(verdict->reason, "OutOfexample.com/gpu");
  EXPECT_THAT(verdict->message, HasSubstr("container b requested: 2, available: 1, capacity: 3"));
  EXPECT_THAT(claims, IsEmpty());
}

TEST(DevicesTest, AnInitContainersDevicesAreUsedAgain) {
  DeviceClaims claims;
  EXPECT_FALSE(ClaimDevices(Devices(), Pod(Container("init", 2), Container("a", 3)), {}, claims));
  EXPECT_THAT(claims["init"][kGpu], ElementsAre("v.com/gpu=0", "v.com/gpu=1"));
  EXPECT_THAT(claims["a"][kGpu], ElementsAre("v.com/gpu=0", "v.com/gpu=1", "v.com/gpu=2"));
}

TEST(DevicesTest, ASidecarKeepsItsOwn) {
  DeviceClaims claims;
  EXPECT_FALSE(ClaimDevices(Devices(),
                            Pod(Container("side", 1, ", restartPolicy: Always"), Container("a", 2)),
                            {}, claims));
  EXPECT_EQ(claims["side"][kGpu], Ids{"v.com/gpu=0"});
  EXPECT_THAT(claims["a"][kGpu], ElementsAre("v.com/gpu=1", "v.com/gpu=2"));
}

TEST(DevicesTest, NamesAndNodesReachTheContext) {
  const pod::Manifest pod = Pod(
      "", "{name: a, image: i, resources: {limits: {example.com/serial: 1, example.com/gpu: 1}}}");
  DeviceClaims claims;
  ASSERT_FALSE(ClaimDevices(Devices(), pod, {}, claims));
  pod::PodContext context;
  ASSERT_TRUE(GiveDevices(Devices(), pod, claims, context).ok());
  EXPECT_THAT(context.devices["a"].cdi_names, ElementsAre("v.com/gpu=0"));
  ASSERT_EQ(context.devices["a"].nodes.size(), 1u);
  EXPECT_EQ(context.devices["a"].nodes[0].container_path, "/dev/serial");
}

TEST(DevicesTest, ADeviceThatHasGoneIsNamed) {
  pod::PodContext context;
  const absl::Status status = GiveDevices(Devices(), Pod("", Container("a", 1)),
                                          {{"a", {{kGpu, {"v.com/gpu=9"}}}}}, context);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("v.com/gpu=9"));
}

TEST(DevicesTest, ARequestWithoutDevicesOnRecordIsRefused) {
  pod::PodContext context;
  const absl::Status status = GiveDevices(Devices(), Pod("", Container("a", 1)), {}, context);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("container a requests 1"));
  EXPECT_THAT(context.devices, IsEmpty());
}

}  // namespace
}  // namespace plimsoll::agent
