// The pods of an agent over a fake runtime.
#include "agent/pods/agent_pods.h"

#include <gmock/gmock.h>

#include <atomic>
#include <thread>

#include "absl/synchronization/notification.h"
#include "agent/pods/pod_host_for_test.h"
#include "base/wait_until_for_test.h"
#include "pod/to_cri.h"

namespace plimsoll::agent {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class AgentPodsTest : public PodsTest {
 protected:
  void TearDown() override { pods_.reset(); }
  void Start() {
    AgentPods::Options options{.host = Host()};
    options.before_admission = before_admission_;
    options.admit = [](const pod::Manifest&, const std::vector<const pod::Manifest*>&) {
      return std::optional<PodVerdict>();
    };
    options.node = [] { return nlohmann::json(); };
    options.max_threads = 4;
    options.host.may_start = [this] {
      return may_start_ ? absl::OkStatus() : absl::FailedPreconditionError("a kubelet's pods");
    };
    auto pods = AgentPods::Start(std::move(options));
    ASSERT_TRUE(pods.ok()) << pods.status();
    pods_ = *std::move(pods);
  }
  // As a killed agent: what is on record stays, and the client is new.
  void Restart() {
    pods_.reset();
    client_ = OpenClient();
    Start();
  }
  void Apply(const std::string& name) {
    const auto applied = pods_->Apply(OnePod(name), "test");
    ASSERT_TRUE(applied.ok()) << applied.status();
  }
  bool AwaitPhase(const std::string& name, const std::string& phase) {
    return WaitUntil([&] { return Phase(name) == phase; });
  }
  bool AwaitGone(const std::string& name) {
    return WaitUntil([&] { return absl::IsNotFound(pods_->Get({"default", name}).status()); });
  }
  bool AwaitEvent(const std::string& name, const std::string& reason) {
    return WaitUntil([&] { return !EventOf(name, reason).empty(); });
  }
  // Of the pod's first container; empty: it doesn't wait.
  std::string WaitingReason(const std::string& name) const {
    return (*pods_->Get({"default", name}))
        .value("/status/containerStatuses/0/state/waiting/reason"_json_pointer, "");
  }
  std::string WaitingMessage(const std::string& name) const {
    return (*pods_->Get({"default", name}))
        .value("/status/containerStatuses/0/state/waiting/message"_json_pointer, "");
  }
  static std::map<PodKey, WantedPod> Wanted(const std::string& manifest) {
    return *WantedPods(manifest, "test");
  }
  void Execute(const std::string& sql) {
    const auto database =
        sqlite::Database::Open(dir_.root().PathOf(PodStore::kFileName), sqlite::Durability::kFull);
    ASSERT_TRUE(database.ok()) << database.status();
    ASSERT_TRUE((*database)->Execute(sql).ok());
  }
  std::string UidOf(const std::string& name) {
    return (*pods_->Get({"default", name}))["metadata"]["uid"];
  }

