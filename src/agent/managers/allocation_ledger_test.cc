#include "agent/managers/allocation_ledger.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "agent/managers/managers_for_test.h"

namespace plimsoll::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

ManagerOptions Aligned(TopologyPolicy policy, TopologyScope scope = TopologyScope::kContainer) {
  ManagerOptions options = StaticOptions();
  options.topology.policy = policy;
  options.topology.scope = scope;
  return options;
}

// Node 0 has CPUs 0-3,8-11, node 1 has 4-7,12-15; CPU n and n + 8 are one core.
class AllocationLedgerTest : public testing::Test {
 protected:
  AllocationLedger LedgerOf(const ManagerOptions& options, DeviceStock devices = {}) {
    return AllocationLedger(ManagersOf(options, MapsOf({})), std::move(devices), nullptr);
  }
  static PodGrant Admit(AllocationLedger& ledger, const pod::Manifest& pod,
                        const PodGrant* wish = nullptr) {
    PodGrant grant;
    const auto rejection = ledger.Allocate(pod, grant, wish);
    EXPECT_FALSE(rejection.has_value()) << rejection->reason << ": " << rejection->message;
    return grant;
  }
  // "reason: message"; empty: the pod was taken.
  static std::string Refusal(AllocationLedger& ledger, const pod::Manifest& pod) {
    PodGrant grant;
    grant.pod.cpu_count = 77;
    const PodGrant before = grant;
    const resources::CpuSet exclusive = ledger.exclusive_cpus();
    const auto rejection = ledger.Allocate(pod, grant);
    if (!rejection) return "";
    EXPECT_EQ(grant, before);
    EXPECT_EQ(ledger.exclusive_cpus(), exclusive);
    return rejection->reason + ": " + rejection->message;
  }
};

TEST_F(AllocationLedgerTest, AGuaranteedContainerGetsWholeCoresAndMemory) {
  AllocationLedger ledger = LedgerOf(StaticOptions());
  const PodGrant grant = Admit(ledger, PodOfCpus("2"));
  EXPECT_EQ(CpusIn(grant, "main"), "1,9");
  EXPECT_EQ(grant.containers.at("main").cpu_count, 2);
  EXPECT_EQ(MemoryIn(grant.containers.at("main")), "memory=1073741824@0");
  EXPECT_TRUE(grant.pod.Empty());
  EXPECT_EQ(ledger.exclusive_cpus().ToString(), "1,9");
  EXPECT_EQ(ledger.shared_cpus()->ToString(), "0,2-8,10-15");
}

TEST_F(AllocationLedgerTest, NobodyGetsCpusThatAnotherHolds) {
  AllocationLedger ledger = LedgerOf(StaticOptions());
  PodGrant held;
  held.containers["x"] = {.cpus = CpusOfText("1,9"), .cpu_count = 2, .memory = {}};
  ledger.Hold(held);
  EXPECT_EQ(CpusIn(Admit(ledger, PodOfCpus("2")), "main"), "2,10");
  EXPECT_EQ(ledger.exclusive_cpus().ToString(), "1-2,9-10");
}

TEST_F(AllocationLedgerTest, OnlyWholeCpusOfGuaranteedPodsAreExclusive) {
  AllocationLedger ledger = LedgerOf(StaticOptions());
  const PodGrant half = Admit(ledger, PodOfCpus("1500m"));
  EXPECT_EQ(CpusIn(half, "main"), "");
  EXPECT_EQ(MemoryIn(half.containers.at("main")), "memory=1073741824@0");
  EXPECT_EQ(CpusIn(Admit(ledger, PodOfCpus("2000m")), "main"), "1,9");
  pod::Manifest burstable = PodOfCpus("2");
  burstable.containers[0].resources.limits.erase("memory");
  EXPECT_TRUE(Admit(ledger, burstable).Empty());
  EXPECT_TRUE(Admit(ledger, PodOf({ContainerOf("main", {})})).Empty());
}

TEST_F(AllocationLedgerTest, LimitsStandForRequestsThatAreMissing) {
  AllocationLedger ledger = LedgerOf(StaticOptions());
  pod::Manifest pod = PodOfCpus("2");
  pod.containers[0].resources.requests.clear();
  EXPECT_EQ(CpusIn(Admit(ledger, pod), "main"), "1,9");
}

