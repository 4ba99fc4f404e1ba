#include "cli/pod_commands/resource_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "pod_runner/cri_requests/to_cri.h"
#include "pod_runner/manifest/manifest.h"

namespace plimsoll::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

constexpr char kBoth[] = R"({
  "asked": {"cpuShares": "512", "memoryLimitInBytes": "69206016"},
  "held": {"cpuShares": "501", "memoryLimitInBytes": "67108864", "cpusetCpus": "0", "newer": 1}})";

constexpr char kPod[] = R"yaml(apiVersion: v1
kind: Pod
metadata:
  name: web
  annotations: {plimsoll.dev/cpuset: "0-1", plimsoll.dev/cpuset.app: "1"}
spec:
  containers:
    - name: app
      image: app:1
      resources:
        requests: {cpu: 100m, memory: 1Gi}
        limits: {cpu: 500m, memory: 1536Mi}
)yaml";

TEST(ResourceReport, MarksWhatDiffers) {
  const auto pods = pod::ParseManifests(kPod, "pod.yaml");
  ASSERT_TRUE(pods.ok()) << pods.status();
  const auto configs = pod::ToCri(pods->front(), {});
  ASSERT_TRUE(configs.ok()) << configs.status();
  const cri::ContainerConfig& config = configs->containers[0];
  cri::ContainerResources held;
  *held.mutable_linux() = config.linux().resources();
  // The shares that come back from a weight of cgroup v2.
  held.mutable_linux()->set_cpu_shares(102);
  for (const ResourceLine& line : CompareResources(config, held)) {
    EXPECT_FALSE(line.differs) << line.resource;
  }
  held.mutable_linux()->set_memory_limit_in_bytes(64 << 20);
  held.mutable_linux()->set_cpuset_cpus("0-1");
  std::vector<std::string> differing;
  for (const ResourceLine& line : CompareResources(config, held)) {
    if (line.differs) differing.push_back(absl::StrCat(line.resource, " ", line.held));
  }
  EXPECT_THAT(differing, ElementsAre("cpuset 0-1", "memory limit 64 MiB"));
  EXPECT_EQ(CompareResources(config, cri::ContainerResources())[0].held, "-");
}

TEST(ResourceReport, AnUpdateKeepsTheOrder) {
  cri::LinuxContainerResources before;
  before.set_cpu_shares(51);
  before.set_cpu_quota(50000);
  before.set_cpu_period(100000);
  before.set_memory_limit_in_bytes(64 << 20);
  cri::LinuxContainerResources after = before;
  after.set_cpu_quota(-1);
  after.set_cpuset_cpus("0");
  std::vector<std::string> lines;
  for (const ResourceChange& change : CompareStates(before, after)) {
    lines.push_back(absl::StrCat(change.resource, ": ", change.before, " > ", change.now));
  }
  EXPECT_THAT(lines,
              ElementsAre("cpu shares: 51 > 51", "cpu quota: 50000/100000 us (500m) > no limit",
                          "cpuset cpus: no limit > 0", "memory limit: 64 MiB > 64 MiB",
                          "oom score adjustment: 0 > 0"));
  before.clear_memory_limit_in_bytes();
  EXPECT_EQ(CompareStates(before, after)[3].before, "no limit");
}

TEST(PodResources, WhatIsHeldIsShownAndWhatWasAskedForWhereItDiffers) {
  cri::PodSandboxStatusResponse response;
  (*response.mutable_info())["resources"] = kBoth;
  const auto resources = PodResourcesOf(response);
  ASSERT_TRUE(resources.has_value());
  EXPECT_EQ(resources->asked.memory_limit_in_bytes(), 66 << 20);
  // 501 and 512 shares have the same weight.
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
