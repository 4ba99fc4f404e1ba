// Machines of many kinds, written by hand as sysfs trees (machine_files_for_test.h) after the
// kernel's documentation of such machines, each with the whole tree of zones that it must give.
#include "topology/machine/discover.h"

#include <cstdlib>
#include <vector>

#include "base/no_descriptors_for_test.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "topology/machine/identity.h"
#include "topology/machine/read_machine_for_test.h"
#include "topology/make_zones.h"
#include "topology/zones/maps.h"

namespace plimsoll::topology {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

// The tree of a machine with nothing missing.
std::string Tree(MachineFiles& files) {
  const Machine machine = ReadMachine(files);
  EXPECT_THAT(machine.missing, IsEmpty());
  return TreeText(machine);
}

// The firmware's distances, a line for each node.
std::string Costs(MachineFiles& files) {
  std::string text = "\n";
  for (const Zone& zone : MakeZones(ReadMachine(files)).zones) {
    if (zone.costs.empty()) continue;
    absl::StrAppend(&text, zone.name, ":");
    for (const Cost& cost : zone.costs) absl::StrAppend(&text, " ", cost.name, "=", cost.value);
    absl::StrAppend(&text, "\n");
  }
  return text;
}

std::vector<FakeCache> PrivateL2(uint32_t cpus) {
  std::vector<FakeCache> caches;
  for (uint32_t cpu = 0; cpu < cpus; ++cpu) {
    caches.push_back({2, 1024, absl::StrCat(cpu), static_cast<int>(cpu)});
  }
  return caches;
}

TEST(DiscoverTest, OneSocketWithoutNuma) {
  MachineFiles files;
  AddCpus(files, 1, 2, 1);
  files.AddCaches({{2, 512, "0", 0}, {2, 512, "1", 1}, {3, 8192, "0-1", 0}});
  EXPECT_EQ(Tree(files), R"(
└─ package-0 Package  cache-level=3  cache-size=8Mi
   └─ numa-0 NUMANode  memory 16 GiB
      ├─ core-0-0 Core  cpu 1  cpu-ids=0
      └─ core-0-1 Core  cpu 1  cpu-ids=1
)");
}

TEST(DiscoverTest, TwoSockets) {
  MachineFiles files;
  AddCpus(files, 2, 2, 2);
  files.AddCaches({{3, 16384, "0-1,4-5", 0}, {3, 16384, "2-3,6-7", 1}});
  files.AddNode({0, "0-1,4-5", 16 << 20, "10 21", {{2048, 8}, {1048576, 1}}});
  files.AddNode({1, "2-3,6-7", 16 << 20, "21 10", {{2048, 0}, {1048576, 0}}});
  EXPECT_EQ(Tree(files), R"(
├─ package-0 Package  cache-level=3  cache-size=16Mi
│  └─ numa-0 NUMANode  memory 16 GiB  hugepages-2Mi 16 MiB  hugepages-1Gi 1 GiB
│     ├─ core-0-0 Core  cpu 2  cpu-ids=0,4
│     └─ core-0-1 Core  cpu 2  cpu-ids=1,5
└─ package-1 Package  cache-level=3  cache-size=16Mi
   └─ numa-1 NUMANode  memory 16 GiB  hugepages-2Mi 0  hugepages-1Gi 0
      ├─ core-1-0 Core  cpu 2  cpu-ids=2,6
      └─ core-1-1 Core  cpu 2  cpu-ids=3,7
)");
}

TEST(DiscoverTest, SubNumaClusters) {
  MachineFiles files;
  AddCpus(files, 1, 4, 1);
  files.AddCaches({{3, 16384, "0-3", 0}});
  files.AddNode({0, "0-1", 8 << 20, "10 11", {}});
  files.AddNode({1, "2-3", 8 << 20, "11 10", {}});
  EXPECT_EQ(Tree(files), R"(
└─ package-0 Package  cache-level=3  cache-size=16Mi
   ├─ numa-0 NUMANode  memory 8 GiB
   │  ├─ core-0-0 Core  cpu 1  cpu-ids=0
   │  └─ core-0-1 Core  cpu 1  cpu-ids=1
   └─ numa-1 NUMANode  memory 8 GiB
      ├─ core-0-2 Core  cpu 1  cpu-ids=2
      └─ core-0-3 Core  cpu 1  cpu-ids=3
)");
}

TEST(DiscoverTest, OneNumaNodeOverTwoPackages) {
  MachineFiles files;
  AddCpus(files, 2, 2, 1);
  files.AddCaches({{3, 8192, "0-1", 0}, {3, 8192, "2-3", 1}});
  files.AddNode({0, "0-3", 8 << 20, "10", {}});
  EXPECT_EQ(Tree(files), R"(
└─ numa-0 NUMANode  memory 8 GiB
   ├─ package-0 Package
   │  └─ cache-3-0 CacheGroup  cache-level=3  cache-size=8Mi
   │     ├─ core-0-0 Core  cpu 1  cpu-ids=0
   │     └─ core-0-1 Core  cpu 1  cpu-ids=1
   └─ package-1 Package
      └─ cache-3-1 CacheGroup  cache-level=3  cache-size=8Mi
         ├─ core-1-0 Core  cpu 1  cpu-ids=2
         └─ core-1-1 Core  cpu 1  cpu-ids=3
)");
}

TEST(DiscoverTest, SeveralL3InANode) {
  MachineFiles files;
  AddCpus(files, 1, 4, 2);
  files.AddCaches({{3, 16384, "0-1,4-5", 0}, {3, 16384, "2-3,6-7", 1}});
  files.AddNode({0, "0-7", 8 << 20, "10", {}});
  EXPECT_EQ(Tree(files), R"(
└─ package-0 Package
   └─ numa-0 NUMANode  memory 8 GiB
      ├─ cache-3-0 CacheGroup  cache-level=3  cache-size=16Mi
      │  ├─ core-0-0 Core  cpu 2  cpu-ids=0,4
      │  └─ core-0-1 Core  cpu 2  cpu-ids=1,5
      └─ cache-3-1 CacheGroup  cache-level=3  cache-size=16Mi
         ├─ core-0-2 Core  cpu 2  cpu-ids=2,6
         └─ core-0-3 Core  cpu 2  cpu-ids=3,7
)");
}

TEST(DiscoverTest, CachesWithoutIds) {
  MachineFiles files;
  AddCpus(files, 1, 4, 1);
  files.AddCaches({{3, 16384, "0-1"}, {3, 16384, "2-3"}});
  files.AddNode({0, "0-3", 8 << 20, "10", {}});
  EXPECT_EQ(Tree(files), R"(
└─ package-0 Package
   └─ numa-0 NUMANode  memory 8 GiB
      ├─ cache-3-cpu0 CacheGroup  cache-level=3  cache-size=16Mi
      │  ├─ core-0-0 Core  cpu 1  cpu-ids=0
      │  └─ core-0-1 Core  cpu 1  cpu-ids=1
      └─ cache-3-cpu2 CacheGroup  cache-level=3  cache-size=16Mi
         ├─ core-0-2 Core  cpu 1  cpu-ids=2
         └─ core-0-3 Core  cpu 1  cpu-ids=3
)");
}

// Two P-cores with two threads each, a module of four E-cores with one L2, all below one L3; and
// two low-power E-cores that the L3 does not reach.
TEST(DiscoverTest, HybridCores) {
  MachineFiles files;
  files.Cpus("0-9", "0-9");
  for (uint32_t cpu = 0; cpu < 10; ++cpu) {
    const std::string siblings =
        cpu < 4 ? absl::StrCat(cpu & ~1u, "-", cpu | 1u) : absl::StrCat(cpu);
    files.Add({.cpu = cpu,
               .core = static_cast<int>(cpu < 4 ? cpu / 2 * 4 : cpu + 4),
               .siblings = siblings,
               .package_cpus = "0-9"});
    files.Frequencies(cpu, cpu < 4 ? 2400000 : 1800000, cpu < 4 ? 5000000 : 3800000);
  }
  files.AddCaches({{2, 2048, "0-1", 0},
                   {2, 2048, "2-3", 1},
                   {2, 4096, "4-7", 2},
                   {2, 2048, "8-9", 3},
                   {3, 24576, "0-7", 0}});
  files.Put("sys/devices/cpu_core/cpus", "0-3\n");
  files.Put("sys/devices/cpu_atom/cpus", "4-9\n");
  files.AddNode({0, "0-9", 32 << 20, "10", {}});
  EXPECT_EQ(Tree(files), R"(
└─ package-0 Package
   └─ numa-0 NUMANode  memory 32 GiB
      ├─ cache-2-3 CacheGroup  cache-level=2  cache-size=2Mi
      │  ├─ core-0-12 Core  cpu 1  base-frequency-mhz=1800  core-type=efficiency  cpu-ids=8  max-frequency-mhz=3800
      │  └─ core-0-13 Core  cpu 1  base-frequency-mhz=1800  core-type=efficiency  cpu-ids=9  max-frequency-mhz=3800
      └─ cache-3-0 CacheGroup  cache-level=3  cache-size=24Mi
         ├─ core-0-0 Core  cpu 2  base-frequency-mhz=2400  core-type=performance  cpu-ids=0-1  max-frequency-mhz=5000
         ├─ core-0-4 Core  cpu 2  base-frequency-mhz=2400  core-type=performance  cpu-ids=2-3  max-frequency-mhz=5000
         ├─ core-0-8 Core  cpu 1  base-frequency-mhz=1800  core-type=efficiency  cpu-ids=4  max-frequency-mhz=3800
         ├─ core-0-9 Core  cpu 1  base-frequency-mhz=1800  core-type=efficiency  cpu-ids=5  max-frequency-mhz=3800
         ├─ core-0-10 Core  cpu 1  base-frequency-mhz=1800  core-type=efficiency  cpu-ids=6  max-frequency-mhz=3800
         └─ core-0-11 Core  cpu 1  base-frequency-mhz=1800  core-type=efficiency  cpu-ids=7  max-frequency-mhz=3800
)");
}

// Seen on an emulated machine after adding a CPU. Threads have caches of their own, so hwloc puts
// cores above caches and, where a core has one thread, below them. Cores in between become a type
// of two levels.
TEST(DiscoverTest, CoresAboveAndBelowTheirCaches) {
  MachineFiles files;
  files.Cpus("0-4", "0-4");
  files.Add({.cpu = 0, .package = 0, .core = 0, .siblings = "0-1", .package_cpus = "0-1"});
  files.Add({.cpu = 1, .package = 0, .core = 0, .siblings = "0-1", .package_cpus = "0-1"});
  files.Add({.cpu = 2, .package = 2, .core = 0, .siblings = "2", .package_cpus = "2"});
  files.Add({.cpu = 3, .package = 1, .core = 0, .siblings = "3-4", .package_cpus = "3-4"});
  files.Add({.cpu = 4, .package = 1, .core = 0, .siblings = "3-4", .package_cpus = "3-4"});
  files.AddCaches({{1, 32, "0"}, {1, 32, "1"}, {1, 32, "2"}, {1, 32, "3"}, {1, 32, "4"}});
  files.AddNode({0, "0-4", 8 << 20, "10", {}});
  EXPECT_EQ(TreeText(ReadMachine(files)), R"(
└─ numa-0 NUMANode  memory 8 GiB
   ├─ package-0 Package
   │  └─ core-0-0 Core  cpu 2  cpu-ids=0-1
   ├─ package-1 Package
   │  └─ core-1-0 Core  cpu 2  cpu-ids=3-4
   └─ package-2 Package
      └─ core-2-0 Core  cpu 1  cpu-ids=2
)");
}

TEST(DiscoverTest, APackageNamesItsModelAndFeatures) {
  MachineFiles files;
  AddCpus(files, 1, 1, 1);
  files.Put("proc/cpuinfo",
            "processor\t: 0\nvendor_id\t: GenuineIntel\nmodel name\t: Fast 1000\n"
            "flags\t: fpu sse2 avx\n\n");
  const Machine machine = ReadMachine(files);
  ASSERT_EQ(machine.packages.size(), 1u);
  EXPECT_EQ(machine.packages[0].attributes,
            (std::map<std::string, std::string>{{"cpu-features", "avx,fpu,sse2"},
                                                {"cpu-model", "Fast 1000"},
                                                {"cpu-vendor", "GenuineIntel"}}));
}

TEST(DiscoverTest, SmtOff) {
  MachineFiles files;
  AddCpus(files, 1, 2, 1);
  files.Cpus("0-1", "0-3");  // 2 and 3 are the second threads
  files.AddNode({0, "0-1", 8 << 20, "10", {}});
  files.AddCaches({{3, 8192, "0-1", 0}});
  EXPECT_EQ(Tree(files), R"(
└─ package-0 Package  cache-level=3  cache-size=8Mi
   └─ numa-0 NUMANode  memory 8 GiB
      ├─ core-0-0 Core  cpu 1  cpu-ids=0
      └─ core-0-1 Core  cpu 1  cpu-ids=1
)");
}

TEST(DiscoverTest, OfflineCpusAndHoles) {
  MachineFiles files;
  files.Cpus("0,3,12", "0-3,12-13");
  files.Add({.cpu = 0, .core = 0, .siblings = "0", .package_cpus = "0,3"});
  files.Add({.cpu = 3, .core = 9, .siblings = "3", .package_cpus = "0,3"});
  files.Add({.cpu = 12, .package = 4, .core = 0, .siblings = "12", .package_cpus = "12"});
  files.AddCaches({{3, 8192, "0,3", 0}, {3, 8192, "12", 4}});
  files.AddNode({0, "0,3", 8 << 20, "10 20", {}});
  files.AddNode({2, "12", 8 << 20, "20 10", {}});
  EXPECT_EQ(Tree(files), R"(
├─ package-0 Package  cache-level=3  cache-size=8Mi
│  └─ numa-0 NUMANode  memory 8 GiB
│     ├─ core-0-0 Core  cpu 1  cpu-ids=0
│     └─ core-0-9 Core  cpu 1  cpu-ids=3
└─ package-4 Package  cache-level=3  cache-size=8Mi
   └─ numa-2 NUMANode  memory 8 GiB
      └─ core-4-0 Core  cpu 1  cpu-ids=12
)");
}

TEST(DiscoverTest, MemoryWithoutCpusAndCpusWithoutMemory) {
  MachineFiles files;
  AddCpus(files, 2, 1, 1);
  files.AddCaches({{3, 8192, "0", 0}, {3, 8192, "1", 1}});
  files.AddNode({0, "0", 8 << 20, "10 21 17", {{2048, 1}}});
  files.AddNode({1, "1", 0, "21 10 28", {}});
  files.AddNode({2, "", 64 << 20, "17 28 10", {}});
  EXPECT_EQ(Tree(files), R"(
├─ package-0 Package  cache-level=3  cache-size=8Mi
│  └─ numa-0 NUMANode  memory 8 GiB  hugepages-2Mi 2 MiB
│     └─ core-0-0 Core  cpu 1  cpu-ids=0
├─ package-1 Package  cache-level=3  cache-size=8Mi
│  └─ numa-1 NUMANode  memory 0
│     └─ core-1-0 Core  cpu 1  cpu-ids=1
└─ numa-2 NUMANode  memory 64 GiB
)");
}

TEST(DiscoverTest, Hbm) {
  MachineFiles files;
  AddMachineWithHbm(files);
  EXPECT_EQ(Tree(files), R"(
├─ package-0 Package  cache-level=3  cache-size=8Mi
│  └─ numa-0 NUMANode  memory 64 GiB  memory-type=DRAM
│     └─ core-0-0 Core  cpu 1  cpu-ids=0
├─ package-1 Package  cache-level=3  cache-size=8Mi
│  └─ numa-1 NUMANode  memory 64 GiB  memory-type=DRAM
│     └─ core-1-0 Core  cpu 1  cpu-ids=1
├─ numa-2 NUMANode  memory 32 GiB  memory-type=HBM
└─ numa-3 NUMANode  memory 32 GiB  memory-type=HBM
)");
  EXPECT_EQ(Costs(files), R"(
numa-0: numa-0=10 numa-1=21 numa-2=13 numa-3=23
numa-1: numa-0=21 numa-1=10 numa-2=23 numa-3=13
numa-2: numa-0=13 numa-1=23 numa-2=10 numa-3=23
numa-3: numa-0=23 numa-1=13 numa-2=23 numa-3=10
)");
}

// Without a stated speed, special-purpose memory may be of any kind.
TEST(DiscoverTest, MemoryForSpecialPurposes) {
  MachineFiles files;
  AddMachineWithHbm(files);
  for (const int node : {0, 1, 2, 3}) {
    ASSERT_TRUE(files.root()
                    .RemoveTree(absl::StrCat("sys/devices/system/node/node", node, "/access0"))
                    .ok());
  }
  EXPECT_EQ(Tree(files), R"(
├─ package-0 Package  cache-level=3  cache-size=8Mi
│  └─ numa-0 NUMANode  memory 64 GiB
│     └─ core-0-0 Core  cpu 1  cpu-ids=0
├─ package-1 Package  cache-level=3  cache-size=8Mi
│  └─ numa-1 NUMANode  memory 64 GiB
│     └─ core-1-0 Core  cpu 1  cpu-ids=1
├─ numa-2 NUMANode  memory 32 GiB  memory-type=SPM
└─ numa-3 NUMANode  memory 32 GiB  memory-type=SPM
)");
}

TEST(DiscoverTest, PersistentMemory) {
  MachineFiles files;
  AddMachineWithPmem(files);
  EXPECT_EQ(Tree(files), R"(
├─ package-0 Package  cache-level=3  cache-size=8Mi
│  └─ numa-0 NUMANode  memory 64 GiB
│     └─ core-0-0 Core  cpu 1  cpu-ids=0
├─ package-1 Package  cache-level=3  cache-size=8Mi
│  └─ numa-1 NUMANode  memory 64 GiB
│     └─ core-1-0 Core  cpu 1  cpu-ids=1
├─ numa-2 NUMANode  memory 256 GiB  memory-type=NVM
└─ numa-3 NUMANode  memory 256 GiB  memory-type=NVM
)");
  EXPECT_EQ(Costs(files), R"(
numa-0: numa-0=10 numa-1=21 numa-2=17 numa-3=28
numa-1: numa-0=21 numa-1=10 numa-2=28 numa-3=17
numa-2: numa-0=17 numa-1=28 numa-2=10 numa-3=28
numa-3: numa-0=28 numa-1=17 numa-2=28 numa-3=10
)");
}

TEST(DiscoverTest, DiesOfAPackageNumberTheirCoresAnew) {
  MachineFiles files;
  files.Cpus("0-3", "0-3");
  for (uint32_t cpu = 0; cpu < 4; ++cpu) {
    files.Add({.cpu = cpu,
               .core = static_cast<int>(cpu % 2),
               .die = static_cast<int>(cpu / 2),
               .siblings = absl::StrCat(cpu),
               .package_cpus = "0-3"});
    files.AddDie(cpu, cpu < 2 ? "0-1" : "2-3");
  }
  files.AddCaches({{3, 8192, "0-1", 0}, {3, 8192, "2-3", 1}});
  files.AddNode({0, "0-1", 8 << 20, "10 12", {}});
  files.AddNode({1, "2-3", 8 << 20, "12 10", {}});
  EXPECT_EQ(Tree(files), R"(
└─ package-0 Package
   ├─ numa-0 NUMANode  memory 8 GiB  cache-level=3  cache-size=8Mi
   │  ├─ core-0-0-0 Core  cpu 1  cpu-ids=0
   │  └─ core-0-0-1 Core  cpu 1  cpu-ids=1
   └─ numa-1 NUMANode  memory 8 GiB  cache-level=3  cache-size=8Mi
      ├─ core-0-1-0 Core  cpu 1  cpu-ids=2
      └─ core-0-1-1 Core  cpu 1  cpu-ids=3
)");
}

TEST(DiscoverTest, Arm64BigLittle) {
  MachineFiles files("aarch64");
  files.Cpus("0-3", "0-3");
  for (uint32_t cpu = 0; cpu < 4; ++cpu) {
    files.Add({.cpu = cpu,
               .core = static_cast<int>(cpu),
               .siblings = absl::StrCat(cpu),
               .package_cpus = "0-3"});
    files.Put(absl::StrCat("sys/devices/system/cpu/cpu", cpu, "/cpu_capacity"),
              cpu < 2 ? "446\n" : "1024\n");
  }
  files.AddCaches({{2, 512, "0-1"}, {2, 2048, "2-3"}});
  files.Put(
      "proc/cpuinfo",
      "processor\t: 0\nFeatures\t: fp asimd aes sve\n\nprocessor\t: 1\nFeatures\t: fp asimd aes"
      "\n\nprocessor\t: 2\nFeatures\t: fp asimd aes\n\nprocessor\t: 3\nFeatures\t: fp aes asimd\n");
  EXPECT_EQ(Tree(files), R"(
└─ package-0 Package  cpu-features=aes,asimd,fp
   └─ numa-0 NUMANode  memory 16 GiB
      ├─ cache-2-cpu0 CacheGroup  cache-level=2  cache-size=512Ki
      │  ├─ core-0-0 Core  cpu 1  core-type=efficiency  cpu-ids=0
      │  └─ core-0-1 Core  cpu 1  core-type=efficiency  cpu-ids=1
      └─ cache-2-cpu2 CacheGroup  cache-level=2  cache-size=2Mi
         ├─ core-0-2 Core  cpu 1  core-type=performance  cpu-ids=2
         └─ core-0-3 Core  cpu 1  core-type=performance  cpu-ids=3
)");
}

TEST(DiscoverTest, S390xBooksAndDrawers) {
  MachineFiles files("s390x");
  files.Cpus("0-7", "0-7");
  for (uint32_t cpu = 0; cpu < 8; ++cpu) {
    const uint32_t book = cpu / 4;
    const uint32_t socket = cpu / 2;
    files.Add({.cpu = cpu,
               .package = static_cast<int>(socket),
               .core = static_cast<int>(cpu),
               .siblings = absl::StrCat(cpu),
               .package_cpus = absl::StrCat(socket * 2, "-", socket * 2 + 1),
               .groups = {{"book", static_cast<int>(book)}, {"drawer", 0}}});
    files.AddGroup(cpu, "book", book == 0 ? "0-3" : "4-7");
    files.AddGroup(cpu, "drawer", "0-7");
  }
  files.AddCaches(PrivateL2(8));
  files.Put("proc/cpuinfo",
            "vendor_id       : IBM/S390\n# processors    : 8\nfeatures\t: esan3 zarch vx dflt\n");
  files.AddNode({0, "0-7", 64 << 20, "10", {}});
  EXPECT_EQ(Tree(files), R"(
└─ numa-0 NUMANode  memory 64 GiB
   ├─ package-0 Package  cpu-features=dflt,esan3,vx,zarch
   │  ├─ core-0-0 Core  cpu 1  cpu-ids=0
   │  └─ core-0-1 Core  cpu 1  cpu-ids=1
   ├─ package-1 Package  cpu-features=dflt,esan3,vx,zarch
   │  ├─ core-1-2 Core  cpu 1  cpu-ids=2
   │  └─ core-1-3 Core  cpu 1  cpu-ids=3
   ├─ package-2 Package  cpu-features=dflt,esan3,vx,zarch
   │  ├─ core-2-4 Core  cpu 1  cpu-ids=4
   │  └─ core-2-5 Core  cpu 1  cpu-ids=5
   └─ package-3 Package  cpu-features=dflt,esan3,vx,zarch
      ├─ core-3-6 Core  cpu 1  cpu-ids=6
      └─ core-3-7 Core  cpu 1  cpu-ids=7
)");
}

// A small VM: no DMI, no caches, no package numbers.
TEST(DiscoverTest, AMachineThatTellsLittle) {
  MachineFiles files;
  AddCpus(files, 1, 2, 1);
  for (const char* cpu : {"cpu0", "cpu1"}) {
    files.Put(absl::StrCat("sys/devices/system/cpu/", cpu, "/topology/physical_package_id"),
              "-1\n");
  }
  ASSERT_TRUE(files.root().RemoveTree("sys/class").ok());
  ASSERT_TRUE(files.root().RemoveTree("etc").ok());
  const Machine machine = ReadMachine(files);
  EXPECT_EQ(TreeText(machine), R"(
└─ package-cpu0 Package
   └─ numa-0 NUMANode  memory 16 GiB
      ├─ core-0-0 Core  cpu 1  cpu-ids=0
      └─ core-0-1 Core  cpu 1  cpu-ids=1
)");
  EXPECT_THAT(machine.missing,
              UnorderedElementsAre(HasSubstr("no caches"), HasSubstr("no machine-id"),
                                   HasSubstr("no system-uuid")));
}

// Files of an older kernel on a machine whose processors have numbers alone.
TEST(DiscoverTest, PackagesAreThoseOfTheNumbersWhereThereAreNoMasks) {
  MachineFiles files;
  AddCpus(files, 2, 2, 1);
  for (int cpu = 0; cpu < 4; ++cpu) {
    for (const char* mask :
         {"package_cpus", "package_cpus_list", "core_siblings", "core_siblings_list"}) {
      files.root()
          .RemoveFile(absl::StrCat("sys/devices/system/cpu/cpu", cpu, "/topology/", mask))
          .IgnoreError();
    }
  }
  files.AddNode({0, "0-3", 8 << 20, "10", {}});
  const Machine machine = ReadMachine(files);
  ASSERT_EQ(machine.packages.size(), 2u) << TreeText(machine);
  EXPECT_EQ(machine.packages[1].cpus.ToString(), "2-3");
  EXPECT_EQ(machine.packages[1].id, 1u);
  EXPECT_THAT(machine.missing, Not(Contains(HasSubstr("packages"))));
}

TEST(DiscoverTest, FrequenciesOfACoreAreThoseOfAnyOfItsCpus) {
  MachineFiles files;
  AddCpus(files, 1, 2, 2);
  files.AddNode({0, "0-3", 8 << 20, "10", {}});
  const auto put = [&](int cpu, const std::string& file, const std::string& text) {
    files.Put(absl::StrCat("sys/devices/system/cpu/cpu", cpu, "/", file), text + "\n");
  };
  put(1, "cpufreq/cpuinfo_max_freq", "3700000");  // the first CPU has none
  for (const int cpu : {0, 1, 2, 3}) put(cpu, "acpi_cppc/nominal_freq", "2450");
  put(2, "cpufreq/cpuinfo_max_freq", "3700000");
  put(2, "cpufreq/base_frequency", "2500000");
  for (const CoreKind& kind : ReadMachine(files).core_kinds) {
    EXPECT_EQ(kind.max_freq_mhz, 3700u) << kind.cpus.ToString();
    const bool has_both = kind.cpus.Contains(2);
    EXPECT_EQ(kind.base_freq_mhz, has_both ? 2500u : 2450u) << "cpufreq's before CPPC's";
  }
}

// An L3 shared by half of one package and half of another: impossible.
TEST(DiscoverTest, WrongCaches) {
  MachineFiles files;
  AddCpus(files, 2, 2, 1);
  files.AddCaches({{3, 8192, "0", 0}, {3, 8192, "1-2", 1}, {3, 8192, "3", 2}});
  files.AddNode({0, "0-3", 8 << 20, "10", {}});
  EXPECT_EQ(TreeText(ReadMachine(files)), R"(
└─ numa-0 NUMANode  memory 8 GiB
   ├─ package-0 Package
   │  ├─ core-0-0 Core  cpu 1  cache-level=3  cache-size=8Mi  cpu-ids=0
   │  └─ core-0-1 Core  cpu 1  cpu-ids=1
   └─ package-1 Package
      ├─ core-1-0 Core  cpu 1  cpu-ids=2
      └─ core-1-1 Core  cpu 1  cache-level=3  cache-size=8Mi  cpu-ids=3
)");
}

// Some processors have complexes of one core, each with an L3. kubelet counts it as one of the
// node's caches.
TEST(DiscoverTest, CachesOfOneCore) {
  MachineFiles files;
  AddCpus(files, 1, 2, 2);
  files.AddCaches({{3, 8192, "0,2", 0}, {3, 8192, "1,3", 1}});
  files.AddNode({0, "0-3", 8 << 20, "10", {}});
  EXPECT_EQ(Tree(files), R"(
└─ package-0 Package
   └─ numa-0 NUMANode  memory 8 GiB
      ├─ core-0-0 Core  cpu 2  cache-level=3  cache-size=8Mi  cpu-ids=0,2
      └─ core-0-1 Core  cpu 2  cache-level=3  cache-size=8Mi  cpu-ids=1,3
)");
  const auto tree = ZoneTree::Build(MakeZones(ReadMachine(files)));
  ASSERT_TRUE(tree.ok()) << tree.status();
  const auto maps = MakeMaps(*tree);
  ASSERT_TRUE(maps.ok()) << maps.status();
  EXPECT_EQ(maps->cache_group_count, 2);
  EXPECT_EQ(maps->cpus.at(2).cache_group, 0u);
  EXPECT_EQ(maps->cpus.at(3).cache_group, 1u);
}

// A passing failure to open files does not make it another machine.
TEST(DiscoverTest, WhatCannotBeReadJustNowIsAnError) {
  MachineFiles files;
  AddCpus(files, 1, 2, 1);
  files.AddNode({0, "0-1", 8 << 20, "10", {{2048, 4}}});
  const FsRoot root = files.root();
  const FsRoot host = *FsRoot::Open("/");
  const auto before = Signature(root);
  ASSERT_TRUE(before.ok()) << before.status();
  absl::Status signature, by_program, unread, identity, swap;
  Machine machine;
  {
    NoDescriptors none;
    signature = Signature(root).status();
    by_program = Discover(root, PLIMSOLL_HWLOC_PROGRAM).status();
    unread = Discover(host, "").status();
    identity = ReadIdentity(root, machine);
    swap = ReadSwap(root, machine);
  }
  EXPECT_TRUE(absl::IsResourceExhausted(signature)) << signature;
  EXPECT_TRUE(absl::IsResourceExhausted(by_program)) << by_program;
  EXPECT_TRUE(absl::IsResourceExhausted(unread)) << "hwloc would see a machine without CPUs";
  EXPECT_THAT(std::string(unread.message()), HasSubstr("fewer than 16 file descriptors are left"));
  EXPECT_FALSE(identity.ok());
  EXPECT_FALSE(swap.ok());
  EXPECT_THAT(machine.missing, IsEmpty());
  EXPECT_EQ(*Signature(root), *before);
}

// A directory in place of the file: it exists and can never be read.
TEST(DiscoverTest, WhatCanNeverBeReadIsMissing) {
  MachineFiles files;
  AddCpus(files, 1, 1, 1);
  files.AddNode({0, "0", 8 << 20, "10", {{2048, 4}}});
  for (const char* file :
       {"sys/class/dmi/id/product_uuid",
        "sys/devices/system/node/node0/hugepages/hugepages-2048kB/nr_hugepages"}) {
    ASSERT_TRUE(files.root().RemoveFile(file).ok());
    ASSERT_TRUE(files.root().MakeDirs(file).ok());
  }
  EXPECT_THAT(
      ReadMachine(files).missing,
      Contains(AllOf(HasSubstr("no system-uuid"), HasSubstr("product_uuid: Is a directory"))));
  const auto signature = Signature(files.root());
  ASSERT_TRUE(signature.ok()) << signature.status();
  EXPECT_THAT(signature->memory, HasSubstr("Is a directory"));
}

}  // namespace
}  // namespace plimsoll::topology
