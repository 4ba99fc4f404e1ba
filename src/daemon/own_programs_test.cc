#include "daemon/own_programs.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "base/dir_for_test.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plimsoll::daemon {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class OwnProgramsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* name :
         {"plimsoll-monitor", "plimsoll-launch", "plimsoll-exec", "plimsoll-pause"}) {
      Write(name, absl::StrCat("#!/bin/sh\necho ", name, " version 1.2.3\n"));
    }
  }
  void Write(const std::string& name, const std::string& text, mode_t mode = 0755) {
    ASSERT_TRUE(dir_.root().ReplaceFile(name, text, mode).ok());
  }
  absl::Status Check(const std::string& version = "1.2.3") const {
    return CheckOwnPrograms(version, dir_.path());
  }
  // The error says what is wrong with the program.
  void Expect(absl::StatusCode code, const std::string& what) const {
    const absl::Status status = Check();
    EXPECT_EQ(status.code(), code);
    EXPECT_THAT(status.message(), HasSubstr(what));
  }

  TestDir dir_;
};

TEST_F(OwnProgramsTest, ThatFitAreTaken) {
  EXPECT_TRUE(Check().ok()) << Check();
  EXPECT_TRUE(Check("1.2.3 (9f8e)").ok()) << "another build of the release";
}

TEST_F(OwnProgramsTest, OneThatIsMissingIsNamed) {
  ASSERT_TRUE(dir_.root().RemoveFile("plimsoll-launch").ok());
  Expect(absl::StatusCode::kNotFound,
         absl::StrCat("(in ", dir_.path(), ": plimsoll-launch is missing)"));
}

TEST_F(OwnProgramsTest, OneThatCannotBeExecutedIsNamed) {
  Write("plimsoll-pause", "#!/bin/sh\n", 0644);
  Expect(absl::StatusCode::kNotFound, "execute plimsoll-pause: Permission denied");
}

TEST_F(OwnProgramsTest, AnotherArchitectureIsNamed) {
  // The beginning of a program for a machine that there is none of.
  Write("plimsoll-exec", std::string("\177ELF\2\1\1\0\0\0\0\0\0\0\0\0\2\0\xff\xff\1\0\0\0", 24) +
                             std::string(100, '\0'));
  Expect(absl::StatusCode::kFailedPrecondition,
         absl::StrCat(dir_.path(), "/plimsoll-exec is no program for this machine: it is for "));
  Write("plimsoll-exec", "");  // as a disk that was full leaves it
  Expect(absl::StatusCode::kFailedPrecondition,
         "/plimsoll-exec is no program for this machine: it is empty");
}

TEST_F(OwnProgramsTest, AnotherVersionIsNamed) {
  Write("plimsoll-monitor", "#!/bin/sh\necho plimsoll-monitor version 1.2.2\n");
  Expect(absl::StatusCode::kFailedPrecondition,
         "/plimsoll-monitor is of version 1.2.2, and plimsolld of version 1.2.3");
  Write("plimsoll-monitor", "#!/bin/sh\necho usage >&2; exit 2\n");
  Expect(absl::StatusCode::kFailedPrecondition, "/plimsoll-monitor doesn't report its version");
}

}  // namespace
}  // namespace plimsoll::daemon
