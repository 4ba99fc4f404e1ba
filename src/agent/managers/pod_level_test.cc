// Pods with resources of their own (KEP-2837).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/managers/allocation_ledger.h"
#include "agent/managers/managers_for_test.h"

namespace plimsoll::agent {
namespace {

ManagerOptions PodScope(TopologyPolicy policy) {
  ManagerOptions options = StaticOptions();
  options.topology.policy = policy;
  options.topology.scope = TopologyScope::kPod;
  return options;
}

class PodLevelTest : public testing::Test {
 protected:
  PodGrant Admit(const ManagerOptions& options, const pod::Manifest& pod) {
    AllocationLedger ledger(ManagersOf(options, MapsOf({})), {}, nullptr);
    PodGrant grant;
    const auto rejection = ledger.Allocate(pod, grant);
    refusal_ = rejection ? rejection->reason + ": " + rejection->message : "";
    exclusive_ = ledger.exclusive_cpus().ToString();
    return grant;
  }

  std::string refusal_;
  std::string exclusive_;
};

const AmountsForTest kOwn = {{"cpu", "6"}, {"memory", "4Gi"}};
const AmountsForTest kTwo = {{"cpu", "2"}, {"memory", "1Gi"}};

TEST_F(PodLevelTest, ThePodsCpusAndMemoryAreDivided) {
  const PodGrant grant =
      Admit(PodScope(TopologyPolicy::kRestricted),
            PodOf(kOwn, {ContainerOf("own", kTwo), ContainerOf("shares", {}),
                         ContainerOf("too", {{"cpu", "1500m"}, {"memory", "1Gi"}})}));
  EXPECT_EQ(refusal_, "");
  EXPECT_EQ(grant.pod.cpus.ToString(), "1-3,9-11");
  EXPECT_EQ(grant.pod.cpu_count, 6);
  EXPECT_EQ(MemoryIn(grant.pod), "memory=4294967296@0");
  EXPECT_EQ(CpusIn(grant, "own"), "1,9");
  EXPECT_EQ(grant.containers.at("own").cpu_count, 2);
  EXPECT_FALSE(grant.containers.contains("shares"));
  // A fraction counts as 0 CPUs of its own, beside memory of its own.
  EXPECT_EQ(CpusIn(grant, "too"), "");
  EXPECT_EQ(MemoryIn(grant.containers.at("own")), "memory=1073741824@0");
  EXPECT_EQ(MemoryIn(grant.containers.at("too")), "memory=1073741824@0");
  EXPECT_EQ(exclusive_, "1-3,9-11");
}

TEST_F(PodLevelTest, InitContainersHaveWhatSidecarsLeave) {
  const PodGrant grant =
      Admit(PodScope(TopologyPolicy::kRestricted),
            PodOf(kOwn, {InitOf("before", {}), SidecarOf("side", kTwo), InitOf("shares", {}),
                         InitOf("own", kTwo), SidecarOf("quiet", {}), ContainerOf("main", kTwo)}));
  EXPECT_EQ(refusal_, "");
  EXPECT_EQ(grant.pod.cpus.ToString(), "1-3,9-11");
  EXPECT_EQ(CpusIn(grant, "side"), "1,9");
  EXPECT_EQ(CpusIn(grant, "own"), "2,10");
  EXPECT_EQ(CpusIn(grant, "main"), "2,10");
  EXPECT_EQ(MemoryIn(grant.containers.at("own")), "memory=1073741824@0");
  EXPECT_EQ(grant.containers.size(), 3u) << "others share";
}

TEST_F(PodLevelTest, LimitsStandForRequests) {
  pod::Manifest pod = PodOf(kOwn, {ContainerOf("a", {})});
  pod.resources->requests.clear();
  EXPECT_EQ(Admit(PodScope(TopologyPolicy::kRestricted), pod).pod.cpus.ToString(), "1-3,9-11");
}

TEST_F(PodLevelTest, APodOfAFractionHasMemoryOnly) {
  const PodGrant grant =
      Admit(PodScope(TopologyPolicy::kRestricted),
            PodOf({{"cpu", "2500m"}, {"memory", "4Gi"}}, {ContainerOf("a", {})}));
  EXPECT_EQ(refusal_, "");
  EXPECT_EQ(exclusive_, "");
  EXPECT_EQ(MemoryIn(grant.pod), "memory=4294967296@0");
}

TEST_F(PodLevelTest, AnEmptyPoolIsRefused) {
  const pod::Manifest pod =
      PodOf({{"cpu", "2"}, {"memory", "4Gi"}}, {ContainerOf("a", kTwo), ContainerOf("b", {})});
  Admit(PodScope(TopologyPolicy::kBestEffort), pod);
  EXPECT_EQ(refusal_,
            "EmptyPodSharedPoolError: pod rejected, sum of exclusive container cpu requests equals "
            "pod budget, leaving no cpus for shared containers");
  Admit(PodScope(TopologyPolicy::kRestricted), pod);
  EXPECT_EQ(refusal_,
            "TopologyAffinityError: Pod Scope pod with pod-level resources failed admission under "
            "pod-scope topology manager");
}

TEST_F(PodLevelTest, AnEmptyPoolOfMemoryOrForInitContainersIsRefused) {
  Admit(PodScope(TopologyPolicy::kBestEffort),
        PodOf({{"cpu", "4"}, {"memory", "1Gi"}}, {ContainerOf("a", kTwo), ContainerOf("b", {})}));
  EXPECT_EQ(refusal_,
            "EmptyPodSharedPoolError: pod rejected, sum of exclusive container memory requests "
            "equals pod budget, leaving no memory for shared containers");
  Admit(PodScope(TopologyPolicy::kBestEffort),
        PodOf({{"cpu", "2"}, {"memory", "4Gi"}}, {SidecarOf("a", kTwo), InitOf("b", {})}));
  EXPECT_EQ(refusal_,
            "EmptyPodSharedPoolError: pod rejected, pod has shared init containers but no cpus "
            "available for them");
}

TEST_F(PodLevelTest, WithoutTheGateSuchPodsShare) {
  ManagerOptions options = PodScope(TopologyPolicy::kRestricted);
  options.pod_level = false;
  EXPECT_TRUE(Admit(options, PodOf(kOwn, {ContainerOf("a", kTwo)})).Empty());
  EXPECT_EQ(refusal_, "");
}

TEST_F(PodLevelTest, ContainerScopeServesContainersThatAreGuaranteedThemselves) {
  ManagerOptions options = StaticOptions();
  options.topology.policy = TopologyPolicy::kRestricted;
  options.static_memory = false;
  const PodGrant grant =
      Admit(options, PodOf(kOwn, {ContainerOf("own", kTwo), ContainerOf("shares", {})}));
  EXPECT_EQ(refusal_, "");
  EXPECT_TRUE(grant.pod.Empty());
  EXPECT_EQ(CpusIn(grant, "own"), "1,9");
  EXPECT_FALSE(grant.containers.contains("shares"));
  // Only node 1 has as many of the pod's own 8, but the container's 8 don't fit beside "own".
  Admit(options, PodOf({{"cpu", "14"}, {"memory", "4Gi"}},
                       {ContainerOf("own", {{"cpu", "8"}, {"memory", "1Gi"}}),
                        ContainerOf("late", {{"cpu", "8"}, {"memory", "1Gi"}})}));
  EXPECT_EQ(refusal_,
            "TopologyAffinityError: Pod Scope pod with pod-level resources failed admission with a "
            "container-level topology manager");
}

// kubelet asks its memory manager for nothing, and that finds no node to hold it.
TEST_F(PodLevelTest, StaticMemoryRefusesContainersThatShareWithoutPodScope) {
  Admit(StaticOptions(), PodOf(kOwn, {ContainerOf("shares", {})}));
  EXPECT_EQ(refusal_,
            "UnexpectedAdmissionError: Allocate failed due to [memorymanager] failed to get the "
            "default NUMA affinity, no NUMA nodes with enough memory is available, which is "
            "unexpected");
}

}  // namespace
}  // namespace plimsoll::agent
