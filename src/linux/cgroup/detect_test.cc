#include "absl/strings/str_cat.h"
#include "base/dir_for_test.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "linux/cgroup/cgroup.h"

namespace plimsoll::linux {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class CgroupDetectTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(dir_.root().MakeDirs("proc/self").ok()); }

  void Mount(const std::string& mount_point, const std::string& type, const std::string& options,
             bool visible = true) {
    ++count_;
    absl::StrAppend(&mounts_, 30 + count_, " 23 0:", count_, " / ", mount_point,
                    " rw,relatime shared:", count_, " - ", type, " ", type, " rw", options, "\n");
    ASSERT_TRUE(dir_.root().ReplaceFile("proc/self/mountinfo", mounts_).ok());
    ASSERT_TRUE(dir_.root().MakeDirs(mount_point).ok());
    if (visible) Put(absl::StrCat(mount_point, "/cgroup.procs"), "1\n");
  }
  void Put(const std::string& path, absl::string_view text) {
    ASSERT_TRUE(dir_.root().ReplaceFile(path, text).ok());
  }
  std::unique_ptr<CgroupManager> Detect() {
    auto cgroups = CgroupManager::Detect(dir_.root());
    EXPECT_TRUE(cgroups.ok()) << cgroups.status();
    return cgroups.ok() ? *std::move(cgroups) : nullptr;
  }

  TestDir dir_;
  std::string mounts_;
  int count_ = 0;
};

TEST_F(CgroupDetectTest, V2) {
  Mount("/proc", "proc", "", false);
  Mount("/sys/fs/cgroup", "cgroup2", ",nsdelegate");
  Put("sys/fs/cgroup/cgroup.controllers", "cpuset cpu io memory hugetlb pids\n");
  const auto cgroups = Detect();
  EXPECT_EQ(cgroups->layout(), CgroupLayout::kV2);
  EXPECT_THAT(cgroups->Controllers(),
              ElementsAre("cpu", "cpuset", "hugetlb", "io", "memory", "pids"));
  EXPECT_THAT(cgroups->UnifiedControllersOnHybrid(), IsEmpty());
}

TEST_F(CgroupDetectTest, HybridLeavesTheControllersOfV2Out) {
  Mount("/sys/fs/cgroup", "tmpfs", "", false);
  Mount("/sys/fs/cgroup/cpu", "cgroup", ",cpu");
  Mount("/sys/fs/cgroup/memory", "cgroup", ",memory");
  Mount("/sys/fs/cgroup/systemd", "cgroup", ",xattr,name=systemd");
  Mount("/sys/fs/cgroup/unified", "cgroup2", "");
  Put("sys/fs/cgroup/unified/cgroup.controllers", "hugetlb\n");
  const auto cgroups = Detect();
  EXPECT_EQ(cgroups->layout(), CgroupLayout::kHybrid);
  EXPECT_THAT(cgroups->Controllers(), ElementsAre("cpu", "memory"));
  EXPECT_THAT(cgroups->UnifiedControllersOnHybrid(), ElementsAre("hugetlb"));
  ASSERT_TRUE(cgroups->Create("/a").ok());
  EXPECT_TRUE(dir_.root().Exists("sys/fs/cgroup/memory/a"));
  EXPECT_FALSE(dir_.root().Exists("sys/fs/cgroup/unified/a"));
  EXPECT_FALSE(dir_.root().Exists("sys/fs/cgroup/systemd/a"));
  const absl::Status status = cgroups->Apply("/a", {.hugetlb_limits = {{"2MB", 0}}});
  EXPECT_TRUE(absl::IsFailedPrecondition(status));
  EXPECT_THAT(status.message(), HasSubstr("v2 hierarchy"));
}

TEST_F(CgroupDetectTest, V1WithSharedHierarchiesAndOtherDirectoryNames) {
  Mount("/sys/fs/cgroup/cpu,cpuacct", "cgroup", ",cpu,cpuacct");
  Mount("/sys/fs/cgroup/everything-else", "cgroup", ",memory,pids,noprefix,release_agent=/x");
  // A second mount of a known hierarchy, and a mount that another one hides.
  Mount("/sys/fs/cgroup/again", "cgroup", ",cpu,cpuacct");
  Mount("/sys/fs/cgroup/hidden", "cgroup", ",freezer", false);
  Mount("/mnt/elsewhere", "cgroup", ",cpuset");
  const auto cgroups = Detect();
  EXPECT_EQ(cgroups->layout(), CgroupLayout::kV1);
  EXPECT_THAT(cgroups->Controllers(), ElementsAre("cpu", "cpuacct", "memory", "pids"));
  Put("sys/fs/cgroup/cpu,cpuacct/cpu.stat", "nr_throttled 3\n");
  Put("sys/fs/cgroup/cpu,cpuacct/cpuacct.usage", "12345\n");
  Put("sys/fs/cgroup/everything-else/memory.usage_in_bytes", "100\n");
  Put("sys/fs/cgroup/everything-else/memory.stat", "total_inactive_file 30\n");
  const auto stats = cgroups->Stats("/");
  ASSERT_TRUE(stats.ok()) << stats.status();
  EXPECT_EQ(stats->cpu_usage_ns, 12345u);
  EXPECT_EQ(stats->cpu_throttled_periods, 3u);
  EXPECT_EQ(stats->memory_working_set_bytes, 70u);
  ASSERT_TRUE(cgroups->Create("/a").ok());
  EXPECT_TRUE(dir_.root().Exists("sys/fs/cgroup/cpu,cpuacct/a"));
  EXPECT_FALSE(dir_.root().Exists("sys/fs/cgroup/again/a"));
  EXPECT_FALSE(dir_.root().Exists("mnt/elsewhere/a"));
}

TEST_F(CgroupDetectTest, V2AwayFromItsUsualPlace) {
  Mount("/sys/fs/cgroup/systemd", "cgroup", ",name=systemd");
  Mount("/sys/fs/cgroup/unified", "cgroup2", "");
  Put("sys/fs/cgroup/unified/cgroup.controllers", "cpu memory\n");
  EXPECT_EQ(Detect()->layout(), CgroupLayout::kV2);
}

TEST_F(CgroupDetectTest, NothingMountedIsAClearError) {
  Mount("/sys/fs/cgroup", "tmpfs", "", false);
  const absl::Status status = CgroupManager::Detect(dir_.root()).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status));
  EXPECT_THAT(status.message(), HasSubstr("/sys/fs/cgroup"));
}

}  // namespace
}  // namespace plimsoll::linux
