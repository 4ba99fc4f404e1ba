#include "daemon/cgroup_driver.h"

#include "base/dir_for_test.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plimsoll::daemon {
namespace {

using ::testing::HasSubstr;

class CgroupDriverTest : public ::testing::Test {
 protected:
  // The files of a machine that the decision reads.
  void BootSystemd(bool with_bus) {
    ASSERT_TRUE(dir_.root().MakeDirs("run/systemd/system").ok());
    ASSERT_TRUE(dir_.root().MakeDirs("run/dbus").ok());
    if (!with_bus) return;
    ASSERT_TRUE(dir_.root().ReplaceFile("run/dbus/system_bus_socket", "").ok());
  }
  void MakeV2() {
    ASSERT_TRUE(dir_.root().MakeDirs("proc/self").ok());
    ASSERT_TRUE(dir_.root().MakeDirs("sys/fs/cgroup").ok());
    ASSERT_TRUE(dir_.root()
                    .ReplaceFile("proc/self/mountinfo",
                                 "30 1 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n")
                    .ok());
    ASSERT_TRUE(dir_.root().ReplaceFile("sys/fs/cgroup/cgroup.controllers", "cpu\n").ok());
    ASSERT_TRUE(dir_.root().ReplaceFile("sys/fs/cgroup/cgroup.procs", "1\n").ok());
  }
  bool Wants(linux::CgroupLayout layout, bool standalone = false) {
    return WantsSystemd(dir_.root(), config_, layout, standalone);
  }

  TestDir dir_;
  Config config_;
};

TEST_F(CgroupDriverTest, AutoIsSystemdWhereAllOfItIsThere) {
  EXPECT_FALSE(Wants(linux::CgroupLayout::kV2));
  BootSystemd(/*with_bus=*/false);
  EXPECT_FALSE(Wants(linux::CgroupLayout::kV2));
  BootSystemd(/*with_bus=*/true);
  EXPECT_TRUE(Wants(linux::CgroupLayout::kV2));
  EXPECT_FALSE(Wants(linux::CgroupLayout::kV2, /*standalone=*/true));
  EXPECT_FALSE(Wants(linux::CgroupLayout::kHybrid));
  EXPECT_FALSE(Wants(linux::CgroupLayout::kV1));
  config_.cgroup_parent = "/a/b";
  EXPECT_FALSE(Wants(linux::CgroupLayout::kV2));
  config_ = Config();
  config_.cgroup_driver = "cgroupfs";
  EXPECT_FALSE(Wants(linux::CgroupLayout::kV2));
  config_.cgroup_driver = "systemd";
  EXPECT_TRUE(Wants(linux::CgroupLayout::kV1)) << "and is refused then";
}

TEST_F(CgroupDriverTest, ThePodsParentIsASliceForSystemd) {
  EXPECT_EQ(*PodParent(config_, /*systemd=*/false), "/plimsoll");
  EXPECT_EQ(*PodParent(config_, /*systemd=*/true), "/plimsoll.slice");
  config_.cgroup_parent = "/a.slice/a-b.slice";
  EXPECT_EQ(*PodParent(config_, /*systemd=*/true), "/a.slice/a-b.slice");
  for (const char* parent : {"/a/b", "/a-b", "/a-b.slice", "/a.slice/b", "/a b"}) {
    config_.cgroup_parent = parent;
    EXPECT_TRUE(absl::IsInvalidArgument(PodParent(config_, /*systemd=*/true).status())) << parent;
    EXPECT_EQ(*PodParent(config_, /*systemd=*/false), parent);
  }
}

TEST_F(CgroupDriverTest, OnlyAWantedDriverIsHeldAgainstTheParent) {
  config_.cgroup_parent = "/a/b";
  for (const char* driver : {"auto", "cgroupfs"}) {
    config_.cgroup_driver = driver;
    EXPECT_TRUE(CheckCgroupDriver(config_).ok()) << driver;
  }
  config_.cgroup_driver = "systemd";
  EXPECT_TRUE(absl::IsFailedPrecondition(CheckCgroupDriver(config_)));
  config_.cgroup_parent = "/plimsoll";
  EXPECT_TRUE(CheckCgroupDriver(config_).ok());
}

TEST_F(CgroupDriverTest, RefusesADriverThatCantBeHad) {
  MakeV2();
  config_.cgroup_driver = "systemd";
  absl::Status status = OpenCgroupDriver(dir_.root(), config_, /*standalone=*/false).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("process 1 is not systemd"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("set cgroup_driver to cgroupfs"));
  config_.cgroup_parent = "/a/b";
  status = OpenCgroupDriver(dir_.root(), config_, /*standalone=*/false).status();
  EXPECT_THAT(std::string(status.message()), HasSubstr("cgroup_parent /a/b must be a slice"));
}

TEST_F(CgroupDriverTest, SaysWhyAutoIsNotSystemd) {
  MakeV2();
  const auto without = OpenCgroupDriver(dir_.root(), config_, /*standalone=*/false);
  ASSERT_TRUE(without.ok()) << without.status();
  EXPECT_FALSE(without->systemd);
  EXPECT_EQ(without->pod_parent, "/plimsoll");
  EXPECT_EQ(without->warning, "");
  BootSystemd(/*with_bus=*/false);
  const auto driver = OpenCgroupDriver(dir_.root(), config_, /*standalone=*/false);
  ASSERT_TRUE(driver.ok()) << driver.status();
  EXPECT_FALSE(driver->systemd);
  EXPECT_THAT(driver->warning, HasSubstr("no system bus"));
}

}  // namespace
}  // namespace plimsoll::daemon
