// Allocations to the pods of an agent, over a fake runtime.
#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <string>
#include <thread>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "agent/pods/agent_pods.h"
#include "agent/pods/agent_pods_for_test.h"
#include "agent/pods/holders.h"

namespace plimsoll::agent {
namespace {

using Role = resources::ContainerRequirements::Role;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

// CPU 0 is reserved, 1 to 3 can be exclusive.
class AgentPodsManagersTest : public AgentPodsTest {
 protected:
  AgentPodsManagersTest() {
    managers_ = StaticCpus("0-3");
    cri_.TellResources();
  }
  // A pod whose container has the pod's name.
  static std::string Named(const std::string& name, const std::string& resources,
                           const std::string& spec = "") {
    return absl::StrCat("{apiVersion: v1, kind: Pod, metadata: {name: ", name, "}, spec: {", spec,
                        "containers: [{name: ", name, ", image: i, resources: {", resources,
                        "}}]}}");
  }
  static std::string Guaranteed(const std::string& name, int cpus, const std::string& spec = "") {
    return Named(name, absl::StrCat("limits: {cpu: ", cpus, ", memory: 64Mi}"), spec);
  }
  static std::string BestEffort(const std::string& name) { return Named(name, ""); }
  void Take(const std::string& manifest) {
    const auto applied = pods_->Apply(manifest, "test");
    ASSERT_TRUE(applied.ok()) << applied.status();
  }
  bool AwaitCpus(const std::string& container, const std::string& cpus) {
    return WaitUntil([&] { return cri_.CpusOf(container) == cpus; });
  }
  void Delete(const std::string& name) {
    ASSERT_TRUE(pods_->Delete({"default", name}, 1).ok());
    ASSERT_TRUE(AwaitGone(name));
  }
  std::string CpusOnRecord(const std::string& name) {
    const auto record = OnRecord(name);
    return record ? record->grant.ExclusiveCpus().ToString() : "no record";
  }

  std::atomic<int64_t> memory_ = kTestNodeBytes;
};

// Plugins that prefer nothing before the agent's end.
class SlowDevices : public FakeDevices {
 public:
  absl::StatusOr<std::vector<std::string>> Prefer(const std::string&,
                                                  const std::vector<std::string>&,
                                                  const std::vector<std::string>&,
                                                  int64_t) const override {
    if (!asked_.HasBeenNotified()) asked_.Notify();
    stopped_.WaitForNotification();
    return absl::UnavailableError("the agent is ending");
  }
  void Stop() override {
    if (!stopped_.HasBeenNotified()) stopped_.Notify();
  }
  void AwaitQuestion() { asked_.WaitForNotification(); }

