#include "cli/agent_commands/agents_pods.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "agent/api/pod_api.h"
#include "agent/api/pod_service_for_test.h"
#include "agent/api/server.h"
#include "base/dir_for_test.h"
#include "cli/agent_commands/agent_connect.h"
#include "cli/agent_commands/run_by_agent.h"
#include "cli/terminal/errors.h"
#include "cli/terminal/interrupts.h"
#include "cli/terminal/object_fields.h"
#include "pod_runner/runtime_client/labels.h"

namespace plimsoll::cli {
namespace {

using agent::FakePodService;
using ::testing::HasSubstr;

cri::PodSandbox SandboxOf(const std::string& pod_namespace, const std::string& name) {
  cri::PodSandbox pod;
  pod.set_id("0123456789abcdef");
  pod.mutable_metadata()->set_namespace_(pod_namespace);
  pod.mutable_metadata()->set_name(name);
  pod.mutable_metadata()->set_uid(name + "-uid");
  (*pod.mutable_labels())[pod::kAgentLabel] = "node";
  return pod;
}

class AgentsPodsTest : public ::testing::Test {
 protected:
  void Serve(agent::ApiServer::Handler handler) {
    agent::ServerOptions options;
    options.socket.path = dir_.path() + "/agent.sock";
    context_.agent = options.socket.path;
    auto server = agent::ApiServer::Start(options, std::move(handler));
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
  }
  void ServePods() {
    Serve([this](const agent::HttpRequest& request, agent::Answer& answer) {
      api_.Serve(request, answer);
    });
  }

  const TestDir dir_;
  CommandContext context_;
  FakePodService pods_;
  const agent::PodApi api_{&pods_, {}};
  std::atomic<int> asked_ = 0;
  std::unique_ptr<agent::ApiServer> server_;
};

TEST_F(AgentsPodsTest, APodOfTheAgentIsRefusedWithTheCommandThatRemovesIt) {
  ServePods();
  // A pod with restartPolicy Never that has ended: no agent starts it again.
  KubeObject web = FakePodService::Pod("shop", "web");
  web["spec"]["restartPolicy"] = "Never";
  web["status"]["phase"] = "Succeeded";
  pods_.Put(web);
  const auto agents_pods = AgentsPods::Of(context_);
  ASSERT_TRUE(agents_pods.ok()) << agents_pods.status();
  const absl::Status refused = agents_pods->CheckFree(SandboxOf("shop", "web"));
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_EQ(refused.message(),
            "pod shop/web belongs to plimsoll-agent, which alone ends and removes it");
  EXPECT_EQ(HintOf(refused), "To have it removed: plimsoll delete pod web -n shop");
  web["metadata"]["annotations"] = {{"plimsoll.dev/manifest-file", "/m/web.yaml"}};
  pods_.Put(web);
  EXPECT_EQ(HintOf(agents_pods->CheckFree(SandboxOf("shop", "web"))),
            "To have it removed, take it out of /m/web.yaml");
}

TEST_F(AgentsPodsTest, APodOfAManifestFileIsNotRunTwice) {
  ServePods();
  KubeObject web = FakePodService::Pod("default", "web");
  web["metadata"]["annotations"] = {{"plimsoll.dev/manifest-file", "/m/web.yaml"}};
  pods_.Put(web);
  const auto agent = AgentOf(context_, absl::Seconds(10));
  ASSERT_TRUE(agent.ok()) << agent.status();
  const auto runtime = pod::Client::Open({.address = "unix://" + dir_.path() + "/none.sock"});
  ASSERT_TRUE(runtime.ok()) << runtime.status();
  pod::Manifest pod;
  pod.name = "web";
  pod.pod_namespace = "default";
  const Interrupts interrupts;
  const auto outcomes = RunByAgent(**agent, **runtime, "", {pod}, interrupts);
  EXPECT_TRUE(absl::IsAlreadyExists(outcomes.status())) << outcomes.status();
  EXPECT_EQ(HintOf(outcomes.status()), "To have it removed, take it out of /m/web.yaml");
}

TEST_F(AgentsPodsTest, PodsThatTheAgentHasNotAreFree) {
  ServePods();
  KubeObject leaving = FakePodService::Pod("default", "leaving");
  leaving["metadata"]["deletionTimestamp"] = "2026-11-24T12:00:00Z";
  pods_.Put(leaving);
  pods_.Put(FakePodService::Pod("default", "web"));
  const auto agents_pods = AgentsPods::Of(context_);
  ASSERT_TRUE(agents_pods.ok()) << agents_pods.status();
  cri::PodSandbox unlabelled = SandboxOf("default", "web");
  unlabelled.clear_labels();
  cri::PodSandbox older = SandboxOf("default", "web");
  older.mutable_metadata()->set_uid("another");
  for (const cri::PodSandbox& pod :
       {unlabelled, older, SandboxOf("default", "leaving"), SandboxOf("default", "unknown")}) {
    EXPECT_TRUE(agents_pods->CheckFree(pod).ok())
        << pod.metadata().name() << " " << pod.metadata().uid();
  }
  std::vector<cri::PodSandbox> all = {older, SandboxOf("default", "web")};
  testing::internal::CaptureStderr();
  agents_pods->LeaveOut(all);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("it stays. To have it removed: "));
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all.front().metadata().uid(), "another");
}

TEST_F(AgentsPodsTest, AnAgentThatHangsIsAskedOnce) {
  Serve([this](const agent::HttpRequest&, agent::Answer& answer) {
    ++asked_;
    while (answer.Rest(absl::Milliseconds(10))) {
    }
  });
  const auto agents_pods = AgentsPods::Of(context_, absl::Milliseconds(300));
  ASSERT_TRUE(agents_pods.ok()) << agents_pods.status();
  std::vector<cri::PodSandbox> all = {SandboxOf("default", "a"), SandboxOf("default", "b"),
                                      SandboxOf("default", "c")};
  agents_pods->LeaveOut(all);
  EXPECT_EQ(all.size(), 3u);
  EXPECT_TRUE(agents_pods->CheckFree(all.front()).ok());
  EXPECT_LE(asked_.load(), 1);
}

TEST(RemovalCommandTest, AnAgentsPodIsRemovedByItsAgent) {
  cri::PodSandbox pod = SandboxOf("default", "web");
  EXPECT_EQ(RemovalCommand(pod), "plimsoll delete pod web");
  EXPECT_EQ(RemovalCommand(SandboxOf("shop", "web")), "plimsoll delete pod web -n shop");
  pod.clear_labels();
  pod.set_state(cri::SANDBOX_READY);
  EXPECT_EQ(RemovalCommand(pod), "plimsoll rm --force 0123456789ab");
  pod.set_state(cri::SANDBOX_NOTREADY);
  EXPECT_EQ(RemovalCommand(pod), "plimsoll rm 0123456789ab");
}

}  // namespace
}  // namespace plimsoll::cli
