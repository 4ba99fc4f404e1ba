#include "runtime/requests/machine_needs.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plimsoll::runtime {
namespace {

constexpr int64_t kMebibyte = 1 << 20;

AnnouncedContainer Announced(const std::string& name, const std::string& memory,
                             AnnouncedContainer::Type type = AnnouncedContainer::Type::kContainer) {
  AnnouncedContainer container = {.name = name, .type = type};
  if (!memory.empty()) container.kubernetes_resources.limits["memory"] = memory;
  return container;
}

ContainerSpec Living(const std::string& name, int64_t mib) {
  ContainerSpec spec;
  spec.name = name;
  spec.resources.memory_limit_bytes = mib * kMebibyte;
  return spec;
}

resources::Requirements NeedsOf(const SandboxSpec& pod, const std::vector<ContainerSpec>& living) {
  return MachineNeeds(pod, MakePicture(pod, living), living);
}

// The memory limit, in MiB; 0: none.
int64_t MemoryOf(const SandboxSpec& pod, const std::vector<ContainerSpec>& living) {
  const resources::Requirements needs = NeedsOf(pod, living);
  const auto memory = needs.limits.find("memory");
  return memory == needs.limits.end() ? 0 : memory->second.Value() / kMebibyte;
}

TEST(MachineNeedsTest, WhatIsAnnouncedWhileContainersHaveNoMore) {
  SandboxSpec pod;
  pod.pod_resources.containers = {Announced("a", "64Mi"), Announced("b", "32Mi")};
  EXPECT_EQ(MemoryOf(pod, {}), 96);
  EXPECT_EQ(MemoryOf(pod, {Living("a", 64)}), 96);
  EXPECT_EQ(MemoryOf(pod, {Living("a", 16), Living("b", 32)}), 96);
}

TEST(MachineNeedsTest, ContainersThatHaveMoreCountWithIt) {
  SandboxSpec pod;
  pod.pod_resources.containers = {Announced("a", "64Mi"), Announced("b", "32Mi")};
  EXPECT_EQ(MemoryOf(pod, {Living("a", 128), Living("b", 32)}), 160);
  EXPECT_EQ(MemoryOf(pod, {Living("a", 128), Living("b", 64)}), 192);
  pod.pod_resources.containers[0].type = AnnouncedContainer::Type::kInit;
  EXPECT_EQ(MemoryOf(pod, {Living("a", 128)}), 128) << "it runs alone";
}

TEST(MachineNeedsTest, OfAResourceThatIsNotWrittenNothingIsHeld) {
  SandboxSpec pod;
  pod.pod_resources.containers = {Announced("a", "")};
  EXPECT_EQ(MemoryOf(pod, {Living("a", 128)}), 0);
}

TEST(MachineNeedsTest, CpusAreComparedAsTheKernelHoldsThem) {
  SandboxSpec pod;
  pod.pod_resources.containers = {Announced("a", "")};
  pod.pod_resources.containers[0].kubernetes_resources = {.requests = {{"cpu", "5m"}},
                                                          .limits = {{"cpu", "5m"}}};
  ContainerSpec living = Living("a", 64);
  living.resources = {.cpu_shares = 5, .cpu_quota_us = 1000, .cpu_period_us = 100000};
  EXPECT_EQ(NeedsOf(pod, {living}).limits.at("cpu").MilliValue(), 5) << "the least quota";
  EXPECT_EQ(NeedsOf(pod, {living}).requests.at("cpu").MilliValue(), 5);
  living.resources = {.cpu_shares = 1024, .cpu_quota_us = 200000, .cpu_period_us = 100000};
  EXPECT_EQ(NeedsOf(pod, {living}).limits.at("cpu").MilliValue(), 2000);
  EXPECT_EQ(NeedsOf(pod, {living}).requests.at("cpu").MilliValue(), 1000);
}

TEST(MachineNeedsTest, HugePagesAreHeldToo) {
  SandboxSpec pod;
  pod.pod_resources.containers = {Announced("a", "")};
  pod.pod_resources.containers[0].kubernetes_resources.limits["hugepages-2Mi"] = "4Mi";
  ContainerSpec living;
  living.name = "a";
  living.resources.hugetlb_limits = {{"2MB", 8 << 20}, {"1GB", 1 << 30}};
  const resources::Requirements needs = NeedsOf(pod, {living});
  EXPECT_EQ(needs.limits.at("hugepages-2Mi").Value(), 8 << 20);
  EXPECT_EQ(needs.requests.at("hugepages-2Mi").Value(), 8 << 20);
}

// KEP-2837: the pod's own limit stands for its containers', whose sum may be larger.
TEST(MachineNeedsTest, APodsOwnLimitHoldsWhileAContainerHasMoreThanItsOwn) {
  SandboxSpec pod;
  pod.pod_resources.containers = {Announced("a", "512Mi"), Announced("b", "512Mi")};
  pod.pod_resources.kubernetes_resources.limits["memory"] = "512Mi";
  EXPECT_EQ(MemoryOf(pod, {Living("a", 512), Living("b", 512)}), 512) << "no more at a time";
  pod.needed_before.limits["memory"] = "1Gi";
  EXPECT_EQ(MemoryOf(pod, {Living("a", 1024), Living("b", 1024)}), 1024);
  EXPECT_EQ(MemoryOf(pod, {Living("a", 1024), Living("b", 512)}), 1024);
  EXPECT_EQ(MemoryOf(pod, {Living("a", 512), Living("b", 512)}), 512) << "both have followed";
  pod.pod_resources.containers = {Announced("a", "")};
  EXPECT_EQ(MemoryOf(pod, {Living("a", 1024)}), 1024) << "the pod's limit is its limit";
  EXPECT_EQ(MemoryOf(pod, {Living("a", 512)}), 512);
}

// An unmodified kubelet announces the sum of its containers' limits.
TEST(MachineNeedsTest, KubeletsSumHoldsWhileContainersHaveMore) {
  SandboxSpec pod;
  pod.resources.memory_limit_bytes = 96 * kMebibyte;
  EXPECT_EQ(MemoryOf(pod, {Living("a", 64), Living("b", 64), Living("c", 64)}), 96)
      << "no update has lowered it";
  pod.needed_before.limits["memory"] = "192Mi";
  EXPECT_EQ(MemoryOf(pod, {Living("a", 64), Living("b", 64), Living("c", 64)}), 192);
  EXPECT_EQ(MemoryOf(pod, {Living("a", 32), Living("b", 64), Living("c", 32)}), 128);
  EXPECT_EQ(MemoryOf(pod, {Living("a", 32), Living("b", 32), Living("c", 32)}), 96);
}

}  // namespace
}  // namespace plimsoll::runtime
