// `plimsoll run --detach` with plimsoll-agent beside it, and the commands that meet its pods.
#include <gmock/gmock.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/programs/subprocess.h"
#include "harness/kernel.h"
#include "harness/node_agent.h"
#include "harness/watched_program.h"

namespace plimsoll::testing {
namespace {

using Json = nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kRunsOn[] = "trap \"exit 0\" TERM; while :; do sleep 0.1; done";

class AgentRunTest : public NodeAgentTest {
 protected:
  AgentRunTest() : NodeAgentTest("cgroupsPerQOS: false\n") {}
  void SetUp() override {
    NodeTest::SetUp();
    Begin();
  }
  // PLIMSOLL_AGENT is `agent`.
  RunResult PlimsollWith(const std::string& agent, std::vector<std::string> arguments) {
    Command command;
    command.argv = {ProgramPath("plimsoll"), "--address", node_.address()};
    command.argv.insert(command.argv.end(), arguments.begin(), arguments.end());
    command.environment = {{absl::StrCat("PLIMSOLL_AGENT=", agent), "PATH=/usr/bin:/bin"}};
    auto result = RunProgram(command, {.timeout = Patience(absl::Seconds(60))});
    EXPECT_TRUE(result.ok()) << result.status();
    return result.ok() ? *result : RunResult{.exit = {.code = -1}};
  }
  RunResult Plimsoll(std::vector<std::string> arguments) {
    return PlimsollWith(agent_.socket(), std::move(arguments));
  }
  std::string File(const std::string& name, const std::string& text) {
    const std::string path = absl::StrCat(node_.directory(), "/", name, ".yaml");
    EXPECT_TRUE(Host().ReplaceFile(path, text).ok());
    return path;
  }
  std::string Web() { return File("web", PodManifest("web", kRunsOn)); }
};

TEST_F(AgentRunTest, TheAgentTakesADetachedPodAndRestartsIt) {
  const RunResult run = Plimsoll({"run", "--detach", Web()});
  ASSERT_EQ(run.exit.code, 0) << run.err;
  EXPECT_THAT(run.err, Not(HasSubstr("not restarted")));
  const std::string sandbox(absl::StripSuffix(run.out, "\n"));
  EXPECT_EQ(PodStatus(sandbox).metadata().name(), "web");
  const Json pod = agent_.Pod("web");
  ASSERT_FALSE(pod.is_null()) << run.err;
  EXPECT_EQ(PodStatus(sandbox).metadata().uid(), pod["metadata"]["uid"].get<std::string>());
  ASSERT_TRUE(StopContainer(CriId(pod["status"]["containerStatuses"][0]), 60).ok());
  EXPECT_TRUE(agent_.Await("web", [](const Json& now) {
    const Json& container = now["status"]["containerStatuses"][0];
    return container["restartCount"] == 1 && container["ready"] == true;
  }));
  const RunResult twice = Plimsoll({"run", "--detach", Web()});
  EXPECT_EQ(twice.exit.code, 125);
  EXPECT_THAT(twice.err, HasSubstr("pod default/web is there already, with the agent"));
  EXPECT_THAT(twice.err, HasSubstr("plimsoll delete pod web"));
  const RunResult attached = Plimsoll({"run", Web()});
  EXPECT_EQ(attached.exit.code, 125);
  EXPECT_THAT(attached.err, HasSubstr("Remove it first: plimsoll delete pod web\n"));
}

TEST_F(AgentRunTest, ItsPodsAreNotStoppedBehindItsBack) {
  ASSERT_EQ(Plimsoll({"run", "--detach", Web()}).exit.code, 0);
  agent_.WriteManifest("file.yaml", PodManifest("file", kRunsOn));
  ASSERT_TRUE(agent_.AwaitPhase("file", "Running"));
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"stop", "web"}, {"rm", "--force", "web"}}) {
    const RunResult refused = Plimsoll(words);
    EXPECT_EQ(refused.exit.code, 1);
    EXPECT_THAT(refused.err, HasSubstr("pod default/web belongs to plimsoll-agent"));
    EXPECT_THAT(refused.err, HasSubstr("plimsoll delete pod web"));
  }
  EXPECT_THAT(Plimsoll({"stop", "file"}).err, HasSubstr("manifests/file.yaml"));
  const RunResult all = Plimsoll({"stop", "--all"});
  EXPECT_EQ(all.exit.code, 0) << all.err;
  EXPECT_THAT(all.err, HasSubstr("pod default/web belongs to plimsoll-agent"));
  EXPECT_THAT(Plimsoll({"rm", "--all", "--force"}).err, HasSubstr("it stays"));
  EXPECT_EQ(agent_.Pod("web")["status"]["containerStatuses"][0]["restartCount"], 0);
  EXPECT_EQ(agent_.Phase("web"), "Running");
  EXPECT_EQ(Plimsoll({"delete", "pod", "web", "--wait"}).exit.code, 0);
  EXPECT_TRUE(agent_.AwaitGone("web"));
  // Without an agent nobody would start it again.
  agent_.Kill();
  const RunResult stopped = Plimsoll({"stop", "file"});
  EXPECT_EQ(stopped.exit.code, 0) << stopped.err;
}

