#include "runtime/oci/create_failure.h"

#include <optional>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plimsoll::runtime {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

absl::Status UnknownLabel() {
  return absl::InternalError("crun: write file `/proc/thread-self/attr/exec`: Invalid argument");
}

// A kernel that enforces a policy is in a virtual machine only (tests/vm/selinux_test.cc).
TEST(CreateFailure, ALabelThatThePolicyDoesNotKnow) {
  ContainerSpec spec;
  spec.name = "web";
  const linux::SelinuxOptions asked = {.type = "nothing_t"};
  const absl::Status told = TranslateCreateFailure(UnknownLabel(), spec, "sh", asked);
  EXPECT_TRUE(absl::IsInvalidArgument(told)) << told;
  EXPECT_THAT(std::string(told.message()),
              AllOf(HasSubstr("container \"web\": the SELinux policy of this machine"),
                    HasSubstr("as with type nothing_t;"), HasSubstr("/attr/exec")));
}

TEST(CreateFailure, ALabelOfTheMachinesOwnIsNotTheClientsFault) {
  ContainerSpec spec;
  spec.name = "web";
  const absl::Status told =
      TranslateCreateFailure(UnknownLabel(), spec, "sh", linux::SelinuxOptions());
  EXPECT_TRUE(absl::IsFailedPrecondition(told)) << told;
  EXPECT_THAT(std::string(told.message()),
              AllOf(HasSubstr("container \"web\": the SELinux policy"), HasSubstr("lxc_contexts"),
                    HasSubstr("/attr/exec"), Not(HasSubstr("as with"))));
}

// Which AppArmor's profile goes to as well.
TEST(CreateFailure, WithoutALabelNothingIsSaidOfSelinux) {
  ContainerSpec spec;
  spec.name = "web";
  spec.security.selinux.type = "nothing_t";  // which nobody looks at where SELinux is off
  const absl::Status told = TranslateCreateFailure(UnknownLabel(), spec, "sh", std::nullopt);
  EXPECT_TRUE(absl::IsInternal(told)) << told;
  EXPECT_THAT(
      std::string(told.message()),
      AllOf(HasSubstr("container \"web\""), HasSubstr("/attr/exec"), Not(HasSubstr("SELinux"))));
}

// Whoever made the pod has done nothing wrong, and can go on.
TEST(CreateFailure, AVolumeThatWasReplacedMeanwhile) {
  const absl::Status launcher = absl::InternalError(
      "plimsoll: mount a volume: something else has come, since it was looked at, to "
      "/srv/cwd/data: Stale file handle");
  ContainerSpec spec;
  spec.name = "web";
  const absl::Status told = TranslateCreateFailure(launcher, spec, "sh", std::nullopt);
  EXPECT_TRUE(absl::IsFailedPrecondition(told)) << told;
  EXPECT_THAT(std::string(told.message()),
              AllOf(HasSubstr("container \"web\": a volume was replaced"),
                    HasSubstr("may be tried again"), HasSubstr("/srv/cwd/data")));
}

}  // namespace
}  // namespace plimsoll::runtime
