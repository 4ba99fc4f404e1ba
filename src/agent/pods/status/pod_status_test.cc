#include "agent/pods/status/pod_status.h"

#include <gtest/gtest.h>

namespace plimsoll::agent {
namespace {

using Json = nlohmann::json;

const absl::Time kPresent = absl::FromUnixSeconds(1764000000);

class PodStatusTest : public testing::Test {
 protected:
  PodStatusTest() {
    record_.uid = "u";
    record_.key = {"default", "p"};
    record_.object = Json::parse(
        R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{
        "initContainers":[{"name":"init","image":"i"}],
        "containers":[{"name":"a","image":"i:1","resources":{"requests":{"cpu":"1"}}}]}})");
    record_.created = kPresent - absl::Seconds(60);
    manifest_ = pod::ParseManifests(record_.object.dump(), "p")->front();
  }
  ObservedContainer& Container(const std::string& name, uint32_t attempt, ObservedState state,
                               int exit_code = 0) {
    ObservedContainer container;
    container.id = name + std::to_string(attempt);
    container.name = name;
    container.sandbox_id = "s";
    container.attempt = attempt;
    container.state = state;
    container.exit_code = exit_code;
    container.started = kPresent - absl::Seconds(30);
    container.finished = kPresent - absl::Seconds(5);
    container.image_ref = "i@sha256:1";
    return *observed_.containers.insert(observed_.containers.begin(), container);
  }
  Json Object(absl::Time now = kPresent) {
    return PodObject({.record = record_,
                      .manifest = manifest_,
                      .observed = observed_,
                      .end = end_,
                      .waiting = waiting_,
                      .failure = failure_,
                      .health = health_,
                      .runtime = "plimsoll"},
                     node_, before_, now);
  }
  static Json ConditionOf(const Json& object, const std::string& type) {
    for (const Json& each : object["status"]["conditions"]) {
      if (each["type"] == type) return each;
    }
    return Json();
  }

  PodRecord record_;
  pod::Manifest manifest_;
  ObservedPod observed_;
  std::optional<PodEnd> end_;
  std::map<std::string, Waiting> waiting_;
  std::string failure_;
  std::map<std::string, ContainerHealth> health_;
  Json before_;
  PodNode node_{"node-1", "10.0.0.1"};
};

TEST_F(PodStatusTest, ANewPodIsPending) {
  const Json object = Object();
  EXPECT_EQ(object["metadata"]["uid"], "u");
  EXPECT_EQ(object["metadata"]["namespace"], "default");
  EXPECT_EQ(object["spec"]["nodeName"], "node-1");
  const Json& status = object["status"];
  EXPECT_EQ(status["phase"], "Pending");
  EXPECT_EQ(status["qosClass"], "Burstable");
  EXPECT_EQ(status["startTime"], "2025-11-24T15:59:00Z");
  EXPECT_EQ(status["containerStatuses"][0]["state"]["waiting"]["reason"], "PodInitializing");
  EXPECT_EQ(status["initContainerStatuses"][0]["state"]["waiting"]["reason"], "ContainerCreating");
  EXPECT_EQ(ConditionOf(object, "Initialized")["status"], "False");
}

TEST_F(PodStatusTest, AContainersDevicesAreNamed) {
  record_.grant.devices = {{"a", {{"example.com/gpu", {"v.com/gpu=0", "v.com/gpu=1"}}}}};
  const Json status = Object()["status"];
  EXPECT_EQ(status["containerStatuses"][0]["allocatedResourcesStatus"],
            Json::parse(R"([{"name": "example.com/gpu", "resources":
                             [{"resourceID": "v.com/gpu=0", "health": "Unknown"},
                              {"resourceID": "v.com/gpu=1", "health": "Unknown"}]}])"));
  EXPECT_FALSE(status["initContainerStatuses"][0].contains("allocatedResourcesStatus"));
}

