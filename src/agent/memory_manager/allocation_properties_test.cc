// Random pods come and go on random machines: what always holds.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <random>
#include <tuple>

#include "agent/memory_manager/machines_for_test.h"
#include "agent/memory_manager/reused_memory.h"
#include "agent/memory_manager/static_memory_policy.h"
#include "agent/topology_manager/hints_for_test.h"

namespace plimsoll::agent {
namespace {

struct RandomPod {
  std::vector<MemoryBlock> init;
  std::vector<MemoryBlock> main;
};

class RandomNode {
 public:
  explicit RandomNode(uint64_t seed) : random_(seed), policy_(MakePolicy()) {}

  const StaticMemoryPolicy& policy() const { return policy_; }
  std::vector<RandomPod>& pods() { return pods_; }

  std::vector<MemoryBlock> Used() const {
    std::vector<MemoryBlock> used;
    for (const RandomPod& pod : pods_) {
      used.insert(used.end(), pod.init.begin(), pod.init.end());
      used.insert(used.end(), pod.main.begin(), pod.main.end());
    }
    return used;
  }

  // With a hint of the policy's own, as a topology manager alone with it would give, or none.
  absl::StatusOr<std::vector<MemoryBlock>> Allocate(const MemoryAmounts& request,
                                                    const std::vector<MemoryBlock>& reusable) {
    const ResourceHints hints = policy_.Hints(request, Used(), reusable);
    Hint hint;
    if (!hints.empty() && random_() % 3 != 0) {
      const std::vector<Hint>& list = *hints.begin()->second;
      hint = list[random_() % list.size()];
    }
    auto blocks = policy_.Allocate(request, hint, Used(), reusable);
    // Who has hints gets memory.
    EXPECT_EQ(blocks.ok(), !hints.empty()) << blocks.status();
    return blocks;
  }

  bool Add() {
    RandomPod pod;
    if (random_() % 3 == 0) {
      auto init = Allocate(Request(), {});
      if (!init.ok()) return false;
      pod.init = *std::move(init);
    }
    pods_.push_back(pod);
    auto main = Allocate(Request(), pod.init);
    if (!main.ok()) {
      pods_.pop_back();
      return false;
    }
    TakeOver(*main, PointersTo(pods_.back().init));
    pods_.back().main = *std::move(main);
    return true;
  }

  void RemoveOne() {
    pods_.erase(pods_.begin() + static_cast<ptrdiff_t>(random_() % pods_.size()));
  }

  MemoryAmounts Request() {
    MemoryAmounts request = {{"memory", Upto(6) * kGi + Upto(5)}};
    if (random_() % 3 == 0) request["hugepages-2Mi"] = Upto(300) * 2 * kMi;
    if (random_() % 4 == 0) request["hugepages-1Gi"] = Upto(3) * kGi;
    return request;
  }

 private:
  int64_t Upto(int64_t most) {
    return 1 + static_cast<int64_t>(random_() % static_cast<uint64_t>(most));
  }

  StaticMemoryPolicy MakePolicy() {
    topology::MachineMaps maps;
    MemoryByNode reserved;
    uint32_t number = 0;
    for (int64_t left = Upto(5); left > 0; --left) {
      topology::NumaNodeMap& node = maps.nodes[number];
      node.memory_bytes = Upto(12) * kGi + 4 * kGi;
      node.hugepages = {{2 * kMi, Upto(512)}, {kGi, Upto(4) - 1}};
      number += static_cast<uint32_t>(random_() % 5 == 0 ? Upto(9) : 1);
    }
    reserved[0] = {{"memory", 100 * kMi}};
    return PolicyOf(maps, reserved);
  }

