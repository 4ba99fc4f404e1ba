#include "runtime/oci/create_failure.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plimsoll::runtime {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// A kernel that enforces a policy is in a virtual machine only (tests/vm/selinux_test.cc).
TEST(CreateFailure, ALabelThatThePolicyDoesNotKnow) {
  const absl::Status crun =
      absl::InternalError("crun: write file `/proc/thread-self/attr/exec`: Invalid argument");
  ContainerSpec spec;
  spec.name = "web";
  spec.security.selinux.type = "nothing_t";
  const absl::Status told = TranslateCreateFailure(crun, spec, "sh");
  EXPECT_TRUE(absl::IsInvalidArgument(told)) << told;
  EXPECT_THAT(std::string(told.message()),
              AllOf(HasSubstr("container \"web\": the SELinux policy of this machine"),
                    HasSubstr("as with type nothing_t;"), HasSubstr("/attr/exec")));
  spec.security.selinux = {};
  EXPECT_THAT(std::string(TranslateCreateFailure(crun, spec, "sh").message()),
              AllOf(HasSubstr("knows no such label;"), Not(HasSubstr("as with"))));
}

// Whoever made the pod has done nothing wrong, and can go on.
TEST(CreateFailure, AVolumeThatWasReplacedMeanwhile) {
  const absl::Status launcher = absl::InternalError(
      "plimsoll: mount a volume: something else has come, since it was looked at, to "
      "/srv/cwd/data: Stale file handle");
  ContainerSpec spec;
  spec.name = "web";
  const absl::Status told = TranslateCreateFailure(launcher, spec, "sh");
  EXPECT_TRUE(absl::IsFailedPrecondition(told)) << told;
  EXPECT_THAT(std::string(told.message()),
              AllOf(HasSubstr("container \"web\": a volume was replaced"),
                    HasSubstr("may be tried again"), HasSubstr("/srv/cwd/data")));
}

}  // namespace
}  // namespace plimsoll::runtime
