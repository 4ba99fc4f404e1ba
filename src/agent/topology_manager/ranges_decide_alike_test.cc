// Decisions on ranges against kubelet's way, which takes one hint of each list in all ways.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "agent/topology_manager/hints_for_test.h"
#include "agent/topology_manager/plain_product_for_test.h"
#include "agent/topology_manager/topology_manager.h"

namespace plimsoll::agent {
namespace {

// One resource's hints for each HintChoice; nullopt: it doesn't care.
struct Provider {
  std::optional<std::vector<Hint>> all, preferred, ranges;
};

class RandomNodes {
 public:
  RandomNodes(uint64_t seed, size_t nodes) : random_(seed) {
    const uint32_t step = random_() % 3 == 0 ? 3 : 1;
    for (uint32_t i = 0; i < nodes; ++i) numbers_.push_back(i * step);
    for (const uint32_t from : numbers_) {
      for (const uint32_t to : numbers_) {
        maps_.nodes[from].distances[to] = 10 + (from == to ? 0 : Below(4));
      }
    }
    is_closest_ = Below(2) == 0;
  }

  TopologyManager Manager() const {
    auto manager = TopologyManager::Make(
        {.policy = TopologyPolicy::kBestEffort, .prefer_closest = is_closest_, .max_nodes = 64},
        maps_);
    EXPECT_TRUE(manager.ok()) << manager.status();
    return *std::move(manager);
  }
  const topology::MachineMaps* closest() const { return is_closest_ ? &maps_ : nullptr; }
  uint32_t Below(uint32_t end) { return static_cast<uint32_t>(random_() % end); }

  // Sets that have enough of random amounts, as CPUs and devices are hinted at; of several nodes
  // some sets beside, as groups of memory are. Now and then any place, or none.
  Provider Some() {
    const uint32_t kind = Below(16);
    if (kind == 0) return {};
    if (kind == 1) return ProviderOf({});
    if (kind == 2) return ProviderOf({{.nodes = std::nullopt, .preferred = Below(2) == 0}});
    std::vector<NodeRange> ranges = Enough();
    for (uint32_t more = kind < 6 ? Below(4) : 0; more > 0; --more) {
      const NodeMask set = NodeMask::FromBits(random_()) & Manager().nodes();
      if (!set.Empty()) ranges.push_back({.least = set, .most = set});
    }
    return ProviderOf(HintsOf(ranges));
  }

 private:
  std::vector<NodeRange> Enough() {
    std::map<uint32_t, uint32_t> amounts;
    uint32_t sum = 0;
    for (const uint32_t number : numbers_) sum += amounts[number] = Below(5);
    const uint32_t wanted = Below(2 + sum);
    const NodeMask needed =
        Below(4) == 0 ? NodeMask::Of(numbers_[Below(2) % numbers_.size()]) : NodeMask();
    return RangesThatSuffice(needed, numbers_, [&](NodeMask mask) {
      uint32_t has = 0;
      for (const uint32_t node : mask.ToVector()) has += amounts[node];
      return has >= wanted;
    });
  }

  // The sets of the fewest nodes are preferred, or some fewer.
  Provider ProviderOf(std::vector<Hint> ranges) {
    Provider provider;
    std::vector<Hint> all;
    int fewest = NodeMask::kMost;
    for (const uint64_t bits : SetsOf(ranges)) {
      all.push_back({.nodes = NodeMask::FromBits(bits), .preferred = false});
      fewest = std::min(fewest, all.back().nodes->Count());
    }
    const bool none = Below(3) == 0;
    for (Hint& hint : all) hint.preferred = !none && hint.nodes->Count() == fewest;
    for (const Hint& hint : ranges) {
      if (!hint.nodes) all.push_back(hint);
    }
    std::vector<Hint> preferred = all;
    std::erase_if(preferred, [](const Hint& hint) { return !hint.preferred; });
    provider.all = std::move(all);
    provider.preferred = std::move(preferred);
    provider.ranges = std::move(ranges);
    return provider;
  }

  std::mt19937_64 random_;
  topology::MachineMaps maps_;
  std::vector<uint32_t> numbers_;
  bool is_closest_ = false;
};

// Each resource by a provider of its own, or two by one.
std::vector<ResourceHints> HintsBy(const std::vector<Provider>& providers, bool together,
                                   std::optional<std::vector<Hint>> Provider::*choice) {
  std::vector<ResourceHints> hints(1);
  for (const Provider& each : providers) {
    hints.back()[std::to_string(hints.back().size())] = each.*choice;
    if (!together) hints.emplace_back();
  }
  return hints;
}

TopologyManager::Decision DecideOn(const TopologyManager& manager,
                                   const std::vector<Provider>& providers, bool together) {
  return manager.Decide([&](HintChoice choice) {
    EXPECT_NE(choice, HintChoice::kAll) << "up to 16 nodes ranges say it all";
    return HintsBy(providers, together,
                   choice == HintChoice::kRanges ? &Provider::ranges : &Provider::preferred);
  });
}

// The topology manager's reading of providers.
std::vector<std::vector<Hint>> ListsBy(const std::vector<Provider>& providers) {
  std::vector<std::vector<Hint>> lists;
  for (const Provider& each : providers) {
    lists.push_back(each.all.value_or(std::vector<Hint>{}));
    if (lists.back().empty()) {
      lists.back().push_back({.nodes = std::nullopt, .preferred = !each.all});
    }
  }
  return lists;
}

TEST(RangesDecideAlikeTest, AsThePlainProduct) {
  constexpr uint64_t kRounds = 3000;
  uint64_t others = 0;
  for (uint64_t round = 0; round < kRounds; ++round) {
    const size_t count = 1 + round % 4;
    const size_t most_nodes[] = {6, 6, 4, 3};
    RandomNodes nodes(round, 1 + round / 4 % most_nodes[count - 1]);
    std::vector<Provider> providers;
    while (providers.size() < count) providers.push_back(nodes.Some());
    const TopologyManager manager = nodes.Manager();
    const Hint expected = PlainProduct(manager.nodes(), ListsBy(providers), nodes.closest()).Best();
    const TopologyManager::Decision decision = DecideOn(manager, providers, round % 3 == 0);
    ASSERT_TRUE(decision.admitted);
    ASSERT_EQ(decision.best, expected) << "round " << round;
    others += expected.preferred ? 0 : 1;
  }
  EXPECT_GT(others, kRounds / 4);
  EXPECT_LT(others, kRounds * 9 / 10);
}

// On more nodes the product has no end: hints of all sets are the judge, one by one.
TEST(RangesDecideAlikeTest, AsListsOfAllSetsOnMoreNodes) {
  uint64_t others = 0;
  constexpr uint64_t kRounds = 60;
  for (uint64_t round = 0; round < kRounds; ++round) {
    RandomNodes nodes(1000 + round, round % 20 == 0 ? 16 : 9);
    std::vector<Provider> providers;
    while (providers.size() < 2 + round % 3) providers.push_back(nodes.Some());
    const TopologyManager manager = nodes.Manager();
    const TopologyManager::Decision expected =
        manager.Merge(HintsBy(providers, round % 3 == 0, &Provider::all));
    ASSERT_EQ(DecideOn(manager, providers, round % 3 == 0).best, expected.best) << round;
    others += expected.best.preferred ? 0 : 1;
  }
  EXPECT_GT(others, kRounds / 4);
}

}  // namespace
}  // namespace plimsoll::agent
