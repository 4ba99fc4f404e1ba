// Devices that plimsoll-agent gives to pods, over a real plimsolld: each is one pod's alone.
#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "harness/kernel.h"
#include "harness/node_agent.h"
#include "harness/sample_plugin.h"

namespace plimsoll::testing {
namespace {

using Json = nlohmann::json;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr char kCard[] = "plimsoll-test.com/card";

// Two cards, which tell their number by a variable, and a node of the host's.
class AgentDevicesTest : public NodeAgentTest {
 protected:
  AgentDevicesTest() : AgentDevicesTest(std::make_unique<TestDir>()) {}
  void SetUp() override {
    NodeTest::SetUp();
    ASSERT_TRUE(specs_->root()
                    .ReplaceFile("card.json",
                                 R"({"cdiVersion": "0.5.0", "kind": "plimsoll-test.com/card",
      "devices": [{"name": "0", "containerEdits": {"env": ["CARD=0"],
                   "deviceNodes": [{"path": "/dev/card", "hostPath": "/dev/null"}]}},
                  {"name": "1", "containerEdits": {"env": ["CARD=1"],
                   "deviceNodes": [{"path": "/dev/card", "hostPath": "/dev/null"}]}}]})",
                                 0644)
                    .ok());
    Begin();
  }
  void Apply(const std::string& name, const std::string& script, const std::string& limits,
             const std::string& spec = "") {
    NodeAgentTest::Apply(absl::StrCat(
        "{apiVersion: v1, kind: Pod, metadata: {name: ", name, "}, spec: {", spec,
        "containers: [{name: main, image: busybox, imagePullPolicy: Never, command: [sh, -c, '",
        script, "'], resources: {limits: {", limits, "}}}]}}"));
  }
  void ApplyWithCards(const std::string& name, int cards) {
    Apply(name, kUntilTerm, absl::StrCat(kCard, ": ", cards));
  }
  std::string IdOf(const std::string& pod) { return CriId(ContainerStatus(agent_.Pod(pod))); }
  // The number of the only card in the pod's container.
  std::string CardOf(const std::string& pod) {
    return ExecOutput(IdOf(pod), "test -c /dev/card && echo -n $CARD");
  }

  const std::unique_ptr<TestDir> specs_;

 private:
  explicit AgentDevicesTest(std::unique_ptr<TestDir> specs)
      : NodeAgentTest(
            "cgroupsPerQOS: false\ndevices:\n  plimsoll-test.com/card: [{cdi: "
            "plimsoll-test.com/card=0}, {cdi: plimsoll-test.com/card=1}]\n"
            "  plimsoll-test.com/log: [{path: /dev/kmsg, containerPath: /dev/log0, "
            "permissions: r}]\n",
            absl::StrCat("cdi_spec_dirs: [", specs->path(), "]\n")),
        specs_(std::move(specs)) {}
};

TEST_F(AgentDevicesTest, EachDeviceIsOnePodsUntilItsEnd) {
  const auto node = agent_.client().Node();
  ASSERT_TRUE(node.ok()) << node.status();
  EXPECT_EQ((*node)["status"]["capacity"][kCard], "2");
  EXPECT_EQ((*node)["status"]["allocatable"][kCard], "2");
  ApplyWithCards("a", 1);
  ApplyWithCards("b", 1);
  ASSERT_TRUE(agent_.Await("a", IsReady));
  ASSERT_TRUE(agent_.Await("b", IsReady));
  const std::string first = CardOf("a");
  EXPECT_EQ(first, "0");
  EXPECT_EQ(CardOf("b"), "1");
  EXPECT_EQ(ContainerStatus(agent_.Pod("b"))["allocatedResourcesStatus"],
            Json::parse(R"([{"name": "plimsoll-test.com/card",
                             "resources": [{"resourceID": "plimsoll-test.com/card=1",
                                            "health": "Healthy"}]}])"));
  Restart();
  // No pod is rejected before all of before have been looked at.
  ASSERT_TRUE(agent_.Await("a", IsReady));
  ASSERT_TRUE(agent_.Await("b", IsReady));
  ApplyWithCards("c", 1);
  ASSERT_TRUE(agent_.AwaitPhase("c", "Failed"));
  EXPECT_EQ(agent_.Pod("c")["status"]["reason"], "UnexpectedAdmissionError");
  Remove("c");
  Remove("a");
  ApplyWithCards("d", 1);
  ASSERT_TRUE(agent_.Await("d", IsReady));
  EXPECT_EQ(CardOf("d"), first);
  EXPECT_EQ(CardOf("b"), "1");
}