TEST_F(AllocationLedgerTest, PoliciesOfNoneGiveNothing) {
  ManagerOptions options = StaticOptions();
  options.static_cpus = false;
  AllocationLedger no_cpus = LedgerOf(options);
  const PodGrant memory = Admit(no_cpus, PodOfCpus("2"));
  EXPECT_EQ(CpusIn(memory, "main"), "");
  EXPECT_EQ(memory.containers.at("main").memory.size(), 1u);
  EXPECT_FALSE(no_cpus.shared_cpus().has_value());
  AllocationLedger nothing = LedgerOf(ManagerOptions());
  EXPECT_TRUE(Admit(nothing, PodOfCpus("2")).Empty());
}

TEST_F(AllocationLedgerTest, ContainersTakeOverWhatInitContainersHad) {
  AllocationLedger ledger = LedgerOf(StaticOptions());
  const PodGrant grant =
      Admit(ledger, PodOf({InitOf("first", {{"cpu", "4"}, {"memory", "2Gi"}}),
                           ContainerOf("main", {{"cpu", "2"}, {"memory", "1Gi"}}),
                           ContainerOf("other", {{"cpu", "4"}, {"memory", "3Gi"}})}));
  EXPECT_EQ(CpusIn(grant, "first"), "1-2,9-10");
  EXPECT_EQ(CpusIn(grant, "main"), "1,9");
  EXPECT_EQ(CpusIn(grant, "other"), "2-3,10-11");
  EXPECT_EQ(ledger.exclusive_cpus().ToString(), "1-3,9-11");
  // All memory of the init container is another's by now.
  EXPECT_EQ(MemoryIn(grant.containers.at("first")), "memory=0@0");
  EXPECT_EQ(MemoryIn(grant.containers.at("main")), "memory=1073741824@0");
  EXPECT_EQ(MemoryIn(grant.containers.at("other")), "memory=3221225472@0");
}

TEST_F(AllocationLedgerTest, WhatNoContainerTakesOverStaysWithTheInitContainer) {
  AllocationLedger ledger = LedgerOf(StaticOptions());
  const PodGrant grant =
      Admit(ledger, PodOf({InitOf("first", {{"cpu", "4"}, {"memory", "3Gi"}}),
                           InitOf("second", {{"cpu", "2"}, {"memory", "1Gi"}}),
                           ContainerOf("main", {{"cpu", "2"}, {"memory", "1Gi"}})}));
  EXPECT_EQ(CpusIn(grant, "first"), "1-2,9-10");
  EXPECT_EQ(CpusIn(grant, "second"), "1,9");
  EXPECT_EQ(CpusIn(grant, "main"), "1,9");
  EXPECT_EQ(ledger.exclusive_cpus().ToString(), "1-2,9-10");
  int64_t sum = 0;
  for (const auto& [name, container] : grant.containers) sum += container.memory.front().bytes;
  EXPECT_EQ(sum, 3 * kGi);
}

TEST_F(AllocationLedgerTest, ASidecarKeepsWhatItHas) {
  AllocationLedger ledger = LedgerOf(StaticOptions());
  const PodGrant grant =
      Admit(ledger, PodOf({SidecarOf("side", {{"cpu", "2"}, {"memory", "1Gi"}}),
                           ContainerOf("main", {{"cpu", "2"}, {"memory", "1Gi"}})}));
  EXPECT_EQ(CpusIn(grant, "side"), "1,9");
  EXPECT_EQ(CpusIn(grant, "main"), "2,10");
}

TEST_F(AllocationLedgerTest, RestrictedPutsAContainerOnOneNode) {
  AllocationLedger ledger = LedgerOf(Aligned(TopologyPolicy::kRestricted));
  // Node 0 has seven free ones.
  const PodGrant grant = Admit(ledger, PodOfCpus("8"));
  EXPECT_EQ(CpusIn(grant, "main"), "4-7,12-15");
  EXPECT_EQ(MemoryIn(grant.containers.at("main")), "memory=1073741824@1");
  EXPECT_EQ(Refusal(ledger, PodOfCpus("8")),
            "TopologyAffinityError: Resources cannot be allocated with Topology locality");
  EXPECT_EQ(CpusIn(Admit(ledger, PodOfCpus("6")), "main"), "1-3,9-11");
}

