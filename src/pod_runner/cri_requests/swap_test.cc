#include "pod_runner/cri_requests/swap.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "base/dir_for_test.h"
#include "pod_runner/cri_requests/to_cri.h"

namespace plimsoll::pod {
namespace {

constexpr int64_t kGiB = int64_t{1} << 30;

Manifest PodWith(const std::string& resources) {
  const auto pods = ParseManifests(
      absl::StrCat("{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: a, "
                   "image: i, resources: ",
                   resources, "}]}}"),
      "p.yaml");
  EXPECT_TRUE(pods.ok()) << pods.status();
  return pods->front();
}

PodContext Context(std::optional<SwapBehavior> swap, SwapControl control) {
  PodContext context;
  context.memory_capacity_bytes = 8 * kGiB;
  context.swap_capacity_bytes = 4 * kGiB;
  context.swap = swap;
  context.swap_control = control;
  return context;
}

cri::LinuxContainerResources Sent(const std::string& resources, const PodContext& context) {
  const auto limits = LimitsToCri(PodWith(resources), 0, context);
  EXPECT_TRUE(limits.ok()) << limits.status();
  return limits.ok() ? *limits : cri::LinuxContainerResources();
}
std::string SwapMax(const std::string& resources, const PodContext& context) {
  const auto sent = Sent(resources, context);
  const auto it = sent.unified().find("memory.swap.max");
  return it == sent.unified().end() ? "" : it->second;
}

constexpr char kBurstable[] = "{requests: {memory: 1Gi}, limits: {memory: 2Gi}}";

TEST(Swap, LimitedSwapSharesItOutByRequests) {
  const PodContext context = Context(SwapBehavior::kLimitedSwap, SwapControl::kV2);
  EXPECT_EQ(SwapMax(kBurstable, context), "536870912");
  EXPECT_EQ(SwapMax("{requests: {memory: 2Gi}}", context), "1073741824");
  EXPECT_EQ(Sent(kBurstable, context).memory_swap_limit_in_bytes(), 0);
}

TEST(Swap, LimitedSwapIsForContainersOfBurstablePodsThatRequestSomeMemory) {
  const PodContext context = Context(SwapBehavior::kLimitedSwap, SwapControl::kV2);
  EXPECT_EQ(SwapMax("{}", context), "0") << "BestEffort";
  EXPECT_EQ(SwapMax("{limits: {cpu: 1, memory: 1Gi}}", context), "0") << "Guaranteed";
  EXPECT_EQ(SwapMax("{limits: {memory: 1Gi}}", context), "0") << "request equals limit";
  EXPECT_EQ(SwapMax("{requests: {cpu: 1}}", context), "0") << "no request of memory";
  EXPECT_EQ(SwapMax("{requests: {memory: 9Gi}}", context), "0") << "more than the node has";
  PodContext critical = context;
  critical.is_critical = true;
  EXPECT_EQ(SwapMax(kBurstable, critical), "0");
}

TEST(Swap, WithoutAControlNothingIsSent) {
  for (const SwapBehavior swap : {SwapBehavior::kNoSwap, SwapBehavior::kLimitedSwap}) {
    EXPECT_EQ(SwapMax(kBurstable, Context(swap, SwapControl::kNone)), "");
    EXPECT_EQ(Sent(kBurstable, Context(swap, SwapControl::kNone)).memory_swap_limit_in_bytes(), 0);
  }
  EXPECT_EQ(SwapMax(kBurstable, Context(std::nullopt, SwapControl::kV2)), "")
      << "the runtime's choice";
}

TEST(Swap, NobodySwapsWithCgroupV1) {
  for (const SwapBehavior swap : {SwapBehavior::kNoSwap, SwapBehavior::kLimitedSwap}) {
    const auto sent = Sent(kBurstable, Context(swap, SwapControl::kV1));
    EXPECT_EQ(sent.memory_swap_limit_in_bytes(), 2 * kGiB);
    EXPECT_EQ(sent.unified_size(), 0);
    EXPECT_EQ(Sent("{}", Context(swap, SwapControl::kV1)).memory_swap_limit_in_bytes(), 0);
  }
  EXPECT_EQ(SwapMax(kBurstable, Context(SwapBehavior::kNoSwap, SwapControl::kV2)), "0");
}

TEST(Swap, TheControlIsFoundWhereTheKernelHasIt) {
  TestDir dir;
  EXPECT_EQ(SwapControlOf(dir.root()), SwapControl::kNone);
  ASSERT_TRUE(dir.root().MakeDirs("sys/fs/cgroup/memory").ok());
  EXPECT_EQ(SwapControlOf(dir.root()), SwapControl::kNone) << "swapaccount=0";
  ASSERT_TRUE(dir.root().ReplaceFile("sys/fs/cgroup/memory/memory.memsw.limit_in_bytes", "1").ok());
  EXPECT_EQ(SwapControlOf(dir.root()), SwapControl::kV1);

  ASSERT_TRUE(dir.root().ReplaceFile("sys/fs/cgroup/cgroup.controllers", "memory").ok());
  EXPECT_EQ(SwapControlOf(dir.root()), SwapControl::kNone) << "no /proc/self/cgroup";
  ASSERT_TRUE(dir.root().MakeDirs("proc/self").ok());
  ASSERT_TRUE(dir.root().ReplaceFile("proc/self/cgroup", "0::/agent.service\n").ok());
  EXPECT_EQ(SwapControlOf(dir.root()), SwapControl::kNone);
  ASSERT_TRUE(dir.root().MakeDirs("sys/fs/cgroup/agent.service").ok());
  ASSERT_TRUE(dir.root().ReplaceFile("sys/fs/cgroup/agent.service/memory.max", "max").ok());
  EXPECT_EQ(SwapControlOf(dir.root()), SwapControl::kNone) << "a kernel that doesn't count swap";
  ASSERT_TRUE(dir.root().ReplaceFile("sys/fs/cgroup/agent.service/memory.swap.max", "max").ok());
  EXPECT_EQ(SwapControlOf(dir.root()), SwapControl::kV2);
}

// The root group has none of the files.
TEST(Swap, AnAgentInTheRootGroupLooksAtTheGroupsBelow) {
  TestDir dir;
  ASSERT_TRUE(dir.root().MakeDirs("proc/self").ok());
  ASSERT_TRUE(dir.root().ReplaceFile("proc/self/cgroup", "0::/\n").ok());
  ASSERT_TRUE(dir.root().MakeDirs("sys/fs/cgroup/a-group-without-memory").ok());
  ASSERT_TRUE(dir.root().MakeDirs("sys/fs/cgroup/kubepods").ok());
  ASSERT_TRUE(dir.root().ReplaceFile("sys/fs/cgroup/cgroup.controllers", "memory").ok());
  EXPECT_EQ(SwapControlOf(dir.root()), SwapControl::kNone);
  ASSERT_TRUE(dir.root().ReplaceFile("sys/fs/cgroup/kubepods/memory.max", "max").ok());
  EXPECT_EQ(SwapControlOf(dir.root()), SwapControl::kNone) << "a kernel that doesn't count swap";
  ASSERT_TRUE(dir.root().ReplaceFile("sys/fs/cgroup/kubepods/memory.swap.max", "max").ok());
  EXPECT_EQ(SwapControlOf(dir.root()), SwapControl::kV2);
}

// --- places

TEST(Places, CpusOfTheManagersStandBeforeTheAnnotation) {
  Manifest pod = PodWith("{limits: {cpu: 2, memory: 1Gi}}");
  pod.annotations[kCpusetAnnotation] = "7";
  PodContext context;
  EXPECT_EQ(LimitsToCri(pod, 0, context)->cpuset_cpus(), "7");
  context.places["a"] = {.cpus = "2-3", .memory_nodes = "1", .exclusive = true};
  const auto placed = LimitsToCri(pod, 0, context);
  EXPECT_EQ(placed->cpuset_cpus(), "2-3");
  EXPECT_EQ(placed->cpuset_mems(), "1");
  EXPECT_EQ(placed->cpu_quota(), -1) << "exclusive CPUs have no quota beside them";
  EXPECT_EQ(placed->cpu_period(), 100'000);
  EXPECT_EQ(GroupToCri(pod, context)->cpu_quota(), -1);

  context.places["a"].exclusive = false;
  EXPECT_EQ(LimitsToCri(pod, 0, context)->cpu_quota(), 200'000);
  EXPECT_EQ(GroupToCri(pod, context)->cpu_quota(), 0);
  context.places["a"] = {};
  EXPECT_EQ(LimitsToCri(pod, 0, context)->cpuset_cpus(), "7") << "the runtime's choice";
}

TEST(Places, APodsOwnQuotaStaysForContainersWithoutCpusOfTheirOwn) {
  const auto pods = ParseManifests(
      "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {resources: {limits: {cpu: 3, "
      "memory: "
      "1Gi}}, containers: [{name: a, image: i, resources: {limits: {cpu: 2, memory: 1Mi}}}, {name: "
      "b, image: i}]}}",
      "p.yaml");
  ASSERT_TRUE(pods.ok()) << pods.status();
  PodContext context;
  context.places["a"] = {.cpus = "2-3", .memory_nodes = "", .exclusive = true};
  context.places["b"] = {.cpus = "4", .memory_nodes = "", .exclusive = false};
  EXPECT_EQ(GroupToCri(pods->front(), context)->cpu_quota(), 300'000);
  context.places["b"].exclusive = true;
  EXPECT_EQ(GroupToCri(pods->front(), context)->cpu_quota(), -1);
}

}  // namespace
}  // namespace plimsoll::pod
