#include "cli/resource_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plimsoll::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

constexpr char kBoth[] = R"({
  "asked": {"cpuShares": "512", "memoryLimitInBytes": "69206016"},
  "held": {"cpuShares": "501", "memoryLimitInBytes": "67108864", "cpusetCpus": "0", "newer": 1}})";

TEST(PodResources, WhatIsHeldIsShownAndWhatWasAskedForWhereItDiffers) {
  cri::PodSandboxStatusResponse response;
  (*response.mutable_info())["resources"] = kBoth;
  const auto resources = PodResourcesOf(response);
  ASSERT_TRUE(resources.has_value());
  EXPECT_EQ(resources->asked.memory_limit_in_bytes(), 66 << 20);
  // 501 shares are the weight that 512 are.
  EXPECT_THAT(DescribePodResources(*resources),
              ElementsAre(Pair("cpu shares", "501"), Pair("cpuset cpus", "0"),
                          Pair("memory limit", "64 MiB, asked for 66 MiB")));
}

TEST(PodResources, WhatIsNotToldIsNothing) {
  cri::PodSandboxStatusResponse response;
  EXPECT_FALSE(PodResourcesOf(response).has_value());
  for (const char* text : {"", "{", "[]", R"({"asked": {}})", R"({"asked": 1, "held": {}})"}) {
    (*response.mutable_info())["resources"] = text;
    EXPECT_FALSE(PodResourcesOf(response).has_value()) << text;
  }
}

TEST(PodResources, AScoreIsNoPods) {
  cri::LinuxContainerResources before;
  cri::LinuxContainerResources after;
  after.set_memory_limit_in_bytes(64 << 20);
  const std::vector<ResourceChange> changes = ComparePods(before, after);
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_EQ(changes[0].resource, "memory limit");
  EXPECT_EQ(changes[0].before, "no limit");
}

}  // namespace
}  // namespace plimsoll::cli
