// An LXC container with CPUs 2-3 and 4Gi of its host's 16.
#include "topology/machine/lxcfs.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "topology/machine/read_machine_for_test.h"

namespace plimsoll::topology {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr uint64_t kGibibyte = uint64_t{1} << 30;

class LxcfsTest : public ::testing::Test {
 protected:
  explicit LxcfsTest(const std::string& architecture = "x86_64") : files_(architecture) {
    AddCpus(files_, 2, 2, 1);
    files_.AddNode({0, "0-1", 4 << 20, "10 20", {}});
    files_.AddNode({1, "2-3", 12 << 20, "20 10", {}});
    files_.Put("sys/fs/cgroup/cpuset.cpus.effective", "2-3\n");
    files_.Put("proc/mounts",
               "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n"
               "lxcfs /proc/cpuinfo fuse.lxcfs rw,nosuid,nodev,relatime 0 0\n"
               "lxcfs /proc/meminfo fuse.lxcfs rw,nosuid,nodev,relatime 0 0\n");
    files_.PutMemTotal(4 << 20);
  }
  MachineFiles files_;
};

TEST_F(LxcfsTest, IsFoundByItsMounts) {
  EXPECT_TRUE(*IsByLxcfs(files_.root(), "/proc/cpuinfo"));
  EXPECT_FALSE(*IsByLxcfs(files_.root(), "/proc/stat"));
  files_.Put("proc/mounts",
             "lxcfs /proc/cpuinfo fuse.lxcfs rw 0 0\nproc /proc/cpuinfo proc rw 0 0\n");
  EXPECT_FALSE(*IsByLxcfs(files_.root(), "/proc/cpuinfo")) << "what is mounted last is seen";
}

// Processors 0 and 1 are CPUs 2 and 3, outside of package 0.
TEST_F(LxcfsTest, FeaturesAreThoseThatAllHave) {
  files_.Put("proc/cpuinfo",
             "processor\t: 0\nflags\t: fpu avx sse2\n\nprocessor\t: 1\nflags\t: fpu sse2\n\n");
  const Machine machine = ReadMachine(files_);
  ASSERT_EQ(machine.packages.size(), 1u);
  EXPECT_EQ(machine.packages[0].attributes.at("cpu-features"), "fpu,sse2");
  EXPECT_THAT(machine.missing, Contains(HasSubstr("LXCFS renumbers the CPUs of /proc/cpuinfo")));
}

// The container's limit counts, divided in the proportion of the nodes' memory.
TEST_F(LxcfsTest, MemoryIsTheContainersLimit) {
  const Machine machine = ReadMachine(files_);
  EXPECT_EQ(machine.nodes.at(0).memory_bytes, 1 * kGibibyte);
  EXPECT_EQ(machine.nodes.at(1).memory_bytes, 3 * kGibibyte);
  EXPECT_THAT(machine.missing, Contains(AllOf(HasSubstr("LXCFS"), HasSubstr("4.0Gi"))));
  EXPECT_THAT(machine.missing, Not(Contains(HasSubstr("added after boot"))));
}

// The container has no limit.
TEST_F(LxcfsTest, WithoutALimitNodesHaveTheirs) {
  files_.PutMemTotal(16 << 20);
  const Machine machine = ReadMachine(files_);
  EXPECT_EQ(machine.nodes.at(1).memory_bytes, 12 * kGibibyte);
  EXPECT_THAT(machine.missing, Not(Contains(HasSubstr("MemTotal"))));
}

class ArmLxcfsTest : public LxcfsTest {
 protected:
  ArmLxcfsTest() : LxcfsTest("aarch64") {}
};

// Parts 0xd85 and 0xd87 would be attributed to CPUs 0 and 1.
TEST_F(ArmLxcfsTest, PartNumbersAreNotTakenFromIt) {
  files_.Put("proc/cpuinfo",
             "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd85\n\n"
             "processor\t: 1\nCPU implementer\t: 0x41\nCPU part\t: 0xd87\n\n");
  files_.Put("sys/fs/cgroup/cpuset.cpus.effective", "0-3\n");
  const Machine machine = ReadMachine(files_);
  EXPECT_FALSE(machine.core_kinds.empty());
  for (const CoreKind& kind : machine.core_kinds) EXPECT_FALSE(kind.part.has_value());
}

}  // namespace
}  // namespace plimsoll::topology
