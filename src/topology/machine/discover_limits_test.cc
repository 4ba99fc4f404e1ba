// A large machine, and a container's part of one. The files come from machine_files_for_test.h.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "topology/machine/read_machine_for_test.h"
#include "topology/topology_file.h"
#include "topology/zones/zone_tree.h"

namespace plimsoll::topology {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::Not;

using resources::Quantity;

Zone CoreOf512(int package, int core, int cpu) {
  return {.name = absl::StrCat("core-", package, "-", core),
          .type = kCore,
          .parent = absl::StrCat("cache-3-", cpu / 8),
          .attributes = {{kCpuIds, absl::StrCat(cpu, ",", cpu + 256)}},
          .resources = {{kCpu, Quantity::FromInt(2)}}};
}

Zone NodeOf512(int package, int node) {
  Zone zone = {.name = absl::StrCat("numa-", node),
               .type = kNumaNode,
               .parent = absl::StrCat("package-", package),
               .resources = {{kMemory, *Quantity::Parse("64Gi")},
                             {"hugepages-2Mi", *Quantity::Parse("32Mi")}}};
  for (int other = 0; other < 8; ++other) {
    const uint32_t cost = other == node ? 10 : other / 4 == package ? 12 : 32;
    zone.costs.push_back({absl::StrCat("numa-", other), cost});
  }
  return zone;
}

// The machine's tree as planned: 2 packages of 4 nodes of 4 caches of 8 cores of 2 threads.
std::vector<Zone> ZonesOf512() {
  std::vector<Zone> zones = {{.name = "root",
                              .type = kMachine,
                              .attributes = {{"architecture", "x86_64"},
                                             {kBootId, "11111111-2222-3333-4444-555555555555"},
                                             {kMachineId, "0123456789abcdef0123456789abcdef"},
                                             {kSystemUuid, "aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee"}},
                              .resources = {{kSwap, Quantity()}}}};
  for (int package = 0; package < 2; ++package) {
    zones.push_back(
        {.name = absl::StrCat("package-", package), .type = kPackage, .parent = "root"});
    for (int node = package * 4; node < package * 4 + 4; ++node) {
      zones.push_back(NodeOf512(package, node));
      for (int cache = node * 4; cache < node * 4 + 4; ++cache) {
        zones.push_back({.name = absl::StrCat("cache-3-", cache),
                         .type = kCacheGroup,
                         .parent = absl::StrCat("numa-", node),
                         .attributes = {{"cache-level", "3"}, {"cache-size", "32Mi"}}});
        for (int cpu = cache * 8; cpu < cache * 8 + 8; ++cpu) {
          zones.push_back(CoreOf512(package, cpu - package * 128, cpu));
        }
      }
    }
  }
  return zones;
}

TEST(DiscoverLimitsTest, AMachineOf512Cpus) {
  MachineFiles files;
  AddMachineOf512Cpus(files);
  const Machine machine = ReadMachine(files);
  EXPECT_THAT(machine.missing, ::testing::IsEmpty());
  const Topology topology = MakeZones(machine);
  const std::vector<Zone> expected = ZonesOf512();
  ASSERT_EQ(expected.size(), 1u + 2 + 8 + 32 + 256);
  ASSERT_EQ(topology.zones.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    ASSERT_EQ(TopologyYaml({{topology.zones[i]}}), TopologyYaml({{expected[i]}})) << "zone " << i;
  }
  // The zones add up to the machine.
  const auto tree = ZoneTree::Build(topology);
  ASSERT_TRUE(tree.ok()) << tree.status();
  EXPECT_EQ(tree->Cpus().ToString(), "0-511");
  const auto capacity = Capacity(topology);
  EXPECT_EQ(capacity.at(kCpu).Canonical(), "512");
  EXPECT_EQ(capacity.at(kMemory).Canonical(), "512Gi");
  EXPECT_EQ(capacity.at("hugepages-2Mi").Canonical(), "256Mi");
}

// A container limited to CPUs 2-3 and node 1 of its host: /sys shows the whole machine.
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
  const Machine machine = ReadMachine(files);
  EXPECT_EQ(machine.cpus.ToString(), "2-3");
  EXPECT_THAT(machine.missing, IsSupersetOf({HasSubstr("CPUs 0-1 are online but outside"),
                                             HasSubstr("memory of NUMA nodes 0 is outside")}));
  EXPECT_EQ(TreeText(machine), R"(
└─ package-0 Package  cache-level=3  cache-size=8Mi
   └─ numa-1 NUMANode  memory 8 GiB
      ├─ core-0-2 Core  cpu 1  cpu-ids=2
      └─ core-0-3 Core  cpu 1  cpu-ids=3
)");
}

