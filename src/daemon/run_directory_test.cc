#include "daemon/run_directory.h"

#include <fcntl.h>

#include "base/dir_for_test.h"
#include "base/random_id.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "linux/namespaces/mounts.h"

namespace plimsoll::daemon {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class RunDirectoryTest : public ::testing::Test {
 protected:
  void TearDown() override { EXPECT_TRUE(linux::UnmountBelow(host_, dir_.path()).ok()); }

  std::vector<linux::MountInfo> Mounts() {
    std::vector<linux::MountInfo> mine;
    const std::vector<linux::MountInfo> all = linux::ReadMounts(host_).value();
    for (const linux::MountInfo& mount : all) {
      if (mount.mount_point.find(dir_.path()) == 0) mine.push_back(mount);
    }
    return mine;
  }

  const FsRoot host_ = *FsRoot::Open("/");
  TestDir dir_;
  const std::string path_ = dir_.path() + "/run";
};

TEST_F(RunDirectoryTest, IsAPrivateMountThatOutlivesTheDaemon) {
  {
    auto run = RunDirectory::Open(host_, path_);
    ASSERT_TRUE(run.ok()) << run.status();
    EXPECT_EQ((*run)->root().path(), path_);
    ASSERT_THAT(Mounts(), SizeIs(1));
    EXPECT_FALSE(Mounts()[0].shared);
    ASSERT_TRUE((*run)->root().ReplaceFile("pin", "x").ok());
  }
  ASSERT_THAT(Mounts(), SizeIs(1));
  auto again = RunDirectory::Open(host_, path_);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(*(*again)->root().Read("pin"), "x");
  EXPECT_THAT(Mounts(), SizeIs(1));  // not stacked
  ASSERT_TRUE((*again)->Undo().ok());
  EXPECT_THAT(Mounts(), SizeIs(1));  // it existed before
}

TEST_F(RunDirectoryTest, PodsWithoutTheirStateAreNotEnded) {
  const std::string state = dir_.path() + "/state";
  EXPECT_TRUE(CheckStateIsThere(state, 0).ok()) << "a first start";
  EXPECT_THAT(CheckStateIsThere(state, 2).message(),
              HasSubstr("/state is missing, and the run directory has 2 pods of this boot"));
  ASSERT_TRUE(dir_.root().MakeDirs("state").ok());
  EXPECT_THAT(CheckStateIsThere(state, 1).message(), HasSubstr("/state is empty, and the run"));
  ASSERT_TRUE(dir_.root().MakeDirs("state/images").ok());
  EXPECT_TRUE(CheckStateIsThere(state, 1).ok()) << "its database was moved away";
}

TEST_F(RunDirectoryTest, UndoTakesItsOwnMountAway) {
  auto run = RunDirectory::Open(host_, path_);
  ASSERT_TRUE(run.ok()) << run.status();
  ASSERT_TRUE((*run)->Undo().ok());
  EXPECT_THAT(Mounts(), IsEmpty());
  EXPECT_TRUE(dir_.root().Exists("run"));
}

TEST_F(RunDirectoryTest, RemoveLeavesNothing) {
  auto run = RunDirectory::Open(host_, path_);
  ASSERT_TRUE(run.ok()) << run.status();
  ASSERT_TRUE((*run)->root().MakeDirs("oci/crun").ok());
  // Like the log that a client has opened for the daemon: it keeps the mount busy.
  const auto log = (*run)->root().OpenFile("plimsolld.log", O_WRONLY | O_CREAT, 0600);
  ASSERT_TRUE(log.ok());
  const absl::Status removed = (*run)->Remove();
  EXPECT_TRUE(removed.ok()) << removed;
  EXPECT_THAT(Mounts(), IsEmpty());
  EXPECT_FALSE(dir_.root().Exists("run"));
}

TEST_F(RunDirectoryTest, ASecondDaemonIsRefusedAndMountsNothing) {
  auto first = RunDirectory::Open(host_, path_);
  ASSERT_TRUE(first.ok()) << first.status();
  const absl::Status second = RunDirectory::Open(host_, path_).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(second));
  EXPECT_THAT(second.message(), HasSubstr("uses the run directory " + path_));
  EXPECT_THAT(Mounts(), SizeIs(1));
}

TEST_F(RunDirectoryTest, SandboxesOfThisBootAreCounted) {
  EXPECT_EQ(*CountSandboxes(host_, path_), 0u) << "no directory";
  // Like a directory outside tmpfs after a reboot: the mount is gone.
  ASSERT_TRUE(dir_.root().MakeDirs("run/sandboxes/" + RandomId()).ok());
  EXPECT_EQ(*CountSandboxes(host_, path_), 0u) << "of another boot";
  auto run = RunDirectory::Open(host_, path_);
  ASSERT_TRUE(run.ok()) << run.status();
  ASSERT_TRUE((*run)->root().MakeDirs("sandboxes/" + RandomId()).ok());
  ASSERT_TRUE((*run)->root().MakeDirs("sandboxes/notes").ok());
  EXPECT_EQ(*CountSandboxes(host_, path_), 2u);
}

}  // namespace
}  // namespace plimsoll::daemon