 private:
  mutable absl::Notification asked_, stopped_;
};

TEST_F(AgentPodsManagersTest, SharedContainersMakeWayAndComeBack) {
  Start();
  Take(BestEffort("shared"));
  ASSERT_TRUE(AwaitCpus("shared", "0-3"));
  Take(Guaranteed("own", 2));
  EXPECT_TRUE(AwaitCpus("own", "1-2"));
  EXPECT_TRUE(AwaitCpus("shared", "0,3"));
  EXPECT_EQ(CpusOnRecord("own"), "1-2");
  Take(BestEffort("late"));
  EXPECT_TRUE(AwaitCpus("late", "0,3"));
  Delete("own");
  EXPECT_TRUE(AwaitCpus("shared", "0-3"));
  EXPECT_TRUE(AwaitCpus("late", "0-3"));
}

TEST_F(AgentPodsManagersTest, CpusOfAnEndedPodAreAnothers) {
  Start();
  Take(Guaranteed("done", 3, "restartPolicy: Never, "));
  ASSERT_TRUE(AwaitCpus("done", "1-3"));
  ASSERT_TRUE(AwaitPhase("done", "Running"));
  Take(Guaranteed("early", 1));
  EXPECT_EQ(OnRecord("early")->verdict->reason, "UnexpectedAdmissionError");
  EXPECT_THAT(EventOf("early", "UnexpectedAdmissionError"),
              AllOf(StartsWith("Allocate failed due to "),
                    HasSubstr("not enough cpus available to satisfy request: requested=1, "
                              "available=0")));
  EXPECT_THAT(OnRecord("early")->verdict->message,
              StartsWith("Pod was rejected: Allocate failed due to "));
  EXPECT_TRUE(OnRecord("early")->grant.Empty());
  cri_.EndContainer("done", 0);
  pods_->WakeAll();
  // A pod that is shown as ended holds nothing any more.
  ASSERT_TRUE(AwaitPhase("done", "Succeeded"));
  EXPECT_THAT(pods_->Allocations()["pods"], IsEmpty());
  Take(Guaranteed("next", 3));
  EXPECT_TRUE(AwaitCpus("next", "1-3"));
  EXPECT_EQ(CpusOnRecord("done"), "") << "no CPU is on two records";
  Restart();
  EXPECT_TRUE(AwaitPhase("next", "Running"));
  EXPECT_EQ(CpusOnRecord("next"), "1-3");
}

TEST_F(AgentPodsManagersTest, AnAgentThatStartsAnewGoesOnWithTheSameCpus) {
  Start();
  Take(Guaranteed("own", 1));
  Take(BestEffort("shared"));
  ASSERT_TRUE(AwaitCpus("own", "1"));
  ASSERT_TRUE(AwaitCpus("shared", "0,2-3"));
  Restart();
  Take(Guaranteed("more", 2));
  EXPECT_TRUE(AwaitCpus("more", "2-3"));
  EXPECT_TRUE(AwaitCpus("shared", "0"));
  EXPECT_EQ(cri_.CpusOf("own"), "1");
}

TEST_F(AgentPodsManagersTest, NoPodIsTakenBeforeTheManagersAreKnown) {
  const auto managers = std::exchange(managers_, nullptr);
  Start();
  const auto applied = pods_->Apply(BestEffort("api"), "test");
  EXPECT_TRUE(absl::IsUnavailable(applied.status())) << applied.status();
  pods_->SetFiles({{"/m/web.yaml", Wanted(Guaranteed("web", 1))}});
  EXPECT_THAT(EventOf("web", "FailedCreate"), HasSubstr("topology isn't known"));
  ASSERT_TRUE(pods_->SetManagers(managers, false).ok());
  pods_->Retry();
  EXPECT_TRUE(AwaitCpus("web", "1"));
}

TEST_F(AgentPodsManagersTest, OtherManagersNeedGrantsThatFit) {
  Start();
  Take(Guaranteed("own", 2));
  ASSERT_TRUE(AwaitCpus("own", "1-2"));
  const absl::Status status = pods_->SetManagers(StaticCpus("0-1"), /*refit=*/false);
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("default/own"));
  EXPECT_EQ(CpusOnRecord("own"), "1-2") << "nothing has changed";
  Take(BestEffort("shared"));
  EXPECT_TRUE(AwaitCpus("shared", "0,3"));
}

TEST_F(AgentPodsManagersTest, AfterHotPlugPodsFollow) {
  Start();
  Take(Guaranteed("own", 2));
  Take(BestEffort("shared"));
  ASSERT_TRUE(AwaitCpus("own", "1-2"));
  ASSERT_TRUE(AwaitCpus("shared", "0,3"));
  ASSERT_TRUE(pods_->SetManagers(StaticCpus("0-1,3"), /*refit=*/true).ok());
  EXPECT_TRUE(AwaitCpus("own", "1,3"));
  EXPECT_TRUE(AwaitCpus("shared", "0"));
  EXPECT_EQ(CpusOnRecord("own"), "1,3");
  EXPECT_NE(EventOf("own", "CPUsChanged"), "");
  EXPECT_EQ(EventOf("shared", "CPUsChanged"), "");

  ASSERT_TRUE(pods_->SetManagers(StaticCpus("0-7"), true).ok());
  EXPECT_TRUE(AwaitCpus("shared", "0,2,4-7"));
  EXPECT_EQ(cri_.CpusOf("own"), "1,3") << "what fits stays";
  Restart();
  EXPECT_EQ(CpusOnRecord("own"), "1,3");
}

TEST_F(AgentPodsManagersTest, APodThatIsShortGetsTheCpusOfAPodThatGoes) {
  Start();
  Take(Guaranteed("own", 2));
  Take(Guaranteed("other", 1));
  Take(BestEffort("shared"));
  ASSERT_TRUE(AwaitCpus("other", "3"));
  ASSERT_TRUE(pods_->SetManagers(StaticCpus("0-1,3"), /*refit=*/true).ok());
  ASSERT_TRUE(AwaitCpus("own", "1"));
  Delete("other");
  EXPECT_TRUE(AwaitCpus("own", "1,3"));
  EXPECT_EQ(CpusOnRecord("own"), "1,3");
  EXPECT_TRUE(AwaitCpus("shared", "0"));
}

TEST_F(AgentPodsManagersTest, APodThatIsShortGetsTheCpusOfAPodThatHasEnded) {
  Start();
  Take(Guaranteed("job", 1, "restartPolicy: Never, "));
  Take(Guaranteed("own", 2));
  ASSERT_TRUE(AwaitCpus("own", "2-3"));
  ASSERT_TRUE(AwaitPhase("job", "Running"));
  managers_ = StaticCpus("0-2");
  ASSERT_TRUE(pods_->SetManagers(managers_, /*refit=*/true).ok());
  ASSERT_TRUE(AwaitCpus("own", "2"));
  EXPECT_EQ(CpusOnRecord("job"), "1");
  cri_.EndContainer("job", 0);
  pods_->WakeAll();
  EXPECT_TRUE(AwaitCpus("own", "1-2"));
  EXPECT_EQ(CpusOnRecord("own"), "1-2");
  EXPECT_EQ(CpusOnRecord("job"), "") << "no CPU is on two records";
  ASSERT_TRUE(AwaitPhase("job", "Succeeded"));
  Restart();
  EXPECT_EQ(CpusOnRecord("own"), "1-2") << "also without the gate";
}

TEST_F(AgentPodsManagersTest, ARefitOfSeveralPodsIsPutOnRecordAsAWhole) {
  Start();
  Take(Guaranteed("one", 1));
  clock_.Advance(absl::Seconds(1));  // it is the older one
  Take(Guaranteed("two", 1));
  ASSERT_TRUE(AwaitCpus("one", "1"));
  ASSERT_TRUE(AwaitCpus("two", "2"));
  // The disk is full after the first row.
  Execute(
      "CREATE TABLE written (uid TEXT); CREATE TRIGGER full BEFORE UPDATE ON pods"
      " WHEN EXISTS (SELECT 1 FROM written) BEGIN SELECT RAISE(ABORT, 'full'); END;"
      " CREATE TRIGGER note AFTER UPDATE ON pods BEGIN INSERT INTO written VALUES (NEW.uid); END;");
  const absl::Status status = pods_->SetManagers(StaticCpus("0,3-5"), /*refit=*/true);
  EXPECT_FALSE(status.ok());
  EXPECT_EQ(CpusOnRecord("one"), "1");
  EXPECT_EQ(CpusOnRecord("two"), "2");
  const nlohmann::json told = pods_->Allocations()["pods"];
  ASSERT_EQ(told.size(), 2u);
  for (const nlohmann::json& each : told) {
    EXPECT_EQ(each["containers"][0]["cpus"], each["name"] == "one" ? "1" : "2");
  }
  EXPECT_EQ(EventOf("one", "CPUsChanged") + EventOf("two", "CPUsChanged"), "");

  Execute("DROP TRIGGER full");
  ASSERT_TRUE(pods_->SetManagers(StaticCpus("0,3-5"), true).ok());
  EXPECT_TRUE(AwaitCpus("one", "3"));
  EXPECT_TRUE(AwaitCpus("two", "4"));
}

TEST_F(AgentPodsManagersTest, AFullDiskLeavesAShortPodForTheNextOneThatGoes) {
  std::atomic<int> noted = 0;
  adapt_ = [&](AgentPods::Options& options) {
    options.note = [&](const std::string& note) { noted += absl::StrContains(note, "are short"); };
  };
  Start();
  Take(Guaranteed("own", 2));
  Take(Guaranteed("other", 1));
  Take(BestEffort("shared"));
  ASSERT_TRUE(AwaitCpus("other", "3"));
  ASSERT_TRUE(pods_->SetManagers(StaticCpus("0-1,3"), /*refit=*/true).ok());
  ASSERT_TRUE(AwaitCpus("own", "1"));
  Execute(
      "CREATE TRIGGER full BEFORE UPDATE ON pods WHEN NEW.name = 'own' BEGIN"
      " SELECT RAISE(ABORT, 'full'); END;");
  Delete("other");
  EXPECT_TRUE(WaitUntil([&] { return noted > 0; }));
  EXPECT_EQ(CpusOnRecord("own"), "1");
  EXPECT_TRUE(AwaitCpus("shared", "0,3")) << "the others share it meanwhile";
  Execute("DROP TRIGGER full");
  Delete("shared");
  EXPECT_TRUE(AwaitCpus("own", "1,3"));
  pods_.reset();
}

TEST_F(AgentPodsManagersTest, NobodyGetsTheCpusOfAPodThatCantBeRead) {
  Start();
  Take(Guaranteed("own", 2));
  Take(Guaranteed("other", 1));
  ASSERT_TRUE(AwaitCpus("own", "1-2"));
  ASSERT_TRUE(AwaitCpus("other", "3"));
  pods_.reset();
  Execute("UPDATE pods SET object = 'no json' WHERE name = 'other'");
  client_ = OpenClient();
  Start();
  ASSERT_NE(EventOf("other", "UnreadablePod"), "");
  ASSERT_TRUE(pods_->SetManagers(StaticCpus("0-1,3"), /*refit=*/true).ok());
  EXPECT_TRUE(AwaitCpus("own", "1"));
  EXPECT_EQ(CpusOnRecord("own"), "1");
  EXPECT_EQ(cri_.CpusOf("other"), "3");
}

TEST_F(AgentPodsManagersTest, AnUnreadablePodHoldsWhatItHad) {
  Start();
  Take(Guaranteed("own", 2));
  ASSERT_TRUE(AwaitCpus("own", "1-2"));
  pods_.reset();
  Execute("UPDATE pods SET object = 'no json' WHERE name = 'own'");
  client_ = OpenClient();
  Start();
  const auto own = HolderOf(*pods_, {"default", "own"});
  ASSERT_TRUE(own.ok()) << own.status();
  EXPECT_THAT(own->containers, ElementsAre(PodPart{.container = "own"}));
  EXPECT_EQ(own->grant.ExclusiveCpus().ToString(), "1-2");
  ASSERT_EQ(Holders(*pods_).size(), 1u);
  const nlohmann::json told = pods_->Allocations();
  EXPECT_EQ(told["cpus"]["exclusive"], "1-2");
  EXPECT_EQ(told["pods"][0]["containers"][0]["cpus"], "1-2");
}

TEST_F(AgentPodsManagersTest, TheCpusetAnnotationHasNoEffectThen) {
  Start();
  std::string manifest = BestEffort("web");
  manifest.replace(manifest.find("name: web"), 9,
                   "name: web, annotations: {plimsoll.dev/cpuset: \"1\"}");
  Take(manifest);
  EXPECT_TRUE(AwaitCpus("web", "0-3"));
  EXPECT_THAT(EventOf("web", "FieldIgnored"), HasSubstr("plimsoll.dev/cpuset"));
}

TEST_F(AgentPodsManagersTest, AGuaranteedPodsCpusAreNotResized) {
  Start();
  Take(Guaranteed("own", 1));
  ASSERT_TRUE(AwaitPhase("own", "Running"));
  const auto patch = nlohmann::json::parse(
      R"({"spec": {"containers": [{"name": "own", "resources":
          {"requests": {"cpu": "2"}, "limits": {"cpu": "2"}}}]}})");
  const auto resized = pods_->Resize({"default", "own"}, patch);
  ASSERT_TRUE(resized.ok()) << resized.status();
  EXPECT_THAT(EventOf("own", "ResizeInfeasible"),
              HasSubstr("Resize is infeasible for Guaranteed Pods alongside CPU Manager policy"));
  EXPECT_EQ(OnRecord("own")->pending->reason, "Infeasible");
  EXPECT_EQ(CpusOnRecord("own"), "1");
}

