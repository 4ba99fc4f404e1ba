// For tests that start an agent again and again over one runtime: with other gates, or after a
// kill.
#ifndef PLIMSOLL_TESTS_AGENT_RUNS_FIXTURE_H_
#define PLIMSOLL_TESTS_AGENT_RUNS_FIXTURE_H_

#include <cstddef>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "cri/runtime/v1/api.grpc.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "harness/agent.h"
#include "harness/kernel.h"

namespace plimsoll::testing {

using Json = nlohmann::json;

// The agents of a test, one after the other.
class AgentRuns {
 public:
  AgentRuns(std::string directory, std::string endpoint)
      : directory_(std::move(directory)), endpoint_(std::move(endpoint)) {}

  // Starts an agent with these lines of configuration. The one before is stopped, as for an update;
  // its pods run on.
  void Begin(const std::string& config) {
    if (agent_ && agent_->runs()) {
      const auto exit = agent_->Stop();
      ASSERT_TRUE(exit.ok()) << exit.status();
      EXPECT_TRUE(exit->success()) << exit->ToString() << "\n" << agent_->Log();
    }
    agent_.emplace(directory_, endpoint_, config);
    const absl::Status started = agent_->Start();
    ASSERT_TRUE(started.ok()) << started;
  }
  // SIGKILL. OK without an agent.
  void Kill() {
    if (agent_ && agent_->runs()) agent_->Kill();
  }
  AgentProcess& operator*() { return *agent_; }
  AgentProcess* operator->() { return &*agent_; }

  void Apply(const std::string& manifest) {
    const auto applied = agent_->client().Apply(manifest);
    ASSERT_TRUE(applied.ok()) << applied.status();
  }
  void Delete(const std::string& pod) {
    const absl::Status deleted = agent_->client().Delete("default", pod, std::nullopt);
    ASSERT_TRUE(deleted.ok()) << deleted;
    ASSERT_TRUE(agent_->AwaitGone(pod));
  }
  bool HasEvent(const std::string& pod, const std::string& reason) {
    const auto events = agent_->client().Events("default", pod);
    if (!events.ok()) return false;
    for (const Json& each : *events) {
      if (each["reason"] == reason) return true;
    }
    return false;
  }
  // The node's condition Ready; null without an agent.
  Json NodeReady() {
    const auto node = agent_->client().Node();
    if (!node.ok()) return Json();
    for (const Json& each : (*node)["status"]["conditions"]) {
      if (each["type"] == "Ready") return each;
    }
    return Json();
  }
  Json Capacity() {
    const auto node = agent_->client().Node();
    return node.ok() ? (*node)["status"]["capacity"] : Json();
  }
  // Stops the container of a pod that runs on, and waits until the agent has started the next one.
  void Restart(::runtime::v1::RuntimeService::Stub& runtime, const std::string& pod) {
    // A new agent shows no container before it has seen the pod.
    ASSERT_TRUE(agent_->Await(pod, IsReady));
    const std::string before = MainId(agent_->Pod(pod));
    ::runtime::v1::StopContainerRequest request;
    request.set_container_id(before);
    ::runtime::v1::StopContainerResponse response;
    grpc::ClientContext context;
    const grpc::Status stopped = runtime.StopContainer(&context, request, &response);
    ASSERT_TRUE(stopped.ok()) << stopped.error_message();
    ASSERT_TRUE(
        agent_->Await(pod, [&](const Json& now) { return IsReady(now) && MainId(now) != before; }));
  }
  // The pod is there, and no container of it has been restarted or made again.
  void ExpectUntouched(const std::string& pod, const Json& before) {
    ASSERT_TRUE(agent_->Await(pod, IsReady));
    const Json now = agent_->Pod(pod);
    EXPECT_EQ(now["metadata"]["uid"], before["metadata"]["uid"]);
    EXPECT_EQ(MainId(now), MainId(before));
    EXPECT_EQ(ContainerStatus(now)["restartCount"], ContainerStatus(before)["restartCount"]);
  }

 private:
  const std::string directory_;
  const std::string endpoint_;
  std::optional<AgentProcess> agent_;
};

}  // namespace plimsoll::testing

#endif  // PLIMSOLL_TESTS_AGENT_RUNS_FIXTURE_H_
