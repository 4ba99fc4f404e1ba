#include "runtime/oci/mount_targets.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plimsoll::runtime {
namespace {

using Json = nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;

Json MountJson(const std::string& destination, const std::string& type, const Json& options) {
  return {{"destination", destination}, {"type", type}, {"options", options}};
}

Json Spec() {
  Json mounts = {MountJson("/proc", "proc", {"nosuid"}),
                 MountJson("/dev", "tmpfs", {"nosuid"}),
                 MountJson("/dev/shm", "bind", {"rbind", "rprivate"}),
                 MountJson("/sys", "sysfs", {"ro"}),
                 MountJson("/sys/fs/cgroup", "cgroup", {"ro"}),
                 MountJson("/etc/hosts", "bind", {"rbind"})};
  return {{"mounts", std::move(mounts)},
          {"linux",
           {{"maskedPaths", {"/proc/acpi"}},
            {"readonlyPaths", {"/proc/sys/"}},
            {"devices", {{{"path", "/dev/fuse"}}}}}}};
}

linux::MountInfo At(const std::string& path, const std::string& type = "ext4",
                    const std::string& root = "/files/resolv.conf") {
  linux::MountInfo mount;
  mount.mount_point = path;
  mount.fs_type = type;
  mount.root = root;
  return mount;
}

class MountTargetsTest : public ::testing::Test {
 protected:
  absl::Status Arrive(const linux::MountInfo& mount) {
    const auto targets = TargetsOf(spec_);
    EXPECT_TRUE(targets.ok()) << targets.status();
    return CheckArrived({At("/", "overlay"), At("/proc", "proc"), mount}, *targets);
  }
  absl::Status Ask(const std::string& destination) {
    Json spec = Spec();
    spec["mounts"].push_back(MountJson(destination, "bind", {"rbind"}));
    return TargetsOf(spec).status();
  }

  Json spec_ = Spec();
};

TEST_F(MountTargetsTest, WhatWasAskedForMayBeThere) {
  for (const char* path : {"/etc/hosts", "/anywhere/else", "/process", "/dev/shm", "/dev/shm/below",
                           "/sys", "/sys/fs/cgroup/memory", "/dev/fuse"}) {
    EXPECT_TRUE(Arrive(At(path)).ok()) << path;
  }
  EXPECT_TRUE(Arrive(At("/sys/kernel/security", "securityfs")).ok()) << "of the host's sysfs";
}

TEST_F(MountTargetsTest, NothingElseMayBeInDirectoriesOfTheKernel) {
  for (const char* path : {"/proc/1/attr/exec", "/proc/sys/kernel/core_pattern", "/proc/acpi/below",
                           "/sys/kernel/uevent_helper", "/dev/sda", "/dev/null/x"}) {
    const absl::Status status = Arrive(At(path));
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << path << status;
    EXPECT_THAT(std::string(status.message()),
                AllOf(HasSubstr(std::string("has arrived at ") + path),
                      HasSubstr("/files/resolv.conf"), HasSubstr("symbolic link")));
  }
}

TEST_F(MountTargetsTest, AtADeviceOfEveryContainerIsThatDevice) {
  EXPECT_TRUE(Arrive(At("/dev/null", "devtmpfs", "/null")).ok());
  EXPECT_TRUE(Arrive(At("/dev/zero", "tmpfs", "/machine/zero")).ok()) << "a machine in a container";
  EXPECT_TRUE(Arrive(At("/dev/ptmx", "devpts", "/ptmx")).ok());
  EXPECT_TRUE(Arrive(At("/dev/console", "devpts", "/3")).ok()) << "the container's terminal";
  for (const linux::MountInfo& mount :
       {At("/dev/null"), At("/dev/null", "tmpfs"), At("/dev/null", "devtmpfs", "/zero"),
        At("/dev/null", "ext4", "/null"), At("/dev/console", "tmpfs")}) {
    EXPECT_TRUE(absl::IsFailedPrecondition(Arrive(mount))) << mount.fs_type << mount.root;
  }
}

TEST_F(MountTargetsTest, AtAMaskedPathIsAMask) {
  EXPECT_TRUE(Arrive(At("/proc/acpi", "tmpfs", "/")).ok());
  EXPECT_TRUE(Arrive(At("/proc/acpi", "devtmpfs", "/null")).ok());
  EXPECT_TRUE(Arrive(At("/proc/acpi", "ext4", "/run/crun/.empty-directory")).ok());
  for (const linux::MountInfo& mount :
       {At("/proc/acpi"), At("/proc/acpi", "tmpfs"), At("/proc/acpi", "proc", "/acpi")}) {
    EXPECT_TRUE(absl::IsFailedPrecondition(Arrive(mount))) << mount.fs_type << mount.root;
  }
}

TEST_F(MountTargetsTest, AReadOnlyPathIsBoundOntoItself) {
  EXPECT_TRUE(Arrive(At("/proc/sys", "proc")).ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(Arrive(At("/proc/sys")))) << "a volume in its place";
  spec_["linux"]["readonlyPaths"] = {"/sys/firmware", "/etc"};
  EXPECT_TRUE(Arrive(At("/sys/firmware", "sysfs")).ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(Arrive(At("/sys/firmware"))));
}

TEST_F(MountTargetsTest, HooksMayMountWhereDriversAre) {
  const linux::MountInfo params = At("/proc/driver/nvidia/params", "tmpfs");
  EXPECT_TRUE(absl::IsFailedPrecondition(Arrive(params)));
  spec_["hooks"]["createContainer"] = {{{"path", "/usr/bin/nvidia-ctk"}}};
  EXPECT_TRUE(Arrive(params).ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(Arrive(At("/proc/1/attr/exec"))));
}

TEST_F(MountTargetsTest, AtProcIsProcfs) {
  const absl::Status status = Arrive(At("/proc", "tmpfs"));
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("/proc is tmpfs, not procfs"));
}

TEST_F(MountTargetsTest, InProcOnlyWhatLxcfsReplacesMayBeAskedFor) {
  for (const char* path : {"/proc", "/proc/meminfo", "/proc/cpuinfo", "/proc/stat", "/proc/uptime",
                           "/sys/fs/bpf", "/sys", "/dev/net/tun", "/processes"}) {
    EXPECT_TRUE(Ask(path).ok()) << path;
  }
  for (const char* path : {"/proc/self/attr/exec", "/proc/sys/kernel/core_pattern", "/proc/1",
                           "/proc/meminfo/x", "/proc/net/dev", "//proc/./keys"}) {
    const absl::Status status = Ask(path);
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << path << status;
  }
}

}  // namespace
}  // namespace plimsoll::runtime
