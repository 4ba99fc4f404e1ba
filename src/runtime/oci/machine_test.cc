#include "runtime/oci/machine.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/dir_for_test.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "linux/namespaces/user_namespace.h"

namespace plimsoll::runtime {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(MachineTest, SaysWhatMountsAndUserNamespacesLack) {
  HostFeatures machine;
  for (const char* what : {"user namespaces", "recursive", "not shared"}) {
    EXPECT_THAT(LimitationsOf(machine), Not(Contains(HasSubstr(what))));
  }
  machine.user_namespaces = absl::FailedPreconditionError("it is too old");
  machine.recursive_read_only = false;
  machine.root_is_shared = false;
  EXPECT_THAT(LimitationsOf(machine), Contains("no user namespaces for pods: it is too old"));
  EXPECT_THAT(LimitationsOf(machine), Contains(HasSubstr("no recursive read-only mounts")));
  EXPECT_THAT(LimitationsOf(machine), Contains(HasSubstr("mount at / is not shared")));
}

TEST(MachineTest, SwapIsAccountedWhereGroupsHaveItsFiles) {
  using linux::CgroupLayout;
  TestDir dir;
  const FsRoot& host = dir.root();
  const auto put = [&host](const std::string& file) {
    ASSERT_TRUE(host.MakeDirs(file.substr(0, file.rfind('/'))).ok());
    ASSERT_TRUE(host.ReplaceFile(file, "").ok());
  };
  EXPECT_FALSE(AccountsSwap(host, CgroupLayout::kV2)) << "such a kernel has no swap";
  put("proc/swaps");
  EXPECT_TRUE(AccountsSwap(host, CgroupLayout::kV2)) << "no group tells";
  // "swapaccount=0", or a kernel that needs "swapaccount=1".
  put("sys/fs/cgroup/init.scope/cgroup.procs");
  put("sys/fs/cgroup/system.slice/memory.max");
  EXPECT_FALSE(AccountsSwap(host, CgroupLayout::kV2));
  put("sys/fs/cgroup/system.slice/memory.swap.max");
  EXPECT_TRUE(AccountsSwap(host, CgroupLayout::kV2));
  // In a container the root is a group like others.
  put("sys/fs/cgroup/memory.max");
  EXPECT_FALSE(AccountsSwap(host, CgroupLayout::kV2));
  put("sys/fs/cgroup/memory.swap.max");
  EXPECT_TRUE(AccountsSwap(host, CgroupLayout::kV2));

  for (const CgroupLayout layout : {CgroupLayout::kV1, CgroupLayout::kHybrid}) {
    EXPECT_FALSE(AccountsSwap(host, layout));
  }
  put("sys/fs/cgroup/memory/memory.memsw.limit_in_bytes");
  EXPECT_TRUE(AccountsSwap(host, CgroupLayout::kV1));
  HostFeatures machine;
  EXPECT_THAT(LimitationsOf(machine), Not(Contains(HasSubstr("swap"))));
  machine.swap_accounting = false;
  EXPECT_THAT(LimitationsOf(machine), Contains(HasSubstr("swap limits are not enforced")));
}

TEST(MachineTest, ProgramsWithoutRecursiveReadOnlyMountsAreNamed) {
  if (!linux::HasMountSetattr()) GTEST_SKIP() << "the kernel has no such mounts";
  TestDir dir;
  const auto write = [&dir](const char* name, const char* options) {
    EXPECT_TRUE(dir.root()
                    .ReplaceFile(
                        name,
                        absl::StrCat("#!/bin/sh\n[ $1 = --version ] && exec echo some version 1.2\n"
                                     "echo '{\"mountOptions\": [",
                                     options, "]}'\n"),
                        0755)
                    .ok());
    return dir.path() + "/" + name;
  };
  const std::string knows = write("knows", "\"ro\", \"rro\"");
  const std::string silent = write("silent", "\"ro\"");
  HostFeatures machine;
  LookAtPrograms({knows, silent}, &machine);
  EXPECT_TRUE(machine.HasRecursiveReadOnly(knows));
  EXPECT_FALSE(machine.HasRecursiveReadOnly(silent));
  const std::vector<std::string> lacks = LimitationsOf(machine);
  EXPECT_THAT(lacks, Contains(AllOf(HasSubstr("no recursive read-only mounts"), HasSubstr(silent),
                                    HasSubstr("rro"))));
  EXPECT_THAT(lacks, Not(Contains(HasSubstr(knows))));
}

TEST(MachineTest, AHandlersProgramThatIsNoOciRuntimeIsTold) {
  TestDir dir;
  const auto write = [&dir](const char* name, const char* version) {
    EXPECT_TRUE(
        dir.root().ReplaceFile(name, absl::StrCat("#!/bin/sh\necho ", version, "\n"), 0755).ok());
    return dir.path() + "/" + name;
  };
  const std::string runtime = write("runtime", "some version 1.2");
  const std::string other = write("other", "other 1.2");
  HostFeatures machine;
  LookAtPrograms({runtime, other}, &machine);
  const std::vector<std::string> lacks = LimitationsOf(machine);
  EXPECT_THAT(lacks, Contains(AllOf(HasSubstr(other), HasSubstr("may be no OCI runtime"))));
  EXPECT_THAT(lacks, Not(Contains(AllOf(HasSubstr(runtime), HasSubstr("may be no OCI runtime")))));
}

TEST(MachineTest, SelinuxNeedsLabelsForContainers) {
  TestDir dir;
  HostFeatures machine;
  LookAtSelinux(dir.root(), &machine);
  EXPECT_FALSE(machine.selinux.has_value());
  EXPECT_THAT(LimitationsOf(machine), Not(Contains(HasSubstr("SELinux"))));
  ASSERT_TRUE(dir.root().MakeDirs("sys/fs/selinux").ok());
  ASSERT_TRUE(dir.root().MakeDirs("etc/selinux/mine/contexts").ok());
  ASSERT_TRUE(dir.root().ReplaceFile("sys/fs/selinux/enforce", "1").ok());
  ASSERT_TRUE(dir.root().ReplaceFile("etc/selinux/config", "SELINUXTYPE=mine\n").ok());
  LookAtSelinux(dir.root(), &machine);
  EXPECT_FALSE(machine.selinux.has_value());
  EXPECT_THAT(LimitationsOf(machine), Contains(HasSubstr("SELinux is on, but")));
  ASSERT_TRUE(dir.root()
                  .ReplaceFile("etc/selinux/mine/contexts/lxc_contexts",
                               "process = \"a:b:c\"\nfile = \"a:b:d\"\n")
                  .ok());
  LookAtSelinux(dir.root(), &machine);
  ASSERT_TRUE(machine.selinux.has_value());
  EXPECT_EQ(*machine.selinux, (linux::SelinuxLabels{"a:b:c", "a:b:d"}));
  EXPECT_THAT(LimitationsOf(machine), Not(Contains(HasSubstr("SELinux"))));
}

// Lines of /proc/self/mountinfo as machines have them, "ID" for the root's own number.
class RootIsSharedTest : public ::testing::Test {
 protected:
  void SetUp() override {
    struct statx info = {};
    ASSERT_EQ(statx(AT_FDCWD, dir_.path().c_str(), 0, STATX_MNT_ID, &info), 0);
    root_id_ = absl::StrCat(info.stx_mnt_id);
    other_id_ = absl::StrCat(info.stx_mnt_id + 1);
    ASSERT_TRUE(dir_.root().MakeDirs("proc/self").ok());
  }
  bool IsShared(const std::string& mounts) {
    EXPECT_TRUE(
        dir_.root()
            .ReplaceFile("proc/self/mountinfo",
                         absl::StrReplaceAll(mounts, {{"ID", root_id_}, {"OTHER", other_id_}}))
            .ok());
    return RootIsShared(dir_.root());
  }
  TestDir dir_;
  std::string root_id_;
  std::string other_id_;
};

TEST_F(RootIsSharedTest, AsSystemdLeavesIt) {
  EXPECT_TRUE(
      IsShared("OTHER ID 0:21 / /proc rw,nosuid,nodev,noexec,relatime shared:14 - proc proc rw\n"
               "ID 1 254:1 / / rw,relatime shared:1 - ext4 /dev/vda1 rw,errors=remount-ro\n"));
}

TEST_F(RootIsSharedTest, ASlaveMayBeSharedToo) {
  EXPECT_TRUE(IsShared("ID 1 8:1 / / rw,relatime shared:305 master:1 - ext4 /dev/sda1 rw\n"));
  EXPECT_FALSE(IsShared("ID 1 8:1 / / rw,relatime master:1 - ext4 /dev/sda1 rw\n"));
}

TEST_F(RootIsSharedTest, AnotherMountIsNotTheRoot) {
  // A container with a shared volume.
  EXPECT_FALSE(IsShared(
      "ID 431 0:48 / / rw,relatime - overlay overlay rw,lowerdir=/l/A:/l/B,upperdir=/u,workdir=/w\n"
      "OTHER ID 8:1 /vol /var/lib/kubelet rw,relatime shared:1 - ext4 /dev/sda1 rw\n"));
  // An initial ramdisk: the mount over the root of all mounts is another one.
  EXPECT_FALSE(
      IsShared("OTHER OTHER 0:2 / / rw shared:1 - rootfs rootfs rw\n"
               "ID OTHER 0:27 / / rw,relatime - tmpfs tmpfs rw\n"));
  EXPECT_FALSE(IsShared("ID 1 8:1 / / rw,relatime unbindable - ext4 /dev/sda1 rw\n"));
}

TEST_F(RootIsSharedTest, WhatCannotBeToldIsNot) {
  EXPECT_FALSE(IsShared(""));
  EXPECT_FALSE(IsShared("OTHER 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"));
  EXPECT_FALSE(IsShared("garbage\n"));
  ASSERT_TRUE(dir_.root().RemoveFile("proc/self/mountinfo").ok());
  EXPECT_FALSE(RootIsShared(dir_.root()));
}

TEST(MachineTest, UserNamespacesNeedAnOpenWay) {
  TestDir dir;  // others can't enter it
  ASSERT_TRUE(dir.root().MakeDirs("a/run", 0755).ok());
  const absl::StatusOr<FsRoot> run = dir.root().Sub("a/run");
  ASSERT_TRUE(run.ok()) << run.status();
  for (const char* below : {"/a", "/a/run"}) {  // independent of the umask
    ASSERT_EQ(chmod((dir.path() + below).c_str(), 0755), 0);
  }
  const absl::Status closed = CheckOpenToOthers(*run);
  EXPECT_TRUE(absl::IsFailedPrecondition(closed)) << closed;
  EXPECT_THAT(std::string(closed.message()), HasSubstr(dir.path() + " lacks the permission \"x\""));
  ASSERT_EQ(chmod(dir.path().c_str(), 0711), 0);
  EXPECT_TRUE(CheckOpenToOthers(*run).ok()) << CheckOpenToOthers(*run);
  ASSERT_EQ(chmod((dir.path() + "/a").c_str(), 0766), 0);
  EXPECT_THAT(std::string(CheckOpenToOthers(*run).message()),
              HasSubstr(dir.path() + "/a lacks the permission \"x\""));
}

}  // namespace
}  // namespace plimsoll::runtime