  std::mt19937_64 random_;
  StaticMemoryPolicy policy_;
  std::vector<RandomPod> pods_;
};

void ExpectSound(const RandomNode& node) {
  const std::vector<MemoryBlock> used = node.Used();
  MemoryByNode sums;
  for (const MemoryBlock& block : used) {
    int64_t sum = 0;
    for (const auto& [number, bytes] : block.shares) {
      EXPECT_GT(bytes, 0);
      EXPECT_TRUE(block.nodes.Contains(number));
      sums[number][block.resource] += bytes;
      sum += bytes;
    }
    EXPECT_EQ(sum, block.bytes);
    for (const MemoryBlock& other : used) {
      EXPECT_TRUE(other.nodes == block.nodes || (other.nodes & block.nodes).Empty())
          << "a group beside another use of a node of it";
    }
  }
  for (const auto& [number, amounts] : sums) {
    for (const auto& [resource, bytes] : amounts) {
      EXPECT_LE(bytes, node.policy().allocatable().at(number).at(resource))
          << resource << " of node " << number;
    }
  }
}

TEST(AllocationPropertiesTest, NothingIsGivenTwiceAndNoGroupsMix) {
  int added = 0;
  int refused = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    RandomNode node(seed);
    for (int step = 0; step < 40; ++step) {
      if (step % 3 == 2 && !node.pods().empty()) {
        node.RemoveOne();
      } else {
        ++(node.Add() ? added : refused);
      }
      ExpectSound(node);
      if (testing::Test::HasFailure()) FAIL() << "seed " << seed << ", step " << step;
    }
  }
  EXPECT_GT(added, 300);
  EXPECT_GT(refused, 300);
}

TEST(AllocationPropertiesTest, AfterAReleaseTheSameIsGivenAgain) {
  for (uint64_t seed = 100; seed < 140; ++seed) {
    RandomNode node(seed);
    for (int step = 0; step < 10; ++step) node.Add();
    const MemoryAmounts request = node.Request();
    const auto before = node.policy().Allocate(request, {}, node.Used(), {});
    // Others come, go, and leave nothing behind.
    const std::vector<RandomPod> pods = node.pods();
    for (int step = 0; step < 5; ++step) node.Add();
    node.pods() = pods;
    const auto after = node.policy().Allocate(request, {}, node.Used(), {});
    ASSERT_EQ(before.status(), after.status());
    if (before.ok()) {
      EXPECT_EQ(*before, *after);
    }
  }
}

// The order in which pods are known doesn't matter.
TEST(AllocationPropertiesTest, TheStateIsASumOfBlocks) {
  for (uint64_t seed = 200; seed < 240; ++seed) {
    RandomNode node(seed);
    for (int step = 0; step < 12; ++step) node.Add();
    const MemoryAmounts request = node.Request();
    std::vector<MemoryBlock> used = node.Used();
    const ResourceHints hints = node.policy().Hints(request, used, {});
    const auto blocks = node.policy().Allocate(request, {}, used, {});
    std::reverse(used.begin(), used.end());
    EXPECT_EQ(node.policy().Hints(request, used, {}), hints);
    const auto again = node.policy().Allocate(request, {}, used, {});
    ASSERT_EQ(again.status(), blocks.status());
    if (blocks.ok()) {
      EXPECT_EQ(*again, *blocks);
    }
  }
}

std::optional<Hint> BestOf(const ResourceHints& hints, NodeMask inside) {
  if (hints.empty()) return std::nullopt;
  std::optional<Hint> best;
  const auto key = [](const Hint& hint) {
    return std::tuple(!hint.preferred, hint.nodes->Count(), hint.nodes->bits());
  };
  for (const Hint& hint : *hints.begin()->second) {
    if (!inside.IsSubsetOf(*hint.nodes)) continue;
    if (!best || key(hint) < key(*best)) best = hint;
  }
  return best;
}

void ExpectRanges(const ResourceHints& ranges, const ResourceHints& hints) {
  ASSERT_EQ(ranges.size(), hints.size());
  for (const auto& [resource, list] : hints) {
    EXPECT_EQ(SetsOf(*ranges.at(resource)), SetsOf(*list)) << resource;
  }
}

// A pod's main container, with what its init container leaves it, and pods' groups as they come
// about when nodes of them are gone or forced to be single.
TEST(AllocationPropertiesTest, RangesAreTheSetsOfAllHints) {
  size_t groups = 0;
  for (uint64_t seed = 600; seed < 900; ++seed) {
    RandomNode node(seed);
    for (uint64_t step = 0; step < seed % 9; ++step) node.Add();
    std::vector<MemoryBlock> used = node.Used();
    if (!used.empty() && seed % 3 == 0) {
      used.push_back(used.front());
      used.back().nodes = NodeMask::Of(used.front().nodes.ToVector().front());
    }
    if (!used.empty() && seed % 4 == 0) {
      used.push_back(used.front());
      used.back().nodes = used.front().nodes | NodeMask::Of(seed % 5) | NodeMask::Of(60);
    }
    std::vector<MemoryBlock> reusable;
    for (const MemoryBlock& block : used) {
      if (seed % 2 == 0 && (block.bytes + static_cast<int64_t>(seed)) % 3 == 0) {
        reusable.push_back(block);
      }
      groups += block.nodes.Count() > 1 ? 1 : 0;
    }
    const MemoryAmounts request = node.Request();
    ExpectRanges(node.policy().Hints(request, used, reusable, HintChoice::kRanges),
                 node.policy().Hints(request, used, reusable));
    if (testing::Test::HasFailure()) FAIL() << "seed " << seed;
  }
  EXPECT_GT(groups, 50u);
}

TEST(AllocationPropertiesTest, AWalkThatEndsEarlyFindsTheSame) {
  size_t preferred = 0;
  size_t others = 0;
  size_t extended = 0;
  for (uint64_t seed = 300; seed < 500; ++seed) {
    RandomNode node(seed);
    for (uint64_t step = 0; step < seed % 8; ++step) node.Add();
    const MemoryAmounts request = node.Request();
    const std::vector<MemoryBlock> used = node.Used();
    ResourceHints hints = node.policy().Hints(request, used, {});
    for (const uint32_t inside : {0u, 1u, 64u}) {  // 64: any place
      const NodeMask nodes = NodeMask::Of(inside);
      const Hint hint = nodes.Empty() ? Hint{} : Hint{.nodes = nodes, .preferred = false};
      const auto blocks = node.policy().Allocate(request, hint, used, {});
      const std::optional<Hint> best = BestOf(hints, nodes);
      if (!blocks.ok() || blocks->front().nodes == nodes) continue;
      ASSERT_TRUE(best) << seed;
      EXPECT_EQ(blocks->front().nodes, *best->nodes) << seed;
      extended += nodes.Empty() ? 0 : 1;
    }
    ExpectRanges(node.policy().Hints(request, used, {}, HintChoice::kRanges), hints);
    const ResourceHints chosen = node.policy().Hints(request, used, {}, HintChoice::kPreferred);
    for (auto& [resource, list] : hints) {
      others += std::erase_if(*list, [](const Hint& each) { return !each.preferred; });
      preferred += list->size();
    }
    EXPECT_EQ(chosen, hints) << seed;
  }
  EXPECT_GT(preferred, 100u);
  EXPECT_GT(others, 100u);
  EXPECT_GT(extended, 10u);
}

}  // namespace
}  // namespace plimsoll::agent
