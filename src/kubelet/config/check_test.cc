#include "kubelet/config/check.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kubelet/config/machines_for_test.h"

namespace plimsoll::kubelet {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kSocket[] = "unix:///run/plimsoll/plimsoll.sock";

auto Conflict(const std::string& field, const std::string& message) {
  return AllOf(Field(&KubeletFinding::is_conflict, true), Field(&KubeletFinding::field, field),
               Field(&KubeletFinding::message, HasSubstr(message)));
}
auto Warning(const std::string& field, const std::string& message) {
  return AllOf(Field(&KubeletFinding::is_conflict, false), Field(&KubeletFinding::field, field),
               Field(&KubeletFinding::message, HasSubstr(message)));
}

// Fits SmallShare: CPUs 2-7 and 12 of 16 GiB are pods'.
Configuration Right() {
  Configuration right;
  right.container_runtime_endpoint = kSocket;
  right.reserved_system_cpus = "0-1";
  right.cpu_manager_policy = "static";
  right.cpu_manager_policy_options["strict-cpu-reservation"] = "true";
  right.system_reserved["memory"] = "3996Mi";
  return right;
}

// Fits TwoNodesShare: 1 GiB of node 0 is left out.
Configuration RightWithStaticMemory() {
  Configuration right = Right();
  right.reserved_system_cpus = "0";
  right.system_reserved["memory"] = "924Mi";
  right.memory_manager_policy = "Static";
  right.reserved_memory = {{.numa_node = 0, .limits = {{"memory", "1Gi"}}}};
  return right;
}

std::vector<KubeletFinding> Found(const Configuration& configuration) {
  return CheckConfiguration(configuration, SmallShare(), kSocket);
}

TEST(CheckTest, TheRightOneHasNoFinding) {
  EXPECT_THAT(Found(Right()), IsEmpty());
  EXPECT_THAT(CheckConfiguration(RightWithStaticMemory(), TwoNodesShare(), kSocket),
              ElementsAre(Warning("hugepages-2Mi", "1 GiB")));
}

TEST(CheckTest, AStockKubeletTakesTheWholeMachine) {
  EXPECT_THAT(Found(Configuration()),
              ElementsAre(Warning("containerRuntimeEndpoint", "command line"),
                          Conflict("reservedSystemCPUs", "8000m of CPU"),
                          Conflict("systemReserved", "15.9 GiB (17075011584 bytes)")));
}

TEST(CheckTest, AnotherRuntime) {
  Configuration configuration = Right();
  configuration.container_runtime_endpoint = "unix:///run/containerd/containerd.sock";
  EXPECT_THAT(Found(configuration), ElementsAre(Conflict("containerRuntimeEndpoint", kSocket)));
}

TEST(CheckTest, StaticCpusOutsideOfThePodsPart) {
  Configuration configuration = Right();
  configuration.reserved_system_cpus = "0,5";
  EXPECT_THAT(Found(configuration),
              ElementsAre(Conflict("reservedSystemCPUs", "CPUs 1 are outside of the pods' part"),
                          Warning("reservedSystemCPUs", "CPUs 5 are in the pods' part")));
}

TEST(CheckTest, SharedPodsOnReservedCpus) {
  Configuration configuration = Right();
  configuration.cpu_manager_policy_options.clear();
  EXPECT_THAT(Found(configuration),
              ElementsAre(Conflict("cpuManagerPolicyOptions", "strict-cpu-reservation")));
}

TEST(CheckTest, WithoutStaticCpusTheirNumberCounts) {
  Configuration configuration = Right();
  configuration.cpu_manager_policy = "none";
  configuration.reserved_system_cpus = "6-7";
  EXPECT_THAT(Found(configuration), IsEmpty());
  configuration.reserved_system_cpus = "0-3";
  EXPECT_THAT(Found(configuration), ElementsAre(Warning("reservedSystemCPUs", "4000m of CPU")));
  configuration.reserved_system_cpus = "";
  configuration.system_reserved["cpu"] = "500m";
  configuration.kube_reserved["cpu"] = "1";
  EXPECT_THAT(Found(configuration), ElementsAre(Conflict("reservedSystemCPUs", "6500m of CPU")));
}

TEST(CheckTest, WhatKubeletDoesNotStartWith) {
  Configuration configuration = Right();
  configuration.reserved_system_cpus = "";
  EXPECT_THAT(Found(configuration),
              Contains(Conflict("cpuManagerPolicy", "static CPUs need reserved ones")));
  configuration.reserved_system_cpus = "0-";
  EXPECT_THAT(Found(configuration), Contains(Conflict("reservedSystemCPUs", "doesn't start")));
  configuration.reserved_system_cpus = "0-1,9";
  EXPECT_THAT(Found(configuration), Contains(Conflict("reservedSystemCPUs", "CPUs 9 aren't")));
  configuration = Right();
  configuration.system_reserved_cgroup = "/system.slice";
  configuration.kube_reserved_cgroup = "/kube.slice";
  EXPECT_THAT(Found(configuration),
              ElementsAre(Conflict("systemReservedCgroup", "beside reservedSystemCPUs"),
                          Conflict("kubeReservedCgroup", "beside reservedSystemCPUs")));
  configuration = Right();
  configuration.system_reserved["memory"] = "much";
  configuration.eviction_hard.emplace()["memory.available"] = "x";
  EXPECT_THAT(Found(configuration), ElementsAre(Conflict("systemReserved", "doesn't start"),
                                                Conflict("evictionHard", "doesn't start")));
}

TEST(CheckTest, MemoryBeyondThePodsPart) {
  Configuration configuration = Right();
  configuration.system_reserved["memory"] = "1948Mi";
  EXPECT_THAT(Found(configuration), ElementsAre(Conflict("systemReserved", "14 GiB")));
  configuration.system_reserved["memory"] = "6044Mi";
  EXPECT_THAT(Found(configuration), ElementsAre(Warning("systemReserved", "10 GiB")));
}

TEST(CheckTest, StaticMemoryNeedsEqualSumsAndTheRightNodes) {
  const KubeletShare share = TwoNodesShare();
  Configuration configuration = RightWithStaticMemory();
  configuration.reserved_memory[0].numa_node = 1;
  EXPECT_THAT(CheckConfiguration(configuration, share, kSocket),
              Contains(Conflict("reservedMemory", "7 GiB (7516192768 bytes) of NUMA node 0")));
  configuration.reserved_memory[0].numa_node = 4;
  EXPECT_THAT(CheckConfiguration(configuration, share, kSocket),
              Contains(Conflict("reservedMemory", "no NUMA node 4")));
  configuration.reserved_memory.clear();
  EXPECT_THAT(CheckConfiguration(configuration, share, kSocket),
              Contains(Conflict("reservedMemory", "must be equal")));
  configuration.reserved_memory = {{.numa_node = 0, .limits = {{"memory", "much"}}}};
  EXPECT_THAT(CheckConfiguration(configuration, share, kSocket),
              Contains(Conflict("reservedMemory", "doesn't start")));
}

TEST(CheckTest, SwapIsNamedWherePodsMayUseIt) {
  KubeletShare share = SmallShare();
  share.swap = kGi;
  EXPECT_THAT(CheckConfiguration(Right(), share, kSocket), IsEmpty());
  Configuration configuration = Right();
  configuration.swap_behavior = "LimitedSwap";
  EXPECT_THAT(CheckConfiguration(configuration, share, kSocket),
              ElementsAre(Warning("memorySwap", "1 GiB")));
}

CpuState StateOf(const std::string& shared, const std::string& exclusive) {
  CpuState state{.policy = "static", .shared = Cpus(shared)};
  if (!exclusive.empty()) {
    state.exclusive.push_back({"container web of pod 3f2a", Cpus(exclusive)});
  }
  return state;
}

TEST(CheckStateTest, OfTheRightConfiguration) {
  EXPECT_THAT(CheckState(StateOf("2-5", "6-7"), Right(), SmallShare()), IsEmpty());
  EXPECT_THAT(CheckState({.policy = "static"}, Right(), SmallShare()), IsEmpty()) << "not begun";
}

TEST(CheckStateTest, CpusThatAreNotPods) {
  EXPECT_THAT(CheckState(StateOf("0,2-5", "1,6-7"), Right(), SmallShare()),
              ElementsAre(Conflict("cpu_manager_state",
                                   "container web of pod 3f2a has CPUs 1, which are outside"),
                          Conflict("cpu_manager_state", "CPUs 0, which are outside"),
                          Conflict("cpu_manager_state",
                                   "knows CPUs 0-7, and with this configuration they are 2-7")));
}

TEST(CheckStateTest, OfAnotherPolicy) {
  Configuration none = Right();
  none.cpu_manager_policy = "none";
  EXPECT_THAT(CheckState(StateOf("2-7", ""), none, SmallShare()),
              ElementsAre(Conflict("cpu_manager_state", "policy static")));
  EXPECT_THAT(CheckState({.policy = "none"}, Right(), SmallShare()),
              ElementsAre(Conflict("cpu_manager_state", "remove the file")));
}

TEST(CheckStateTest, WithoutStrictReservationAllCpusAreKnown) {
  Configuration lax = Right();
  lax.cpu_manager_policy_options.clear();
  EXPECT_THAT(CheckState(StateOf("0-7", ""), lax, SmallShare()),
              ElementsAre(Conflict("cpu_manager_state", "CPUs 0-1, which are outside")));
}

}  // namespace
}  // namespace plimsoll::kubelet
