// The harness's inventory sees every kind of leftover of a runtime.
#include "harness/leftovers.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/dir_for_test.h"
#include "base/programs/subprocess.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "harness/kernel.h"
#include "linux/namespaces/mounts.h"

namespace plimsoll::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::StartsWith;

class LeftoversTest : public ::testing::Test {
 protected:
  LeftoversTest() {
    scope_.directories = {dir_.path()};
    scope_.cgroup = absl::StrCat("/plimsoll-test-leftovers-", getpid());
    scope_.database = absl::StrCat(dir_.path(), "/plimsoll.db");
    scope_.holder = getpid();
  }
  std::vector<std::string> Left() { return LeftOver(before_, TakeInventory(scope_)); }

  TestDir dir_;
  InventoryScope scope_;
  Inventory before_ = TakeInventory(scope_);
};

TEST_F(LeftoversTest, SeesFilesAndNothingElse) {
  before_ = TakeInventory(scope_);
  EXPECT_THAT(Left(), IsEmpty());
  ASSERT_TRUE(dir_.root().MakeDirs("a/b").ok());
  EXPECT_THAT(Left(), ElementsAre(absl::StrCat("file ", dir_.path(), "/a"),
                                  absl::StrCat("file ", dir_.path(), "/a/b")));
}

TEST_F(LeftoversTest, SeesMounts) {
  if (geteuid() != 0) GTEST_SKIP() << "mounts need root";
  ASSERT_TRUE(dir_.root().MakeDirs("a").ok());
  before_ = TakeInventory(scope_);
  ASSERT_TRUE(linux::MountTmpfs(dir_.path() + "/a", 4096).ok());
  EXPECT_THAT(Left(), ElementsAre(absl::StrCat("mount ", dir_.path(), "/a tmpfs")));
  ASSERT_TRUE(linux::Unmount(dir_.path() + "/a").ok());
  EXPECT_THAT(Left(), IsEmpty());
}

TEST_F(LeftoversTest, SeesGroupsAndProcessesInThem) {
  if (geteuid() != 0) GTEST_SKIP() << "groups need root";
  scope_.holder = 0;  // the test itself opens some
  before_ = TakeInventory(scope_);
  ASSERT_TRUE(Cgroups().Create(scope_.cgroup + "/pod").ok());
  EXPECT_THAT(Left(), Not(IsEmpty()));
  EXPECT_THAT(Left(), Each(StartsWith("cgroup ")));
  auto child = Spawn({.argv = {"/bin/sleep", "300"}});
  ASSERT_TRUE(child.ok());
  ASSERT_TRUE(Cgroups().AddProcess(scope_.cgroup + "/pod", child->pid()).ok());
  // In the midst of its execve(2) it has no command line.
  EXPECT_TRUE(Eventually([&] {
    const std::vector<std::string> left = Left();
    return std::any_of(left.begin(), left.end(), [&](const std::string& each) {
      return absl::StartsWith(each, absl::StrCat("process ", child->pid(), " "));
    });
  })) << ::testing::PrintToString(Left());
  EXPECT_TRUE(child->Signal(SIGKILL).ok());
  EXPECT_TRUE(child->Wait().ok());
  EXPECT_TRUE(Cgroups().Remove(scope_.cgroup).ok());
  EXPECT_THAT(AwaitNothingLeft(scope_, before_), IsEmpty());
}

TEST_F(LeftoversTest, SeesProcessesByTheirArguments) {
  scope_.holder = 0;
  before_ = TakeInventory(scope_);
  // `tail -f` of a file below the directory.
  ASSERT_TRUE(dir_.root().ReplaceFile("plimsoll.db-not", "").ok());
  auto child = Spawn({.argv = {"/usr/bin/tail", "-f", dir_.path() + "/plimsoll.db-not"}});
  ASSERT_TRUE(child.ok());
  EXPECT_TRUE(Eventually([&] { return Left().size() == 1; }));
  EXPECT_THAT(Left(), Contains(StartsWith(absl::StrCat("process ", child->pid()))));
  EXPECT_TRUE(child->Signal(SIGKILL).ok());
  EXPECT_TRUE(child->Wait().ok());
}

TEST_F(LeftoversTest, SeesDescriptors) {
  before_ = TakeInventory(scope_);
  const UniqueFd fd(open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC));
  const std::vector<std::string> left = Left();
  ASSERT_EQ(left.size(), 1u);
  EXPECT_THAT(left[0], StartsWith("descriptor 1 net:["));
}

TEST_F(LeftoversTest, SeesRows) {
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open(scope_.database.c_str(), &database), SQLITE_OK);
  const auto execute = [&](const char* sql) {
    EXPECT_EQ(sqlite3_exec(database, sql, nullptr, nullptr, nullptr), SQLITE_OK);
  };
  execute("PRAGMA journal_mode = WAL; CREATE TABLE pods (id TEXT)");
  before_ = TakeInventory(scope_);
  execute("INSERT INTO pods VALUES ('abc')");
  EXPECT_THAT(Left(), ElementsAre("row pods abc"));
  sqlite3_close(database);
}

}  // namespace
}  // namespace plimsoll::testing
