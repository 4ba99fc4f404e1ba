// Commands that enter a container enter its QoS classes.
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/engine_classes_fixture_for_test.h"

namespace plimsoll::runtime {
namespace {

using ::testing::ElementsAre;

// A change that comes between the look at the classes and the command's entry.
TEST_F(EngineClassesTest, NoChangeComesBetweenACommandAndItsClass) {
  const std::string id = *Make(Pod(), "a", {{"rdt", "gold"}});
  ASSERT_TRUE(engine_->StartContainer(id).ok());
  std::thread change;
  std::string before_it_entered;
  runtime_.on_exec = [&](const ExecRequest& request) {
    change = std::thread([&] {
      EXPECT_TRUE(engine_->UpdateResources(id, {.classes = {{"rdt", "silver"}}}).ok());
    });
    before_it_entered = request.entry_files.back();
    absl::SleepFor(absl::Milliseconds(50));  // enough for a change that doesn't wait
    EXPECT_EQ(rdt_.members[id], "gold");
    request.entered();
    change.join();  // the change can come while the command runs
    EXPECT_EQ(rdt_.members[id], "silver");
  };
  ASSERT_TRUE(engine_->commands().ExecSync(id, {.argv = {"true"}}).ok());
  EXPECT_EQ(before_it_entered, "/rdt/gold/tasks");
  // A command that never enters delays changes only while it runs.
  runtime_.on_exec = nullptr;
  ASSERT_TRUE(engine_->commands().ExecSync(id, {.argv = {"true"}}).ok());
  EXPECT_TRUE(engine_->UpdateResources(id, {.classes = {{"rdt", "gold"}}}).ok());
}

// A change of class freezes the container, and the OCI runtime enters no frozen one.
TEST_F(EngineClassesTest, ACommandWaitsUntilTheContainerRuns) {
  const std::string id = *Make(Pod(), "a", {{"rdt", "gold"}});
  ASSERT_TRUE(engine_->StartContainer(id).ok());
  runtime_.faults.FailNext("Exec", absl::AbortedError("frozen"));
  int tries = 0;
  runtime_.on_exec = [&](const ExecRequest&) { ++tries; };
  const auto result = engine_->commands().ExecSync(id, {.argv = {"true"}});
  EXPECT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(tries, 2);
}

// The timeout counts from the request, for any number of tries.
TEST_F(EngineClassesTest, ACommandWaitsForAFrozenContainerNoLongerThanItsTimeout) {
  const std::string id = *Make(Pod(), "a", {{"rdt", "gold"}});
  ASSERT_TRUE(engine_->StartContainer(id).ok());
  std::vector<SteadyTime> deadlines;
  runtime_.on_exec = [&](const ExecRequest& request) {
    EXPECT_EQ(request.timeout, absl::Milliseconds(200)) << "for messages";
    deadlines.push_back(request.deadline);
    runtime_.faults.FailNext("Exec", absl::AbortedError("exec: container a is frozen"));
  };
  const SteadyTime before = SteadyNow();
  const auto result =
      engine_->commands().ExecSync(id, {.argv = {"true"}, .timeout = absl::Milliseconds(200)});
  const SteadyTime after = SteadyNow();
  EXPECT_TRUE(absl::IsDeadlineExceeded(result.status())) << result.status();
  EXPECT_EQ(result.status().message(),
            "exec: container a is frozen, and \"true\" was not started within 200ms");
  ASSERT_FALSE(deadlines.empty());
  EXPECT_GE(deadlines.front(), before + std::chrono::milliseconds(200));
  EXPECT_LE(deadlines.front(), after);
  for (const SteadyTime deadline : deadlines) EXPECT_EQ(deadline, deadlines.front());
}

TEST_F(EngineClassesTest, WhatIsOnItsWayInIsTheTypesToKnow) {
  const std::string id = *Make(Pod(), "a", {{"rdt", "gold"}});
  runtime_.entering = {4711};
  ASSERT_TRUE(classes_->Reload().ok());
  EXPECT_THAT(rdt_type_->committed.at(0).target.entering(), ElementsAre(4711));
}

TEST_F(EngineClassesTest, ACommandEntersByTheClasssFile) {
  const std::string pod = Pod();
  const std::string id = *Make(pod, "a", {{"rdt", "gold"}});
  ASSERT_TRUE(engine_->StartContainer(id).ok());
  ASSERT_TRUE(engine_->commands().ExecSync(id, {.argv = {"true"}}).ok());
  EXPECT_THAT(runtime_.last_exec.entry_files, ElementsAre("/oom/gold/tasks", "/rdt/gold/tasks"));
}

}  // namespace
}  // namespace plimsoll::runtime