// Partitions of cgroup v2 on a machine of four CPUs.
class PartitionLimitsTest : public ::testing::Test {
 protected:
  PartitionLimitsTest() {
    AddCpus(files_, 1, 4, 1);
    files_.AddNode({0, "0-3", 8 << 20, "10", {}});
    files_.Put("proc/mounts", "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n");
    PutCpus("", "0-3");
  }
  // Writes the outermost group's files or, with a name that ends in a slash, those of a group
  // below.
  void PutCpus(const std::string& group, const std::string& effective) {
    files_.Put(absl::StrCat("sys/fs/cgroup/", group, "cpuset.cpus.effective"), effective + "\n");
  }
  void PutState(const std::string& group, const std::string& state) {
    files_.Put(absl::StrCat("sys/fs/cgroup/", group, "cpuset.cpus.partition"), state + "\n");
  }
  MachineFiles files_;
};

// The outermost group then lists the CPUs that pods can't have.
TEST_F(PartitionLimitsTest, WherePodsAreOneItsCpusAreTheirs) {
  for (const char* group : {"kubepods/", "kubepods.slice/"}) {
    for (const char* state : {"root", "isolated"}) {
      PutCpus("", "0");
      PutCpus(group, "1-3");
      PutState(group, state);
      const Machine machine = ReadMachine(files_);
      EXPECT_EQ(machine.cpus.ToString(), "1-3") << group << state;
      EXPECT_THAT(machine.missing, Contains(HasSubstr("CPUs 0 are online but outside of the cpuset "
                                                      "partition of group kubepods")));
    }
    PutState(group, "member");
    PutCpus("", "0-3");
    EXPECT_EQ(ReadMachine(files_).cpus.ToString(), "0-3") << "no partition any more";
  }
}

TEST_F(PartitionLimitsTest, OneThatIsInvalidIsNone) {
  PutCpus("kubepods/", "0-3");
  PutState("kubepods/", "root invalid (Cpu list in cpuset.cpus not exclusive)");
  EXPECT_EQ(ReadMachine(files_).cpus.ToString(), "0-3");
}

// A pod with a partition of its own, deep below: no effective list above has its CPUs.
TEST_F(PartitionLimitsTest, PodsPartitionsArePods) {
  PutCpus("", "0-1");
  PutCpus("kubepods/", "0-1");
  PutState("kubepods/", "member");
  files_.Put("sys/fs/cgroup/kubepods/cpuset.cpus.exclusive.effective", "2-3\n");
  EXPECT_EQ(ReadMachine(files_).cpus.ToString(), "0-3");
  PutCpus("", "0");
  PutCpus("kubepods/", "1");
  PutState("kubepods/", "root");
  EXPECT_EQ(ReadMachine(files_).cpus.ToString(), "1-3");
}

TEST_F(PartitionLimitsTest, AnothersPartitionIsNotPods) {
  PutCpus("", "0-2");
  PutCpus("batch/", "3");
  PutState("batch/", "root");
  EXPECT_EQ(ReadMachine(files_).cpus.ToString(), "0-2");
}

// CPUs stay even when their node's memory is for others.
TEST(DiscoverLimitsTest, AContainerWithoutTheMemoryOfItsCpus) {
  MachineFiles files;
  AddCpus(files, 1, 4, 1);
  files.AddNode({0, "0-1", 8 << 20, "10 20", {{2048, 4}}});
  files.AddNode({1, "2-3", 8 << 20, "20 10", {{2048, 4}}});
  files.Put("proc/mounts", "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n");
  files.Put("sys/fs/cgroup/cpuset.cpus.effective", "0-3\n");
  files.Put("sys/fs/cgroup/cpuset.mems.effective", "1\n");
  const Machine machine = ReadMachine(files);
  ASSERT_EQ(machine.nodes.size(), 2u);
  EXPECT_EQ(machine.nodes[0].cpus.ToString(), "0-1");
  EXPECT_EQ(machine.nodes[0].memory_bytes, 0u);
  EXPECT_EQ(machine.nodes[0].hugepages.at(2 << 20), 0u);
  EXPECT_EQ(machine.nodes[1].memory_bytes, uint64_t{8} << 30);
}

