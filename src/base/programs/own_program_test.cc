#include "base/programs/own_program.h"

#include "absl/strings/str_cat.h"
#include "base/dir_for_test.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plimsoll {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(OwnProgram, IsLookedForBelowThePrefix) {
  EXPECT_THAT(OwnProgramPlaces("/opt/plimsoll/bin/plimsolld"),
              ElementsAre("/opt/plimsoll/bin", "/opt/plimsoll/libexec/plimsoll",
                          "/usr/libexec/plimsoll", "/usr/local/libexec/plimsoll"));
  EXPECT_THAT(OwnProgramPlaces("/usr/bin/plimsolld"),
              ElementsAre("/usr/bin", "/usr/libexec/plimsoll", "/usr/local/libexec/plimsoll"));
}

// The parent of a directory that belongs to no prefix may be anybody's.
TEST(OwnProgram, IsLookedForBelowAPrefixOnly) {
  EXPECT_THAT(OwnProgramPlaces("/tmp/x/plimsolld"),
              ElementsAre("/tmp/x", "/usr/libexec/plimsoll", "/usr/local/libexec/plimsoll"));
  EXPECT_THAT(OwnProgramPlaces("/tmp/cabin/plimsolld"),
              ElementsAre("/tmp/cabin", "/usr/libexec/plimsoll", "/usr/local/libexec/plimsoll"));
  EXPECT_THAT(OwnProgramPlaces("/opt/plimsoll/sbin/plimsolld"),
              ElementsAre("/opt/plimsoll/sbin", "/opt/plimsoll/libexec/plimsoll",
                          "/usr/libexec/plimsoll", "/usr/local/libexec/plimsoll"));
}

TEST(OwnProgram, AllAreInOneDirectory) {
  const TestDir dir;
  std::vector<std::string> places;
  for (const char* name : {"bin", "libexec"}) {
    ASSERT_TRUE(dir.root().MakeDirs(name).ok());
    places.push_back(dir.root().PathOf(name));
  }
  // A directory with only one of the programs may hold another version.
  ASSERT_TRUE(dir.root().ReplaceFile("bin/one", "", 0755).ok());
  const absl::Status missing = FindOwnPrograms({"one", "two"}, places).status();
  EXPECT_TRUE(absl::IsNotFound(missing)) << missing;
  EXPECT_THAT(std::string(missing.message()),
              AllOf(HasSubstr("one and two"), HasSubstr("aren't all in one directory"),
                    HasSubstr(places[0]), HasSubstr(places[1]),
                    HasSubstr("(in " + places[0] + ": two is missing)")));
  ASSERT_TRUE(dir.root().ReplaceFile("bin/two", "", 0644).ok());
  EXPECT_THAT(std::string(FindOwnPrograms({"one", "two"}, places).status().message()),
              HasSubstr("(in " + places[0] + ": execute two: Permission denied)"));
  for (const char* name : {"libexec/one", "libexec/two"}) {
    ASSERT_TRUE(dir.root().ReplaceFile(name, "", 0755).ok());
  }
  EXPECT_EQ(*FindOwnPrograms({"one", "two"}, places), places[1]);
  EXPECT_EQ(*FindOwnPrograms({"one"}, places), places[0]);
}

TEST(OwnProgram, ThatIsMissingIsNamed) {
  const absl::Status missing = FindOwnProgram("plimsoll-no-such").status();
  EXPECT_TRUE(absl::IsNotFound(missing)) << missing;
  EXPECT_THAT(std::string(missing.message()),
              AllOf(HasSubstr("the program plimsoll-no-such, which is a part of Plimsoll"),
                    HasSubstr("/usr/libexec/plimsoll")));
}

}  // namespace
}  // namespace plimsoll
