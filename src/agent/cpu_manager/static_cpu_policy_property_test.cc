// Properties that hold on every machine, for every request.
#include <algorithm>
#include <map>
#include <random>

#include "agent/cpu_manager/machine_for_test.h"
#include "agent/cpu_manager/static_cpu_policy.h"
#include "agent/topology_manager/hints_for_test.h"
#include "gtest/gtest.h"

namespace plimsoll::agent {
namespace {

using resources::CpuSet;

constexpr uint32_t kSeeds = 400;

class RandomMachine {
 public:
  explicit RandomMachine(uint32_t seed) : random_(seed) {
    shape_.packages = Pick({1, 2, 4});
    shape_.nodes_per_package = Pick({1, 1, 2, 3});
    shape_.packages_per_node = shape_.nodes_per_package == 1 ? Pick({1, 1, 2}) : 1;
    shape_.caches_per_node = Pick({1, 2, 4});
    shape_.cores_per_cache = Pick({1, 2, 3});
    shape_.threads = Pick({1, 2, 2, 4});
    shape_.numbering =
        Pick({MachineShape::Numbering::kThreadsLast, MachineShape::Numbering::kThreadsTogether,
              MachineShape::Numbering::kPackagesInTurn});
    regular_ = Pick({true, true, false});
    if (!regular_) {
      shape_.single_thread_cores = Pick({0, 2});
      for (uint32_t i = 1; i <= 3; ++i) shape_.offline.Add(Below(30) + i);
    }
    maps_ = MakeMachine(shape_);
    options_.full_pcpus_only = Pick({true, false});
    switch (Below(5)) {
      case 0:
        options_.distribute_cpus_across_numa = true;
        break;
      case 1:
        options_.prefer_align_cpus_by_uncorecache = true;
        break;
      case 2:
        options_.distribute_cpus_across_cores = true;
        options_.full_pcpus_only = false;
        break;
      default:
        break;
    }
    options_.align_by_socket = shape_.packages_per_node == 1 && Pick({true, false, false});
    options_.strict_cpu_reservation = Pick({true, false});
  }

  // nullopt: the machine is too small.
  std::optional<StaticCpuPolicy> Policy() {
    auto policy = StaticCpuPolicy::Make(maps_, {.milli = 1000 * shape_.threads}, options_,
                                        TopologyPolicy::kBestEffort);
    if (!policy.ok()) return std::nullopt;
    return *std::move(policy);
  }

  uint32_t Below(uint32_t end) { return random_() % end; }
  template <typename T>
  T Pick(std::initializer_list<T> values) {
    return values.begin()[Below(static_cast<uint32_t>(values.size()))];
  }
  // Some CPUs of `cpus`; on regular machines whole cores.
  CpuSet Some(const CpuSet& cpus) {
    const CpuSet drawn = [&] {
      CpuSet cores;
      for (const uint32_t cpu : cpus.ToVector()) {
        if (Below(3) == 0) cores.Add(maps_->cpus.at(cpu).core);
      }
      return cores;
    }();
    CpuSet some;
    for (const uint32_t cpu : cpus.ToVector()) {
      if (drawn.Contains(maps_->cpus.at(cpu).core)) some.Add(cpu);
    }
    return some;
  }

  const topology::MachineMaps& maps() const { return *maps_; }
  const CpuOptions& options() const { return options_; }
  bool regular() const { return regular_; }
  uint32_t threads() const { return shape_.threads; }