TEST_F(AgentPodsManagersTest, PluginsChooseWithoutTheLock) {
  devices_.SetStock(StockOf("example.com/gpu", {"g0", "g1", "g2"}, /*has_preference=*/true));
  adapt_ = [&](AgentPods::Options& options) { options.host.device_manager = &devices_; };
  Start();
  Take(Named("one", "limits: {example.com/gpu: 1}"));
  EXPECT_THAT(OnRecord("one")->grant.devices.at("one").at("example.com/gpu"), ElementsAre("g2"));
  Take(Named("two", "limits: {example.com/gpu: 1}"));
  EXPECT_THAT(OnRecord("two")->grant.devices.at("two").at("example.com/gpu"), ElementsAre("g1"));
  pods_->SetFiles({{"/m/three.yaml", Wanted(Named("three", "limits: {example.com/gpu: 1}"))}});
  EXPECT_TRUE(AwaitPhase("three", "Running"));
  EXPECT_EQ(EventOf("three", "FailedCreate"), "");
  EXPECT_EQ(cri_.EnvOf("three", "DEVICES"), "g0");
  ASSERT_TRUE(AwaitPhase("one", "Running") && AwaitPhase("two", "Running"));
  Take(Named("four", "limits: {example.com/gpu: 1}"));
  EXPECT_EQ(OnRecord("four")->verdict->reason, "UnexpectedAdmissionError");

  Restart();
  ASSERT_TRUE(AwaitPhase("one", "Running"));
  EXPECT_THAT(OnRecord("one")->grant.devices.at("one").at("example.com/gpu"), ElementsAre("g2"));
  EXPECT_EQ(devices_.Count("Allocate"), 3);
}

