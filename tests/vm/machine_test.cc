// The virtual machine is as described in tests/vm/README.md: others rely on it (NUMA, hyperthreads,
// disks).
#include <sys/stat.h>

#include <map>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "harness/kernel.h"
#include "linux/namespaces/mounts.h"

namespace plimsoll::testing {
namespace {

using ::testing::SizeIs;

constexpr char kCpus[] = "sys/devices/system/cpu";
constexpr char kNodes[] = "sys/devices/system/node";

std::string Line(const std::string& path) {
  const auto text = Host().Read(path);
  EXPECT_TRUE(text.ok()) << text.status();
  return std::string(absl::StripSuffix(text.value_or(""), "\n"));
}

TEST(MachineTest, HasTwoNodesOfOneSocketTwoCoresTwoThreads) {
  EXPECT_EQ(Line(absl::StrCat(kCpus, "/online")), "0-7");
  EXPECT_EQ(Line(absl::StrCat(kNodes, "/online")), "0-1");
  std::set<std::string> sockets;
  for (const char* node : {"node0", "node1"}) {
    // Each core's CPUs, and the siblings that each of them reports.
    std::map<std::string, std::set<std::string>> cores;
    std::set<std::string> siblings;
    std::set<std::string> here;
    const auto names = Host().List(absl::StrCat(kNodes, "/", node));
    ASSERT_TRUE(names.ok()) << names.status();
    for (const std::string& name : *names) {
      if (!absl::StartsWith(name, "cpu") || name.size() != 4) continue;
      const std::string topology = absl::StrCat(kCpus, "/", name, "/topology");
      here.insert(Line(topology + "/physical_package_id"));
      cores[Line(topology + "/core_id")].insert(name);
      siblings.insert(Line(topology + "/thread_siblings_list"));
    }
    EXPECT_THAT(here, SizeIs(1)) << node;
    EXPECT_THAT(cores, SizeIs(2)) << node;
    EXPECT_THAT(siblings, SizeIs(2)) << node;
    for (const auto& [core, threads] : cores) {
      EXPECT_THAT(threads, SizeIs(2)) << node << ", core " << core;
    }
    sockets.insert(here.begin(), here.end());
  }
  EXPECT_THAT(sockets, SizeIs(2)) << "a socket on each node";
}

TEST(MachineTest, HasMemoryOnBothNodesAndSaysHowFarApartTheyAre) {
  for (const char* node : {"node0", "node1"}) {
    const std::string text = Line(absl::StrCat(kNodes, "/", node, "/meminfo"));
    const std::vector<std::string> words =
        absl::StrSplit(text, absl::ByAnyChar(" \n"), absl::SkipEmpty());
    ASSERT_GT(words.size(), 3u);  // "Node 0 MemTotal: 1015012 kB"
    EXPECT_EQ(words[2], "MemTotal:");
    EXPECT_GT(std::stol(words[3]), 900 * 1024);
  }
  EXPECT_EQ(Line(absl::StrCat(kNodes, "/node0/distance")), "10 20");
}

TEST(MachineTest, HasASecondDisk) {
  struct stat disk = {};
  ASSERT_EQ(stat("/dev/vdb", &disk), 0);
  EXPECT_TRUE(S_ISBLK(disk.st_mode));
  EXPECT_EQ(Line("sys/block/vdb/size"), absl::StrCat((int64_t{1} << 30) / 512));
}

TEST(MachineTest, TellsOfPressure) {
  for (const char* resource : {"cpu", "io", "memory"}) {
    EXPECT_TRUE(Host().Exists(absl::StrCat("proc/pressure/", resource))) << resource;
  }
}

TEST(MachineTest, HasControlGroupsOfVersionTwoOnly) {
  EXPECT_EQ(Cgroups().layout(), linux::CgroupLayout::kV2);
  for (const char* controller : {"cpu", "cpuset", "hugetlb", "io", "memory", "pids"}) {
    EXPECT_THAT(Cgroups().Controllers(), ::testing::Contains(controller));
  }
  const auto mounts = linux::ReadMounts(Host());
  ASSERT_TRUE(mounts.ok()) << mounts.status();
  for (const linux::MountInfo& mount : *mounts) {
    EXPECT_NE(mount.fs_type, "cgroup") << mount.mount_point;
  }
}

}  // namespace
}  // namespace plimsoll::testing
