#include "agent/pods/resizing/resize_limits.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"

namespace plimsoll::agent {
namespace {

pod::Manifest Limited(const std::string& resources, const std::string& more = "") {
  const auto pods = pod::ParseManifests(
      absl::StrCat("{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: a, "
                   "image: i, resources: ",
                   resources, more, "}]}}"),
      "p.yaml");
  EXPECT_TRUE(pods.ok()) << pods.status();
  return pods->front();
}
pod::Manifest Guaranteed(int cpu, int memory_mebibytes) {
  return Limited(absl::StrCat("{limits: {cpu: ", cpu, ", memory: ", memory_mebibytes, "Mi}}"));
}

ManagerOptions Static(bool cpus, bool memory) {
  ManagerOptions options;
  options.static_cpus = cpus;
  options.static_memory = memory;
  return options;
}

TEST(ResizeLimitsTest, AGuaranteedPodKeepsWhatStaticManagersGave) {
  const auto why = [](const pod::Manifest& after, bool cpus, bool memory) {
    return WhyInfeasible(Guaranteed(1, 64), after, Static(cpus, memory), {}).value_or("");
  };
  EXPECT_EQ(why(Guaranteed(2, 64), true, false),
            "Resize is infeasible for Guaranteed Pods alongside CPU Manager policy \"static\"");
  EXPECT_EQ(why(Guaranteed(1, 32), false, true),
            "Resize is infeasible for Guaranteed Pods alongside Memory Manager policy \"Static\"");
  EXPECT_EQ(why(Guaranteed(1, 32), true, false), "") << "memory is no concern of the CPU manager";
  EXPECT_EQ(why(Guaranteed(2, 64), false, true), "");
  EXPECT_EQ(why(Guaranteed(2, 32), false, false), "");
  EXPECT_EQ(why(Guaranteed(1, 64), true, true), "");
}

TEST(ResizeLimitsTest, ABurstablePodChangesBesideStaticManagers) {
  EXPECT_EQ(WhyInfeasible(Limited("{requests: {cpu: 1, memory: 1Mi}}"),
                          Limited("{requests: {cpu: 2, memory: 2Mi}}"), Static(true, true), {}),
            std::nullopt);
}

TEST(ResizeLimitsTest, MemoryThatMayBeSwappedStays) {
  pod::PodContext swap;
  swap.swap = pod::SwapBehavior::kLimitedSwap;
  swap.swap_control = pod::SwapControl::kV2;
  const char* const before = "{requests: {memory: 1Mi}}";
  const char* const after = "{requests: {memory: 2Mi}}";
  const char* const restarts =
      ", resizePolicy: [{resourceName: memory, restartPolicy: "
      "RestartContainer}]";
  EXPECT_EQ(WhyInfeasible(Limited(before), Limited(after), {}, swap),
            "In-place resize of containers with swap is not supported.");
  EXPECT_EQ(WhyInfeasible(Limited(before, restarts), Limited(after, restarts), {}, swap),
            std::nullopt);
  swap.swap = pod::SwapBehavior::kNoSwap;
  EXPECT_EQ(WhyInfeasible(Limited(before), Limited(after), {}, swap), std::nullopt);
}

}  // namespace
}  // namespace plimsoll::agent
