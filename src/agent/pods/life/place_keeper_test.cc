// One pod's worker and its places, over a fake runtime.
#include "agent/pods/life/place_keeper.h"

#include <gmock/gmock.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "agent/pods/allocation/fake_devices_for_test.h"
#include "agent/pods/allocation/managers_for_test.h"
#include "agent/pods/allocation/place_book.h"
#include "agent/pods/allocation/places.h"
#include "agent/pods/life/pod_host_for_test.h"

namespace plimsoll::agent {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

resources::CpuSet CpusIn(const std::string& text) {
  return *resources::CpuSet::Parse(text);
}

class PlaceKeeperTest : public PodsTest {
 protected:
  PlaceKeeperTest() {
    cri_.TellResources();
    host_.places = std::make_shared<PlaceBook>();
    host_.node_amounts = [this] { return amounts_; };
    Share("0-3");
  }
  void Share(const std::string& cpus) {
    host_.places->Set(managers_, cpus.empty() ? std::nullopt : std::optional(CpusIn(cpus)));
  }
  // `exclusive` empty: the container runs on the shared CPUs.
  void Begin(const std::string& exclusive, const std::string& resources = "") {
    manifest_ = OnePod("web", "", resources);
    PodRecord record = Record("web", manifest_);
    if (!exclusive.empty()) record.grant.containers["main"].cpus = CpusIn(exclusive);
    ASSERT_TRUE(store_->Put({record}).ok());
    worker_ = WorkerOf(record, manifest_);
    worker_->Step();
    ASSERT_THAT(cri_.Running(), ElementsAre("main"));
  }
  int TimesTold(const std::string& reason) const {
    int told = 0;
    for (const nlohmann::json& each : events_.List(std::nullopt)) {
      if (each["reason"] == reason) told += each.value("count", 1);
    }
    return told;
  }
  int Updates() { return cri_.script().Count("UpdateContainerResources"); }