TEST_F(AgentRunTest, APodThatDoesNotStartStaysWithTheAgent) {
  const RunResult run = Plimsoll(
      {"run", "--detach",
       File("bad",
            "{apiVersion: v1, kind: Pod, metadata: {name: bad}, spec: {containers: [{name: "
            "main, image: nowhere, imagePullPolicy: Never}]}}")});
  EXPECT_EQ(run.exit.code, 125);
  EXPECT_THAT(run.err, HasSubstr("pod default/bad has not started: container main: "
                                 "ErrImageNeverPull"));
  EXPECT_THAT(run.err, HasSubstr("The agent goes on trying. To give up: plimsoll delete pod bad"));
  EXPECT_EQ(agent_.Phase("bad"), "Pending");
  const RunResult big = Plimsoll(
      {"run", "--detach",
       File("big",
            "{apiVersion: v1, kind: Pod, metadata: {name: big}, spec: {containers: [{name: "
            "main, image: busybox, resources: {requests: {cpu: 2000}}}]}}")});
  EXPECT_EQ(big.exit.code, 125);
  EXPECT_THAT(big.err, HasSubstr("pod default/big has not started: OutOfcpu"));
}

TEST_F(AgentRunTest, TheDocumentAndOptionsAreRuns) {
  const std::string two = absl::StrCat(PodManifest("one", kRunsOn), "---\n",
                                       PodManifest("two", "true", "restartPolicy: Never, "));
  const RunResult run =
      Plimsoll({"run", "-o", "json", "--detach", "--show-resources", File("two", two), Web()});
  ASSERT_EQ(run.exit.code, 0) << run.err;
  EXPECT_THAT(run.err, HasSubstr("--show-resources has no effect"));
  const Json document = Json::parse(run.out, nullptr, /*allow_exceptions=*/false);
  ASSERT_TRUE(document.is_object()) << run.out;
  ASSERT_EQ(document["pods"].size(), 3u) << run.out;
  for (size_t i = 0; i < 3; ++i) {
    const Json& pod = document["pods"][i];
    const std::string name = pod["name"];
    EXPECT_EQ(pod["started"], true) << name;
    EXPECT_EQ(pod["uid"], agent_.Pod(name)["metadata"]["uid"]);
    EXPECT_EQ(pod["containers"][0]["name"], "main");
  }
  EXPECT_EQ(document["pods"][0]["containers"][0]["state"], "running");
}

