// The pods of an agent over a fake runtime.
#include "agent/pods/agent_pods.h"

#include <gmock/gmock.h>

#include <atomic>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "agent/pods/agent_pods_for_test.h"
#include "pod_runner/runtime_client/labels.h"

namespace plimsoll::agent {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

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

TEST_F(AgentPodsTest, AResizesErrorsGiveNoPlacesOfTheRecordsJson) {
  Start();
  Apply("web");
  ASSERT_TRUE(AwaitPhase("web", "Running"));
  const auto patch = nlohmann::json::parse(
      R"({"spec": {"containers": [{"name": "main", "resources": {"limits": {"cpu": "two"}}}]}})");
  const absl::Status status = pods_->Resize({"default", "web"}, patch).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              StartsWith("pod default/web: spec.containers[0].resources.limits.cpu: "));
}

TEST_F(AgentPodsTest, UntilARestartedAgentHasLookedAPodIsUnknown) {
  Start();
  Apply("web");
  ASSERT_TRUE(AwaitPhase("web", "Running"));
  cri_.script().Hold("ListPodSandbox");
  Restart();
  EXPECT_EQ(Phase("web"), "Unknown");
  const nlohmann::json web = *pods_->Get({"default", "web"});
  EXPECT_THAT(web["status"]["message"].get<std::string>(), HasSubstr("has not seen the pod"));
  EXPECT_EQ(WaitingReason("web"), "ContainerStatusUnknown");
  for (const auto& each : web["status"]["conditions"]) {
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
  std::vector<std::string> noted;
  adapt_ = [&noted](AgentPods::Options& options) {
    options.note = [&noted](const std::string& line) { noted.push_back(line); };
  };
  Start();
  EXPECT_THAT(EventOf("web", "UnreadablePod"),
              AllOf(HasSubstr("can't be read: its object in the database is no JSON object"),
                    HasSubstr("`plimsoll delete pod web` ends and forgets it"),
                    HasSubstr("room doesn't count its requests")));
  EXPECT_THAT(noted, ElementsAre(EventOf("web", "UnreadablePod")));
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

// An earlier version took such a path, and made files outside of it.
TEST_F(AgentPodsTest, APodOnRecordWithAPathThatStepsBackIsNotStarted) {
  may_start_ = false;
  Start();
  Apply("web");
  pods_.reset();
  nlohmann::json object = ObjectOf(OnePod("web"));
  object["spec"]["volumes"] = {
      {{"name", "v"},
       {"hostPath", {{"path", dir_.path() + "/none/../made"}, {"type", "FileOrCreate"}}}}};
  Execute("UPDATE pods SET object = '" + object.dump() + "'");
  ASSERT_TRUE(store_->Put({RecordOf("other", ObjectOf(OnePod("other")))}).ok());
  client_ = OpenClient();
  may_start_ = true;
  Start();
  EXPECT_THAT(EventOf("web", "UnreadablePod"),
              HasSubstr("spec.volumes[0].hostPath.path: must be without \"..\""));
  EXPECT_TRUE(AwaitPhase("other", "Running")) << "the agent starts, and other pods with it";
  EXPECT_EQ(Phase("web"), "Unknown");
  EXPECT_FALSE(dir_.root().Exists("made"));
  ASSERT_TRUE(pods_->Delete({"default", "web"}, 0).ok());
  EXPECT_TRUE(AwaitGone("web"));
}

// Eleven variables, each of which has the one before ten times.
TEST_F(AgentPodsTest, APodOnRecordThatWouldTakeAllMemoryFailsAlone) {
  nlohmann::json env = {{{"name", "A0"}, {"value", "0123456789"}}};
  for (int i = 1; i <= 11; ++i) {
    std::string value;
    for (int k = 0; k < 10; ++k) absl::StrAppend(&value, "$(A", i - 1, ")");
    env.push_back({{"name", absl::StrCat("A", i)}, {"value", value}});
  }
  nlohmann::json object = ObjectOf(OnePod("web"));
  object["spec"]["containers"][0]["env"] = env;
  ASSERT_TRUE(store_->Put({RecordOf("web", object)}).ok());
  ASSERT_TRUE(store_->Put({RecordOf("other", ObjectOf(OnePod("other")))}).ok());
  Start();
  ASSERT_TRUE(AwaitEvent("web", "FailedCreatePodSandBox"));
  EXPECT_THAT(EventOf("web", "FailedCreatePodSandBox"),
              HasSubstr("container main: variable A5: becomes longer than 131071 bytes"));
  EXPECT_TRUE(AwaitPhase("other", "Running"));
  EXPECT_EQ(Phase("web"), "Pending");
}

TEST_F(AgentPodsTest, AnExceptionOfOnePodOfAFileIsItsOwn) {
  adapt_ = [](AgentPods::Options& options) {
    options.admit = [](const pod::Manifest& pod, const std::vector<const pod::Manifest*>&) {
      if (pod.name == "web") throw std::bad_alloc();
      return std::optional<PodVerdict>();
    };
  };
  Start();
  pods_->SetFiles({{"/m/a.yaml", Wanted(OnePod("web"))}, {"/m/b.yaml", Wanted(OnePod("other"))}});
  EXPECT_TRUE(AwaitPhase("other", "Running"));
  EXPECT_EQ(EventOf("web", "FailedCreate"), "there is too little memory for it");
  EXPECT_TRUE(absl::IsResourceExhausted(pods_->Apply(OnePod("web"), "test").status()));
}

TEST_F(AgentPodsTest, AnUnreadablePodKeepsItsDevices) {
  may_start_ = false;
  devices_.SetStock(StockOf("example.com/gpu", {"gpu-0"}));
  adapt_ = [&](AgentPods::Options& options) { options.host.device_manager = &devices_; };
  const auto with_gpu = [](const std::string& name) {
    return OnePod(name, "", "resources: {limits: {example.com/gpu: 1}}, ");
  };
  Start();
  ASSERT_TRUE(pods_->Apply(with_gpu("web"), "test").ok());
  EXPECT_EQ(Phase("web"), "Pending");
  pods_.reset();
  Execute("UPDATE pods SET object = 'no json'");
  client_ = OpenClient();
  Start();
  ASSERT_TRUE(pods_->Apply(with_gpu("second"), "test").ok());
  EXPECT_THAT(EventOf("second", "UnexpectedAdmissionError"), HasSubstr("Available: 0"));
  ASSERT_TRUE(pods_->Delete({"default", "web"}, 0).ok());
  ASSERT_TRUE(AwaitGone("web"));
  ASSERT_TRUE(pods_->Apply(with_gpu("third"), "test").ok());
  EXPECT_EQ(EventOf("third", "UnexpectedAdmissionError"), "");
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
  // The pod's file goes: the other's turn comes.
  pods_->SetFiles({{"/m/a.yaml", web}});
  ASSERT_TRUE(WaitUntil([&] {
    const auto pod = pods_->Get({"default", "web"});
    return pod.ok() && (*pod)["metadata"]["uid"] != uid;
  }));
  EXPECT_TRUE(AwaitPhase("web", "Running"));
}

// A class whose quota can't be read now, or is used up.
TEST_F(AgentPodsTest, AFilesChangeThatCantBeJudgedNowWaitsAndThePodStays) {
  const auto judged = std::make_shared<std::atomic<absl::StatusCode>>(absl::StatusCode::kOk);
  adapt_ = [judged](AgentPods::Options& options) {
    options.host.check_classes = [judged](const pod::Manifest* before, const pod::Manifest&,
                                          const std::vector<const pod::Manifest*>&) {
      if (before == nullptr) return absl::OkStatus();
      return absl::Status(judged->load(), "so it is judged");
    };
  };
  Start();
  pods_->SetFiles({{"/m/web.yaml", Wanted(WithClass("web", "silver"))}});
  ASSERT_TRUE(AwaitPhase("web", "Running"));
  const std::string uid = UidOf("web");
  for (const absl::StatusCode code :
       {absl::StatusCode::kUnavailable, absl::StatusCode::kPermissionDenied}) {
    *judged = code;
    pods_->SetFiles({{"/m/web.yaml", Wanted(WithClass("web", "gold"))}});
    const auto record = OnRecord("web");
    ASSERT_TRUE(record.has_value());
    EXPECT_EQ(record->uid, uid);
    EXPECT_FALSE(record->deleted.has_value()) << absl::StatusCodeToString(code);
  }
  EXPECT_THAT(EventOf("web", "FailedUpdate"),
              AllOf(HasSubstr("/m/web.yaml is tried again"), HasSubstr("so it is judged")));
  EXPECT_EQ(ClassOf("web"), "silver");
  *judged = absl::StatusCode::kOk;
  pods_->Retry();
  EXPECT_EQ(ClassOf("web"), "gold");
  EXPECT_EQ(UidOf("web"), uid);

  // No living pod takes this one.
  *judged = absl::StatusCode::kFailedPrecondition;
  pods_->SetFiles({{"/m/web.yaml", Wanted(WithClass("web", "silver"))}});
  EXPECT_TRUE(WaitUntil([&] {
    const auto record = OnRecord("web");
    return record && record->uid != uid;
  }));
}

TEST_F(AgentPodsTest, AFilesChangeThatCantBePutOnRecordEndsNoPod) {
  Start();
  pods_->SetFiles({{"/m/web.yaml", Wanted(WithCpu("web", "100m"))}});
  ASSERT_TRUE(AwaitPhase("web", "Running"));
  const std::string uid = UidOf("web");
  Execute(
      "CREATE TRIGGER refuse BEFORE UPDATE ON pods WHEN NEW.object <> OLD.object"
      " BEGIN SELECT RAISE(ABORT, 'no room for it'); END");
  pods_->SetFiles({{"/m/web.yaml", Wanted(WithCpu("web", "200m"))}});
  EXPECT_THAT(EventOf("web", "FailedUpdate"), HasSubstr("no room for it"));
  auto record = OnRecord("web");
  ASSERT_TRUE(record.has_value());
  EXPECT_FALSE(record->deleted.has_value());
  Execute("DROP TRIGGER refuse");
  pods_->Retry();
  record = OnRecord("web");
  ASSERT_TRUE(record.has_value());
  EXPECT_EQ(record->uid, uid);
  EXPECT_EQ(record->object, ObjectOf(WithCpu("web", "200m")));
}

// The namespace may have one pod of class gold.
TEST_F(AgentPodsTest, PodsOfOneApplyAreJudgedTogether) {
  adapt_ = [](AgentPods::Options& options) {
    options.host.check_classes = [](const pod::Manifest*, const pod::Manifest& pod,
                                    const std::vector<const pod::Manifest*>& others) {
      const auto is_gold = [](const pod::Manifest& each) {
        return each.containers.front().classes == qos::ClassNames{{"rdt", "gold"}};
      };
      for (const pod::Manifest* each : others) {
        if (is_gold(pod) && is_gold(*each)) return absl::PermissionDeniedError("exceeded quota");
      }
      return absl::OkStatus();
    };
  };
  Start();
  const auto apply = [this](const std::string& first, const std::string& second) {
    return pods_->Apply(absl::StrCat(first, "\n---\n", second), "test").status();
  };
  ASSERT_TRUE(apply(WithClass("a", "silver"), WithClass("b", "silver")).ok());
  EXPECT_TRUE(absl::IsPermissionDenied(apply(WithClass("a", "gold"), WithClass("b", "gold"))));
  EXPECT_EQ(ClassOf("a"), "silver");
  EXPECT_EQ(ClassOf("b"), "silver");
  // One that lives, and a new one.
  EXPECT_TRUE(absl::IsPermissionDenied(apply(WithClass("a", "gold"), WithClass("c", "gold"))));
  EXPECT_EQ(ClassOf("a"), "silver");
  EXPECT_TRUE(absl::IsNotFound(pods_->Get({"default", "c"}).status()));
  EXPECT_TRUE(apply(WithClass("a", "gold"), WithClass("b", "silver")).ok());
  // A class that one gives back, the next may have.
  EXPECT_TRUE(apply(WithClass("a", "silver"), WithClass("b", "gold")).ok());
  EXPECT_EQ(ClassOf("b"), "gold");
}

// The node has room for one pod, and not for "huge".
std::optional<PodVerdict> OneFits(const pod::Manifest& pod,
                                  const std::vector<const pod::Manifest*>& others) {
  if (pod.name == "huge") return PodVerdict{"OutOfcpu", "larger than the node"};
  if (pod.name == "plugged") return PodVerdict{"OutOfexample.com/gpu", "no plugin yet"};
  return others.empty() ? std::nullopt : std::optional(PodVerdict{"OutOfpods", "no room"});
}

// A pod that was taken a moment ago is no pod of before.
TEST_F(AgentPodsTest, APodThatDoesNotFitBesideANewOneHasItsVerdictAtOnce) {
  adapt_ = [](AgentPods::Options& options) { options.admit = OneFits; };
  cri_.script().Hold("ListPodSandbox");
  Start();
  Apply("first");
  Apply("second");
  EXPECT_EQ((*pods_->Get({"default", "second"}))["status"]["reason"], "OutOfpods");
  EXPECT_EQ(Phase("second"), "Failed");
  cri_.script().Release("ListPodSandbox");
  EXPECT_TRUE(AwaitPhase("first", "Running"));
}

TEST_F(AgentPodsTest, AVerdictThatNoOtherPodChangesWaitsForNone) {
  Start();
  Apply("web");
  ASSERT_TRUE(AwaitPhase("web", "Running"));
  adapt_ = [](AgentPods::Options& options) { options.admit = OneFits; };
  cri_.script().Hold("ListPodSandbox");
  Restart();
  for (const char* name : {"second", "plugged"}) {
    const absl::Status waits = pods_->Apply(OnePod(name), "test").status();
    EXPECT_TRUE(absl::IsUnavailable(waits)) << waits;
    EXPECT_THAT(std::string(waits.message()), HasSubstr("not all pods of before"));
  }
  Apply("huge");
  EXPECT_EQ((*pods_->Get({"default", "huge"}))["status"]["reason"], "OutOfcpu");
  cri_.script().Release("ListPodSandbox");
  ASSERT_TRUE(AwaitPhase("web", "Running"));
  Apply("second");
  EXPECT_EQ(Phase("second"), "Failed");
}

TEST_F(AgentPodsTest, AQuotaIsNotExceededByPodsThatMayHaveEnded) {
  Start();
  Apply("web");
  ASSERT_TRUE(AwaitPhase("web", "Running"));
  adapt_ = [](AgentPods::Options& options) {
    options.host.check_classes = [](const pod::Manifest*, const pod::Manifest& pod,
                                    const std::vector<const pod::Manifest*>& others) {
      const bool is_over = pod.name == "never" || !others.empty();
      return is_over ? absl::PermissionDeniedError("exceeded quota") : absl::OkStatus();
    };
  };
  cri_.script().Hold("ListPodSandbox");
  Restart();
  EXPECT_TRUE(absl::IsUnavailable(pods_->Apply(OnePod("second"), "test").status()));
  EXPECT_TRUE(absl::IsPermissionDenied(pods_->Apply(OnePod("never"), "test").status()));
  cri_.script().Release("ListPodSandbox");
  ASSERT_TRUE(AwaitPhase("web", "Running"));
  EXPECT_TRUE(absl::IsPermissionDenied(pods_->Apply(OnePod("second"), "test").status()));
}

TEST_F(AgentPodsTest, WithTheGateOffAResizeThatWaitsGoesOnWaiting) {
  PutWaiting("web");
  adapt_ = [](AgentPods::Options& options) { options.host.resizes_pods = false; };
  Start();
  pods_->Retry();
  ASSERT_TRUE(OnRecord("web").has_value());
  EXPECT_TRUE(OnRecord("web")->pending.has_value());
  adapt_ = nullptr;
  Restart();
  pods_->Retry();
  ASSERT_TRUE(OnRecord("web").has_value());
  EXPECT_FALSE(OnRecord("web")->pending.has_value());
}

// How many pods a resize is judged beside, in the order of judgements.
class SeenOthers {
 public:
  void Add(size_t count) {
    const absl::MutexLock lock(&mutex_);
    counts_.push_back(count);
  }
  std::vector<size_t> All() {
    const absl::MutexLock lock(&mutex_);
    return counts_;
  }

 private:
  absl::Mutex mutex_;
  std::vector<size_t> counts_ ABSL_GUARDED_BY(mutex_);
};

TEST_F(AgentPodsTest, AfterAStartAResizeIsJudgedBesideAllPods) {
  may_start_ = false;
  // It makes room as soon as it is looked at.
  PodRecord ended = RecordOf("ended", ObjectOf(OnePod("ended")));
  ended.verdict = PodVerdict{"Evicted", "for the test"};
  ASSERT_TRUE(store_->Put({ended}).ok());
  clock_.Advance(absl::Seconds(1));
  PutWaiting("web");
  clock_.Advance(absl::Seconds(1));
  // Many, with much to parse.
  constexpr size_t kOthers = 60;
  nlohmann::json object = ObjectOf(OnePod("other"));
  for (int i = 0; i < 100; ++i) {
    object["spec"]["containers"].push_back({{"name", absl::StrCat("c", i)}, {"image", "i"}});
  }
  std::vector<PodRecord> others;
  for (size_t i = 0; i < kOthers; ++i) {
    const std::string name = absl::StrCat("other", i);
    object["metadata"]["name"] = name;
    others.push_back(RecordOf(name, object));
  }
  ASSERT_TRUE(store_->Put(others).ok());
  const auto seen = std::make_shared<SeenOthers>();
  adapt_ = [seen](AgentPods::Options& options) {
    options.admit = [seen](const pod::Manifest&, const std::vector<const pod::Manifest*>& beside) {
      seen->Add(beside.size());
      return std::optional<PodVerdict>();
    };
  };
  Start();
  // Alone, then beside the others.
  ASSERT_TRUE(WaitUntil([&] { return seen->All().size() >= 2; }));
  EXPECT_EQ(seen->All()[1], kOthers);
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
