#include "agent/memory_manager/static_memory_policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/memory_manager/machines_for_test.h"

namespace plimsoll::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

constexpr Hint kAny = {.nodes = std::nullopt, .preferred = false};

Hint Preferred(std::initializer_list<uint32_t> numbers) {
  return {.nodes = Nodes(numbers), .preferred = true};
}
Hint Possible(std::initializer_list<uint32_t> numbers) {
  return {.nodes = Nodes(numbers), .preferred = false};
}

// Some memory of the lowest node is reserved, 1Gi.
StaticMemoryPolicy PolicyFor(const topology::MachineMaps& maps) {
  return PolicyOf(maps, {{maps.nodes.begin()->first, {{"memory", kGi}}}});
}

MemoryAmounts Memory(int64_t bytes) {
  return {{"memory", bytes}};
}

std::vector<Hint> HintsOf(const StaticMemoryPolicy& policy, const MemoryAmounts& request,
                          const std::vector<MemoryBlock>& used = {},
                          const std::vector<MemoryBlock>& reusable = {}) {
  const ResourceHints hints = policy.Hints(request, used, reusable);
  if (hints.empty()) return {};
  EXPECT_EQ(hints.size(), request.size());
  for (const auto& [resource, list] : hints) {
    EXPECT_EQ(list, hints.begin()->second) << resource;
    EXPECT_TRUE(request.contains(resource));
  }
  return *hints.begin()->second;
}

std::vector<MemoryBlock> Given(const StaticMemoryPolicy& policy, const MemoryAmounts& request,
                               const Hint& hint, const std::vector<MemoryBlock>& used = {},
                               const std::vector<MemoryBlock>& reusable = {}) {
  const auto blocks = policy.Allocate(request, hint, used, reusable);
  EXPECT_TRUE(blocks.ok()) << blocks.status();
  return blocks.ok() ? *blocks : std::vector<MemoryBlock>();
}

std::string ErrorFor(const StaticMemoryPolicy& policy, const MemoryAmounts& request,
                     const Hint& hint, const std::vector<MemoryBlock>& used = {}) {
  const auto blocks = policy.Allocate(request, hint, used, {});
  EXPECT_EQ(blocks.status().code(), absl::StatusCode::kFailedPrecondition);
  return std::string(blocks.status().message());
}

constexpr char kNoneHasEnough[] =
    "[memorymanager] failed to get the default NUMA affinity, no NUMA nodes with enough memory is "
    "available";

