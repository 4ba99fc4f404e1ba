#include "runtime/oci/machine.h"

#include <sys/stat.h>

#include "base/test_dir.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plimsoll::runtime {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(MachineTest, SaysWhatMountsAndUserNamespacesLack) {
  Machine machine;
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

TEST(MachineTest, SelinuxNeedsLabelsForContainers) {
  TestDir dir;
  Machine machine;
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

TEST(MachineTest, UserNamespacesNeedAnOpenWay) {
  TestDir dir;  // which others can't enter
  ASSERT_TRUE(dir.root().MakeDirs("a/run", 0755).ok());
  const absl::StatusOr<FsRoot> run = dir.root().Sub("a/run");
  ASSERT_TRUE(run.ok()) << run.status();
  for (const char* below : {"/a", "/a/run"}) {  // whatever the umask
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