// AllowedCPUs= and AllowedMemoryNodes= of the daemon's unit don't limit containers, which are in
// other groups.
TEST(DiscoverLimitsTest, TheDaemonsOwnGroupIsNotTheNode) {
  for (const bool v2 : {false, true}) {
    MachineFiles files;
    AddCpus(files, 1, 4, 1);
    files.AddNode({0, "0-1", 8 << 20, "10 20", {}});
    files.AddNode({1, "2-3", 8 << 20, "20 10", {}});
    const std::string root = v2 ? "sys/fs/cgroup" : "sys/fs/cgroup/cpuset";
    const std::string cpus = v2 ? "cpuset.cpus.effective" : "cpuset.effective_cpus";
    const std::string mems = v2 ? "cpuset.mems.effective" : "cpuset.effective_mems";
    files.Put("proc/mounts", v2 ? "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n"
                                : "cgroup /sys/fs/cgroup/cpuset cgroup rw,cpuset 0 0\n");
    const std::string own = "/system.slice/plimsolld.service";
    files.Put("proc/self/cgroup", absl::StrCat(v2 ? "0::" : "3:cpuset:", own, "\n"));
    files.Put("proc/self/cpuset", own + "\n");
    files.Put("proc/self/status", "Cpus_allowed_list:\t0\nMems_allowed_list:\t0\n");
    files.Put(root + "/cgroup.controllers", "cpuset cpu memory\n");
    files.Put(absl::StrCat(root, "/", cpus), "0-3\n");
    files.Put(absl::StrCat(root, "/", mems), "0-1\n");
    for (const std::string& file : {cpus, std::string("cpuset.cpus")}) {
      files.Put(absl::StrCat(root, own, "/", file), "0\n");
    }
    for (const std::string& file : {mems, std::string("cpuset.mems")}) {
      files.Put(absl::StrCat(root, own, "/", file), "0\n");
    }
    const Machine machine = ReadMachine(files);
    EXPECT_EQ(machine.cpus.ToString(), "0-3");
    EXPECT_EQ(machine.cores.size(), 4u);
    ASSERT_EQ(machine.nodes.size(), 2u);
    EXPECT_EQ(machine.nodes[1].memory_bytes, uint64_t{8} << 30);
    EXPECT_THAT(machine.missing, Not(Contains(HasSubstr("outside"))));
  }
}

// A changed limit shows in the signature; one of the daemon's own group doesn't.
TEST(DiscoverLimitsTest, ACpusetIsInTheSignature) {
  MachineFiles files;
  AddCpus(files, 1, 4, 1);
  files.Put("proc/mounts", "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n");
  const auto limited = [&](const std::string& cpus) {
    files.Put("sys/fs/cgroup/cpuset.cpus.effective", cpus + "\n");
    return *Signature(files.root());
  };
  const MachineSignature two = limited("2-3");
  EXPECT_EQ(limited("2-3"), two);
  EXPECT_NE(limited("1-3"), two);
  const MachineSignature three = limited("1-3");
  files.Put("proc/self/status", "Cpus_allowed_list:\t1\n");
  EXPECT_EQ(*Signature(files.root()), three);
}

// Limits, memory and swap are read again without the processors.
TEST(DiscoverLimitsTest, ACpusetAndMemoryAreNoMatterOfTheProcessors) {
  MachineFiles files;
  AddCpus(files, 1, 4, 1);
  files.AddNode({0, "0-3", 8 << 20, "10", {{2048, 0}}});
  const std::string before = Signature(files.root())->processors;
  files.Put("sys/fs/cgroup/cpuset.cpus.effective", "1-3\n");
  files.Put("sys/devices/system/node/node0/meminfo", "Node 0 MemTotal: 4096 kB\n");
  files.Put("sys/devices/system/node/node0/hugepages/hugepages-2048kB/nr_hugepages", "7\n");
  files.PutMemTotal(4096);
  EXPECT_EQ(Signature(files.root())->processors, before);
  files.Cpus("0-2", "0-3");
  EXPECT_NE(Signature(files.root())->processors, before);
}

// hwloc provides such a machine's memory.
TEST(DiscoverLimitsTest, WithoutNumaAllIsReadAgain) {
  MachineFiles files;
  AddCpus(files, 1, 4, 1);
  const std::string before = Signature(files.root())->processors;
  files.PutMemTotal(4 << 20);
  EXPECT_NE(Signature(files.root())->processors, before);
}

// The two halves make a whole discovery, whatever the second half finds in place.
TEST(DiscoverLimitsTest, MemoryCanBeReadAgainAlone) {
  MachineFiles files;
  AddCpus(files, 1, 4, 1);
  files.AddNode({0, "0-3", 8 << 20, "10", {{2048, 4}}});
  const auto processors = DiscoverProcessors(files.root(), PLIMSOLL_HWLOC_PROGRAM);
  ASSERT_TRUE(processors.ok()) << processors.status();
  files.Put("sys/devices/system/node/node0/meminfo", "Node 0 MemTotal: 4194304 kB\n");
  files.Put("sys/devices/system/node/node0/hugepages/hugepages-2048kB/nr_hugepages", "7\n");
  files.PutMemTotal(4 << 20);
  files.Put("sys/fs/cgroup/cpuset.cpus.effective", "1-3\n");
  Machine machine = *processors;
  ASSERT_TRUE(AddMemory(files.root(), machine).ok());
  EXPECT_EQ(TopologyYaml(MakeZones(machine)), TopologyYaml(MakeZones(ReadMachine(files))));
  EXPECT_EQ(machine.nodes[0].memory_bytes, uint64_t{4} << 30);
  EXPECT_EQ(machine.nodes[0].hugepages.at(2 << 20), 7u);
  EXPECT_EQ(machine.cpus.ToString(), "1-3");
}

}  // namespace
}  // namespace plimsoll::topology
