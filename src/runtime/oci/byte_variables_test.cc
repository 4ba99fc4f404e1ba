#include "runtime/oci/byte_variables.h"

#include <fcntl.h>
#include <unistd.h>

#include <fstream>
#include <iterator>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "base/dir_for_test.h"
#include "gmock/gmock.h"
#include "runtime/oci/spec_builder_fixture_for_test.h"

namespace plimsoll::runtime {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ByteVariablesTest : public SpecBuilderFixture {
 protected:
  ByteVariablesTest() {
    spec_.command = {"/bin/program", "word"};
    spec_.environment = {{"BYTES", "\xff"}, {"TEXT", "\xc3\xa4"}};
  }
};

TEST_F(ByteVariablesTest, TheProcessBeginsAsTheProgramThatSetsThem) {
  const auto built = TryBuild();
  ASSERT_TRUE(built.ok()) << built.status();
  EXPECT_EQ(built->byte_variables, std::string("BYTES=\xff\0", 8));
  EXPECT_THAT(built->entry, HasSubstr("env=BYTES=\xff")) << "commands get the bytes themselves";
  const Json process = Json::parse(built->json)["process"];
  EXPECT_THAT(process["args"],
              ElementsAre("/proc/self/fd/3", "--variables", "/bin/program", "word"));
  EXPECT_THAT(process["env"], Contains("BYTES=\xEF\xBF\xBD"));
  EXPECT_THAT(built->warnings, IsEmpty());
}

TEST_F(ByteVariablesTest, TextNeedsNoneOfIt) {
  spec_.environment = {{"TEXT", "\xc3\xa4\xEF\xBF\xBD"}};
  const auto built = TryBuild();
  ASSERT_TRUE(built.ok()) << built.status();
  EXPECT_EQ(built->byte_variables, "");
  EXPECT_THAT(Json::parse(built->json)["process"]["args"], ElementsAre("/bin/program", "word"));
  EXPECT_THAT(built->entry, HasSubstr("env=TEXT=\xc3\xa4"));
}

TEST_F(ByteVariablesTest, AnotherRuntimeGetsTextAndAWarning) {
  request_.program = "/usr/bin/vm-runtime";
  const auto built = TryBuild();
  ASSERT_TRUE(built.ok()) << built.status();
  EXPECT_EQ(built->byte_variables, "");
  EXPECT_THAT(Json::parse(built->json)["process"]["args"], ElementsAre("/bin/program", "word"));
  EXPECT_THAT(built->warnings, Contains(HasSubstr("variables BYTES: their bytes that are no UTF-8 "
                                                  "become U+FFFD, as /usr/bin/vm-runtime")));
}

// The name is a link of /proc that FsRoot doesn't follow.
std::string ContentOf(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST_F(ByteVariablesTest, ThePlanLeadsToSealedCopies) {
  TestDir dir;
  ASSERT_TRUE(dir.root().ReplaceFile("program", "#!/bin/true").ok());
  PlanWriter plan;
  const auto none = AddByteVariablesToPlan("", dir.path() + "/program", &plan);
  ASSERT_TRUE(none.ok()) << none.status();
  EXPECT_EQ(plan.text(), "");
  const std::string variables("A=\xff\0", 4);
  const auto held = AddByteVariablesToPlan(variables, dir.path() + "/program", &plan);
  ASSERT_TRUE(held.ok()) << held.status();
  const std::vector<std::string> entries = absl::StrSplit(plan.text(), '\0', absl::SkipEmpty());
  ASSERT_EQ(entries.size(), 2u);
  ASSERT_TRUE(absl::StartsWith(entries[0], "variables=/proc/"));
  ASSERT_TRUE(absl::StartsWith(entries[1], "variables-program=/proc/"));
  EXPECT_EQ(ContentOf(entries[0].substr(entries[0].find('=') + 1)), variables);
  const std::string program = entries[1].substr(entries[1].find('=') + 1);
  EXPECT_EQ(ContentOf(program), "#!/bin/true");
  EXPECT_EQ(access(program.c_str(), X_OK), 0);
  EXPECT_EQ(fcntl(held->program.get(), F_GET_SEALS) & F_SEAL_WRITE, F_SEAL_WRITE);
}

}  // namespace
}  // namespace plimsoll::runtime