TEST_F(AgentPodsManagersTest, ThePluginsQuestionEndsWithTheAgentAndIsNoVerdict) {
  SlowDevices devices;
  devices.SetStock(StockOf("example.com/gpu", {"g0", "g1"}, /*has_preference=*/true));
  adapt_ = [&](AgentPods::Options& options) { options.host.device_manager = &devices; };
  Start();
  const auto wanted = Wanted(Named("web", "limits: {example.com/gpu: 1}"));
  std::thread files([&] { pods_->SetFiles({{"/m/web.yaml", wanted}}); });
  devices.AwaitQuestion();
  pods_->BeginEnd();
  files.join();
  EXPECT_FALSE(OnRecord("web").has_value());
  pods_.reset();
}

TEST_F(AgentPodsManagersTest, DevicesThatComeWakeThePodThatWaits) {
  devices_.SetStock(StockOf("example.com/gpu", {"g0"}));
  devices_.Answer("Allocate", absl::UnavailableError("away"));
  adapt_ = [&](AgentPods::Options& options) { options.host.device_manager = &devices_; };
  Start();
  Take(Named("web", "limits: {example.com/gpu: 1}"));
  ASSERT_TRUE(AwaitEvent("web", "FailedAllocateDevices"));
  devices_.Answer("Allocate", absl::OkStatus());
  pods_->OnDevices();
  EXPECT_TRUE(AwaitPhase("web", "Running"));
}

