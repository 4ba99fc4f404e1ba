// A large machine, and a container's part of one. Where files come from: machine_files_for_test.h.
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "topology/discover.h"
#include "topology/draw.h"
#include "topology/machine_files_for_test.h"
#include "topology/make_zones.h"
#include "topology/zone_tree.h"

namespace plimsoll::topology {
namespace {

TEST(DiscoverLimitsTest, AMachineOf512Cpus) {
  MachineFiles files;
  AddMachineOf512Cpus(files);
  const auto machine = Discover(files.root(), PLIMSOLL_HWLOC_PROGRAM);
  ASSERT_TRUE(machine.ok()) << machine.status();
  EXPECT_THAT(machine->missing, ::testing::IsEmpty());
  const auto tree = ZoneTree::Build(MakeZones(*machine));
  ASSERT_TRUE(tree.ok()) << tree.status();
  std::map<std::string, int> of_type;
  for (const Zone& zone : tree->topology().zones) ++of_type[zone.type];
  EXPECT_EQ(of_type,
            (std::map<std::string, int>{
                {kMachine, 1}, {kPackage, 2}, {kNumaNode, 8}, {kCacheGroup, 32}, {kCore, 256}}));
  EXPECT_EQ(tree->Cpus().ToString(), "0-511");
  const auto capacity = Capacity(tree->topology());
  EXPECT_EQ(capacity.at(kCpu).Canonical(), "512");
  EXPECT_EQ(capacity.at(kMemory).Canonical(), "512Gi");
  EXPECT_EQ(capacity.at("hugepages-2Mi").Canonical(), "256Mi");
  // One way from the top to the bottom.
  const size_t core = *tree->Find("core-1-127");
  EXPECT_EQ(tree->Cpus(core).ToString(), "255,511");
  const size_t cache = *tree->Parent(core);
  EXPECT_EQ(tree->zone(cache).name, "cache-3-31");
  EXPECT_EQ(tree->Cpus(cache).ToString(), "248-255,504-511");
  const size_t node = *tree->Parent(cache);
  EXPECT_EQ(tree->zone(node).name, "numa-7");
  EXPECT_EQ(tree->zone(node).costs.size(), 8u);
  EXPECT_EQ(tree->zone(*tree->Parent(node)).name, "package-1");
}

// As a container sees the machine of its host that lets it have CPUs 2-3 and node 1: all of it is
// in /sys, but it may not use it.
TEST(DiscoverLimitsTest, AContainerWithACpuset) {
  MachineFiles files;
  AddCpus(files, 1, 4, 1);
  files.AddCaches({{3, 8192, "0-3", 0}});
  files.AddNode({0, "0-1", 8 << 20, "10 20", {}});
  files.AddNode({1, "2-3", 8 << 20, "20 10", {}});
  files.Put("proc/mounts", "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n");
  files.Put("proc/self/cgroup", "0::/\n");
  files.Put("sys/fs/cgroup/cgroup.controllers", "cpuset cpu memory\n");
  files.Put("sys/fs/cgroup/cpuset.cpus.effective", "2-3\n");
  files.Put("sys/fs/cgroup/cpuset.mems.effective", "1\n");
  const auto machine = Discover(files.root(), PLIMSOLL_HWLOC_PROGRAM);
  ASSERT_TRUE(machine.ok()) << machine.status();
  EXPECT_EQ(machine->cpus.ToString(), "2-3");
  const std::string text = TopologyText(MakeZones(*machine));
  EXPECT_EQ("\n" + text.substr(text.find('\n') + 1), R"(
└─ package-0 Package
   └─ numa-1 NUMANode  memory 8Gi
      ├─ core-0-2 Core  cpu 1  cpu-ids=2
      └─ core-0-3 Core  cpu 1  cpu-ids=3
)");
}

// Its limit is a change like any other.
TEST(DiscoverLimitsTest, ACpusetIsInTheSignature) {
  MachineFiles files;
  AddCpus(files, 1, 4, 1);
  const auto limited = [&](const std::string& cpus) {
    files.Put("proc/self/status", absl::StrCat("Cpus_allowed_list:\t", cpus, "\n"));
    return *Signature(files.root());
  };
  const std::string two = limited("2-3");
  EXPECT_EQ(limited("2-3"), two);
  EXPECT_NE(limited("1-3"), two);
}

}  // namespace
}  // namespace plimsoll::topology
