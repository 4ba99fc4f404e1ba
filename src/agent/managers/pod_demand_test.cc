#include "agent/managers/pod_demand.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/managers/managers_for_test.h"

namespace plimsoll::agent {
namespace {

using ::testing::Pair;
using ::testing::UnorderedElementsAre;

TEST(PodDemandTest, APodNeedsWhatRunsAtATime) {
  const PodDemand demand =
      DemandOf(PodOf({SidecarOf("s", {{"cpu", "1"}, {"memory", "1Gi"}}),
                      InitOf("i", {{"cpu", "5"}, {"memory", "1Gi"}, {"hugepages-2Mi", "2Mi"}}),
                      SidecarOf("t", {{"cpu", "1"}, {"memory", "1Gi"}}),
                      ContainerOf("c", {{"cpu", "3"}, {"memory", "4Gi"}})}),
               true);
  EXPECT_EQ(demand.pod.cpus, 6);
  // Huge pages that only an init container requests aren't counted, as kubelet doesn't.
  EXPECT_THAT(*demand.pod.memory, UnorderedElementsAre(Pair("memory", 6 * kGi)));
  EXPECT_THAT(*demand.containers[1].memory,
              UnorderedElementsAre(Pair("memory", kGi), Pair("hugepages-2Mi", 2 << 20)));
}

TEST(PodDemandTest, DevicesAreOfEveryPod) {
  const PodDemand demand =
      DemandOf(PodOf({InitOf("i", {{"v.com/gpu", "3"}, {"ephemeral-storage", "1Gi"}}),
                      ContainerOf("c", {{"v.com/gpu", "1"}, {"cpu", "1"}})}),
               true);
  EXPECT_THAT(demand.containers[0].devices, UnorderedElementsAre(Pair("v.com/gpu", 3)));
  EXPECT_THAT(demand.pod.devices, UnorderedElementsAre(Pair("v.com/gpu", 3)));
  EXPECT_EQ(demand.containers[1].cpus, 0) << "the pod is Burstable";
  EXPECT_FALSE(demand.containers[1].memory.has_value());
}

TEST(PodDemandTest, PodsOfTheirOwnAreGuaranteedByTheirOwn) {
  const pod::Manifest pod = PodOf(
      {{"cpu", "4"}, {"memory", "4Gi"}},
      {ContainerOf("a", {{"cpu", "2"}}), ContainerOf("b", {{"cpu", "2"}, {"memory", "1Gi"}})});
  const PodDemand demand = DemandOf(pod, true);
  EXPECT_TRUE(demand.has_own_resources);
  EXPECT_EQ(demand.pod.cpus, 4);
  EXPECT_EQ(demand.containers[0].cpus, 0) << "it has no memory of its own";
  EXPECT_TRUE(demand.containers[0].memory->empty());
  EXPECT_EQ(demand.containers[1].cpus, 2);
  EXPECT_EQ(DemandOf(pod, false).pod.cpus, 0);
  EXPECT_FALSE(DemandOf(pod, false).pod.memory.has_value());
}

TEST(PodDemandTest, FractionsOfBytesAreOdd) {
  const PodDemand demand = DemandOf(PodOfCpus("1", "1100m"), true);
  EXPECT_TRUE(demand.containers[0].has_odd_memory);
  EXPECT_TRUE(demand.pod.has_odd_memory);
  EXPECT_TRUE(demand.containers[0].memory->empty());
}

TEST(PodDemandTest, PoolsOfPodsWithRoomHaveNoFault) {
  const AmountsForTest one = {{"cpu", "1"}, {"memory", "1Gi"}};
  const PodDemand all_own = DemandOf(PodOf(one, {ContainerOf("a", one)}), true);
  EXPECT_EQ(CpuPoolFault(all_own), "");
  EXPECT_EQ(MemoryPoolFault(all_own), "");
  const PodDemand none = DemandOf(PodOf({ContainerOf("a", {})}), true);
  EXPECT_EQ(MemoryPoolFault(none), "");
}

}  // namespace
}  // namespace plimsoll::agent