TEST_F(AgentPodsManagersTest, AllocationsAreToldOfPodsThatLive) {
  const auto managers = std::exchange(managers_, nullptr);
  Start();
  EXPECT_EQ(pods_->Allocations()["pods"].size(), 0u);
  ASSERT_TRUE(pods_->SetManagers(managers, false).ok());
  Take(Guaranteed("own", 2));
  const nlohmann::json told = pods_->Allocations();
  EXPECT_EQ(told["cpus"]["shared"], "0,3");
  ASSERT_EQ(told["pods"].size(), 1u);
  EXPECT_EQ(told["pods"][0]["name"], "own");
  EXPECT_EQ(told["pods"][0]["containers"][0]["cpus"], "1-2");
}

TEST_F(AgentPodsManagersTest, AnEndedPodHoldsNothing) {
  Start();
  Take(Guaranteed("own", 2, "restartPolicy: Never, "));
  ASSERT_TRUE(AwaitPhase("own", "Running"));
  const auto own = HolderOf(*pods_, {"default", "own"});
  ASSERT_TRUE(own.ok()) << own.status();
  EXPECT_EQ(own->grant.ExclusiveCpus().ToString(), "1-2");
  ASSERT_EQ(Holders(*pods_).size(), 1u);
  EXPECT_EQ(Holders(*pods_)[0].grant, own->grant);
  cri_.EndContainer("own", 0);
  pods_->WakeAll();
  ASSERT_TRUE(AwaitPhase("own", "Succeeded"));
  EXPECT_TRUE(WaitUntil([&] { return Holders(*pods_).empty(); }));
  const auto ended = HolderOf(*pods_, {"default", "own"});
  ASSERT_TRUE(ended.ok()) << ended.status();
  EXPECT_TRUE(ended->grant.Empty());
  EXPECT_EQ(ended->containers, own->containers);
  const auto none = HolderOf(*pods_, {"default", "nobody"});
  EXPECT_TRUE(absl::IsNotFound(none.status()));
  EXPECT_EQ(none.status().message(), "pod nobody in namespace default not found");
}