TEST_F(AllocationLedgerTest, BestEffortTakesWhatThereIs) {
  AllocationLedger ledger = LedgerOf(Aligned(TopologyPolicy::kBestEffort));
  Admit(ledger, PodOfCpus("6"));
  const PodGrant grant = Admit(ledger, PodOfCpus("9", "1Gi"));
  EXPECT_EQ(grant.containers.at("main").cpus.Size(), 9u);
  EXPECT_TRUE(ledger.exclusive_cpus().Intersection(CpusOfText("0")).Empty());
}

TEST_F(AllocationLedgerTest, PodScopePutsAllContainersTogether) {
  AllocationLedger ledger = LedgerOf(Aligned(TopologyPolicy::kSingleNumaNode, TopologyScope::kPod));
  const PodGrant grant =
      Admit(ledger, PodOf({ContainerOf("a", {{"cpu", "4"}, {"memory", "1Gi"}}),
                           ContainerOf("b", {{"cpu", "4"}, {"memory", "1Gi"}})}));
  EXPECT_EQ(CpusIn(grant, "a"), "4-5,12-13");
  EXPECT_EQ(CpusIn(grant, "b"), "6-7,14-15");
  EXPECT_EQ(Refusal(ledger, PodOf({ContainerOf("a", {{"cpu", "4"}, {"memory", "1Gi"}}),
                                   ContainerOf("b", {{"cpu", "4"}, {"memory", "1Gi"}})})),
            "TopologyAffinityError: Resources cannot be allocated with Topology locality");
}

// The most at a time: 6 while init containers run, 4 afterwards.
TEST_F(AllocationLedgerTest, PodScopeCountsWhatRunsAtATime) {
  AllocationLedger ledger = LedgerOf(Aligned(TopologyPolicy::kSingleNumaNode, TopologyScope::kPod));
  const PodGrant grant =
      Admit(ledger, PodOf({SidecarOf("side", {{"cpu", "2"}, {"memory", "1Gi"}}),
                           InitOf("first", {{"cpu", "4"}, {"memory", "1Gi"}}),
                           ContainerOf("main", {{"cpu", "2"}, {"memory", "1Gi"}})}));
  EXPECT_EQ(CpusIn(grant, "side"), "1,9");
  EXPECT_EQ(CpusIn(grant, "first"), "2-3,10-11");
  EXPECT_EQ(CpusIn(grant, "main"), "2,10");
}

TEST_F(AllocationLedgerTest, WordsOfRefusalsAreKubelets) {
  ManagerOptions options = StaticOptions();
  AllocationLedger ledger = LedgerOf(options);
  EXPECT_EQ(Refusal(ledger, PodOfCpus("16")),
            "UnexpectedAdmissionError: Allocate failed due to not enough cpus available to satisfy "
            "request: requested=16, available=15, which is unexpected");
  EXPECT_EQ(Refusal(ledger, PodOfCpus("1", "64Gi")),
            "UnexpectedAdmissionError: Allocate failed due to [memorymanager] failed to get the "
            "default NUMA affinity, no NUMA nodes with enough memory is available, which is "
            "unexpected");
  EXPECT_EQ(Refusal(ledger, PodOfCpus("1", "1500m")),
            "UnexpectedAdmissionError: Allocate failed due to [memorymanager] failed to represent "
            "quantity as int64, which is unexpected");
  options.cpu_options.full_pcpus_only = true;
  AllocationLedger whole = LedgerOf(options);
  EXPECT_EQ(Refusal(whole, PodOfCpus("1")),
            "SMTAlignmentError: SMT Alignment Error: requested 1 cpus not multiple cpus per core "
            "= 2");
}

DeviceStock TwoGpus() {
  return {{"v.com/gpu",
           {.devices = {{.id = "far", .nodes = NodeMask::Of(1)},
                        {.id = "near", .nodes = NodeMask::Of(0)}}}}};
}

TEST_F(AllocationLedgerTest, DevicesAndCpusAreOnOneNode) {
  AllocationLedger ledger = LedgerOf(Aligned(TopologyPolicy::kSingleNumaNode), TwoGpus());
  Admit(ledger, PodOfCpus("7"));  // node 0 is full
  pod::Manifest pod =
      PodOf({ContainerOf("main", {{"cpu", "2"}, {"memory", "1Gi"}, {"v.com/gpu", "1"}})});
  const PodGrant grant = Admit(ledger, pod);
  EXPECT_THAT(grant.devices.at("main").at("v.com/gpu"), ElementsAre("far"));
  EXPECT_EQ(CpusIn(grant, "main"), "4,12");
  EXPECT_THAT(Refusal(ledger, pod), HasSubstr("TopologyAffinityError"));
}

