#include "pictures/capture.h"

#include "base/dir_for_test.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "topology/machine/discover.h"
#include "topology/machine/machine_files_for_test.h"
#include "topology/make_zones.h"

namespace plimsoll::pictures {
namespace {

using topology::Machine;
using topology::MachineFiles;
using topology::MakeZones;
using topology::Topology;
using topology::Zone;

// The zones without the machine's identity.
std::vector<Zone> ZonesOf(const Machine& machine) {
  Topology topology = MakeZones(machine);
  for (const char* identity : {topology::kMachineId, topology::kBootId, topology::kSystemUuid}) {
    topology.zones[0].attributes.erase(identity);
  }
  return topology.zones;
}

TEST(CaptureTest, ACapturedMachineIsTheSame) {
  MachineFiles files;
  AddCpus(files, 1, 4, 2);
  files.AddCaches({{2, 512, "0,4", 0}, {3, 8192, "0-1,4-5", 0}, {3, 8192, "2-3,6-7", 1}});
  files.AddNode({0, "0-1,4-5", 8 << 20, "10 20", {{2048, 3}}});
  files.AddNode({1, "2-3,6-7", 8 << 20, "20 10", {}});
  for (uint32_t cpu = 0; cpu < 8; ++cpu) files.Frequencies(cpu, 2000000, 3000000);
  files.Put("proc/cpuinfo", "processor\t: 0\nflags\t\t: fpu sse2\n");
  files.Put("proc/mounts", "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n");
  files.Put("proc/self/cgroup", "0::/secret-tenant\n");
  files.Put("sys/fs/cgroup/cgroup.controllers", "cpuset\n");
  files.Put("sys/fs/cgroup/cpuset.cpus.effective", "0-3\n");
  files.Put("sys/fs/cgroup/cpuset.mems.effective", "0-1\n");
  files.Put("sys/fs/cgroup/secret-tenant/cpuset.cpus.effective", "0-1\n");
  files.Put("sys/fs/cgroup/secret-tenant/cpuset.mems.effective", "0\n");
  const Machine machine = *topology::Discover(files.root(), PLIMSOLL_HWLOC_PROGRAM);
  EXPECT_EQ(machine.cpus.ToString(), "0-3");
  TestDir out;
  const absl::Status captured = Capture(files.root(), machine, out.root());
  ASSERT_TRUE(captured.ok()) << captured;
  const auto again = topology::Discover(out.root(), PLIMSOLL_HWLOC_PROGRAM);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(ZonesOf(*again), ZonesOf(machine));
  EXPECT_EQ(again->missing, machine.missing);
  // The capture must not identify the machine.
  EXPECT_NE(again->attributes.at(topology::kMachineId),
            machine.attributes.at(topology::kMachineId));
  EXPECT_NE(again->attributes.at(topology::kBootId), machine.attributes.at(topology::kBootId));
  EXPECT_NE(again->attributes.at(topology::kSystemUuid),
            machine.attributes.at(topology::kSystemUuid));
  EXPECT_EQ(*out.root().Read("proc/self/cgroup"), "0::/\n");
}

// Bandwidth and the device's place identify HBM, the place alone persistent memory.
TEST(CaptureTest, KindsOfMemoryAreCaptured) {
  for (const auto& add : {topology::AddMachineWithHbm, topology::AddMachineWithPmem}) {
    MachineFiles files;
    add(files);
    const Machine machine = *topology::Discover(files.root(), PLIMSOLL_HWLOC_PROGRAM);
    ASSERT_EQ(machine.nodes.size(), 4u);
    TestDir out;
    const absl::Status captured = Capture(files.root(), machine, out.root());
    ASSERT_TRUE(captured.ok()) << captured;
    const auto again = topology::Discover(out.root(), PLIMSOLL_HWLOC_PROGRAM);
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ(ZonesOf(*again), ZonesOf(machine));
    EXPECT_TRUE(MakeZones(*again).zones.back().attributes.contains("memory-type"));
  }
}

// Discovery reads these beside hwloc's files.
TEST(CaptureTest, WhatDecidesWhereHwlocFallsShortIsCaptured) {
  MachineFiles files("aarch64");
  AddCpus(files, 2, 2, 1);
  for (uint32_t cpu = 0; cpu < 4; ++cpu) {
    const std::string directory = absl::StrCat("sys/devices/system/cpu/cpu", cpu);
    files.Put(directory + "/cpu_capacity", cpu == 3 ? "1024\n" : "900\n");
    files.Put(directory + "/regs/identification/midr_el1",
              cpu < 2 ? "0x00000000410fd851\n" : "0x00000000410fd871\n");
    files.LinkToNode(cpu, cpu == 0 ? 1 : 0);
  }
  files.AddNode({0, "0-3", 4 << 20, "10 20 80", {}});
  files.AddNode({1, "0-3", 4 << 20, "20 10 80", {}});
  files.AddNode({9, "", 4 << 20, "80 80 10", {}});
  files.Put("proc/driver/nvidia/gpus/0000:01:00.0/numa_status", "Node: 9\n");
  files.Put("sys/devices/cpu_core/cpus", "0-1\n");
  for (const uint32_t node : {0, 1, 9}) files.AddBlocks(node, node * 64, node + 8, "online");
  files.PutMemTotal(40 << 20);
  const Machine machine = *topology::Discover(files.root(), PLIMSOLL_HWLOC_PROGRAM);
  TestDir out;
  const absl::Status captured = Capture(files.root(), machine, out.root());
  ASSERT_TRUE(captured.ok()) << captured;
  const auto again = topology::Discover(out.root(), PLIMSOLL_HWLOC_PROGRAM);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(ZonesOf(*again), ZonesOf(machine));
  EXPECT_EQ(again->missing, machine.missing);
  EXPECT_EQ(again->nodes[1].cpus.ToString(), "0");
  EXPECT_EQ(again->nodes[2].attributes.at("memory-type"), "GPUMemory");
  EXPECT_EQ(*out.root().List("proc/driver/nvidia/gpus"), std::vector<std::string>{"gpu0"});
}

// lxcfs's files mean something else than the kernel's.
TEST(CaptureTest, AContainerOfLxcsIsCapturedAsSuch) {
  MachineFiles files;
  AddCpus(files, 1, 4, 1);
  files.AddNode({0, "0-3", 16 << 20, "10", {}});
  files.Put("proc/cpuinfo", "processor\t: 0\nflags\t\t: fpu sse2\n");
  files.Put("proc/mounts",
            "secret /srv/tenant ext4 rw 0 0\nlxcfs /proc/cpuinfo fuse.lxcfs rw 0 0\n"
            "lxcfs /proc/meminfo fuse.lxcfs rw 0 0\n");
  files.Put("sys/fs/cgroup/cpuset.cpus.effective", "0-3\n");
  files.PutMemTotal(4 << 20);
  const Machine machine = *topology::Discover(files.root(), PLIMSOLL_HWLOC_PROGRAM);
  EXPECT_THAT(machine.missing, ::testing::Contains(::testing::HasSubstr("LXCFS")));
  TestDir out;
  ASSERT_TRUE(Capture(files.root(), machine, out.root()).ok());
  const auto again = topology::Discover(out.root(), PLIMSOLL_HWLOC_PROGRAM);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(ZonesOf(*again), ZonesOf(machine));
  EXPECT_EQ(again->missing, machine.missing);
  EXPECT_THAT(*out.root().Read("proc/mounts"), ::testing::Not(::testing::HasSubstr("secret")));
}

TEST(CaptureTest, WhatAMachineDoesNotTellIsNotMadeUp) {
  MachineFiles files;
  ASSERT_TRUE(files.root().RemoveTree("sys/class").ok());
  ASSERT_TRUE(files.root().RemoveTree("etc").ok());
  AddCpus(files, 1, 2, 1);
  const Machine machine = *topology::Discover(files.root(), PLIMSOLL_HWLOC_PROGRAM);
  TestDir out;
  ASSERT_TRUE(Capture(files.root(), machine, out.root()).ok());
  const auto again = topology::Discover(out.root(), PLIMSOLL_HWLOC_PROGRAM);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->missing, machine.missing);
  EXPECT_FALSE(out.root().Exists("etc/machine-id"));
}

// This machine, whatever it is. Compares the zones below the root: hwloc asks the processor too,
// and a balloon may take memory at any moment.
TEST(CaptureTest, ThisMachineCanBeCaptured) {
  const FsRoot host = *FsRoot::Open("/");
  const Machine machine = *topology::Discover(host, "");
  TestDir out;
  ASSERT_TRUE(Capture(host, machine, out.root()).ok());
  const auto again = topology::Discover(out.root(), PLIMSOLL_HWLOC_PROGRAM);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->cpus, machine.cpus);
  EXPECT_EQ(again->nodes.size(), machine.nodes.size());
  EXPECT_EQ(again->packages.size(), machine.packages.size());
  EXPECT_EQ(again->cores.size(), machine.cores.size());
}

}  // namespace
}  // namespace plimsoll::pictures
