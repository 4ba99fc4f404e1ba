// Containers of an OCI runtime that isn't crun: runc, as the default and as a handler's program.
#include "runtime/oci/crun/other_program.h"

#include <memory>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/programs/subprocess.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/oci/crun/crun.h"
#include "runtime/oci/machine.h"
#include "runtime/oci/machine_for_test.h"

namespace plimsoll::runtime {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class RuncTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const auto lacks = TestMachine::Lacks()) GTEST_SKIP() << *lacks;
    const absl::StatusOr<std::string> runc = FindProgram("runc");
    if (!runc.ok()) GTEST_SKIP() << "no runc";
    runc_ = *runc;
    machine_ = std::make_unique<TestMachine>();
  }
  ContainerRuntime& runtime() { return machine_->runtime(); }
  Created Make(const CreateRequest& request) {
    const auto created = runtime().Create(request);
    EXPECT_TRUE(created.ok()) << created.status();
    return created.ok() ? *created : Created();
  }
  void LiveAndEnd(const CreateRequest& request) {
    machine_->spec().security.seccomp = {SecurityProfile::Type::kRuntimeDefault, ""};
    const Created created = Make(request);
    EXPECT_EQ(runtime().StartedAt("a", created.init).value_or(1), std::nullopt);
    const absl::Status started = runtime().Start("a");
    ASSERT_TRUE(started.ok()) << started;
    const auto at = runtime().StartedAt("a", created.init);
    ASSERT_TRUE(at.ok() && at->has_value()) << at.status();
    EXPECT_LT(absl::AbsDuration(absl::Now() - absl::FromUnixNanos(**at)), absl::Minutes(1));
    const auto looked = runtime().Exec(
        "a", machine_->group("a"),
        {.argv = {"grep", "^Seccomp:", "/proc/self/status"}, .timeout = absl::Seconds(30)});
    ASSERT_TRUE(looked.ok()) << looked.status();
    EXPECT_EQ(looked->out, "Seccomp:\t2\n") << looked->err;
    const auto missing = runtime().Exec("a", machine_->group("a"), {.argv = {"/missing"}});
    ASSERT_TRUE(missing.ok()) << missing.status();
    EXPECT_EQ(missing->exit_code, 127);
    const auto failed =
        runtime().Exec("a", machine_->group("a"), {.argv = {"/bin/sh", "-c", "exit 5"}});
    ASSERT_TRUE(failed.ok()) << failed.status();
    EXPECT_EQ(failed->exit_code, 5);
    EXPECT_TRUE(WaitUntil([&] { return absl::StrContains(machine_->Log("a"), "Seccomp:\t2\n"); }))
        << machine_->Log("a");
    const absl::Status deleted = runtime().Delete("a", machine_->group("a"));
    EXPECT_TRUE(deleted.ok()) << deleted;
    EXPECT_THAT(machine_->Leftovers("a"), IsEmpty());
  }
  static constexpr char kLook[] = "grep ^Seccomp: /proc/self/status; sleep 1000";

  std::string runc_;
  std::unique_ptr<TestMachine> machine_;
};

TEST_F(RuncTest, IsTheDefault) {
  machine_->UseCrun(runc_);
  EXPECT_THAT(runtime().runtime_version(), HasSubstr("runc 1."));
  LiveAndEnd(machine_->Request("a", kLook));
}

TEST_F(RuncTest, IsAHandlersProgram) {
  machine_->AddProgram(runc_);
  CreateRequest request = machine_->Request("a", kLook);
  request.program = runc_;
  LiveAndEnd(request);
}

// The daemon was killed, and knows the container's id alone.
TEST_F(RuncTest, WhatIsLeftIsSweptWithoutItsGroupsName) {
  machine_->UseCrun(runc_);
  Make(machine_->Request("a", "sleep 1000"));
  Make(machine_->Request("b", "sleep 1000"));
  ASSERT_TRUE(runtime().Start("b").ok());
  for (const char* id : {"a", "b"}) {
    EXPECT_THAT(*runtime().ListTraces(), Contains(id));
    const absl::Status deleted = runtime().Delete(id, "");
    EXPECT_TRUE(deleted.ok()) << deleted;
    EXPECT_THAT(machine_->Leftovers(id), IsEmpty());
  }
}

// One that was uninstalled holds up nobody's removal.
TEST_F(RuncTest, ItsContainersCanBeRemovedWithoutIt) {
  const FsRoot& place = machine_->dir().root();
  ASSERT_TRUE(
      place.ReplaceFile("gone", absl::StrCat("#!/bin/sh\nexec ", runc_, " \"$@\"\n"), 0755).ok());
  machine_->UseCrun(place.PathOf("gone"));
  Make(machine_->Request("a", "sleep 1000"));
  ASSERT_TRUE(runtime().Start("a").ok());
  ASSERT_TRUE(place.RemoveFile("gone").ok());
  const absl::Status deleted = runtime().Delete("a", machine_->group("a"));
  EXPECT_TRUE(deleted.ok()) << deleted;
  EXPECT_THAT(machine_->Leftovers("a"), IsEmpty());
}

TEST(VersionTest, ProgramsAreToldApart) {
  EXPECT_EQ(VersionIn("crun version 1.8.1\ncommit: f8a0\n"), "crun 1.8.1");
  EXPECT_EQ(VersionIn("runc version 1.1.5+ds1\n"), "runc 1.1.5+ds1");
  for (const char* other : {"", "\n", "crun", "GNU bash, version 5.2.15(1)-release\n"}) {
    EXPECT_EQ(VersionIn(other), "") << other;
  }
  EXPECT_TRUE(IsCrun("crun 1.8.1"));
  for (const char* other : {"", "crun", "runc 1.1.5", "crunch 1"}) EXPECT_FALSE(IsCrun(other));
}

}  // namespace
}  // namespace plimsoll::runtime