TEST_F(PodStatusTest, ARunningPodIsReadyAndHasItsAddress) {
  observed_.sandboxes = {{"s", 0, true, {"10.88.0.2", "fd00::2"}}};
  Container("init", 0, ObservedState::kExited, 0);
  Container("a", 0, ObservedState::kRunning);
  const Json object = Object();
  const Json& status = object["status"];
  EXPECT_EQ(status["phase"], "Running");
  EXPECT_EQ(status["podIP"], "10.88.0.2");
  EXPECT_EQ(status["podIPs"].size(), 2u);
  EXPECT_EQ(status["hostIP"], "10.0.0.1");
  const Json& container = status["containerStatuses"][0];
  EXPECT_EQ(container["ready"], true);
  EXPECT_EQ(container["containerID"], "plimsoll://a0");
  EXPECT_EQ(container["imageID"], "i@sha256:1");
  EXPECT_EQ(container["state"]["running"]["startedAt"], "2025-11-24T15:59:30Z");
  EXPECT_EQ(ConditionOf(object, "Ready")["status"], "True");
  EXPECT_EQ(status["initContainerStatuses"][0]["state"]["terminated"]["reason"], "Completed");
}

TEST_F(PodStatusTest, ProbesDecideWhetherAContainerHasStartedAndIsReady) {
  observed_.sandboxes = {{"s", 0, true, {}}};
  Container("init", 0, ObservedState::kExited, 0);
  Container("a", 0, ObservedState::kRunning);
  health_["a0"] = {.started = false, .ready = false, .failed = std::nullopt};
  Json object = Object();
  EXPECT_EQ(object["status"]["containerStatuses"][0]["started"], false);
  EXPECT_EQ(object["status"]["containerStatuses"][0]["ready"], false);
  for (const char* type : {"Ready", "ContainersReady"}) {
    EXPECT_EQ(ConditionOf(object, type)["status"], "False");
    EXPECT_EQ(ConditionOf(object, type)["reason"], "ContainersNotReady");
    EXPECT_EQ(ConditionOf(object, type)["message"], "containers with unready status: [a]");
  }
  health_["a0"].started = true;
  object = Object();
  EXPECT_EQ(object["status"]["containerStatuses"][0]["started"], true);
  EXPECT_EQ(ConditionOf(object, "Ready")["status"], "False");
  health_["a0"].ready = true;
  EXPECT_EQ(ConditionOf(Object(), "Ready")["status"], "True");
}

TEST_F(PodStatusTest, APodIsInitialisedOnceItsSidecarsHaveStarted) {
  record_.object["spec"]["initContainers"] =
      Json::parse(R"([{"name":"side","image":"i","restartPolicy":"Always"}])");
  manifest_ = pod::ParseManifests(record_.object.dump(), "p")->front();
  observed_.sandboxes = {{"s", 0, true, {}}};
  Container("side", 0, ObservedState::kRunning);
  health_["side0"] = {.started = false, .ready = false, .failed = std::nullopt};
  Json condition = ConditionOf(Object(), "Initialized");
  EXPECT_EQ(condition["status"], "False");
  EXPECT_EQ(condition["message"], "containers with incomplete status: [side]");
  health_["side0"].started = true;
  const Json object = Object();
  EXPECT_EQ(ConditionOf(object, "Initialized")["status"], "True");
  EXPECT_EQ(ConditionOf(object, "Ready")["message"], "containers with unready status: [side a]");
}

TEST_F(PodStatusTest, AContainerInItsPauseWaitsAndShowsItsLastEnd) {
  observed_.sandboxes = {{"s", 0, true, {}}};
  Container("init", 0, ObservedState::kExited, 0);
  Container("a", 0, ObservedState::kExited, 1);
  Container("a", 1, ObservedState::kExited, 3).reason = "OOMKilled";
  waiting_["a"] = {"CrashLoopBackOff", "back-off 10s"};
  const Json object = Object();
  const Json& container = object["status"]["containerStatuses"][0];
  EXPECT_EQ(object["status"]["phase"], "Running");
  EXPECT_EQ(container["state"]["waiting"]["reason"], "CrashLoopBackOff");
  EXPECT_EQ(container["lastState"]["terminated"]["exitCode"], 3);
  EXPECT_EQ(container["lastState"]["terminated"]["reason"], "OOMKilled");
  EXPECT_EQ(container["restartCount"], 1);
  EXPECT_EQ(ConditionOf(object, "Ready")["reason"], "ContainersNotReady");
}