 private:
  std::mt19937 random_;  // its numbers are the same everywhere
  MachineShape shape_;
  bool regular_ = true;
  std::shared_ptr<const topology::MachineMaps> maps_;
  CpuOptions options_;
};

// CPUs of the nodes, or of their packages.
CpuSet Near(const RandomMachine& machine, NodeMask nodes) {
  CpuSet near;
  for (const auto& [cpu, place] : machine.maps().cpus) {
    if (!nodes.Contains(place.numa_node)) continue;
    near =
        near.Union(machine.options().align_by_socket
                       ? CpusWith(machine.maps(), &topology::CpuPlace::package, place.package)
                       : CpusWith(machine.maps(), &topology::CpuPlace::numa_node, place.numa_node));
  }
  return near;
}

bool AreWholeCores(const RandomMachine& machine, const CpuSet& cpus) {
  for (const uint32_t cpu : cpus.ToVector()) {
    const uint32_t core = machine.maps().cpus.at(cpu).core;
    if (!CpusWith(machine.maps(), &topology::CpuPlace::core, core).IsSubsetOf(cpus)) return false;
  }
  return true;
}

TEST(StaticCpuPolicyPropertyTest, AllocationsAreWhatWasAskedFor) {
  uint32_t allocations = 0;
  for (uint32_t seed = 0; seed < kSeeds; ++seed) {
    RandomMachine machine(seed);
    const auto policy = machine.Policy();
    if (!policy) continue;
    const CpuSet held = machine.Some(policy->exclusive());
    const CpuSet reusable = machine.Some(held);
    const CpuSet free = policy->all().Difference(held);
    const CpuSet usable = free.Difference(policy->reserved()).Union(reusable);
    const int64_t count = machine.Below(static_cast<uint32_t>(usable.Size()) + 2);
    const NodeMask nodes = NodeMask::FromBits(machine.Below(16));
    const auto cpus = policy->Allocate(count, nodes, free, reusable);
    if (!cpus.ok()) {
      EXPECT_TRUE(StaticCpuPolicy::IsSmtAlignmentError(cpus.status()) ||
                  count > static_cast<int64_t>(usable.Size()))
          << seed << cpus.status();
      continue;
    }
    ++allocations;
    EXPECT_EQ(cpus->Size(), static_cast<size_t>(count)) << seed;
    EXPECT_TRUE(cpus->IsSubsetOf(usable)) << seed;
    EXPECT_TRUE(cpus->Intersection(policy->reserved()).Empty()) << seed;
    const CpuSet near = usable.Intersection(Near(machine, nodes));
    EXPECT_EQ(cpus->Intersection(near).Size(), std::min(near.Size(), static_cast<size_t>(count)))
        << seed << ": of the hint's nodes first";
    if (machine.options().full_pcpus_only && machine.regular()) {
      EXPECT_TRUE(AreWholeCores(machine, *cpus)) << seed << ": " << cpus->ToString();
    }
  }
  EXPECT_GT(allocations, kSeeds / 3);
}

// Containers come and go; what one has no other gets, and nothing is lost.
TEST(StaticCpuPolicyPropertyTest, NoOrderOfAllocationsLosesOrSharesACpu) {
  for (uint32_t seed = 0; seed < kSeeds / 2; ++seed) {
    RandomMachine machine(seed);
    const auto policy = machine.Policy();
    if (!policy) continue;
    std::map<uint32_t, CpuSet> containers;
    CpuSet taken;
    for (uint32_t step = 0; step < 40; ++step) {
      if (machine.Below(3) == 0 && !containers.empty()) {
        taken = taken.Difference(containers.begin()->second);
        containers.erase(containers.begin());
        continue;
      }
      const int64_t count = 1 + machine.Below(4);
      const CpuSet free = policy->all().Difference(taken);
      const auto cpus = policy->Allocate(count, std::nullopt, free, {});
      if (!cpus.ok()) continue;
      EXPECT_TRUE(cpus->Intersection(taken).Empty()) << seed;
      EXPECT_EQ(policy->Allocate(count, std::nullopt, free, {}).value(), *cpus)
          << seed << ": released and allocated again";
      taken = taken.Union(*cpus);
      containers[step] = *cpus;
      const CpuSet shared = policy->SharedBeside(taken);
      EXPECT_TRUE(shared.Intersection(taken).Empty());
      EXPECT_EQ(shared.Union(taken).Union(policy->reserved()), policy->all()) << seed;
    }
    for (const auto& [step, cpus] : containers) taken = taken.Difference(cpus);
    EXPECT_TRUE(taken.Empty()) << seed;
  }
}

// Against all sets of nodes, one after the other.
TEST(StaticCpuPolicyPropertyTest, HintsAreAllSetsThatCanHoldTheRequest) {
  for (uint32_t seed = 0; seed < kSeeds; ++seed) {
    RandomMachine machine(seed);
    const auto policy = machine.Policy();
    if (!policy) continue;
    const CpuSet held = machine.Some(policy->exclusive());
    const CpuSet reusable = machine.Below(2) == 0 ? CpuSet() : machine.Some(held);
    const CpuSet free = policy->exclusive().Difference(held);
    const int64_t count = 1 + machine.Below(static_cast<uint32_t>(policy->all().Size()));
    std::map<uint64_t, bool> hints;
    for (const Hint& hint : policy->Hints(count, free, reusable)) {
      hints[hint.nodes.value().bits()] = hint.preferred;
    }
    int fewest = static_cast<int>(machine.maps().nodes.size());
    std::map<uint64_t, int> expected;
    NodeMask all;
    for (const auto& [node, map] : machine.maps().nodes) all.Add(node);
    for (uint64_t bits = 1; bits <= all.bits(); ++bits) {
      if (!NodeMask::FromBits(bits).IsSubsetOf(all)) continue;
      CpuSet in_nodes;
      for (const auto& [node, map] : machine.maps().nodes) {
        if (NodeMask::FromBits(bits).Contains(node)) in_nodes = in_nodes.Union(map.cpus);
      }
      const int nodes = NodeMask::FromBits(bits).Count();
      if (static_cast<int64_t>(in_nodes.Size()) >= count) fewest = std::min(fewest, nodes);
      const CpuSet usable = free.Union(reusable).Intersection(in_nodes);
      if (reusable.IsSubsetOf(in_nodes) && static_cast<int64_t>(usable.Size()) >= count) {
        expected[bits] = nodes;
      }
    }
    ASSERT_EQ(hints.size(), expected.size()) << seed;
    for (const auto& [bits, nodes] : expected) {
      ASSERT_TRUE(hints.contains(bits)) << seed;
      // Sockets make more of them preferred.
      if (nodes == fewest || !machine.options().align_by_socket) {
        EXPECT_EQ(hints.at(bits), nodes == fewest) << seed;
      }
    }
  }
}

TEST(StaticCpuPolicyPropertyTest, OtherChoicesOfHintsSayTheSame) {
  size_t preferred = 0;
  size_t others = 0;
  for (uint32_t seed = 0; seed < kSeeds; ++seed) {
    RandomMachine machine(seed);
    const auto policy = machine.Policy();
    if (!policy) continue;
    const CpuSet held = machine.Some(policy->exclusive());
    const CpuSet reusable = machine.Below(2) == 0 ? CpuSet() : machine.Some(held);
    const CpuSet free = policy->exclusive().Difference(held);
    const int64_t count = 1 + machine.Below(static_cast<uint32_t>(policy->all().Size()));
    std::vector<Hint> expected = policy->Hints(count, free, reusable);
    const std::vector<Hint> ranges = policy->Hints(count, free, reusable, HintChoice::kRanges);
    EXPECT_EQ(SetsOf(ranges), SetsOf(expected)) << seed;
    EXPECT_LE(ranges.size(), expected.size()) << seed;
    others += std::erase_if(expected, [](const Hint& hint) { return !hint.preferred; });
    preferred += expected.size();
    EXPECT_EQ(policy->Hints(count, free, reusable, HintChoice::kPreferred), expected) << seed;
  }
  EXPECT_GT(preferred, 100u);
  EXPECT_GT(others, kSeeds);
}

}  // namespace
}  // namespace plimsoll::agent