  std::function<void()> before_admission_;
  absl::Notification asked_, answer_;
  std::atomic<bool> may_start_ = true;
  std::unique_ptr<AgentPods> pods_;
};

TEST_F(AgentPodsTest, APodIsTakenRunsAndGoes) {
  Start();
  Apply("web");
  ASSERT_TRUE(AwaitPhase("web", "Running"));
  EXPECT_TRUE(absl::IsNotFound(pods_->Delete({"default", "db"}, 0)));
  ASSERT_TRUE(pods_->Delete({"default", "web"}, 0).ok());
  EXPECT_TRUE(AwaitGone("web"));
  EXPECT_THAT(cri_.SandboxIds(), IsEmpty());
}

// Only the pod that waits for the runtime's answer waits.
TEST_F(AgentPodsTest, ARuntimeThatHangsHoldsUpNoOtherCall) {
  before_admission_ = [this] {
    if (asked_.HasBeenNotified()) return;
    asked_.Notify();
    answer_.WaitForNotification();
  };
  Start();
  std::thread waiting([this] { Apply("first"); });
  asked_.WaitForNotification();
  Apply("second");
  EXPECT_TRUE(pods_->Delete({"default", "second"}, 0).ok());
  EXPECT_TRUE(absl::IsNotFound(pods_->Get({"default", "first"}).status()));
  answer_.Notify();
  waiting.join();
  EXPECT_TRUE(AwaitPhase("first", "Running"));
}

TEST_F(AgentPodsTest, UntilARestartedAgentHasLookedAPodIsUnknown) {
  Start();
  Apply("web");
  ASSERT_TRUE(AwaitPhase("web", "Running"));
  cri_.script().Hold("ListPodSandbox");
  Restart();
  EXPECT_EQ(Phase("web"), "Unknown");
  EXPECT_THAT((*pods_->Get({"default", "web"}))["status"]["message"].get<std::string>(),
              HasSubstr("has not seen the pod"));
  EXPECT_EQ(WaitingReason("web"), "ContainerStatusUnknown");
  for (const auto& each : (*pods_->Get({"default", "web"}))["status"]["conditions"]) {
    EXPECT_EQ(each["status"], "Unknown") << each;
  }
  cri_.script().Release("ListPodSandbox");
  EXPECT_TRUE(AwaitPhase("web", "Running"));
}

// The runtime keeps the sandbox of a pod whose record went with the database.
TEST_F(AgentPodsTest, WithoutItsRecordAPodThatLivesIsNotDoubled) {
  ::runtime::v1::PodSandboxConfig config;
  config.mutable_metadata()->set_name("web");
  config.mutable_metadata()->set_namespace_("default");
  config.mutable_metadata()->set_uid("of before");
  auto& labels = *config.mutable_labels();
  labels[pod::kPodNameLabel] = "web";
  labels[pod::kPodNamespaceLabel] = "default";
  labels[pod::kPodUidLabel] = "of before";
  labels[kAgentLabel] = "node";
  const std::string sandbox = cri_.AddSandbox(config);
  Start();
  Apply("web");
  ASSERT_TRUE(AwaitEvent("web", "FailedCreatePodSandBox"));
  EXPECT_THAT(EventOf("web", "FailedCreatePodSandBox"),
              AllOf(HasSubstr("sandbox " + sandbox), HasSubstr("its database was lost"),
                    HasSubstr("`plimsoll rm --force " + sandbox + "`")));
  EXPECT_THAT(cri_.SandboxIds(), ElementsAre(sandbox));
  // Once it has ended, nothing is in the way.
  cri_.KillSandbox(sandbox);
  clock_.Advance(BackOff::kLongest);
  pods_->WakeAll();
  EXPECT_TRUE(AwaitPhase("web", "Running"));
}

// Pods of `plimsoll run`, and of another agent of this runtime.
TEST_F(AgentPodsTest, ANamesakeOfAnotherIsNobodysConcern) {
  ::runtime::v1::PodSandboxConfig config;
  auto& labels = *config.mutable_labels();
  labels[pod::kPodNameLabel] = "web";
  labels[pod::kPodNamespaceLabel] = "default";
  cri_.AddSandbox(config);
  labels[kAgentLabel] = "another";
  cri_.AddSandbox(config);
  Start();
  Apply("web");
  EXPECT_TRUE(AwaitPhase("web", "Running"));
}

TEST_F(AgentPodsTest, AnUnreadableRecordIsToldAndDeletedByItsName) {
  Start();
  Apply("web");
  ASSERT_TRUE(AwaitPhase("web", "Running"));
  pods_.reset();
  Execute("UPDATE pods SET object = 'no json'");
  client_ = OpenClient();
  Start();
  EXPECT_THAT(EventOf("web", "UnreadablePod"),
              AllOf(HasSubstr("can't be read: its object in the database is no JSON object"),
                    HasSubstr("`plimsoll delete pod web` ends and forgets it")));
  EXPECT_EQ(Phase("web"), "Unknown");
  const auto applied = pods_->Apply(OnePod("web"), "test");
  EXPECT_TRUE(absl::IsFailedPrecondition(applied.status()));
  EXPECT_THAT(std::string(applied.status().message()), HasSubstr("`plimsoll delete pod web`"));
  EXPECT_THAT(cri_.Running(), ElementsAre("main")) << "it runs on";

  ASSERT_TRUE(pods_->Delete({"default", "web"}, 1).ok());
  EXPECT_TRUE(AwaitGone("web"));
  EXPECT_THAT(cri_.SandboxIds(), IsEmpty());
  EXPECT_THAT(*store_->Uids(), IsEmpty());
  Apply("web");
  EXPECT_TRUE(AwaitPhase("web", "Running"));
}

TEST_F(AgentPodsTest, AnUnreadableManifestIsToldAndItsDeletionOutlivesTheAgent) {
  Start();
  Apply("web");
  ASSERT_TRUE(AwaitPhase("web", "Running"));
  pods_.reset();
  Execute("UPDATE pods SET object = '{\"spec\": 3, \"metadata\": []}'");
  client_ = OpenClient();
  Start();
  EXPECT_THAT(EventOf("web", "UnreadablePod"), HasSubstr("is on record and can't be read"));
  cri_.script().Hold("StopPodSandbox");
  ASSERT_TRUE(pods_->Delete({"default", "web"}, 1).ok());
  ASSERT_TRUE(cri_.script().AwaitHeld("StopPodSandbox"));
  Restart();
  cri_.script().Release("StopPodSandbox");
  EXPECT_TRUE(AwaitGone("web"));
  EXPECT_THAT(*store_->Uids(), IsEmpty());
}

TEST_F(AgentPodsTest, OfTwoFilesThatAskForAPodTheOneThatHasItIsNamed) {
  Start();
  const auto web = Wanted(OnePod("web"));
  pods_->SetFiles({{"/m/z.yaml", web}});
  ASSERT_TRUE(AwaitPhase("web", "Running"));
  const std::string uid = UidOf("web");
  pods_->SetFiles({{"/m/a.yaml", web}, {"/m/z.yaml", web}});
  EXPECT_THAT(EventOf("web", "NameTaken"), HasSubstr("; the pod is of /m/z.yaml"));
  EXPECT_EQ(UidOf("web"), uid);
  // Its file goes: the other's turn comes.
  pods_->SetFiles({{"/m/a.yaml", web}});
  ASSERT_TRUE(WaitUntil([&] {
    const auto pod = pods_->Get({"default", "web"});
    return pod.ok() && (*pod)["metadata"]["uid"] != uid;
  }));
  EXPECT_TRUE(AwaitPhase("web", "Running"));
}

TEST_F(AgentPodsTest, ThePausesOfRestartsAreRememberedByTheNextAgent) {
  Start();
  Apply("web");
  ASSERT_TRUE(AwaitPhase("web", "Running"));
  for (int restart = 1; restart <= 3; ++restart) {
    cri_.EndContainer("main", 1);
    clock_.Advance(absl::Seconds(100));
    pods_->WakeAll();
    ASSERT_TRUE(WaitUntil([&] { return !cri_.Running().empty(); }));
  }
  cri_.EndContainer("main", 1);
  Restart();
  // 10, 20, 40: the agent before had reached this pause.
  ASSERT_TRUE(WaitUntil([&] { return WaitingMessage("web").find("back-off 40s") == 0; }))
      << WaitingMessage("web");
  EXPECT_THAT(cri_.Running(), IsEmpty());
  clock_.Advance(absl::Seconds(41));
  pods_->WakeAll();
  EXPECT_TRUE(WaitUntil([&] { return !cri_.Running().empty(); }));
}

TEST_F(AgentPodsTest, WhereNothingMayStartAPodSaysWhy) {
  may_start_ = false;
  Start();
  Apply("web");
  ASSERT_TRUE(AwaitEvent("web", "FailedCreatePodSandBox"));
  EXPECT_THAT(EventOf("web", "FailedCreatePodSandBox"), HasSubstr("a kubelet's pods"));
  EXPECT_THAT(cri_.SandboxIds(), IsEmpty());
  may_start_ = true;
  clock_.Advance(BackOff::kFirst);
  pods_->WakeAll();
  EXPECT_TRUE(AwaitPhase("web", "Running"));
}

}  // namespace
}  // namespace plimsoll::agent
