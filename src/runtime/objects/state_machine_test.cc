#include "runtime/objects/state_machine.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace plimsoll::runtime {
namespace {

using C = ContainerState;
using S = SandboxState;
using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(StateMachineTest, ContainerGoesItsWay) {
  EXPECT_TRUE(MayFollow(C::kCreating, C::kCreated));
  EXPECT_TRUE(MayFollow(C::kCreated, C::kRunning));
  EXPECT_TRUE(MayFollow(C::kRunning, C::kExited));
  EXPECT_TRUE(MayFollow(C::kExited, C::kRemoving));
}

TEST(StateMachineTest, ContainerNeverGoesBack) {
  for (const C later : {C::kCreated, C::kRunning, C::kExited, C::kUnknown, C::kRemoving}) {
    EXPECT_FALSE(MayFollow(later, C::kCreating));
  }
  EXPECT_FALSE(MayFollow(C::kExited, C::kRunning));
  EXPECT_FALSE(MayFollow(C::kRunning, C::kRunning));
  EXPECT_FALSE(MayFollow(C::kRemoving, C::kExited));
}

TEST(StateMachineTest, RunningIsNotRemovedWithoutAnExit) {
  EXPECT_FALSE(MayFollow(C::kRunning, C::kRemoving));
  EXPECT_FALSE(MayFollow(C::kCreated, C::kRemoving));
}

TEST(StateMachineTest, RemovalOfWhatIsStoppedCanBeRepeated) {
  EXPECT_TRUE(MayFollow(C::kRemoving, C::kRemoving));
  EXPECT_TRUE(MayFollow(S::kRemoving, S::kRemoving));
  EXPECT_TRUE(MayFollow(S::kNotReady, S::kNotReady));
}

TEST(StateMachineTest, SandboxIsStoppedBeforeItIsRemoved) {
  EXPECT_FALSE(MayFollow(S::kReady, S::kRemoving));
  EXPECT_FALSE(MayFollow(S::kNotReady, S::kReady));
}

TEST(StateMachineTest, RefusalSaysWhatWouldBeRight) {
  const absl::Status status = CheckTransition("abc", C::kExited, C::kRunning);
  EXPECT_TRUE(absl::IsFailedPrecondition(status));
  EXPECT_THAT(status.message(), AllOf(HasSubstr("container abc is Exited"), HasSubstr("Created")));
}

}  // namespace
}  // namespace plimsoll::runtime
