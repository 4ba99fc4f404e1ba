#include "runtime/oci/program_features.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "base/dir_for_test.h"
#include "base/programs/subprocess.h"
#include "gtest/gtest.h"

namespace plimsoll::runtime {
namespace {

TEST(FeaturesHaveMountOptionTest, TakesTheListAlone) {
  EXPECT_TRUE(FeaturesHaveMountOption(R"({"mountOptions": ["ro", "rro"]})", "rro"));
  EXPECT_FALSE(FeaturesHaveMountOption(R"({"mountOptions": ["ro", "rrow"]})", "rro"));
  for (const char* other : {"", "{", "[]", "\"rro\"", "{}", R"({"mountOptions": "rro"})",
                            R"({"mountOptions": null})", R"({"mountOptions": [1, {}, ["rro"]]})"}) {
    EXPECT_FALSE(FeaturesHaveMountOption(other, "rro")) << other;
  }
}

class KnowsRecursiveReadOnlyTest : public ::testing::Test {
 protected:
  // Makes a program that answers `features` and `--version` with these lines of shell.
  bool Knows(const std::string& features, const std::string& version) {
    EXPECT_TRUE(dir_.root()
                    .ReplaceFile("runtime",
                                 absl::StrCat("#!/bin/sh\ncase $1 in\nfeatures) ", features,
                                              ";;\n--version) ", version, ";;\nesac\n"),
                                 0755)
                    .ok());
    const absl::StatusOr<bool> knows = KnowsRecursiveReadOnly(dir_.path() + "/runtime");
    EXPECT_TRUE(knows.ok()) << knows.status();
    return knows.value_or(false);
  }
  TestDir dir_;
};

TEST_F(KnowsRecursiveReadOnlyTest, ItsFeaturesSayIt) {
  EXPECT_TRUE(Knows(R"(echo '{"mountOptions": ["rro"]}')", "exit 1"));
  // The program's answer stands, whatever its version.
  EXPECT_FALSE(Knows(R"(echo '{"mountOptions": ["ro"]}')", "echo crun version 1.20"));
}

TEST_F(KnowsRecursiveReadOnlyTest, AnOldCrunIsKnownByItsVersion) {
  EXPECT_TRUE(Knows("exit 1", "echo crun version 1.8.1"));
  EXPECT_TRUE(Knows("exit 1", "echo crun version 1.4"));
  EXPECT_FALSE(Knows("exit 1", "echo crun version 1.3"));
  EXPECT_FALSE(Knows("exit 1", "echo runc version 1.8.1"));
  EXPECT_FALSE(Knows("exit 1", "echo crun"));
}

TEST_F(KnowsRecursiveReadOnlyTest, OneThatSaysNothingDoesNot) {
  EXPECT_FALSE(Knows("exit 1", "exit 1"));
  EXPECT_EQ(KnowsRecursiveReadOnly(dir_.path() + "/none").value_or(true), false);
}

// For example, by the OOM killer.
TEST_F(KnowsRecursiveReadOnlyTest, OneThatIsKilledIsAskedAgain) {
  const std::string once =
      absl::StrCat("[ -e ", dir_.path(), "/twice ] || { [ -e ", dir_.path(), "/once ] && touch ",
                   dir_.path(), "/twice; touch ", dir_.path(), "/once; kill -9 $$; }; ");
  EXPECT_TRUE(Knows(once + R"(echo '{"mountOptions": ["rro"]}')", "exit 1"));
  ASSERT_TRUE(dir_.root().ReplaceFile("always", "#!/bin/sh\nkill -9 $$\n", 0755).ok());
  const absl::Status killed = KnowsRecursiveReadOnly(dir_.path() + "/always").status();
  EXPECT_TRUE(absl::IsUnavailable(killed)) << killed;
}

TEST_F(KnowsRecursiveReadOnlyTest, DebiansCrunDoes) {
  const absl::StatusOr<std::string> crun = FindProgram("crun");
  ASSERT_TRUE(crun.ok()) << crun.status();
  EXPECT_EQ(KnowsRecursiveReadOnly(*crun).value_or(false), true);
}

}  // namespace
}  // namespace plimsoll::runtime