TEST_F(AgentDevicesTest, APluginsDeviceIsInTheContainer) {
  SamplePlugin plugin(agent_, node_.directory(), "plimsoll-test.com/tpu",
                      "device a path=/dev/kmsg cdi=plimsoll-test.com/card=1\n"
                      "env DRIVER=1.2\nmount /proc:/tpu:ro\n");
  ASSERT_TRUE(plugin.AwaitNode(1, 1));
  Apply("a", kUntilTerm, "plimsoll-test.com/tpu: 1");
  ASSERT_TRUE(agent_.Await("a", IsReady));
  EXPECT_EQ(ExecOutput(IdOf("a"),
                       "test -c /dev/kmsg && test -e /tpu/version && test -c /dev/card && "
                       "echo -n $PLIMSOLL_TEST_COM_TPU $DRIVER $CARD"),
            "a 1.2 1");
}

TEST_F(AgentDevicesTest, AnAnnotationTakesNoDeviceOfTheConfiguration) {
  const auto applied = agent_.client().Apply(
      "{apiVersion: v1, kind: Pod, metadata: {name: a, annotations: {plimsoll.dev/cdi: "
      "plimsoll-test.com/card=1}}, spec: {containers: [{name: main, image: busybox, "
      "imagePullPolicy: Never}]}}");
  ASSERT_TRUE(applied.ok()) << applied.status();
  ASSERT_TRUE(agent_.AwaitPhase("a", "Failed"));
  EXPECT_EQ(agent_.Pod("a")["status"]["reason"], "CountedDevice");
}

TEST_F(AgentDevicesTest, ARestartedContainerHasTheSameDevice) {
  ApplyWithCards("a", 1);
  ApplyWithCards("b", 1);
  ASSERT_TRUE(agent_.Await("a", IsReady));
  ASSERT_TRUE(agent_.Await("b", IsReady));
  Remove("a");
  Restart();
  ASSERT_TRUE(agent_.Await("b", IsReady));
  const std::string before = IdOf("b");
  ASSERT_TRUE(StopContainer(before, 0).ok());
  ASSERT_TRUE(
      agent_.Await("b", [&](const Json& pod) { return IsReady(pod) && IdOf("b") != before; }));
  EXPECT_EQ(CardOf("b"), "1") << "though card 0 is free";
}

TEST_F(AgentDevicesTest, AnEndedPodsDevicesAreFree) {
  Apply("job", "exit 0", absl::StrCat(kCard, ": 2"), "restartPolicy: Never, ");
  ASSERT_TRUE(agent_.AwaitPhase("job", "Succeeded"));
  ApplyWithCards("next", 2);
  ASSERT_TRUE(agent_.Await("next", IsReady));
  EXPECT_TRUE(agent_.Await("job", [](const Json& pod) {
    return !ContainerStatus(pod).contains("allocatedResourcesStatus");
  }));
  Restart();
  // No pod is rejected before all of before have been looked at.
  ASSERT_TRUE(agent_.AwaitPhase("job", "Succeeded"));
  ASSERT_TRUE(agent_.Await("next", IsReady));
  ApplyWithCards("third", 1);
  ASSERT_TRUE(agent_.AwaitPhase("third", "Failed"));
}

TEST_F(AgentDevicesTest, AFailedPodHoldsItsDevicesUntilItsContainersHaveExited) {
  // On a busy machine the deadline may come before the container.
  for (int deadline_s = 2;; deadline_s *= 3) {
    Apply("stubborn", "trap true TERM; while :; do sleep 0.1; done", absl::StrCat(kCard, ": 2"),
          absl::StrCat("activeDeadlineSeconds: ", deadline_s,
                       ", terminationGracePeriodSeconds: 600, "));
    ASSERT_TRUE(agent_.AwaitPhase("stubborn", "Failed"));
    if (ContainerStatus(agent_.Pod("stubborn"))["state"].contains("running")) break;
    ASSERT_LT(deadline_s, 30) << agent_.Log();
    ASSERT_NO_FATAL_FAILURE(Remove("stubborn"));
  }
  ApplyWithCards("early", 1);
  ASSERT_TRUE(agent_.AwaitPhase("early", "Failed"));
  EXPECT_THAT(agent_.Pod("early")["status"]["message"].get<std::string>(),
              HasSubstr("Requested: 1, Available: 0"));
  ASSERT_TRUE(agent_.client().Delete("default", "stubborn", 0).ok());
  ASSERT_TRUE(agent_.AwaitGone("stubborn"));
  ApplyWithCards("late", 2);
  EXPECT_TRUE(agent_.Await("late", IsReady));
}

// The pods that have a card on record, by card; and all pods, oldest first.
struct Holders {
  std::map<std::string, std::vector<std::string>> pods;
  std::vector<std::string> all;
};