TEST_F(AgentRunTest, WithoutAnAgentOfTheRuntimeItIsSaidThatNobodyRestarts) {
  const std::string nowhere = node_.directory() + "/no-agent.sock";
  const auto removed = [&] { return Plimsoll({"rm", "--force", "web"}).exit.code == 0; };
  RunResult run = PlimsollWith(nowhere, {"run", "--detach", Web()});
  EXPECT_EQ(run.exit.code, 0) << run.err;
  EXPECT_THAT(run.err, HasSubstr("not restarted (restartPolicy Always): no agent listens at"));
  ASSERT_TRUE(removed());

  run = Plimsoll({"run", "--detach", "--no-agent", Web()});
  EXPECT_EQ(run.exit.code, 0) << run.err;
  EXPECT_THAT(run.err, HasSubstr("(restartPolicy Always): --no-agent"));
  EXPECT_TRUE(agent_.Pod("web").is_null());
  ASSERT_TRUE(removed());

  const std::string objects = node_.directory() + "/objects";
  ASSERT_TRUE(Host().MakeDirs(objects).ok());
  run = Plimsoll({"run", "--detach", "--objects", objects, Web()});
  EXPECT_EQ(run.exit.code, 0) << run.err;
  EXPECT_THAT(run.err, HasSubstr("has ConfigMaps and Secrets of no directory"));
  EXPECT_TRUE(agent_.Pod("web").is_null());
  ASSERT_TRUE(removed());

  run = PlimsollWith("", {"--agent", nowhere, "run", "--detach", Web()});
  EXPECT_EQ(run.exit.code, 125) << "one that is named must be there";
  EXPECT_THAT(run.err, HasSubstr("--no-agent runs the pods without one"));
}

TEST_F(AgentRunTest, AnAgentOfAnotherRuntimeTakesNothing) {
  ASSERT_TRUE(agent_.Stop().ok());
  const std::string elsewhere = node_.directory() + "/elsewhere";
  ASSERT_TRUE(Host().MakeDirs(elsewhere).ok());
  AgentProcess other(elsewhere, absl::StrCat("unix://", elsewhere, "/none.sock"),
                     "cgroupsPerQOS: false\nresourceDiscoveryTimeoutSeconds: 1\n");
  const absl::Status started = other.Start();
  ASSERT_TRUE(started.ok()) << started;
  const RunResult run = PlimsollWith(other.socket(), {"run", "--detach", Web()});
  EXPECT_EQ(run.exit.code, 0) << run.err;
  EXPECT_THAT(run.err, HasSubstr("uses the runtime at"));
  EXPECT_TRUE(other.client().List("")->empty());
  EXPECT_EQ(Plimsoll({"rm", "--force", "web"}).exit.code, 0);
  const RunResult named = Plimsoll({"--agent", other.socket(), "run", "--detach", Web()});
  EXPECT_EQ(named.exit.code, 125);
  EXPECT_THAT(named.err, HasSubstr("--no-agent instead of --agent"));
}

TEST_F(AgentRunTest, AnInterruptLeavesThePodsToTheAgent) {
  const std::string file = File(
      "slow",
      absl::StrCat("{apiVersion: v1, kind: Pod, metadata: {name: slow}, spec: {initContainers: "
                   "[{name: init, image: busybox, imagePullPolicy: Never, command: [sh, -c, '",
                   kRunsOn,
                   "']}], containers: [{name: main, image: busybox, imagePullPolicy: Never}]}}"));
  WatchedProgram run({ProgramPath("plimsoll"), "--address", node_.address(), "--agent",
                      agent_.socket(), "run", "--detach", file},
                     OpenPipe());
  ASSERT_TRUE(agent_.Await("slow", [](const Json& pod) {
    const Json status = pod["status"].value("initContainerStatuses", Json::array());
    return !status.empty() && status[0]["state"].contains("running");
  }));
  EXPECT_EQ(run.Interrupt(), 130);
  EXPECT_THAT(run.printed(), HasSubstr("interrupted; the agent has the pods"));
  EXPECT_THAT(run.printed(), HasSubstr("plimsoll delete pod slow"));
  EXPECT_EQ(agent_.Phase("slow"), "Pending");
}

}  // namespace
}  // namespace plimsoll::testing