TEST(StaticMemoryPolicyTest, RefusesReservationsThatDontAddUp) {
  auto maps = std::make_shared<topology::MachineMaps>(MachineOf({{0, kGi}}));
  const auto policy = StaticMemoryPolicy::Make(maps, {{0, Memory(kMi)}}, Memory(2 * kMi));
  EXPECT_EQ(policy.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(policy.status().message(), HasSubstr("\"1Mi\" of type \"memory\""));
}

TEST(StaticMemoryPolicyTest, OneNodeIsPreferredWhereItCanHoldAll) {
  const auto policy = PolicyFor(MachineOf({{0, 9 * kGi}, {1, 8 * kGi}}));
  EXPECT_THAT(policy.allocatable(),
              ElementsAre(Pair(0, Memory(8 * kGi)), Pair(1, Memory(8 * kGi))));
  EXPECT_THAT(HintsOf(policy, Memory(8 * kGi)),
              ElementsAre(Preferred({0}), Preferred({1}), Possible({0, 1})));
  EXPECT_THAT(Given(policy, Memory(3 * kGi), kAny), ElementsAre(MemoryOf({{0, 3 * kGi}})));
  EXPECT_THAT(Given(policy, Memory(3 * kGi), Preferred({1})),
              ElementsAre(MemoryOf({{1, 3 * kGi}})));
}

TEST(StaticMemoryPolicyTest, SeveralNodesArePreferredWhereOneNeverCould) {
  const auto policy = PolicyFor(MachineOf({{0, 9 * kGi}, {1, 8 * kGi}}));
  EXPECT_THAT(HintsOf(policy, Memory(8 * kGi + 1)), ElementsAre(Preferred({0, 1})));
  EXPECT_THAT(Given(policy, Memory(10 * kGi), kAny),
              ElementsAre(MemoryOf({{0, 8 * kGi}, {1, 2 * kGi}})));
}

TEST(StaticMemoryPolicyTest, WithoutEnoughThereAreNoHintsAndNoMemory) {
  const auto policy = PolicyFor(MachineOf({{0, 9 * kGi}, {1, 8 * kGi}}));
  EXPECT_THAT(HintsOf(policy, Memory(17 * kGi)), IsEmpty());
  EXPECT_EQ(ErrorFor(policy, Memory(17 * kGi), kAny), kNoneHasEnough);
  EXPECT_EQ(ErrorFor(policy, Memory(17 * kGi), Preferred({0, 1})),
            "[memorymanager] failed to find NUMA nodes to extend the current topology hint");
}

// "Single vs cross NUMA node allocation" (the blog of Kubernetes 1.22 on the memory manager).
TEST(StaticMemoryPolicyTest, ANodeOfASingleContainerJoinsNoGroup) {
  const auto policy = PolicyFor(MachineOf({{0, 9 * kGi}, {1, 8 * kGi}}));
  const std::vector<MemoryBlock> used = {MemoryOf({{0, kMi}})};
  EXPECT_THAT(HintsOf(policy, Memory(kGi), used), ElementsAre(Preferred({0}), Preferred({1})));
  EXPECT_THAT(HintsOf(policy, Memory(10 * kGi), used), IsEmpty());
  EXPECT_EQ(ErrorFor(policy, Memory(10 * kGi), kAny, used), kNoneHasEnough);
  EXPECT_EQ(ErrorFor(policy, Memory(10 * kGi), Preferred({0, 1}), used),
            "[memorymanager] preferred hint violates NUMA node allocation");
}

TEST(StaticMemoryPolicyTest, ANodeOfAGroupServesItsGroupOnly) {
  const auto policy =
      PolicyFor(MachineOf({{0, 9 * kGi}, {1, 8 * kGi}, {2, 8 * kGi}, {3, 8 * kGi}}));
  const std::vector<MemoryBlock> used = {MemoryOf({{0, 8 * kGi}, {1, 2 * kGi}})};
  EXPECT_THAT(HintsOf(policy, Memory(4 * kGi), used),
              ElementsAre(Preferred({2}), Preferred({3}), Possible({0, 1}), Possible({2, 3})));
  EXPECT_THAT(HintsOf(policy, Memory(10 * kGi), used), ElementsAre(Preferred({2, 3})));
  EXPECT_EQ(ErrorFor(policy, Memory(kGi), Possible({1, 2}), used),
            "[memorymanager] preferred hint violates NUMA node allocation");
  // Another container of the same group.
  EXPECT_THAT(Given(policy, Memory(6 * kGi), Possible({0, 1}), used),
              ElementsAre(MemoryOf({{0, 0}, {1, 6 * kGi}})));
  // Free again: any group.
  EXPECT_THAT(HintsOf(policy, Memory(20 * kGi)),
              ElementsAre(Preferred({0, 1, 2}), Preferred({0, 1, 3}), Preferred({0, 2, 3}),
                          Preferred({1, 2, 3}), Possible({0, 1, 2, 3})));
}

// A group of which all is wanted elsewhere is preferred no more: the container could be alone.
TEST(StaticMemoryPolicyTest, PreferredIsByWhatAnEmptyMachineCouldHold) {
  const auto policy = PolicyFor(MachineOf({{0, 9 * kGi}, {1, 8 * kGi}}));
  const std::vector<MemoryBlock> used = {MemoryOf({{0, 8 * kGi}, {1, 2 * kGi}})};
  EXPECT_THAT(HintsOf(policy, Memory(kGi), used), ElementsAre(Possible({0, 1})));
  EXPECT_EQ(ErrorFor(policy, Memory(kGi), {.nodes = std::nullopt, .preferred = true}, used),
            "[memorymanager] failed to find the default preferred hint");
  EXPECT_THAT(Given(policy, Memory(kGi), kAny, used), ElementsAre(MemoryOf({{0, 0}, {1, kGi}})));
}

TEST(StaticMemoryPolicyTest, ASmallHintIsExtended) {
  const auto policy =
      PolicyFor(MachineOf({{0, 9 * kGi}, {1, 8 * kGi}, {2, 8 * kGi}, {3, 8 * kGi}}));
  EXPECT_THAT(Given(policy, Memory(10 * kGi), Preferred({2})),
              ElementsAre(MemoryOf({{0, 8 * kGi}, {2, 2 * kGi}})));
  // The nodes of the hint must be in it.
  const std::vector<MemoryBlock> used = {MemoryOf({{0, 8 * kGi}, {1, 2 * kGi}})};
  EXPECT_THAT(Given(policy, Memory(10 * kGi), Preferred({2}), used),
              ElementsAre(MemoryOf({{2, 8 * kGi}, {3, 2 * kGi}})));
  EXPECT_EQ(ErrorFor(policy, Memory(10 * kGi), Preferred({1}), used),
            "[memorymanager] failed to find NUMA nodes to extend the current topology hint");
  // One node could hold it, were there not the group.
  EXPECT_EQ(ErrorFor(policy, Memory(6 * kGi), Preferred({0}), used),
            "[memorymanager] failed to find the extended preferred hint");
  EXPECT_THAT(Given(policy, Memory(6 * kGi), Possible({0}), used),
              ElementsAre(MemoryOf({{0, 0}, {1, 6 * kGi}})));
  // A hint of no nodes, as of a topology manager without any, extends to the best.
  EXPECT_THAT(Given(policy, Memory(kGi), Possible({}), used), ElementsAre(MemoryOf({{2, kGi}})));
}

// The topology manager may want a node of a group for the sake of CPUs.
TEST(StaticMemoryPolicyTest, ASingleNodeCanBeForcedOutOfItsGroup) {
  const auto policy = PolicyFor(MachineOf({{0, 9 * kGi}, {1, 8 * kGi}}));
  std::vector<MemoryBlock> used = {MemoryOf({{0, 2 * kGi}, {1, 8 * kGi}})};
  const std::vector<MemoryBlock> forced = Given(policy, Memory(kGi), Possible({0}), used);
  EXPECT_THAT(forced, ElementsAre(MemoryOf({{0, kGi}})));
  used.insert(used.begin(), forced.front());
  EXPECT_THAT(HintsOf(policy, Memory(kGi), used), ElementsAre(Preferred({0})));
  EXPECT_EQ(ErrorFor(policy, Memory(kGi), Possible({0, 1}), used),
            "[memorymanager] preferred hint violates NUMA node allocation");
}

TEST(StaticMemoryPolicyTest, MemoryAndHugePagesAreAtTheSameNodes) {
  topology::MachineMaps maps = MachineOf({{0, 17 * kGi}, {1, 16 * kGi}});
  maps.nodes[0].hugepages = {{2 * kMi, 0}, {kGi, 4}};
  maps.nodes[1].hugepages = {{2 * kMi, 1024}, {kGi, 4}};
  const auto policy = PolicyFor(maps);
  const MemoryAmounts request = {
      {"memory", kGi}, {"hugepages-2Mi", 4 * kMi}, {"hugepages-1Gi", kGi}};
  EXPECT_THAT(HintsOf(policy, request), ElementsAre(Preferred({1}), Possible({0, 1})));
  EXPECT_THAT(Given(policy, request, kAny),
              ElementsAre(BlockOf("hugepages-1Gi", {{1, kGi}}),
                          BlockOf("hugepages-2Mi", {{1, 4 * kMi}}), MemoryOf({{1, kGi}})));
  // Eight pages of 1Gi are on both nodes together only, the memory comes along.
  EXPECT_THAT(Given(policy, {{"memory", kGi}, {"hugepages-1Gi", 6 * kGi}}, kAny),
              ElementsAre(BlockOf("hugepages-1Gi", {{0, 4 * kGi}, {1, 2 * kGi}}),
                          MemoryOf({{0, kGi}, {1, 0}})));
  // The last memory beside the pages: 12Gi and 10Gi.
  EXPECT_THAT(HintsOf(policy, Memory(11 * kGi)), ElementsAre(Preferred({0}), Possible({0, 1})));
  // A page size that the machine doesn't have.
  EXPECT_THAT(HintsOf(policy, {{"memory", kGi}, {"hugepages-64Ki", kMi}}), IsEmpty());
  EXPECT_EQ(ErrorFor(policy, {{"memory", kGi}, {"hugepages-64Ki", kMi}}, kAny), kNoneHasEnough);
  EXPECT_EQ(ErrorFor(policy, {{"memory", kGi}, {"hugepages-64Ki", kMi}}, Possible({0})),
            "[memorymanager] failed to find NUMA nodes to extend the current topology hint");
}

TEST(StaticMemoryPolicyTest, UnevenNodes) {
  const auto policy = PolicyFor(MachineOf({{0, 3 * kGi}, {1, 4 * kGi}, {2, 16 * kGi}}));
  EXPECT_THAT(HintsOf(policy, Memory(5 * kGi)),
              ElementsAre(Preferred({2}), Possible({0, 1}), Possible({0, 2}), Possible({1, 2}),
                          Possible({0, 1, 2})));
  // Only a group is left, which an empty machine would not need.
  EXPECT_THAT(HintsOf(policy, Memory(5 * kGi), {MemoryOf({{2, 12 * kGi}})}),
              ElementsAre(Possible({0, 1})));
}

// Sub-NUMA clustering: two nodes in each of two packages. Distances don't count here.
TEST(StaticMemoryPolicyTest, SubNumaClustersAreNodes) {
  const auto policy =
      PolicyFor(MachineOf({{0, 5 * kGi}, {1, 4 * kGi}, {2, 4 * kGi}, {3, 4 * kGi}}));
  EXPECT_THAT(HintsOf(policy, Memory(12 * kGi), {MemoryOf({{1, kGi}})}),
              ElementsAre(Preferred({0, 2, 3})));
  EXPECT_THAT(Given(policy, Memory(12 * kGi), Preferred({3}), {MemoryOf({{1, kGi}})}),
              ElementsAre(MemoryOf({{0, 4 * kGi}, {2, 4 * kGi}, {3, 4 * kGi}})));
}

// CXL memory: a node without CPUs is a node as each other.
TEST(StaticMemoryPolicyTest, MemoryOnlyNodesCount) {
  topology::MachineMaps maps = MachineOf({{0, 5 * kGi}, {1, 4 * kGi}, {2, 32 * kGi}});
  maps.nodes[0].cpus.Add(0);
  maps.nodes[1].cpus.Add(1);
  const auto policy = PolicyFor(maps);
  EXPECT_THAT(HintsOf(policy, Memory(8 * kGi)),
              ElementsAre(Preferred({2}), Possible({0, 1}), Possible({0, 2}), Possible({1, 2}),
                          Possible({0, 1, 2})));
  EXPECT_THAT(Given(policy, Memory(8 * kGi), Possible({1})),
              ElementsAre(MemoryOf({{0, 4 * kGi}, {1, 4 * kGi}})));
  EXPECT_THAT(Given(policy, Memory(9 * kGi), Possible({1})),
              ElementsAre(MemoryOf({{1, 4 * kGi}, {2, 5 * kGi}})));
}

TEST(StaticMemoryPolicyTest, NodesNeedNotBeNumberedInARow) {
  const auto policy = PolicyFor(MachineOf({{8, 5 * kGi}, {63, 4 * kGi}}));
  EXPECT_THAT(HintsOf(policy, Memory(kGi)),
              ElementsAre(Preferred({8}), Preferred({63}), Possible({8, 63})));
  EXPECT_THAT(Given(policy, Memory(6 * kGi), kAny),
              ElementsAre(MemoryOf({{8, 4 * kGi}, {63, 2 * kGi}})));
  // A node that isn't there has nothing.
  EXPECT_EQ(ErrorFor(policy, Memory(kGi), Possible({9})),
            "[memorymanager] failed to find NUMA nodes to extend the current topology hint");
}

TEST(StaticMemoryPolicyTest, ANodeThatLostMemoryHasNothingFree) {
  const auto policy = PolicyFor(MachineOf({{0, 5 * kGi}, {1, 4 * kGi}}));
  const std::vector<MemoryBlock> used = {MemoryOf({{0, 6 * kGi}}), MemoryOf({{7, kGi}})};
  EXPECT_THAT(HintsOf(policy, Memory(kGi), used), ElementsAre(Preferred({1})));
}

TEST(StaticMemoryPolicyTest, RequestsOfNothing) {
  const auto policy = PolicyFor(MachineOf({{0, 5 * kGi}, {1, 4 * kGi}}));
  EXPECT_THAT(policy.Hints({}, {}, {}), IsEmpty());
  EXPECT_EQ(ErrorFor(policy, {}, kAny), kNoneHasEnough);
  EXPECT_THAT(Given(policy, {}, Possible({1})), IsEmpty());
  EXPECT_THAT(Given(policy, Memory(0), kAny), ElementsAre(MemoryOf({{0, 0}})));
  EXPECT_THAT(Given(policy, Memory(-5), Possible({1})), ElementsAre(MemoryOf({{1, 0}})));
}

// A machine on which kubelet would never end: 2^64 sets of nodes.
TEST(StaticMemoryPolicyTest, ManyNodes) {
  std::map<uint32_t, int64_t> memory;
  for (uint32_t number = 0; number < 64; ++number) memory[number] = 4 * kGi;
  memory[0] = 5 * kGi;
  const auto policy = PolicyFor(MachineOf(memory));
  EXPECT_THAT(Given(policy, Memory(2 * kGi), kAny), ElementsAre(MemoryOf({{0, 2 * kGi}})));
  EXPECT_EQ(Given(policy, Memory(40 * kGi), kAny).front().nodes.Count(), 10);
  const std::vector<MemoryBlock> one = Given(policy, Memory(20 * kGi), Preferred({50}));
  EXPECT_EQ(one.front().nodes.Count(), 5);
  EXPECT_TRUE(one.front().nodes.Contains(50));
  EXPECT_EQ(Given(policy, Memory(256 * kGi), kAny).front().nodes.Count(), 64);
  EXPECT_EQ(ErrorFor(policy, Memory(256 * kGi + 1), kAny), kNoneHasEnough);

  // Every other node is in use: the free ones are found.
  std::vector<MemoryBlock> used;
  for (uint32_t number = 0; number < 64; number += 2) used.push_back(MemoryOf({{number, kMi}}));
  EXPECT_EQ(Given(policy, Memory(60 * kGi), kAny, used).front().nodes.Count(), 15);
}

}  // namespace
}  // namespace plimsoll::agent