  NodeAmounts amounts_ = {.memory_capacity_bytes = kTestNodeBytes, .swap_capacity_bytes = 0};
  std::shared_ptr<const NodeManagers> managers_ = StaticCpus("0-3");
  std::string manifest_;
  std::unique_ptr<PodWorker> worker_;
};

TEST_F(PlaceKeeperTest, ContainersFollowTheSharedCpus) {
  Begin("");
  EXPECT_EQ(cri_.CpusOf("main"), "0-3");
  Share("0,3");
  worker_->Step();
  EXPECT_EQ(cri_.CpusOf("main"), "0,3");
  Share("0-3");
  worker_->Step();
  EXPECT_EQ(cri_.CpusOf("main"), "0-3");
  EXPECT_EQ(Updates(), 2);
  worker_->Step();
  EXPECT_EQ(Updates(), 2) << "nothing to do";
}

// KEP-4112 "UpdateContainerResources".
TEST_F(PlaceKeeperTest, AMoveTellsTheResourcesAsWritten) {
  Begin("", "resources: {limits: {cpu: 1.50, memory: 64Mi}}, ");
  Share("0,3");
  worker_->Step();
  ASSERT_THAT(cri_.WrittenOf("main"), SizeIs(1));
  EXPECT_THAT(cri_.WrittenOf("main").front(), AllOf(HasSubstr("requests"), HasSubstr("limits"),
                                                    HasSubstr("\"1.50\""), HasSubstr("\"64Mi\"")));
  host_.passes_resources_down = false;
  Share("0-3");
  worker_->Step();
  EXPECT_THAT(cri_.WrittenOf("main"), ElementsAre(HasSubstr("1.50"), ""));
}

TEST_F(PlaceKeeperTest, ExclusiveCpusHaveNoQuota) {
  Begin("1", "resources: {limits: {cpu: 1, memory: 64Mi}}, ");
  EXPECT_EQ(cri_.CpusOf("main"), "1");
  EXPECT_EQ(cri_.ResourcesOf("main").cpu_quota(), -1);
  const nlohmann::json status =
      (*board_.Get({"default", "web"}))["/status/containerStatuses/0/resources"_json_pointer];
  EXPECT_EQ(status["limits"]["cpu"], "1");
  Share("0,2-3");
  worker_->Step();
  EXPECT_EQ(Updates(), 0);

  // After hot-plug: others, then none.
  PodGrant grant;
  grant.containers["main"] = {.cpus = CpusIn("2"), .cpu_count = 1, .memory = {}};
  ASSERT_TRUE(PodWorker::PutGrants(*store_, {{worker_.get(), grant}}).ok());
  worker_->Step();
  EXPECT_EQ(cri_.CpusOf("main"), "2");
  grant.containers["main"].cpus = {};
  ASSERT_TRUE(PodWorker::PutGrants(*store_, {{worker_.get(), grant}}).ok());
  worker_->Step();
  EXPECT_EQ(cri_.CpusOf("main"), "0,2-3");
  EXPECT_EQ(cri_.ResourcesOf("main").cpu_quota(), 100'000) << "the CPUs are not its alone now";
}

TEST_F(PlaceKeeperTest, ThePodsGroupHasAQuotaWhileNoContainerHasCpusOfItsOwn) {
  std::vector<std::string> written;
  absl::Status answer = absl::OkStatus();
  host_.resize_group = [&](const PodRecord& record, const pod::Manifest& pod, GroupStep step,
                           const std::function<absl::Status()>& announce) {
    EXPECT_EQ(step, GroupStep::kSettle);
    EXPECT_TRUE(announce().ok());
    written.push_back(HasExclusiveCpus(record.grant, pod) ? "none" : "quota");
    return answer;
  };
  Begin("1", "resources: {limits: {cpu: 1, memory: 64Mi}}, ");
  worker_->Step();
  worker_->Step();
  EXPECT_THAT(written, ElementsAre("none")) << "once by each agent, which may follow a killed one";
  PodGrant grant;
  grant.containers["main"] = {.cpus = {}, .cpu_count = 1, .memory = {}};
  ASSERT_TRUE(PodWorker::PutGrants(*store_, {{worker_.get(), grant}}).ok());
  answer = absl::InternalError("cpu.max: EBUSY");
  EXPECT_EQ(worker_->Step().pause, BackOff::kFirst);
  EXPECT_EQ(EventOf("web", "FailedUpdateResources"),
            "The pod's group can't get a CPU quota: cpu.max: EBUSY");
  worker_->Step();
  EXPECT_THAT(written, ElementsAre("none", "quota")) << "not before the pause has passed";
  answer = absl::OkStatus();
  clock_.Advance(BackOff::kFirst);
  worker_->Step();
  grant.containers["main"].cpus = CpusIn("2");
  ASSERT_TRUE(PodWorker::PutGrants(*store_, {{worker_.get(), grant}}).ok());
  worker_->Step();
  worker_->Step();
  EXPECT_THAT(written, ElementsAre("none", "quota", "quota", "none"));
}

TEST_F(PlaceKeeperTest, APodThatSharesItsCpusKeepsTheQuotaOfItsGroup) {
  int calls = 0;
  host_.resize_group = [&](const PodRecord&, const pod::Manifest&, GroupStep,
                           const std::function<absl::Status()>&) {
    ++calls;
    return absl::OkStatus();
  };
  Begin("", "resources: {limits: {cpu: 500m}}, ");
  Share("0,3");
  worker_->Step();
  EXPECT_EQ(cri_.CpusOf("main"), "0,3");
  EXPECT_EQ(calls, 0);
}

TEST_F(PlaceKeeperTest, SomebodyElsesChangeIsPutRightInTheNextPeriod) {
  Begin("");
  cri_.ChangeCpus("main", "2");
  const PodWorker::Next next = worker_->Step();
  EXPECT_EQ(cri_.CpusOf("main"), "2") << "what the runtime says was read a moment ago";
  EXPECT_LE(next.pause, host_.place_period);
  clock_.Advance(next.pause);
  worker_->Step();
  EXPECT_EQ(cri_.CpusOf("main"), "0-3");
  cri_.ChangeCpus("main", "2");
  clock_.Advance(host_.place_period);
  worker_->Step();
  EXPECT_EQ(cri_.CpusOf("main"), "0-3") << "the same change, made again";
}

TEST_F(PlaceKeeperTest, WithPoliciesNoneNobodyIsMoved) {
  managers_ = NoManagers();
  Share("");
  Begin("");
  EXPECT_EQ(cri_.CpusOf("main"), "");
  EXPECT_EQ(worker_->Step().pause, absl::InfiniteDuration());
  EXPECT_EQ(Updates(), 0);
}

TEST_F(PlaceKeeperTest, NothingStartsBeforeTheManagersAreKnown) {
  host_.places = std::make_shared<PlaceBook>();
  manifest_ = OnePod("web");
  worker_ = WorkerOf(Record("web", manifest_), manifest_);
  EXPECT_EQ(worker_->Step().pause, absl::Seconds(1));
  EXPECT_THAT(cri_.SandboxIds(), ElementsAre());
  EXPECT_EQ(EventOf("web", "FailedCreatePodSandBox"), "") << "it passes by itself";
  Share("0-3");
  worker_->Step();
  EXPECT_THAT(cri_.Running(), ElementsAre("main"));
}

TEST_F(PlaceKeeperTest, AFailureIsToldAndRetriedAfterAPause) {
  Begin("");
  cri_.script().Fail("UpdateContainerResources", grpc::StatusCode::INTERNAL, "cpuset: EINVAL");
  Share("0-1");
  const PodWorker::Next next = worker_->Step();
  EXPECT_EQ(EventOf("web", "FailedUpdateResources"),
            "Container main can't be moved to CPUs 0-1: cpuset: EINVAL");
  EXPECT_EQ(next.pause, BackOff::kFirst);
  worker_->Step();
  EXPECT_EQ(Updates(), 1) << "not before the pause has passed";
  Share("0-2");
  worker_->Step();
  EXPECT_EQ(cri_.CpusOf("main"), "0-2") << "another wish is no retry";
}

TEST_F(PlaceKeeperTest, ARuntimeWithoutUpdatesIsToldOfOnceAndLeftAlone) {
  std::vector<std::string> notes;
  host_.note = [&](const std::string& note) { notes.push_back(note); };
  Begin("");
  cri_.script().Fail("UpdateContainerResources", grpc::StatusCode::UNIMPLEMENTED, "");
  Share("0-1");
  EXPECT_LE(worker_->Step().pause, host_.place_period);
  EXPECT_THAT(EventOf("web", "NoResourceUpdates"),
              HasSubstr("container main doesn't get CPUs 0-1; its next start does"));
  Share("0-2");
  worker_->Step();
  EXPECT_EQ(Updates(), 1);
  EXPECT_EQ(EventOf("web", "FailedUpdateResources"), "");
  // The container's next run is asked again, and reports nothing new.
  cri_.EndContainer("main", 1);
  worker_->Step();
  ASSERT_THAT(cri_.Running(), ElementsAre("main"));
  cri_.script().Fail("UpdateContainerResources", grpc::StatusCode::UNIMPLEMENTED, "");
  Share("0-1");
  worker_->Step();
  EXPECT_EQ(Updates(), 2);
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_THAT(notes[0], HasSubstr("pod default/web: the runtime has no UpdateContainerResources"));
  EXPECT_EQ(TimesTold("NoResourceUpdates"), 1);
}

TEST_F(PlaceKeeperTest, OomScoresFollowTheNodesMemory) {
  Begin("", "resources: {requests: {memory: 1Gi}}, ");
  EXPECT_EQ(cri_.ResourcesOf("main").oom_score_adj(), 750);
  amounts_.memory_capacity_bytes *= 2;
  worker_->Step();
  EXPECT_EQ(cri_.ResourcesOf("main").oom_score_adj(), 875);
  EXPECT_EQ(cri_.CpusOf("main"), "0-3");
  EXPECT_EQ(Updates(), 1);
  worker_->Step();
  EXPECT_EQ(Updates(), 1);
}

TEST_F(PlaceKeeperTest, ARuntimeThatKeepsOomScoresIsToldOfOnce) {
  cri_.KeepOomScores();
  Begin("", "resources: {requests: {memory: 1Gi}}, ");
  amounts_.memory_capacity_bytes *= 2;
  worker_->Step();
  worker_->Step();
  EXPECT_EQ(Updates(), 1);
  EXPECT_EQ(TimesTold("NoOOMScoreUpdates"), 1);
}

TEST_F(PlaceKeeperTest, AScoreOfAClassIsTheClasss) {
  Begin("", "resources: {requests: {memory: 1Gi}}, ");
  cri_.PutInOomClass("main", "second", 700);
  worker_ = WorkerOf(worker_->record(), manifest_);  // of an agent that starts
  worker_->Step();
  amounts_.memory_capacity_bytes *= 2;
  worker_->Step();
  EXPECT_EQ(Updates(), 0);
  EXPECT_EQ(TimesTold("NoOOMScoreUpdates"), 0);
  Share("0,3");
  worker_->Step();
  EXPECT_EQ(cri_.CpusOf("main"), "0,3");
  EXPECT_EQ(cri_.ResourcesOf("main").oom_score_adj(), 700);
}

TEST_F(PlaceKeeperTest, AnEndedContainerIsNotMoved) {
  Begin("");
  cri_.EndContainer("main", 1);
  Share("0-1");
  worker_->Step();
  EXPECT_EQ(Updates(), 0);
}

// --- devices

class DeviceStartTest : public PlaceKeeperTest {
 protected:
  DeviceStartTest() {
    devices_.SetStock(StockOf("example.com/gpu", {"g0", "g1"}));
    host_.device_manager = &devices_;
    manifest_ = OnePod("web", "", "resources: {limits: {example.com/gpu: 1}}, ");
  }
  void BeginWithGpu() {
    PodRecord record = Record("web", manifest_);
    record.grant.devices = {{"main", {{"example.com/gpu", {"g1"}}}}};
    ASSERT_TRUE(store_->Put({record}).ok());
    worker_ = WorkerOf(record, manifest_);
  }
  std::string HealthInStatus() {
    return (*board_.Get({"default", "web"}))
        ["/status/containerStatuses/0/allocatedResourcesStatus/0/resources/0/health"_json_pointer];
  }

  FakeDevices devices_;
};

TEST_F(DeviceStartTest, APluginIsAskedOnceAndToldOfEachStart) {
  BeginWithGpu();
  worker_->Step();
  EXPECT_EQ(cri_.EnvOf("main", "DEVICES"), "g1");
  EXPECT_THAT(devices_.Calls(),
              ElementsAre("Allocate example.com/gpu g1", "PreStart example.com/gpu g1"));
  EXPECT_EQ((*store_->Load()).pods[0].grant.device_answers.at("main").env.at("DEVICES"), "g1");

  // The next agent's worker, and a restart.
  worker_ = WorkerOf(worker_->record(), manifest_);
  cri_.EndContainer("main", 1);
  worker_->Step();
  clock_.Advance(BackOff::kFirst);
  worker_->Step();
  EXPECT_THAT(cri_.Running(), ElementsAre("main"));
  EXPECT_EQ(cri_.EnvOf("main", "DEVICES"), "g1");
  EXPECT_EQ(devices_.Count("Allocate"), 1);
  EXPECT_EQ(devices_.Count("PreStart"), 2);
}

TEST_F(DeviceStartTest, AKillBeforeTheAnswerIsOnRecordAsksAgain) {
  BeginWithGpu();
  const PodRecord before = worker_->record();
  worker_->Step();
  cri_.RemoveSandbox(cri_.SandboxIds()[0]);
  worker_ = WorkerOf(before, manifest_);
  worker_->Step();
  EXPECT_EQ(devices_.Count("Allocate"), 2);
  EXPECT_EQ(cri_.EnvOf("main", "DEVICES"), "g1") << "the same devices";
}

TEST_F(DeviceStartTest, APodWaitsForAPluginThatIsAway) {
  devices_.Answer("Allocate", absl::UnavailableError("the plugin is away"));
  BeginWithGpu();
  EXPECT_LE(worker_->Step().pause, BackOff::kFirst);
  EXPECT_THAT(EventOf("web", "FailedAllocateDevices"), HasSubstr("the plugin is away"));
  EXPECT_EQ(Phase("web"), "Pending");
  devices_.Answer("Allocate", absl::OkStatus());
  worker_->Step();
  EXPECT_EQ(devices_.Count("Allocate"), 1) << "not before the pause has passed";
  worker_->OnDevices();
  worker_->Step();
  EXPECT_THAT(cri_.Running(), ElementsAre("main"));
}

TEST_F(DeviceStartTest, ARefusalIsThePodsVerdict) {
  devices_.Answer("Allocate", absl::InternalError("rpc error: code = Internal desc = burnt"));
  BeginWithGpu();
  EXPECT_EQ(worker_->Step().pause, absl::ZeroDuration());
  worker_->Step();
  EXPECT_EQ(Phase("web"), "Failed");
  const PodRecord record = (*store_->Load()).pods[0];
  ASSERT_TRUE(record.verdict);
  EXPECT_EQ(record.verdict->reason, "UnexpectedAdmissionError");
  EXPECT_EQ(
      record.verdict->message,
      "Pod was rejected: Allocate failed due to rpc error: code = Internal desc = burnt, which "
      "is unexpected");
  EXPECT_FALSE(worker_->holds_grant());
  EXPECT_THAT(cri_.SandboxIds(), ElementsAre());
}

TEST_F(DeviceStartTest, AFailedPreStartIsRetriedAsAnyStart) {
  devices_.Answer("PreStart", absl::UnavailableError("gone"));
  BeginWithGpu();
  worker_->Step();
  EXPECT_EQ((*board_.Get({"default",
                          "web"}))["/status/containerStatuses/0/state/waiting/reason"_json_pointer],
            "CreateContainerConfigError");
  devices_.Answer("PreStart", absl::OkStatus());
  clock_.Advance(BackOff::kFirst);
  worker_->Step();
  EXPECT_THAT(cri_.Running(), ElementsAre("main"));
}

TEST_F(DeviceStartTest, TheStatusTellsTheDevicesHealth) {
  BeginWithGpu();
  worker_->Step();
  EXPECT_EQ(HealthInStatus(), "Healthy");
  DeviceStock stock = StockOf("example.com/gpu", {"g0", "g1"});
  stock["example.com/gpu"].devices[1].healthy = false;
  devices_.SetStock(stock);
  worker_->Step();
  EXPECT_EQ(HealthInStatus(), "Unhealthy");
  devices_.SetStock({});
  worker_->Step();
  EXPECT_EQ(HealthInStatus(), "Unknown");
  EXPECT_THAT(cri_.Running(), ElementsAre("main")) << "the pod runs on";
}

}  // namespace
}  // namespace plimsoll::agent
