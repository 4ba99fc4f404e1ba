#include "topology/machine/node_memory.h"

#include <string>

#include "absl/strings/match.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "topology/machine/kernel_files.h"
#include "topology/machine/read_machine_for_test.h"

namespace plimsoll::topology {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr uint64_t kGib = uint64_t{1} << 30;

void AddTwoNodes(MachineFiles& files, uint64_t gib0, uint64_t gib1) {
  AddCpus(files, 2, 1, 1);
  files.AddCaches({{3, 8192, "0", 0}, {3, 8192, "1", 1}});
  files.AddNode({0, "0", gib0 << 20, "10 20", {}});
  files.AddNode({1, "1", gib1 << 20, "20 10", {}});
}

// The node's file knows only the 8Gi of the boot, not the 16Gi added later.
TEST(NodeMemoryTest, OfTheOnlyNodeMemTotalDecides) {
  MachineFiles files;
  AddCpus(files, 1, 2, 1);
  files.AddNode({0, "0-1", 8 << 20, "10", {}});
  files.PutMemTotal(24 << 20);
  const Machine machine = ReadMachine(files);
  EXPECT_EQ(machine.nodes[0].memory_bytes, 24 * kGib);
  EXPECT_THAT(machine.missing, Contains(AllOf(HasSubstr("MemTotal"), HasSubstr("24.0Gi"))));
}

TEST(NodeMemoryTest, OfSeveralTheBlocksDecide) {
  MachineFiles files;
  AddTwoNodes(files, 4, 8);
  files.AddBlocks(0, 0, 8, "online");
  files.AddBlocks(0, 8, 8, "online_movable");
  files.AddBlocks(1, 16, 8, "online");
  files.AddBlocks(1, 24, 100, "offline");
  files.PutMemTotal(24 << 20);
  const Machine machine = ReadMachine(files);
  EXPECT_EQ(machine.nodes[0].memory_bytes, 16 * kGib);
  EXPECT_EQ(machine.nodes[1].memory_bytes, 8 * kGib);
  EXPECT_THAT(machine.missing, Contains(AllOf(HasSubstr("24.0Gi"), HasSubstr("blocks"))));
}

// Division loses nothing.
TEST(NodeMemoryTest, SharesAddUpToMemTotal) {
  MachineFiles files;
  AddTwoNodes(files, 1, 1);
  files.AddBlocks(0, 0, 1, "online");
  files.AddBlocks(1, 1, 2, "online");
  files.PutMemTotal((10 << 20) + 4);
  const Machine machine = ReadMachine(files);
  EXPECT_EQ(machine.nodes[0].memory_bytes + machine.nodes[1].memory_bytes, 10 * kGib + 4096);
}

TEST(NodeMemoryTest, WithoutBlocksNodesKeepTheirsAndItIsSaid) {
  MachineFiles files;
  AddTwoNodes(files, 4, 8);
  files.PutMemTotal(24 << 20);
  const Machine machine = ReadMachine(files);
  EXPECT_EQ(machine.nodes[0].memory_bytes, 4 * kGib);
  EXPECT_EQ(machine.nodes[1].memory_bytes, 8 * kGib);
  EXPECT_THAT(machine.missing, Contains(HasSubstr("no memory blocks to decide by")));
}

// A node is gone, but not its memory.
TEST(NodeMemoryTest, MemoryOfANodeThatIsNotSeenIsNotAnothers) {
  MachineFiles files;
  AddCpus(files, 1, 2, 1);
  files.AddNode({1, "0-1", 8 << 20, "10", {}});
  files.Put("sys/devices/system/node/has_memory", "0-1\n");
  files.PutMemTotal(16 << 20);
  const Machine machine = ReadMachine(files);
  EXPECT_EQ(machine.nodes[0].memory_bytes, 8 * kGib);
  EXPECT_THAT(machine.missing, Contains(HasSubstr("nodes 0 have memory and no files")));
}

// A balloon takes a page or two between one file and the next.
TEST(NodeMemoryTest, AFewPerCentAreNothing) {
  MachineFiles files;
  AddTwoNodes(files, 50, 50);
  files.AddBlocks(0, 0, 1, "online");
  files.AddBlocks(1, 1, 9, "online");
  files.PutMemTotal(98 << 20);
  const Machine machine = ReadMachine(files);
  EXPECT_EQ(machine.nodes[0].memory_bytes, 50 * kGib);
  EXPECT_THAT(machine.missing, IsEmpty());
}

// This machine, whatever it is: all of its memory is reported, or `missing` says why not.
TEST(NodeMemoryTest, ThisMachinesMemoryIsItsMemTotal) {
  const FsRoot host = *FsRoot::Open("/");
  const auto machine = Discover(host, "");
  ASSERT_TRUE(machine.ok()) << machine.status();
  for (const std::string& sentence : machine->missing) {
    if (absl::StrContains(sentence, "memory of NUMA nodes") ||
        absl::StrContains(sentence, "no memory blocks to decide by")) {
      GTEST_SKIP() << sentence;
    }
  }
  uint64_t memory = 0;
  for (const NumaNode& node : machine->nodes) memory += node.memory_bytes;
  const auto total = ReadMemInfo(host, "proc/meminfo", "MemTotal:");
  ASSERT_TRUE(total.ok() && total->has_value());
  EXPECT_NEAR(static_cast<double>(memory), static_cast<double>(**total),
              static_cast<double>(**total) * 0.03);
}

TEST(NodeMemoryTest, MemTotalIsInTheSignature) {
  MachineFiles files;
  AddTwoNodes(files, 4, 8);
  const MachineSignature before = *Signature(files.root());
  files.PutMemTotal(13 << 20);
  EXPECT_NE(*Signature(files.root()), before);
}

}  // namespace
}  // namespace plimsoll::topology
