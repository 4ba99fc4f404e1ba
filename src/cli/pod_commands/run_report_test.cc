#include "cli/pod_commands/run_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/terminal/api.h"
#include "cli/terminal/errors.h"

namespace plimsoll::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// A pod with an init container that ended, a container that runs, and one that wasn't made.
pod::Outcome Outcome() {
  using Role = resources::ContainerRequirements::Role;
  pod::Outcome outcome;
  outcome.uid = "0000-uid";
  outcome.sandbox_id = "aa11";
  outcome.start_time = absl::Microseconds(12500);
  outcome.containers.resize(3);
  outcome.containers[0] = {.name = "first", .role = Role::kInit, .created = true};
  cri::ContainerStatus& ended = outcome.containers[0].status;
  ended.set_id("cc1");
  ended.set_state(cri::CONTAINER_EXITED);
  ended.set_exit_code(3);
  ended.set_reason("Error");
  ended.set_started_at(1'700'000'000'000'000'000);
  ended.set_finished_at(1'700'000'000'250'000'000);
  outcome.containers[1] = {.name = "app", .restarts = 2, .created = true};
  outcome.containers[1].status.set_state(cri::CONTAINER_RUNNING);
  auto& linux = *outcome.containers[1].config.mutable_linux()->mutable_resources();
  linux.set_memory_limit_in_bytes(64 << 20);
  (*outcome.containers[1].status.mutable_class_resources()->mutable_classes())["oom"] = "first";
  outcome.containers[2].name = "last";
  return outcome;
}

pod::Manifest ReportedPod() {
  pod::Manifest pod;
  pod.name = "web";
  pod.pod_namespace = "shop";
  return pod;
}

TEST(RunReport, JsonHasWhatAProgramAsksFor) {
  const auto document = nlohmann::json::parse(RunJson({ReportedPod()}, {Outcome()}, 3));
  EXPECT_EQ(document["exitCode"], 3);
  const auto& pod = document["pods"][0];
  EXPECT_EQ(pod["name"], "web");
  EXPECT_EQ(pod["namespace"], "shop");
  EXPECT_EQ(pod["uid"], "0000-uid");
  EXPECT_EQ(pod["sandboxId"], "aa11");
  EXPECT_EQ(pod["started"], false);
  EXPECT_EQ(pod["startMs"], 12.5);
  EXPECT_TRUE(pod["error"].is_null());
  EXPECT_EQ(pod["exitCode"], 3);
  const auto& first = pod["containers"][0];
  EXPECT_EQ(first["id"], "cc1");
  EXPECT_EQ(first["role"], "init");
  EXPECT_EQ(first["state"], "exited");
  EXPECT_EQ(first["exitCode"], 3);
  EXPECT_EQ(first["reason"], "Error");
  EXPECT_EQ(first["startedAt"], "2023-11-14T22:13:20+00:00");
  EXPECT_EQ(first["finishedAt"], "2023-11-14T22:13:20.25+00:00");
  const auto& app = pod["containers"][1];
  EXPECT_EQ(app["state"], "running");
  EXPECT_TRUE(app["exitCode"].is_null());
  EXPECT_TRUE(app["finishedAt"].is_null());
  EXPECT_EQ(app["restarts"], 2);
  EXPECT_EQ(app["classes"]["oom"], "first");
  EXPECT_THAT(app["resources"].dump(), HasSubstr("memory limit"));
  const auto& last = pod["containers"][2];
  EXPECT_EQ(last["state"], "not created");
  EXPECT_TRUE(last["id"].is_null());
}

TEST(RunReport, JsonOfAPodThatCouldNotBeMade) {
  pod::Outcome failed;
  failed.status = absl::AlreadyExistsError("pod shop/web is running already\xff");
  const auto document = nlohmann::json::parse(RunJson({ReportedPod()}, {failed}, 125));
  const auto& pod = document["pods"][0];
  EXPECT_THAT(pod["error"].get<std::string>(), HasSubstr("is running already"));
  EXPECT_EQ(pod["exitCode"], kExitOwnFailure);
  EXPECT_TRUE(pod["sandboxId"].is_null());
  EXPECT_TRUE(pod["containers"].empty());
}

TEST(RunReport, TheTableSaysTheSame) {
  EXPECT_THAT(RunSummary(ReportedPod(), Outcome()),
              AllOf(HasSubstr("pod shop/web: did not start, gave up after 12 ms"),
                    HasSubstr("250 ms"), HasSubstr("not created")));
  EXPECT_THAT(ResourceTable(Outcome()), HasSubstr("64 MiB"));
}

TEST(RunReport, TheExitCodeIsThePodsOutcome) {
  pod::Outcome outcome;
  EXPECT_EQ(ExitCodeOf(outcome), 0);
  outcome.containers.resize(3);
  outcome.containers[0].role = resources::ContainerRequirements::Role::kSidecar;
  outcome.containers[0].status.set_exit_code(143);
  EXPECT_EQ(ExitCodeOf(outcome), 0);
  outcome.containers[2].status.set_exit_code(7);
  EXPECT_EQ(ExitCodeOf(outcome), 7);
  outcome.interrupted = true;
  EXPECT_EQ(ExitCodeOf(outcome), kExitInterrupted);
  outcome.status = absl::InternalError("x");
  EXPECT_EQ(ExitCodeOf(outcome), kExitOwnFailure);
}

}  // namespace
}  // namespace plimsoll::cli
