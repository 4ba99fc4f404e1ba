// Real machines on which hwloc finds less than the kernel's files have. The relevant files of each
// are written by hand (machine_files_for_test.h).
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "topology/machine/contradictions.h"
#include "topology/machine/read_machine_for_test.h"
#include "topology/zones/zone_tree.h"

namespace plimsoll::topology {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// "0: 0-3" for each node with CPUs.
std::vector<std::string> CpusOfNodes(const Machine& machine) {
  std::vector<std::string> nodes;
  for (const NumaNode& node : machine.nodes) {
    nodes.push_back(absl::StrCat(node.id, ": ", node.cpus.ToString()));
  }
  return nodes;
}

// Each core-type with its CPUs.
std::map<std::string, std::string> CoreTypes(const Machine& machine) {
  std::map<std::string, resources::CpuSet> cpus;
  for (const Zone& zone : MakeZones(machine).zones) {
    const auto type = zone.attributes.find("core-type");
    if (type == zone.attributes.end()) continue;
    cpus[type->second] =
        cpus[type->second].Union(*resources::CpuSet::Parse(zone.attributes.at(kCpuIds)));
  }
  std::map<std::string, std::string> types;
  for (const auto& [type, set] : cpus) types[type] = set.ToString();
  return types;
}

void AddSingleCores(MachineFiles& files, uint32_t count) {
  const std::string all = absl::StrCat("0-", count - 1);
  files.Cpus(all, all);
  for (uint32_t cpu = 0; cpu < count; ++cpu) {
    files.Add({.cpu = cpu,
               .core = static_cast<int>(cpu),
               .siblings = absl::StrCat(cpu),
               .package_cpus = all});
  }
}

// numa=fake=4: each node names all CPUs of the node that it was cut from.
TEST(RealMachinesTest, FakeNodesKeepTheirMemory) {
  MachineFiles files;
  AddCpus(files, 1, 2, 1);
  for (uint32_t node = 0; node < 4; ++node) {
    files.AddNode({node, "0-1", 2 << 20, "10 10 10 10", {}});
  }
  const Machine machine = ReadMachine(files);
  EXPECT_EQ(TreeText(machine), R"(
├─ package-0 Package
│  └─ numa-0 NUMANode  memory 2 GiB
│     ├─ core-0-0 Core  cpu 1  cpu-ids=0
│     └─ core-0-1 Core  cpu 1  cpu-ids=1
├─ numa-1 NUMANode  memory 2 GiB
├─ numa-2 NUMANode  memory 2 GiB
└─ numa-3 NUMANode  memory 2 GiB
)");
  EXPECT_THAT(machine.missing,
              Contains(AllOf(HasSubstr("NUMA nodes 0-3 overlap"), HasSubstr("CPUs 0-1"))));
  EXPECT_EQ(machine.nodes[3].distances.size(), 4u);
}

// The kernel counts each CPU to one of them, and its link names that one.
TEST(RealMachinesTest, FakeNodesHaveTheCpusThatTheKernelCountsToThem) {
  MachineFiles files;
  AddCpus(files, 1, 2, 1);
  for (uint32_t node = 0; node < 3; ++node) {
    files.AddNode({node, "0-1", 2 << 20, "10 10 10", {}});
  }
  files.LinkToNode(0, 2);
  files.LinkToNode(1, 1);
  EXPECT_THAT(CpusOfNodes(ReadMachine(files)), ElementsAre("0: ", "1: 1", "2: 0"));
}

// They lie beside the core then, and name the CPUs.
TEST(RealMachinesTest, FakeNodesMayHaveOneCpuOfACoreEach) {
  MachineFiles files;
  AddCpus(files, 1, 1, 2);
  for (uint32_t node = 0; node < 2; ++node) files.AddNode({node, "0-1", 2 << 20, "10 10", {}});
  files.LinkToNode(0, 1);
  files.LinkToNode(1, 0);
  const Machine machine = ReadMachine(files);
  EXPECT_THAT(CpusOfNodes(machine), ElementsAre("0: 1", "1: 0"));
  const auto maps = ReadMaps(MakeZones(machine));
  ASSERT_TRUE(maps.ok()) << maps.status();
  EXPECT_EQ(maps->cpus.at(0).numa_node, 1u);
  EXPECT_EQ(maps->cpus.at(1).numa_node, 0u);
}

TEST(RealMachinesTest, ANodeWithinAnotherKeepsItsCpus) {
  MachineFiles files;
  AddSingleCores(files, 6);
  files.AddNode({0, "0-5", 1 << 20, "10 20 30", {}});
  files.AddNode({1, "2-5", 1 << 20, "20 10 30", {}});
  files.AddNode({2, "4-5", 1 << 20, "30 30 10", {}});
  EXPECT_THAT(CpusOfNodes(ReadMachine(files)), ElementsAre("0: 0-1", "1: 2-3", "2: 4-5"));
}

// A cgroup's cpuset.mems lists only nodes with memory, even the root group's.
TEST(RealMachinesTest, NodesWithoutMemoryKeepTheirCpus) {
  MachineFiles files;
  AddCpus(files, 2, 1, 1);
  files.AddNode({0, "0", 0, "10 21 17 28", {}});
  files.AddNode({1, "1", 0, "21 10 28 17", {}});
  files.AddNode({2, "", 8 << 20, "17 28 10 28", {}});
  files.AddNode({3, "", 8 << 20, "28 17 28 10", {}});
  files.Put("proc/mounts", "cgroup /sys/fs/cgroup/cpuset cgroup rw,relatime,cpuset 0 0\n");
  files.Put("proc/self/cgroup", "5:cpuset:/\n");
  files.Put("proc/self/cpuset", "/\n");
  for (const char* file : {"cpuset.mems", "cpuset.effective_mems"}) {
    files.Put(absl::StrCat("sys/fs/cgroup/cpuset/", file), "2-3\n");
  }
  for (const char* file : {"cpuset.cpus", "cpuset.effective_cpus"}) {
    files.Put(absl::StrCat("sys/fs/cgroup/cpuset/", file), "0-1\n");
  }
  const Machine machine = ReadMachine(files);
  EXPECT_THAT(CpusOfNodes(machine), ElementsAre("0: 0", "1: 1", "2: ", "3: "));
  EXPECT_EQ(machine.nodes[2].memory_bytes, uint64_t{8} << 30);
  EXPECT_EQ(machine.nodes[0].distances.at(3), 28u);
  EXPECT_THAT(machine.missing, Not(Contains(HasSubstr("left out"))));
}

TEST(RealMachinesTest, MemoryOfGpusIsANode) {
  MachineFiles files("ppc64le");
  AddCpus(files, 2, 1, 1);
  files.AddNode({0, "0", 64 << 20, "10 40 80", {}});
  files.AddNode({8, "1", 64 << 20, "40 10 80", {}});
  files.AddNode({255, "", 16 << 20, "80 80 10", {}});
  files.Put("proc/driver/nvidia/gpus/0004:04:00.0/numa_status",
            "Node: 255\nNUMA initialized: 1\nStatus: online\n");
  // The memory of an offline GPU is not a node.
  files.Put("proc/driver/nvidia/gpus/0004:05:00.0/numa_status", "Node: 8\nStatus: offline\n");
  const Machine machine = ReadMachine(files);
  EXPECT_EQ(TreeText(machine), R"(
├─ package-0 Package
│  └─ numa-0 NUMANode  memory 64 GiB
│     └─ core-0-0 Core  cpu 1  cpu-ids=0
├─ package-1 Package
│  └─ numa-8 NUMANode  memory 64 GiB
│     └─ core-1-0 Core  cpu 1  cpu-ids=1
└─ numa-255 NUMANode  memory 16 GiB  memory-type=GPUMemory
)");
  EXPECT_EQ(machine.nodes[2].distances,
            (std::map<uint32_t, uint32_t>{{0, 80}, {8, 80}, {255, 10}}));
}

TEST(RealMachinesTest, TheOnlyNodeHasADistanceToItself) {
  MachineFiles files;
  AddCpus(files, 1, 2, 1);
  files.AddNode({0, "0-1", 8 << 20, "10", {}});
  EXPECT_EQ(ReadMachine(files).nodes[0].distances, (std::map<uint32_t, uint32_t>{{0, 10}}));
}

TEST(RealMachinesTest, ARowOfDistancesWithoutAllNodesIsLeftOut) {
  MachineFiles files;
  AddCpus(files, 2, 1, 1);
  files.AddNode({0, "0", 8 << 20, "10", {}});
  files.AddNode({1, "1", 8 << 20, "20 10 30", {}});
  const Machine machine = ReadMachine(files);
  EXPECT_THAT(machine.nodes[0].distances, IsEmpty());
  EXPECT_THAT(machine.nodes[1].distances, IsEmpty());
}

// Two clusters, each of five middle and five big cores; the big ones differ by their binning.
void AddTwoClusters(MachineFiles& files) {
  AddSingleCores(files, 20);
  for (uint32_t cpu = 0; cpu < 20; ++cpu) {
    const bool big = cpu % 10 >= 5;
    const int capacity = cpu == 19 ? 1024 : big ? (cpu < 10 ? 997 : 1017) : cpu < 10 ? 718 : 731;
    files.Put(absl::StrCat("sys/devices/system/cpu/cpu", cpu, "/cpu_capacity"),
              absl::StrCat(capacity, "\n"));
  }
}
const std::map<std::string, std::string> kTwoClusters = {{"efficiency", "0-4,10-14"},
                                                         {"performance", "5-9,15-19"}};

TEST(RealMachinesTest, BigCoresAreFastByTheirPartNumber) {
  MachineFiles files("aarch64");
  AddTwoClusters(files);
  for (uint32_t cpu = 0; cpu < 20; ++cpu) {
    files.Put(absl::StrCat("sys/devices/system/cpu/cpu", cpu, "/regs/identification/midr_el1"),
              cpu % 10 >= 5 ? "0x00000000410fd851\n" : "0x00000000410fd871\n");
  }
  EXPECT_EQ(CoreTypes(ReadMachine(files)), kTwoClusters);
}

TEST(RealMachinesTest, BigCoresAreFastByCpuinfo) {
  MachineFiles files("aarch64");
  AddTwoClusters(files);
  std::string info;
  for (uint32_t cpu = 0; cpu < 20; ++cpu) {
    absl::StrAppend(&info, "processor\t: ", cpu,
                    "\nCPU implementer\t: 0x41\nCPU part\t: ", cpu % 10 >= 5 ? "0xd85" : "0xd87",
                    "\n\n");
  }
  files.Put("proc/cpuinfo", info);
  EXPECT_EQ(CoreTypes(ReadMachine(files)), kTwoClusters);
}

TEST(RealMachinesTest, BigCoresAreFastByNearlyEqualCapacity) {
  MachineFiles files("aarch64");
  AddTwoClusters(files);
  EXPECT_EQ(CoreTypes(ReadMachine(files)), kTwoClusters);
}

// Three sorts; the little cores are far behind.
TEST(RealMachinesTest, PrimeAndBigCoresAreFastLittleOnesAreNot) {
  MachineFiles files("aarch64");
  AddSingleCores(files, 8);
  for (uint32_t cpu = 0; cpu < 8; ++cpu) {
    files.Put(absl::StrCat("sys/devices/system/cpu/cpu", cpu, "/cpu_capacity"), cpu < 4 ? "325\n"
                                                                                : cpu < 7
                                                                                    ? "828\n"
                                                                                    : "1024\n");
    files.Put(absl::StrCat("sys/devices/system/cpu/cpu", cpu, "/regs/identification/midr_el1"),
              cpu < 4   ? "0x00000000411fd461\n"
              : cpu < 7 ? "0x00000000411fd470\n"
                        : "0x00000000411fd480\n");
  }
  EXPECT_EQ(CoreTypes(ReadMachine(files)),
            (std::map<std::string, std::string>{{"efficiency", "0-3"}, {"performance", "4-7"}}));
}

// One part number, different clocks: the frequency gives each core's speed.
TEST(RealMachinesTest, CoresOfOnePartAreOfOneSort) {
  MachineFiles files("aarch64");
  AddSingleCores(files, 4);
  for (uint32_t cpu = 0; cpu < 4; ++cpu) {
    files.Put(absl::StrCat("sys/devices/system/cpu/cpu", cpu, "/cpu_capacity"),
              cpu < 2 ? "700\n" : "1024\n");
    files.Put(absl::StrCat("sys/devices/system/cpu/cpu", cpu, "/regs/identification/midr_el1"),
              "0x00000000410fd0c1\n");
  }
  EXPECT_THAT(CoreTypes(ReadMachine(files)), IsEmpty());
}

// "Favoured cores": hwloc levels 5.2 GHz down to 5.0.
TEST(RealMachinesTest, FrequenciesAreTheKernels) {
  MachineFiles files;
  AddSingleCores(files, 4);
  for (uint32_t cpu = 0; cpu < 4; ++cpu) {
    files.Frequencies(cpu, 2100000, cpu == 2 ? 5200000 : 5000000);
  }
  std::vector<std::string> most;
  for (const Zone& zone : MakeZones(ReadMachine(files)).zones) {
    if (zone.type == kCore) most.push_back(zone.attributes.at("max-frequency-mhz"));
  }
  EXPECT_THAT(most, ElementsAre("5000", "5000", "5200", "5000"));
}

// Low-power cores beside the two usual sorts have a list of their own.
TEST(RealMachinesTest, LowPowerCoresAreEfficient) {
  MachineFiles files;
  AddSingleCores(files, 6);
  files.Put("sys/devices/cpu_core/cpus", "0-1\n");
  files.Put("sys/devices/cpu_atom/cpus", "2-3\n");
  files.Put("sys/devices/cpu_lowpower/cpus", "4-5\n");
  EXPECT_EQ(CoreTypes(ReadMachine(files)),
            (std::map<std::string, std::string>{{"efficiency", "2-5"}, {"performance", "0-1"}}));
}

// Pairs of packages share a number, but their masks are separate.
TEST(RealMachinesTest, PackagesWithOneNumberAreAllThere) {
  MachineFiles files;
  files.Cpus("0-3", "0-3");
  for (uint32_t cpu = 0; cpu < 4; ++cpu) {
    const std::string self = absl::StrCat(cpu);
    files.Add({.cpu = cpu,
               .package = static_cast<int>(cpu / 2 * 512),
               .core = 0,
               .siblings = self,
               .package_cpus = self});
  }
  const Machine machine = ReadMachine(files);
  ASSERT_EQ(machine.packages.size(), 4u);
  const auto tree = ZoneTree::Build(MakeZones(machine));
  ASSERT_TRUE(tree.ok()) << tree.status();
  EXPECT_EQ(tree->Cpus().ToString(), "0-3");
  for (size_t i = 0; i < tree->topology().zones.size(); ++i) {
    if (tree->zone(i).type != kCore) continue;
    EXPECT_TRUE(tree->Enclosing(i, kPackage)) << tree->zone(i).name;
  }
}

// A mask reaches into the other package, so numbers decide.
TEST(RealMachinesTest, MasksThatContradictEachOtherGiveWayToNumbers) {
  MachineFiles files;
  files.Cpus("0-3", "0-3");
  for (uint32_t cpu = 0; cpu < 4; ++cpu) {
    files.Add({.cpu = cpu,
               .package = static_cast<int>(cpu / 2),
               .core = static_cast<int>(cpu % 2),
               .siblings = absl::StrCat(cpu),
               .package_cpus = cpu < 2 ? "0-2" : "2-3"});
  }
  const Machine machine = ReadMachine(files);
  ASSERT_EQ(machine.packages.size(), 2u);
  EXPECT_EQ(machine.packages[0].cpus.ToString(), "0-1");
  EXPECT_EQ(machine.packages[1].cpus.ToString(), "2-3");
  EXPECT_THAT(machine.missing, Contains(AllOf(HasSubstr("contradict each other on the packages"),
                                              HasSubstr("numbers (physical_package_id)"))));
}

TEST(RealMachinesTest, ACacheThatContradictsOthersIsNamed) {
  MachineFiles files;
  AddCpus(files, 2, 2, 1);
  files.AddCaches({{3, 8192, "0", 0}, {3, 8192, "1-2", 1}, {3, 8192, "3", 2}});
  files.AddNode({0, "0-3", 8 << 20, "10", {}});
  EXPECT_THAT(ReadMachine(files).missing,
              Contains(AllOf(HasSubstr("caches"), HasSubstr("L3 of CPUs 1-2"))));
}

// One file of CPU 0 is wrong, and hwloc believes the first that it reads. All CPUs of the other
// caches describe them alike.
TEST(RealMachinesTest, ACacheThatItsCpusAgreeOnIsKept) {
  MachineFiles files;
  AddCpus(files, 2, 3, 1);
  files.AddCaches({{3, 8192, "0-2", 0}, {3, 8192, "3-5", 1}});
  files.Put("sys/devices/system/cpu/cpu0/cache/index0/shared_cpu_map", "00000009\n");
  files.Put("sys/devices/system/cpu/cpu0/cache/index0/shared_cpu_list", "0,3\n");
  const Machine machine = ReadMachine(files);
  std::vector<std::string> caches;
  for (const Cache& cache : machine.caches) {
    caches.push_back(absl::StrCat(cache.cpus.ToString(), " ", cache.size_bytes >> 20));
  }
  EXPECT_THAT(caches, ElementsAre("3-5 8"));
  EXPECT_THAT(machine.missing, Contains(HasSubstr("L3 of CPUs 0,3")));
}

TEST(RealMachinesTest, PackagesAndNodesThatCrossAreNamed) {
  MachineFiles files;
  AddCpus(files, 2, 2, 1);
  files.AddNode({0, "0", 4 << 20, "10 20", {}});
  files.AddNode({1, "1-3", 4 << 20, "20 10", {}});
  const Machine machine = ReadMachine(files);
  EXPECT_THAT(machine.missing, Contains(HasSubstr("overlap, and neither is within the other")));
  const auto tree = ZoneTree::Build(MakeZones(machine));
  ASSERT_TRUE(tree.ok()) << tree.status();
  EXPECT_EQ(tree->Cpus().ToString(), "0-3");
  EXPECT_EQ(Capacity(tree->topology()).at(kMemory).Canonical(), "8Gi");
  const auto maps = ReadMaps(tree->topology());
  ASSERT_TRUE(maps.ok()) << maps.status();
  EXPECT_EQ(maps->cpus.at(0).numa_node, 0u);
  EXPECT_EQ(maps->cpus.at(1).numa_node, 1u) << "its core is in the package of node 0";
}

// Neither the masks nor the numbers say where CPU 2 is.
TEST(RealMachinesTest, CpusInNoPackageAreShownAsOne) {
  MachineFiles files;
  files.Cpus("0-2", "0-2");
  files.Add({.cpu = 0, .core = 0, .siblings = "0", .package_cpus = "0"});
  files.Add({.cpu = 1, .package = 1, .core = 0, .siblings = "1", .package_cpus = "1"});
  files.Add({.cpu = 2, .package = -1, .core = 0, .siblings = "2", .package_cpus = "1-2"});
  Machine machine = {.cpus = *resources::CpuSet::Parse("0-2")};
  for (uint32_t cpu = 0; cpu < 3; ++cpu) {
    const resources::CpuSet own = *resources::CpuSet::Parse(absl::StrCat(cpu));
    if (cpu < 2) machine.packages.push_back({.id = cpu, .cpus = own});
    if (cpu < 2) machine.nodes.push_back({.id = cpu, .cpus = own, .memory_bytes = 4096});
    machine.cores.push_back({.cpus = own});
  }
  ASSERT_TRUE(RestorePackages(files.root(), machine).ok());
  EXPECT_FALSE(Validate(MakeZones(machine), nullptr).ok());
  PlaceRest(machine);
  EXPECT_EQ(Validate(MakeZones(machine), nullptr), absl::OkStatus());
  ASSERT_EQ(machine.packages.size(), 3u);
  EXPECT_EQ(machine.packages[2].cpus.ToString(), "2");
  EXPECT_THAT(CpusOfNodes(machine), ElementsAre("0: 0,2", "1: 1"));
  EXPECT_THAT(machine.missing,
              ElementsAre(HasSubstr("contradict each other on the package of CPUs 2"),
                          HasSubstr("CPUs 2 are in no package: they are shown as one"),
                          HasSubstr("CPUs 2 are in no NUMA node: they are shown in node 0")));
}

}  // namespace
}  // namespace plimsoll::topology