Holders HoldersOf(const std::vector<Json>& pods) {
  Holders holders;
  for (const Json& pod : pods) {
    const std::string name = pod["metadata"]["name"];
    holders.all.push_back(name);
    const Json& status = pod["status"];
    if (status["phase"] == "Failed" || !status.contains("containerStatuses")) continue;
    for (const Json& devices :
         ContainerStatus(pod).value("allocatedResourcesStatus", Json(Json::array()))) {
      for (const Json& card : devices["resources"]) {
        holders.pods[card["resourceID"]].push_back(name);
      }
    }
  }
  return holders;
}

// All pods, once the agent has looked at each.
absl::StatusOr<std::vector<Json>> SeenPods(const agent::AgentClient& client) {
  absl::StatusOr<std::vector<Json>> pods;
  Eventually([&] {
    pods = client.List("default");
    return pods.ok() && std::none_of(pods->begin(), pods->end(), [](const Json& pod) {
             return pod["status"]["phase"] == "Unknown";
           });
  });
  return pods;
}

TEST_F(AgentDevicesTest, NoKillGivesADeviceToTwoPods) {
  const char* given = std::getenv("PLIMSOLL_SEED");
  const unsigned long seed =
      given == nullptr ? std::random_device()() : std::strtoul(given, nullptr, 10);
  SCOPED_TRACE(absl::StrCat("PLIMSOLL_SEED=", seed));
  std::mt19937 random(static_cast<std::mt19937::result_type>(seed));
  Holders holders;
  size_t most = 0;
  for (int round = 0; round < 12 || (most < 2 && round < 60); ++round) {
    // The kill comes while one pod ends and another is taken.
    std::thread killer([this, delay = std::uniform_int_distribution<>(0, 60)(random)] {
      absl::SleepFor(absl::Milliseconds(delay));
      agent_.Kill();
    });
    if (holders.all.size() > 1) {
      agent_.client().Delete("default", holders.all.front(), 0).IgnoreError();
    }
    agent_.client()
        .Apply(absl::StrCat("{apiVersion: v1, kind: Pod, metadata: {name: p", 10 + round,
                            "}, spec: {containers: [{name: main, image: busybox, "
                            "imagePullPolicy: Never, command: [sh, -c, '",
                            kUntilTerm, "'], resources: {limits: {", kCard, ": 1}}}]}}"))
        .status()
        .IgnoreError();
    killer.join();
    Begin();
    const auto pods = SeenPods(agent_.client());
    ASSERT_TRUE(pods.ok()) << pods.status();
    holders = HoldersOf(*pods);
    for (const auto& [card, names] : holders.pods) {
      EXPECT_THAT(names, SizeIs(1)) << card << " in round " << round;
    }
    most = std::max(most, holders.pods.size());
  }
  EXPECT_EQ(most, 2u) << "both cards were in use at some time";
}

TEST_F(AgentDevicesTest, ANodeOfTheHostHasItsPermissions) {
  Apply("reader", kUntilTerm, "plimsoll-test.com/log: 1");
  ASSERT_TRUE(agent_.Await("reader", IsReady));
  // Only the control group may decide; nothing is written.
  EXPECT_EQ(ExecOutput(IdOf("reader"),
                       "test -c /dev/log0 && (: > /dev/log0) 2> /dev/null && echo yes || echo no"),
            "no\n");
}

TEST_F(AgentDevicesTest, ADeviceThatLeftTheConfigurationIsNamed) {
  ApplyWithCards("a", 1);
  ASSERT_TRUE(agent_.Await("a", IsReady));
  agent_.Kill();
  const std::string path = node_.directory() + "/agent.yaml";
  std::string config = Host().Read(path).value_or("");
  const size_t card = config.find("{cdi: plimsoll-test.com/card=0}, ");
  ASSERT_NE(card, std::string::npos) << config;
  config.erase(card, std::string("{cdi: plimsoll-test.com/card=0}, ").size());
  ASSERT_TRUE(Host().ReplaceFile(path, config).ok());
  Begin();
  ASSERT_TRUE(agent_.Await("a", IsReady));
  EXPECT_THAT(ContainerStatus(agent_.Pod("a")).value("allocatedResourcesStatus", Json()).dump(),
              HasSubstr("\"Unknown\""));
  ASSERT_TRUE(StopContainer(IdOf("a"), 0).ok());
  ASSERT_TRUE(Eventually([&] { return !agent_.Event("a", "FailedCreatePodSandBox").is_null(); },
                         absl::Seconds(40)))
      << agent_.Log();
  EXPECT_THAT(agent_.Event("a", "FailedCreatePodSandBox")["message"].get<std::string>(),
              HasSubstr("no longer among the devices of the configuration"));
  // The device that is left is free.
  ApplyWithCards("b", 1);
  ASSERT_TRUE(agent_.Await("b", IsReady));
  EXPECT_EQ(CardOf("b"), "1");
}

}  // namespace
}  // namespace plimsoll::testing