TEST_F(PodStatusTest, APodsMessagesShareItsLimit) {
  Container("a", 0, ObservedState::kExited, 1).message = std::string(9000, 'x');
  const Json object = Object();
  const Json& ended = object["status"]["containerStatuses"][0]["state"]["terminated"];
  EXPECT_EQ(ended["message"].get<std::string>().size(), 6144u) << "of two containers";
}

TEST_F(PodStatusTest, AnEndedPodTellsHowItEnded) {
  Container("init", 0, ObservedState::kExited, 0);
  Container("a", 0, ObservedState::kExited, 0);
  end_ = PodEnd::kSucceeded;
  Json object = Object();
  EXPECT_EQ(object["status"]["phase"], "Succeeded");
  EXPECT_EQ(ConditionOf(object, "Ready")["reason"], "PodCompleted");
  EXPECT_EQ(object["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"], 0);
  end_ = PodEnd::kFailed;
  EXPECT_EQ(Object()["status"]["phase"], "Failed");
}

TEST_F(PodStatusTest, ARejectedPodSaysWhy) {
  record_.verdict = PodVerdict{"OutOfcpu", "not enough"};
  const Json status = Object()["status"];
  EXPECT_EQ(status["phase"], "Failed");
  EXPECT_EQ(status["reason"], "OutOfcpu");
  EXPECT_EQ(status["message"], "not enough");
  EXPECT_FALSE(status.contains("containerStatuses"));
}

TEST_F(PodStatusTest, AConditionKeepsTheTimeOfItsTransition) {
  before_ = Object(kPresent);
  observed_.sandboxes = {{"s", 0, true, {}}};
  const Json object = Object(kPresent + absl::Seconds(9));
  EXPECT_EQ(ConditionOf(object, "Ready")["lastTransitionTime"], "2025-11-24T16:00:00Z");
  EXPECT_EQ(ConditionOf(object, "PodReadyToStartContainers")["lastTransitionTime"],
            "2025-11-24T16:00:09Z");
}

TEST_F(PodStatusTest, AFailureToMakeTheSandboxIsInItsCondition) {
  failure_ = "no such network";
  const Json condition = ConditionOf(Object(), "PodReadyToStartContainers");
  EXPECT_EQ(condition["reason"], "FailedCreatePodSandBox");
  EXPECT_EQ(condition["message"], "no such network");
}

TEST_F(PodStatusTest, ADeletedPodTellsUntilWhen) {
  record_.deleted = kPresent;
  record_.grace_s = 30;
  record_.file = "/m/p.yaml";
  const Json metadata = Object()["metadata"];
  EXPECT_EQ(metadata["deletionTimestamp"], "2025-11-24T16:00:30Z");
  EXPECT_EQ(metadata["deletionGracePeriodSeconds"], 30);
  EXPECT_EQ(metadata["annotations"]["plimsoll.dev/manifest-file"], "/m/p.yaml");
}

TEST_F(PodStatusTest, AnUnseenPodTellsItsPendingResizeAndWhatItHas) {
  EXPECT_FALSE(UnseenPodObject(record_, "n")["status"]["containerStatuses"][0].contains(
      "allocatedResources"));
  record_.allocated = record_.object;
  record_.allocated["spec"]["containers"][0]["resources"]["limits"] = {{"cpu", "2"},
                                                                       {"memory", "1Gi"}};
  record_.object["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "100";
  record_.pending = PodVerdict{"Infeasible", "too much"};
  const Json object = UnseenPodObject(record_, "n");
  EXPECT_EQ(object["status"]["containerStatuses"][0]["allocatedResources"],
            Json({{"cpu", "1"}, {"memory", "1Gi"}}));
  EXPECT_EQ(ConditionOf(object, "PodResizePending")["reason"], "Infeasible");
}

}  // namespace
}  // namespace plimsoll::agent
