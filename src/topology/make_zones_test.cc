// Properties that hold for every machine, tested on random machines.
#include "topology/make_zones.h"

#include <random>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "topology/machine/hwloc_reader.h"
#include "topology/zones/zone_tree.h"

namespace plimsoll::topology {
namespace {

using resources::CpuSet;

std::string RandomMachine(std::mt19937& random) {
  const auto upto = [&](int most) {
    return absl::StrCat(std::uniform_int_distribution(1, most)(random));
  };
  std::string description;
  if (random() % 3 == 0) absl::StrAppend(&description, "group:", upto(2), " ");
  absl::StrAppend(&description, "pack:", upto(4), " ");
  if (random() % 3 == 0) absl::StrAppend(&description, "die:", upto(2), " ");
  if (random() % 4 != 0) absl::StrAppend(&description, "numa:", upto(3), "(memory=1GB) ");
  if (random() % 3 != 0) absl::StrAppend(&description, "l3:", upto(3), "(size=16MB) ");
  if (random() % 2 == 0) absl::StrAppend(&description, "l2:", upto(3), " ");
  return absl::StrCat(description, "core:", upto(6), " pu:", upto(2));
}

void ExpectInvariants(const Machine& machine, const Topology& topology) {
  const auto tree = ZoneTree::Build(topology);
  ASSERT_TRUE(tree.ok()) << tree.status();
  CpuSet in_cores;
  for (size_t i = 0; i < topology.zones.size(); ++i) {
    const Zone& zone = topology.zones[i];
    EXPECT_EQ(i == 0, zone.parent.empty()) << zone.name;
    if (const auto parent = tree->Parent(i)) {
      EXPECT_LT(*parent, i) << "parents come first";
      EXPECT_TRUE(tree->Cpus(i).IsSubsetOf(tree->Cpus(*parent))) << zone.name;
    }
    if (zone.type != kCore) {
      EXPECT_FALSE(zone.attributes.contains(kCpuIds)) << zone.name;
      continue;
    }
    const CpuSet cpus = *CpuSet::Parse(zone.attributes.at(kCpuIds));
    EXPECT_TRUE(cpus.Intersection(in_cores).Empty()) << zone.name;
    in_cores = in_cores.Union(cpus);
    EXPECT_EQ(FindResource(zone, kCpu)->Value(), static_cast<int64_t>(cpus.Size()));
    EXPECT_TRUE(tree->Enclosing(i, kNumaNode).has_value()) << zone.name;
    EXPECT_TRUE(tree->Enclosing(i, kPackage).has_value()) << zone.name;
  }
  EXPECT_EQ(in_cores, machine.cpus);
  uint64_t memory = 0;
  for (const NumaNode& node : machine.nodes) memory += node.memory_bytes;
  const auto capacity = Capacity(topology);
  EXPECT_EQ(capacity.at(kMemory).Value(), static_cast<int64_t>(memory));
  EXPECT_EQ(capacity.at(kCpu).Value(), static_cast<int64_t>(machine.cpus.Size()));
}

TEST(MakeZonesTest, HoldsOnAnyMachine) {
  const auto seed = std::random_device()();
  std::mt19937 random(seed);
  for (int i = 0; i < 100; ++i) {
    const std::string description = RandomMachine(random);
    SCOPED_TRACE(absl::StrCat("seed ", seed, ": ", description));
    const auto machine = ReadHwlocSynthetic(description);
    ASSERT_TRUE(machine.ok()) << machine.status();
    ExpectInvariants(*machine, MakeZones(*machine));
    EXPECT_EQ(MakeZones(*machine), MakeZones(*ReadHwlocSynthetic(description)));
  }
}

// When CPUs go, the remaining zones keep their names and their order.
TEST(MakeZonesTest, NamesAndOrderOutliveChanges) {
  Machine machine = *ReadHwlocSynthetic("pack:2 l3:2 core:4 pu:2");
  for (size_t i = 0; i < machine.caches.size(); ++i) machine.caches[i].id = i;
  std::vector<std::string> before;
  for (const Zone& zone : MakeZones(machine).zones) before.push_back(zone.name);
  for (const uint32_t gone : {0u, 5u, 9u}) {
    machine.cpus.Remove(gone);
    for (auto& package : machine.packages) package.cpus.Remove(gone);
    for (auto& cache : machine.caches) cache.cpus.Remove(gone);
    for (auto& core : machine.cores) core.cpus.Remove(gone);
    for (auto& node : machine.nodes) node.cpus.Remove(gone);
  }
  std::vector<std::string> after;
  for (const Zone& zone : MakeZones(machine).zones) after.push_back(zone.name);
  EXPECT_EQ(after, before);
}

TEST(MakeZonesTest, CoresWithOneNumberAreToldApart) {
  Machine machine;
  for (uint32_t cpu = 0; cpu < 3; ++cpu) {
    machine.cpus.Add(cpu);
    Core core;
    core.cpus.Add(cpu);
    if (cpu < 2) core.id = 7;
    machine.cores.push_back(core);
  }
  machine.packages = {{.id = 0, .cpus = machine.cpus}};
  std::vector<std::string> names;
  for (const Zone& zone : MakeZones(machine).zones) names.push_back(zone.name);
  EXPECT_EQ(names, (std::vector<std::string>{"root", "package-0", "core-0-7", "core-cpu-1",
                                             "core-cpu-2"}));
}

TEST(MakeZonesTest, PackagesAndCachesWithOneNumberAreToldApart) {
  Machine machine = *ReadHwlocSynthetic("pack:2 l3:2 core:2 pu:1");
  for (Package& package : machine.packages) package.id = 0;
  for (Cache& cache : machine.caches) cache.id = 5;
  const auto tree = ZoneTree::Build(MakeZones(machine));
  ASSERT_TRUE(tree.ok()) << tree.status();
  EXPECT_TRUE(tree->Find("package-0").has_value());
  EXPECT_TRUE(tree->Find("package-0-cpu4").has_value());
  EXPECT_TRUE(tree->Find("cache-3-5-cpu2").has_value());
}

TEST(MakeZonesTest, HugepagesAreNamedByTheirSize) {
  EXPECT_EQ(HugepagesName(64 << 10), "hugepages-64Ki");
  EXPECT_EQ(HugepagesName(2 << 20), "hugepages-2Mi");
  EXPECT_EQ(HugepagesName(1 << 30), "hugepages-1Gi");
}

}  // namespace
}  // namespace plimsoll::topology
