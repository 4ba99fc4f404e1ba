#include "copy/container_root.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "base/programs/subprocess.h"

namespace plimsoll::copy {
namespace {

using ::testing::HasSubstr;

class ContainerRootTest : public ::testing::Test {
 protected:
  FsRoot host_ = *FsRoot::Open("/");
};

TEST_F(ContainerRootTest, AProcessOfThisMachinesRootIsNoContainer) {
  const auto self = linux::IdentifyProcess(host_, getpid());
  ASSERT_TRUE(self.ok()) << self.status();
  const auto root = OpenContainerRoot(host_, *self);
  EXPECT_TRUE(absl::IsFailedPrecondition(root.status())) << root.status();
  EXPECT_THAT(root.status().message(), HasSubstr("not on this machine"));
}

TEST_F(ContainerRootTest, AnothersProcessWithThatPidIsNotTaken) {
  auto child = Spawn({.argv = {"/bin/sleep", "1000"}});
  ASSERT_TRUE(child.ok()) << child.status();
  auto id = linux::IdentifyProcess(host_, child->pid());
  ASSERT_TRUE(id.ok()) << id.status();
  --id->start_time_ticks;
  EXPECT_TRUE(absl::IsNotFound(OpenContainerRoot(host_, *id).status()));
  ++id->start_time_ticks;
  EXPECT_TRUE(absl::IsFailedPrecondition(OpenContainerRoot(host_, *id).status()));
  ASSERT_TRUE(child->Signal(SIGKILL).ok());
  ASSERT_TRUE(child->Wait().ok());
  const auto gone = OpenContainerRoot(host_, *id);
  EXPECT_TRUE(absl::IsNotFound(gone.status())) << gone.status();
}

}  // namespace
}  // namespace plimsoll::copy