TEST_F(AllocationLedgerTest, DevicesOfInitContainersAreTakenOver) {
  AllocationLedger ledger = LedgerOf(ManagerOptions(), TwoGpus());
  const PodGrant grant = Admit(
      ledger, PodOf({InitOf("first", {{"v.com/gpu", "2"}}), ContainerOf("a", {{"v.com/gpu", "1"}}),
                     ContainerOf("b", {{"v.com/gpu", "1"}})}));
  EXPECT_THAT(grant.devices.at("first").at("v.com/gpu"), ElementsAre("far", "near"));
  EXPECT_NE(grant.devices.at("a").at("v.com/gpu"), grant.devices.at("b").at("v.com/gpu"));
  EXPECT_EQ(Refusal(ledger, PodOf({ContainerOf("a", {{"v.com/gpu", "1"}})})),
            "UnexpectedAdmissionError: Allocate failed due to requested number of devices "
            "unavailable for v.com/gpu. Requested: 1, Available: 0, which is unexpected");
}

TEST_F(AllocationLedgerTest, AResourceThatIsNoDeviceIsNoneOfItsBusiness) {
  AllocationLedger ledger = LedgerOf(ManagerOptions(), TwoGpus());
  EXPECT_TRUE(Admit(ledger, PodOf({ContainerOf("a", {{"v.com/other", "1"}})})).Empty());
  PodGrant held;
  held.devices = {{"x", {{"v.com/gone", {"g"}}}}};
  ledger.Hold(held);
  EXPECT_THAT(Refusal(ledger, PodOf({ContainerOf("a", {{"v.com/gone", "1"}})})),
              HasSubstr("cannot allocate unregistered device v.com/gone"));
}

TEST_F(AllocationLedgerTest, AWishIsTakenWhereItIsFree) {
  AllocationLedger ledger = LedgerOf(StaticOptions(), TwoGpus());
  pod::Manifest pod =
      PodOf({ContainerOf("main", {{"cpu", "2"}, {"memory", "1Gi"}, {"v.com/gpu", "1"}})});
  PodGrant wish;
  wish.containers["main"] = {.cpus = CpusOfText("5,13"),
                             .cpu_count = 2,
                             .memory = {{"memory", NodeMask::Of(1), kGi, {{1, kGi}}}}};
  wish.devices = {{"main", {{"v.com/gpu", {"near"}}}}};
  const PodGrant grant = Admit(ledger, pod, &wish);
  EXPECT_EQ(CpusIn(grant, "main"), "5,13");
  EXPECT_EQ(MemoryIn(grant.containers.at("main")), "memory=1073741824@1");
  EXPECT_THAT(grant.devices.at("main").at("v.com/gpu"), ElementsAre("near"));
  // It is gone by now.
  const PodGrant second = Admit(ledger, pod, &wish);
  EXPECT_EQ(CpusIn(second, "main"), "4,12") << "node 1 is fuller";
  EXPECT_EQ(MemoryIn(second.containers.at("main")), "memory=1073741824@1");
  EXPECT_THAT(second.devices.at("main").at("v.com/gpu"), ElementsAre("far"));
}

TEST_F(AllocationLedgerTest, AWishOfAnotherSizeOrAgainstThePolicyIsIgnored) {
  AllocationLedger ledger = LedgerOf(Aligned(TopologyPolicy::kRestricted));
  PodGrant wish;
  wish.containers["main"] = {.cpus = CpusOfText("5,13"), .cpu_count = 2, .memory = {}};
  EXPECT_EQ(CpusIn(Admit(ledger, PodOfCpus("1"), &wish), "main"), "8");
  wish.containers["main"].cpus = CpusOfText("3,7");  // of two nodes
  EXPECT_EQ(CpusIn(Admit(ledger, PodOfCpus("2"), &wish), "main"), "1,9");
  wish.containers["main"].cpus = CpusOfText("0,8");  // reserved, and given
  EXPECT_EQ(CpusIn(Admit(ledger, PodOfCpus("2"), &wish), "main"), "2,10");
}

}  // namespace
}  // namespace plimsoll::agent