TEST_F(AgentPodsManagersTest, HoldersTellOrdinaryInitContainersApart) {
  Start();
  Take(
      "{apiVersion: v1, kind: Pod, metadata: {name: web}, spec: {initContainers: [{name: first, "
      "image: busybox}, {name: beside, image: busybox, restartPolicy: Always}], containers: "
      "[{name: main, image: busybox}]}}");
  const auto web = HolderOf(*pods_, {"default", "web"});
  ASSERT_TRUE(web.ok()) << web.status();
  EXPECT_THAT(web->containers,
              ElementsAre(PodPart{"first", Role::kInit}, PodPart{"beside", Role::kSidecar},
                          PodPart{"main", Role::kContainer}));
}

TEST_F(AgentPodsManagersTest, RunningContainersFollowTheNodesAmounts) {
  adapt_ = [&](AgentPods::Options& options) {
    options.host.node_amounts = [this] {
      return NodeAmounts{.memory_capacity_bytes = memory_.load(), .swap_capacity_bytes = 0};
    };
  };
  Start();
  Take(Named("web", "requests: {memory: 1Gi}"));
  ASSERT_TRUE(AwaitPhase("web", "Running"));
  EXPECT_EQ(cri_.ResourcesOf("web").oom_score_adj(), 750);
  memory_ = 2 * kTestNodeBytes;
  pods_->Retry();
  EXPECT_TRUE(WaitUntil([&] { return cri_.ResourcesOf("web").oom_score_adj() == 875; }));
}

}  // namespace
}  // namespace plimsoll::agent
