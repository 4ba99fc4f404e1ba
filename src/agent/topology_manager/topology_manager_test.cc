#include "agent/topology_manager/topology_manager.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <initializer_list>
#include <random>

#include "agent/topology_manager/plain_product_for_test.h"

namespace plimsoll::agent {
namespace {

using ::testing::HasSubstr;

NodeMask Nodes(std::initializer_list<uint32_t> numbers) {
  NodeMask mask;
  for (const uint32_t number : numbers) mask.Add(number);
  return mask;
}
Hint Preferred(std::initializer_list<uint32_t> numbers) {
  return {.nodes = Nodes(numbers), .preferred = true};
}
Hint Possible(std::initializer_list<uint32_t> numbers) {
  return {.nodes = Nodes(numbers), .preferred = false};
}
constexpr Hint kAnywhere = {.nodes = std::nullopt, .preferred = true};

// Distances of 10 to itself, 12 within a package of `package` nodes (by their turn), else 32.
topology::MachineMaps Machine(const std::vector<uint32_t>& numbers, size_t package = 1) {
  topology::MachineMaps maps;
  for (size_t i = 0; i < numbers.size(); ++i) {
    for (size_t j = 0; j < numbers.size(); ++j) {
      const uint32_t near = i / package == j / package ? 12 : 32;
      maps.nodes[numbers[i]].distances[numbers[j]] = i == j ? 10 : near;
    }
  }
  return maps;
}

TopologyManager Manager(TopologyPolicy policy, const topology::MachineMaps& maps,
                        bool prefer_closest = false) {
  auto manager = TopologyManager::Make(
      {.policy = policy, .prefer_closest = prefer_closest, .max_nodes = 64}, maps);
  EXPECT_TRUE(manager.ok()) << manager.status();
  return *std::move(manager);
}

void ExpectDecision(const TopologyManager& manager, const std::vector<ResourceHints>& hints,
                    const Hint& best, bool admitted) {
  const TopologyManager::Decision decision = manager.Merge(hints);
  const std::optional<NodeMask> nodes = decision.best.nodes;
  EXPECT_EQ(decision.best, best) << "nodes "
                                 << (nodes ? ::testing::PrintToString(nodes->ToVector()) : "any")
                                 << (decision.best.preferred ? ", preferred" : "");
  EXPECT_EQ(decision.admitted, admitted);
}

// "Control Topology Management Policies on a node": two packages of one node each; a container that
// wants 2 CPUs, of which each node has some, and a device at node 1.
const std::vector<ResourceHints> kCpusAndDevice = {
    {{"example.com/nic", std::vector{Preferred({1}), Possible({0, 1})}}},
    {{"cpu", std::vector{Preferred({0}), Preferred({1}), Possible({0, 1})}}},
    {}};

TEST(TopologyManagerTest, NoneAlignsNothing) {
  const auto manager = Manager(TopologyPolicy::kNone, Machine({0, 1}));
  ExpectDecision(manager, kCpusAndDevice, {}, true);
  ExpectDecision(manager, {{{"cpu", std::vector<Hint>()}}}, {}, true);
}

TEST(TopologyManagerTest, PoliciesAgreeWhereAllCanBeAtOneNode) {
  for (const TopologyPolicy policy : {TopologyPolicy::kBestEffort, TopologyPolicy::kRestricted,
                                      TopologyPolicy::kSingleNumaNode}) {
    ExpectDecision(Manager(policy, Machine({0, 1})), kCpusAndDevice, Preferred({1}), true);
  }
}

TEST(TopologyManagerTest, PoliciesDifferWhereNothingPreferredAgrees) {
  const std::vector<ResourceHints> hints = {
      {{"example.com/nic", std::vector{Preferred({1}), Possible({0, 1})}}},
      {{"cpu", std::vector{Preferred({0}), Possible({0, 1})}}}};
  ExpectDecision(Manager(TopologyPolicy::kBestEffort, Machine({0, 1})), hints, Possible({0}), true);
  ExpectDecision(Manager(TopologyPolicy::kRestricted, Machine({0, 1})), hints, Possible({0}),
                 false);
  ExpectDecision(Manager(TopologyPolicy::kSingleNumaNode, Machine({0, 1})), hints, {}, false);
}

// A request that no single node could ever hold is preferred on two: restricted takes it,
// single-numa-node never does.
TEST(TopologyManagerTest, RestrictedTakesAsManyNodesAsAreNeeded) {
  const std::vector<ResourceHints> hints = {{{"cpu", std::vector{Preferred({0, 1})}}},
                                            {{"memory", std::vector{Preferred({0, 1})}}}};
  ExpectDecision(Manager(TopologyPolicy::kRestricted, Machine({0, 1})), hints, Preferred({0, 1}),
                 true);
  ExpectDecision(Manager(TopologyPolicy::kSingleNumaNode, Machine({0, 1})), hints, {}, false);
}

TEST(TopologyManagerTest, ProvidersWithoutHintsTakeAnyPlace) {
  for (const std::vector<ResourceHints>& hints : {std::vector<ResourceHints>{},
                                                  {{}, {}},
                                                  {{{"cpu", std::nullopt}}},
                                                  {{{"cpu", std::vector{kAnywhere}}}}}) {
    ExpectDecision(Manager(TopologyPolicy::kRestricted, Machine({0, 1})), hints, Preferred({0, 1}),
                   true);
    ExpectDecision(Manager(TopologyPolicy::kSingleNumaNode, Machine({0, 1})), hints, kAnywhere,
                   true);
  }
}

TEST(TopologyManagerTest, AResourceThatFitsNowhereIsNeverPreferred) {
  const std::vector<ResourceHints> hints = {{{"example.com/gpu", std::vector<Hint>()}},
                                            {{"cpu", std::vector{Preferred({1})}}}};
  ExpectDecision(Manager(TopologyPolicy::kBestEffort, Machine({0, 1})), hints, Possible({1}), true);
  ExpectDecision(Manager(TopologyPolicy::kRestricted, Machine({0, 1})), hints, Possible({1}),
                 false);
  ExpectDecision(Manager(TopologyPolicy::kSingleNumaNode, Machine({0, 1})), hints, {}, false);
}

// All nodes of a machine with one node are any place, for single-numa-node.
TEST(TopologyManagerTest, MachineOfOneNode) {
  const std::vector<ResourceHints> hints = {{{"cpu", std::vector{Preferred({0})}}}};
  ExpectDecision(Manager(TopologyPolicy::kSingleNumaNode, Machine({0})), hints, kAnywhere, true);
  ExpectDecision(Manager(TopologyPolicy::kRestricted, Machine({0})), hints, Preferred({0}), true);
}

TEST(TopologyManagerTest, MachineWithoutNodesAlignsNothing) {
  const std::vector<ResourceHints> hints = {{{"cpu", std::vector{Preferred({0})}}}};
  ExpectDecision(Manager(TopologyPolicy::kBestEffort, {}), hints, Possible({}), true);
  ExpectDecision(Manager(TopologyPolicy::kSingleNumaNode, {}), hints, {}, false);
}

TEST(TopologyManagerTest, OfPreferredPlacesTheNarrowestOfTheLowestNodes) {
  const std::vector<ResourceHints> hints = {
      {{"cpu", std::vector{Preferred({2, 3}), Preferred({3}), Preferred({1}), Preferred({0, 1})}}}};
  ExpectDecision(Manager(TopologyPolicy::kBestEffort, Machine({0, 1, 2, 3})), hints, Preferred({1}),
                 true);
}

// Four nodes in two packages (sub-NUMA clustering): {1, 2} is across packages, {2, 3} within one.
TEST(TopologyManagerTest, ClosestNodesBeatLowerOnesIfAsked) {
  const std::vector<ResourceHints> hints = {
      {{"cpu", std::vector{Preferred({1, 2}), Preferred({2, 3}), Possible({1, 2, 3})}}}};
  const topology::MachineMaps snc = Machine({0, 1, 2, 3}, 2);
  ExpectDecision(Manager(TopologyPolicy::kRestricted, snc), hints, Preferred({1, 2}), true);
  ExpectDecision(Manager(TopologyPolicy::kRestricted, snc, true), hints, Preferred({2, 3}), true);
  ExpectDecision(Manager(TopologyPolicy::kBestEffort, snc, true),
                 {{{"cpu", std::vector{Possible({1, 2}), Possible({2, 3})}}}}, Possible({2, 3}),
                 true);
  // The lower nodes win over others as near.
  ExpectDecision(Manager(TopologyPolicy::kRestricted, snc, true),
                 {{{"cpu", std::vector{Preferred({2, 3}), Preferred({0, 1})}}}}, Preferred({0, 1}),
                 true);
  // Fewer nodes are nearer than near ones.
  ExpectDecision(Manager(TopologyPolicy::kBestEffort, snc, true),
                 {{{"cpu", std::vector{Preferred({0, 1}), Preferred({3})}}}}, Preferred({3}), true);
}

// Memory needs two nodes, CPUs one: of the places that aren't preferred, two nodes are the most
// that makes sense, fewer come next, and more last.
TEST(TopologyManagerTest, OtherPlacesComeNearTheNumberOfNodesThatIsNeeded) {
  const auto manager = Manager(TopologyPolicy::kBestEffort, Machine({0, 1, 2, 3}));
  const ResourceHints memory = {
      {"memory", std::vector{Possible({0, 1}), Possible({2, 3}), Possible({0, 1, 2, 3})}}};
  ExpectDecision(manager, {memory, {{"cpu", std::vector{Preferred({3}), Possible({0, 1, 2})}}}},
                 Possible({0, 1}), true);
  ExpectDecision(manager, {memory, {{"cpu", std::vector{Preferred({3}), Possible({2})}}}},
                 Possible({2}), true);
  ExpectDecision(manager,
                 {{{"cpu", std::vector{Possible({0, 1, 2}), Possible({0}), Possible({1})}}}},
                 Possible({0}), true);
  const ResourceHints wide = {{"memory", std::vector{Possible({0, 1, 2, 3}), Possible({3})}}};
  ExpectDecision(manager, {wide, {{"cpu", std::vector{Possible({0, 1}), Possible({0, 1, 2})}}}},
                 Possible({0, 1}), true);
}

TEST(TopologyManagerTest, MemoryOnlyNodesAreNodes) {
  // Nodes 0 and 1 have CPUs, node 2 is a CXL memory.
  const ResourceHints memory = {{"memory", std::vector{Preferred({2}), Possible({0, 2})}}};
  const ResourceHints cpu = {
      {"cpu", std::vector{Preferred({0}), Preferred({1}), Possible({0, 1}), Possible({0, 2})}}};
  ExpectDecision(Manager(TopologyPolicy::kBestEffort, Machine({0, 1, 2})), {cpu, memory},
                 Possible({0}), true);
  ExpectDecision(Manager(TopologyPolicy::kSingleNumaNode, Machine({0, 1, 2})), {cpu, memory}, {},
                 false);
}

TEST(TopologyManagerTest, NodesNeedNotBeNumberedInARow) {
  const std::vector<ResourceHints> hints = {
      {{"cpu", std::vector{Preferred({8}), Preferred({63}), Possible({8, 63})}}},
      {{"memory", std::vector{Preferred({63})}}},
      {{"example.com/nic", std::vector{Preferred({5}), Preferred({63})}}}};  // no node 5
  const auto manager = Manager(TopologyPolicy::kSingleNumaNode, Machine({8, 63}));
  EXPECT_EQ(manager.nodes(), Nodes({8, 63}));
  ExpectDecision(manager, hints, Preferred({63}), true);
  ExpectDecision(manager, {{{"example.com/nic", std::vector{Preferred({5})}}}}, {}, false);
  ExpectDecision(Manager(TopologyPolicy::kRestricted, Machine({8, 63})),
                 {{{"example.com/nic", std::vector{Preferred({5})}}}}, Possible({8, 63}), false);
}

TEST(TopologyManagerTest, RefusesMachinesThatItCannotAlignOn) {
  std::vector<uint32_t> numbers;
  for (uint32_t number = 0; number < 9; ++number) numbers.push_back(number);
  TopologyOptions options = {.policy = TopologyPolicy::kRestricted};
  auto made = TopologyManager::Make(options, Machine(numbers));
  EXPECT_EQ(made.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(made.status().message(),
            "topologyManagerPolicy restricted: the machine has 9 NUMA nodes, and at most 8 are "
            "allowed; topologyManagerPolicyOptions: max-allowable-numa-nodes may allow more");
  options.max_nodes = 9;
  EXPECT_TRUE(TopologyManager::Make(options, Machine(numbers)).ok());

  made = TopologyManager::Make(options, Machine({0, 64}));
  EXPECT_EQ(made.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(made.status().message(), HasSubstr("NUMA node 64 is beyond 63"));

  topology::MachineMaps no_distances = Machine({0, 1});
  no_distances.nodes[1].distances = {{1, 10}};
  EXPECT_TRUE(TopologyManager::Make(options, no_distances).ok());
  options.prefer_closest = true;
  made = TopologyManager::Make(options, no_distances);
  EXPECT_EQ(made.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(made.status().message(), HasSubstr("the topology has none from node 1 to node 0"));

  // None takes any machine.
  EXPECT_TRUE(TopologyManager::Make({}, Machine({0, 64, 70})).ok());
}

std::vector<Hint> RandomList(std::mt19937_64& random, uint64_t all) {
  std::vector<Hint> list(1 + random() % 7);
  for (Hint& hint : list) {
    hint.preferred = random() % 3 != 0;
    if (random() % 12 != 0) hint.nodes = NodeMask::FromBits(random() & (random() | all) & all);
    if (random() % 3 == 0) hint.nodes = NodeMask::Of(static_cast<uint32_t>(random() % 4));
  }
  return list;
}

TEST(TopologyManagerTest, AgreesWithThePlainProduct) {
  std::mt19937_64 random(5224);
  int preferred = 0;
  constexpr int kRounds = 3000;
  for (int round = 0; round < kRounds; ++round) {
    std::vector<uint32_t> numbers;
    for (uint32_t number = 0; number <= random() % 6; ++number) numbers.push_back(number);
    const auto manager = Manager(TopologyPolicy::kBestEffort, Machine(numbers));
    std::vector<std::vector<Hint>> lists;
    ResourceHints resources;
    for (size_t i = 0; i < 1 + random() % 4; ++i) {
      lists.push_back(RandomList(random, manager.nodes().bits()));
      resources[std::string(1, static_cast<char>('a' + i))] = lists.back();
    }
    const Hint expected = PlainProduct(manager.nodes(), lists).Best();
    ASSERT_EQ(manager.Merge({resources}).best, expected) << "round " << round;
    preferred += expected.preferred ? 1 : 0;
  }
  EXPECT_GT(preferred, kRounds / 20);
  EXPECT_LT(preferred, kRounds * 19 / 20);
}

ResourceHints OnlyPreferred(ResourceHints hints) {
  for (auto& [resource, list] : hints) {
    if (list) std::erase_if(*list, [](const Hint& hint) { return !hint.preferred; });
  }
  return hints;
}

// Several providers, some of which have no resource, one that doesn't care, or none that fits.
std::vector<ResourceHints> RandomHints(std::mt19937_64& random, uint64_t all) {
  std::vector<ResourceHints> providers(1 + random() % 3);
  for (ResourceHints& provider : providers) {
    for (const char* resource : {"a", "b"}) {
      const uint64_t kind = random() % 8;
      if (kind == 0) provider[resource] = std::nullopt;
      if (kind == 1) provider[resource] = std::vector<Hint>();
      if (kind > 1 && kind < 6) provider[resource] = RandomList(random, all);
    }
  }
  return providers;
}

TEST(TopologyManagerTest, PreferredHintsAloneDecideAlike) {
  std::mt19937_64 random(2718);
  int admitted = 0;
  int asked_for_all = 0;
  constexpr int kRounds = 6000;
  for (int round = 0; round < kRounds; ++round) {
    const auto policy = static_cast<TopologyPolicy>(random() % 4);
    std::vector<uint32_t> numbers;
    for (uint32_t number = 0; number <= random() % 6; ++number) numbers.push_back(3 * number);
    const auto manager = Manager(policy, Machine(numbers, 2), random() % 2 == 0);
    const std::vector<ResourceHints> hints = RandomHints(random, manager.nodes().bits());
    bool asked = false;
    const TopologyManager::Decision decision = manager.Decide([&](HintChoice choice) {
      std::vector<ResourceHints> chosen = hints;
      asked = choice != HintChoice::kPreferred;
      for (ResourceHints& each : chosen) each = asked ? each : OnlyPreferred(each);
      return chosen;
    });
    const TopologyManager::Decision expected = manager.Merge(hints);
    ASSERT_EQ(decision.admitted, expected.admitted) << "round " << round;
    if (expected.admitted) {
      ASSERT_EQ(decision.best, expected.best) << "round " << round;
    }
    ASSERT_EQ(asked, policy == TopologyPolicy::kBestEffort && !expected.best.preferred);
    admitted += expected.admitted ? 1 : 0;
    asked_for_all += asked ? 1 : 0;
  }
  EXPECT_GT(admitted, kRounds / 10);
  EXPECT_LT(admitted, kRounds * 9 / 10);
  EXPECT_GT(asked_for_all, kRounds / 20);
}

// Masks of nodes beyond the first 16 are not in AgreedNodes' table.
TEST(TopologyManagerTest, FarNodesAgreeToo) {
  const auto manager = Manager(TopologyPolicy::kRestricted, Machine({1, 20, 40, 63}));
  ExpectDecision(manager,
                 {{{"a", std::vector{Preferred({1, 63}), Preferred({20, 40}), Preferred({63})}}},
                  {{"b", std::vector{Preferred({1, 20}), Preferred({20, 40}), Possible({63})}}}},
                 Preferred({20, 40}), true);
}

// The hints of CPUs, memory and four devices, each possible on any nodes: 2^48 combinations on 8
// nodes, 2^96 on 16.
TEST(TopologyManagerTest, LongListsOnLargeMachinesEnd) {
  for (const uint32_t nodes : {8u, 16u}) {
    std::vector<uint32_t> numbers;
    for (uint32_t number = 0; number < nodes; ++number) numbers.push_back(number);
    std::vector<Hint> list;
    for (uint64_t bits = 1; bits < uint64_t{1} << nodes; ++bits) {
      list.push_back({.nodes = NodeMask::FromBits(bits), .preferred = false});
    }
    std::vector<ResourceHints> hints;
    for (const char* resource : {"cpu", "memory", "a", "b", "c", "d"}) {
      hints.push_back({{resource, list}});
    }
    ExpectDecision(Manager(TopologyPolicy::kBestEffort, Machine(numbers)), hints, Possible({0}),
                   true);
  }
}

}  // namespace
}  // namespace plimsoll::agent
