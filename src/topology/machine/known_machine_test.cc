#include "topology/machine/known_machine.h"

#include "gtest/gtest.h"
#include "topology/machine/machine_files_for_test.h"
#include "topology/tracker_fixture_for_test.h"

namespace plimsoll::topology {
namespace {

TEST(KnownMachineTest, IsReadAgainWhereItDiffersAlone) {
  MachineFiles files;
  AddCpus(files, 1, 2, 1);
  files.AddNode({0, "0-1", 8 << 20, "10", {}});
  KnownMachine machine(files.root(), PLIMSOLL_HWLOC_PROGRAM);
  ASSERT_EQ(machine.Read().value(), true);
  EXPECT_EQ(machine->cpus.ToString(), "0-1");
  EXPECT_EQ(machine.Read().value(), false);

  files.AddNode({0, "0-1", 8 << 20, "10", {{2048, 4096}}});
  ASSERT_EQ(machine.Read().value(), true);
  EXPECT_EQ(machine->cpus.ToString(), "0-1");
  EXPECT_EQ(machine.Read().value(), false);
}

TEST(KnownMachineTest, AnErrorLeavesTheOneThatWasRead) {
  MachineFiles files;
  AddCpus(files, 1, 2, 1);
  files.AddNode({0, "0-1", 8 << 20, "10", {}});
  HwlocInPlace hwloc;
  KnownMachine machine(files.root(), hwloc.program());
  ASSERT_TRUE(machine.Read().ok());
  files.Put("sys/devices/system/cpu/online", "0\n");
  hwloc.SetIll(true);
  EXPECT_FALSE(machine.Read().ok());
  EXPECT_EQ(machine->cpus.ToString(), "0-1");
  hwloc.SetIll(false);
  EXPECT_EQ(machine.Read().value(), true);
}

}  // namespace
}  // namespace plimsoll::topology
