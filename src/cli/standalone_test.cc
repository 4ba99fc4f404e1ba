#include "cli/standalone.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <limits.h>
#include <unistd.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/dir_for_test.h"
#include "base/subprocess.h"

namespace plimsoll::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(Standalone, TheDaemonsOwnWordsAreShown) {
  TestDir dir;
  ASSERT_TRUE(
      dir.root()
          .ReplaceFile("daemon", "#!/bin/sh\necho 'plimsolld: no crun found' >&2\nexit 1\n", 0755)
          .ok());
  const auto joined = Standalone::Join(
      {.dirs = StandaloneDirs::Below(dir.path()), .daemon = dir.path() + "/daemon"});
  EXPECT_THAT(std::string(joined.status().message()),
              AllOf(HasSubstr("plimsolld did not start (exit code 1)"),
                    HasSubstr("plimsolld: no crun found")));
}

TEST(Standalone, WaitsForReadinessAndHoldsTheLock) {
  TestDir dir;
  ASSERT_TRUE(
      dir.root()
          .ReplaceFile("daemon", "#!/bin/sh\necho \"$@\" > \"$7/arguments\"\nprintf R >&3\n", 0755)
          .ok());
  auto joined = Standalone::Join(
      {.dirs = StandaloneDirs::Below(dir.path()), .daemon = dir.path() + "/daemon"});
  ASSERT_TRUE(joined.ok()) << joined.status();
  EXPECT_TRUE(joined->started());
  EXPECT_THAT(*dir.root().Read("run/arguments"), HasSubstr("--standalone"));
  Command try_lock;
  try_lock.argv = {*FindProgram("flock"), "-xn", dir.path() + "/run/clients.lock", "true"};
  EXPECT_FALSE(RunProgram(try_lock)->exit.success());
  joined->Leave(absl::Milliseconds(100));
  EXPECT_TRUE(RunProgram(try_lock)->exit.success());
}

TEST(Standalone, RootsAndDefaults) {
  EXPECT_EQ(StandaloneDirs::Below("/x/").state, "/x/state");
  EXPECT_EQ(StandaloneDirs::Below("/x").socket(), "/x/run/plimsoll.sock");
  EXPECT_EQ(StandaloneDirs::Below("").run, "/run/plimsoll/standalone");
}

TEST(Standalone, RootsAreMadeAbsolute) {
  TestDir dir;
  char here[PATH_MAX];
  ASSERT_NE(getcwd(here, sizeof(here)), nullptr);
  EXPECT_EQ(StandaloneDirs::Below("not-there/a").run, absl::StrCat(here, "/not-there/a/run"));
  EXPECT_EQ(StandaloneDirs::Below("/").state, "/state");
  EXPECT_EQ(StandaloneDirs::Below(".").state, absl::StrCat(here, "/state"));
  const std::string crooked =
      absl::StrCat(dir.path(), "/../", dir.path().substr(dir.path().rfind('/') + 1), "/b");
  EXPECT_EQ(StandaloneDirs::Below(crooked).run, dir.path() + "/b/run");
}

}  // namespace
}  // namespace plimsoll::cli
