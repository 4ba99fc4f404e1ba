// One pod's steps over a fake runtime, and the races that a real one seldom shows.
#include "agent/pods/life/pod_worker.h"

#include <gmock/gmock.h>

#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "agent/pods/life/living_context.h"
#include "agent/pods/life/object_directory.h"
#include "agent/pods/life/pod_host_for_test.h"
#include "agent/pods/resizing/resize_status.h"
#include "pod_runner/manifest/manifest_objects.h"

namespace plimsoll::agent {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

class PodWorkerTest : public PodsTest {
 protected:
  void Begin(const std::string& manifest) {
    manifest_ = manifest;
    record_ = Record("web", manifest);
    worker_ = WorkerOf(record_, manifest_);
  }
  // The next agent's worker.
  void BeginAnew() { worker_ = WorkerOf(worker_->record(), manifest_); }
  // A step in a thread of its own; joined at the scope's end.
  class Stepping {
   public:
    explicit Stepping(PodWorker& worker) : thread_([this, &worker] { next_ = worker.Step(); }) {}
    ~Stepping() {
      if (thread_.joinable()) thread_.join();
    }
    PodWorker::Next Join() {
      thread_.join();
      return next_;
    }

   private:
    PodWorker::Next next_;
    std::thread thread_;
  };

  std::string manifest_;
  PodRecord record_;
  std::unique_ptr<PodWorker> worker_;
};

TEST_F(PodWorkerTest, AStepStartsThePod) {
  Begin(OnePod("web"));
  EXPECT_FALSE(worker_->has_looked());
  const PodWorker::Next next = worker_->Step();
  EXPECT_FALSE(next.gone);
  EXPECT_EQ(next.pause, absl::InfiniteDuration());
  EXPECT_THAT(cri_.Running(), ElementsAre("main"));
  EXPECT_EQ(Phase("web"), "Running");
  EXPECT_TRUE(worker_->has_looked());
}

TEST_F(PodWorkerTest, AnExceptionIsThePodsFailureAndIsTriedAgain) {
  bool throws = true;
  host_.classes = [&](const pod::Manifest& pod) -> absl::StatusOr<ClassRequests> {
    if (throws) throw std::bad_alloc();
    return NoClasses(pod);
  };
  Begin(OnePod("web"));
  const PodWorker::Next next = worker_->Step();
  EXPECT_FALSE(next.gone);
  EXPECT_EQ(next.pause, BackOff::kFirst);
  EXPECT_EQ(EventOf("web", "FailedSync"), "error syncing pod: there is too little memory for it");
  throws = false;
  worker_->Step();
  EXPECT_THAT(cri_.Running(), ElementsAre("main"));
}

// kubelet's singleProcessOOMKill, and the rules of seccomp.
TEST_F(PodWorkerTest, TheHostsRulesAreItsContainers) {
  const TestDir machine;
  ASSERT_TRUE(machine.root().MakeDirs("proc").ok());
  ASSERT_TRUE(machine.root().ReplaceFile("proc/meminfo", "MemTotal: 1024 kB\n").ok());
  PodHost host{.client = *client_,
               .root = machine.root(),
               .clock = clock_,
               .events = events_,
               .board = board_,
               .store = *store_,
               .node = {}};
  host.seccomp = {.profile_root = "/p", .runtime_default = true};
  const pod::Manifest pod = Parsed(OnePod("web"));
  const PodRecord record = Record("web", OnePod("web"));
  const auto context = [&] {
    pod::PodContext made;
    EXPECT_TRUE(AddLiving(host, record, pod, made).ok());
    return made;
  };
  EXPECT_EQ(context().seccomp, host.seccomp);
  EXPECT_FALSE(context().kills_whole_containers) << "cgroup v1 can't";
  ASSERT_TRUE(machine.root().MakeDirs("sys/fs/cgroup").ok());
  ASSERT_TRUE(machine.root().ReplaceFile("sys/fs/cgroup/cgroup.controllers", "memory\n").ok());
  EXPECT_TRUE(context().kills_whole_containers);
  host.single_process_oom_kill = true;
  EXPECT_FALSE(context().kills_whole_containers);
}

TEST_F(PodWorkerTest, AnEvictedPodHoldsItsGrantUntilItsStepHasToldWhatItStarted) {
  Begin(OnePod("web"));
  record_.grant.containers["main"] = {
      .cpus = *resources::CpuSet::Parse("1"), .cpu_count = 1, .memory = {}};
  worker_ = WorkerOf(record_, manifest_);
  cri_.script().Fail("CreateContainer", grpc::StatusCode::UNAVAILABLE, "Socket closed");
  worker_->Step();
  ASSERT_TRUE(worker_->has_looked());
  cri_.script().Hold("CreateContainer");
  Stepping stepping(*worker_);
  ASSERT_TRUE(cri_.script().AwaitHeld("CreateContainer"));
  ASSERT_TRUE(worker_->Evict({"Evicted", "the node has shrunk"}).ok());
  EXPECT_TRUE(worker_->holds_grant()) << "its container starts still";
  cri_.script().Release("CreateContainer");
  stepping.Join();
  EXPECT_THAT(cri_.Running(), ElementsAre("main"));
  EXPECT_TRUE(worker_->holds_grant());
  worker_->Step();
  worker_->Step();
  EXPECT_THAT(cri_.Running(), IsEmpty());
  EXPECT_FALSE(worker_->holds_grant());
}

// Other pods are judged by it while its image or its devices' plugin takes long.
TEST_F(PodWorkerTest, APodIsKnownBeforeItsStartIsOver) {
  Begin(OnePod("web"));
  cri_.script().Hold("RunPodSandbox");
  Stepping stepping(*worker_);
  ASSERT_TRUE(cri_.script().AwaitHeld("RunPodSandbox"));
  EXPECT_TRUE(worker_->has_looked());
  EXPECT_TRUE(worker_->is_active());
  EXPECT_EQ(Phase("web"), "Pending");
  cri_.script().Release("RunPodSandbox");
  stepping.Join();
  EXPECT_EQ(Phase("web"), "Running");
}

TEST_F(PodWorkerTest, ADeletionDuringAStepIsTheNextStepsWork) {
  Begin(OnePod("web"));
  cri_.script().Hold("CreateContainer");
  Stepping stepping(*worker_);
  ASSERT_TRUE(cri_.script().AwaitHeld("CreateContainer"));
  // It doesn't wait for the step.
  ASSERT_TRUE(worker_->Delete(3).ok());
  cri_.script().Release("CreateContainer");
  EXPECT_FALSE(stepping.Join().gone);
  EXPECT_TRUE(worker_->Step().gone);
  EXPECT_THAT(cri_.SandboxIds(), IsEmpty());
  EXPECT_THAT(*store_->Uids(), IsEmpty());
  EXPECT_THAT(cri_.script().Changes(), Contains("StopContainer c2 in 3 s"));
  EXPECT_TRUE(absl::IsNotFound(worker_->Delete(1))) << "it has gone";
}

TEST_F(PodWorkerTest, AShorterDeletionOvertakesTheStopUnderWay) {
  Begin(OnePod("web"));
  worker_->Step();
  ASSERT_TRUE(worker_->Delete(600).ok());
  cri_.script().Hold("StopContainer");
  Stepping stepping(*worker_);
  ASSERT_TRUE(cri_.script().AwaitHeld("StopContainer"));
  ASSERT_TRUE(worker_->Delete(900).ok());
  EXPECT_EQ(worker_->record().grace_s, 600) << "a longer one changes nothing";
  ASSERT_TRUE(worker_->Delete(1).ok());
  ASSERT_TRUE(cri_.script().AwaitHeld("StopContainer", 2));
  cri_.script().Release("StopContainer");
  EXPECT_TRUE(stepping.Join().gone);
  EXPECT_THAT(cri_.script().Changes(), Contains("StopContainer c2 in 600 s"));
  EXPECT_THAT(cri_.script().Changes(), Contains("StopContainer c2 in 1 s"));
}

TEST_F(PodWorkerTest, TheRuntimeIsToldTheSumOfLimits) {
  host_.make_group = [](const PodRecord&, const pod::Manifest&) { return std::string("/group"); };
  Begin(OnePod("web", "initContainers: [{name: side, image: i, restartPolicy: Always}], ",
               "resources: {limits: {cpu: 500m, memory: 64Mi}}, "));
  worker_->Step();
  ASSERT_EQ(cri_.SandboxIds().size(), 1u);
  const auto config = cri_.ConfigOf(cri_.SandboxIds()[0]).linux();
  EXPECT_EQ(config.cgroup_parent(), "/group");
  EXPECT_EQ(config.resources().cpu_quota(), 50'000);
  EXPECT_EQ(config.resources().memory_limit_in_bytes(), 64 << 20);
}

// plimsolld makes the group, and would hold the sidecar to the other's limits.
TEST_F(PodWorkerTest, APodsGroupOfPlimsolldHasNoLimitThatLeavesOutAContainer) {
  for (const char* runtime : {"plimsoll", "other"}) {
    host_.runtime_name = [runtime] { return runtime; };
    const std::string manifest =
        OnePod(runtime, "initContainers: [{name: side, image: i, restartPolicy: Always}], ",
               "resources: {limits: {memory: 64Mi}}, ");
    WorkerOf(Record(runtime, manifest), manifest)->Step();
    const auto config = cri_.ConfigOf(cri_.SandboxIds().back()).linux();
    EXPECT_EQ(config.resources().memory_limit_in_bytes(),
              runtime == std::string("plimsoll") ? 0 : 64 << 20);
  }
}

TEST_F(PodWorkerTest, AnEndedPodsGroupGoesOnceNothingRuns) {
  int removals = 0;
  absl::Status answer = absl::FailedPreconditionError("process 7 is in the group");
  host_.remove_group = [&](const PodRecord&) {
    ++removals;
    return answer;
  };
  Begin(OnePod("web", "restartPolicy: Never, "));
  worker_->Step();
  EXPECT_EQ(removals, 0);
  cri_.EndContainer("main", 0);
  EXPECT_LT(worker_->Step().pause, absl::InfiniteDuration()) << "it is tried again";
  EXPECT_EQ(Phase("web"), "Succeeded");
  EXPECT_EQ(removals, 1);
  EXPECT_THAT(EventOf("web", "FailedSync"), HasSubstr("process 7"));
  answer = absl::OkStatus();
  worker_->Step();
  worker_->Step();
  EXPECT_EQ(removals, 2);

  // Another client removes the sandbox: the pod runs, and ends, once more.
  cri_.RemoveSandbox(cri_.SandboxIds()[0]);
  worker_->Step();
  ASSERT_THAT(cri_.Running(), ElementsAre("main"));
  EXPECT_EQ(removals, 2);
  cri_.EndContainer("main", 0);
  worker_->Step();
  EXPECT_EQ(removals, 3);
}

TEST_F(PodWorkerTest, AFailedPodsGroupGoesAfterItsContainers) {
  int removals = 0;
  host_.remove_group = [&](const PodRecord&) {
    EXPECT_THAT(cri_.Running(), IsEmpty());
    ++removals;
    return absl::OkStatus();
  };
  Begin(OnePod("web"));
  worker_->Step();
  ASSERT_TRUE(worker_->Evict({"Evicted", "no room"}).ok());
  worker_->Step();
  worker_->Step();
  EXPECT_EQ(removals, 1);
}

// The dead sandbox's network remains: only a stop takes it down.
TEST_F(PodWorkerTest, ASandboxThatDiedIsStoppedOnceByEachAgent) {
  Begin(OnePod("web"));
  worker_->Step();
  cri_.KillSandbox("s1");
  worker_->Step();
  EXPECT_EQ(cri_.script().Count("StopPodSandbox"), 1);
  EXPECT_EQ(cri_.script().Count("RunPodSandbox"), 2);
  clock_.Advance(BackOff::kLongest);
  worker_->Step();
  EXPECT_EQ(cri_.script().Count("StopPodSandbox"), 1);
  EXPECT_THAT(cri_.Running(), ElementsAre("main"));
  BeginAnew();
  worker_->Step();
  EXPECT_EQ(cri_.script().Count("StopPodSandbox"), 2) << "it can't know of the first";
  EXPECT_THAT(cri_.Running(), ElementsAre("main"));
}

TEST_F(PodWorkerTest, AStopThatFailsIsTriedAgainBeforeAnythingStarts) {
  Begin(OnePod("web"));
  worker_->Step();
  cri_.KillSandbox("s1");
  cri_.script().Fail("StopPodSandbox", grpc::StatusCode::INTERNAL, "the network is stuck");
  const PodWorker::Next next = worker_->Step();
  EXPECT_EQ(next.pause, BackOff::kFirst);
  EXPECT_EQ(cri_.script().Count("RunPodSandbox"), 1);
  EXPECT_THAT(EventOf("web", "FailedSync"), HasSubstr("the network is stuck"));
  worker_->Step();
  EXPECT_EQ(cri_.script().Count("RunPodSandbox"), 2);
}

constexpr char kHook[] = "lifecycle: {postStart: {exec: {command: [hook]}}}, ";

TEST_F(PodWorkerTest, APostStartHookThatTheRuntimesDeathCutOffEndsNoContainer) {
  Begin(OnePod("web", "", kHook));
  cri_.script().Fail("ExecSync", grpc::StatusCode::UNAVAILABLE, "Socket closed");
  worker_->Step();
  EXPECT_EQ(cri_.script().Count("ExecSync"), 1);
  EXPECT_THAT(cri_.Running(), ElementsAre("main"));
  EXPECT_EQ(EventOf("web", "FailedPostStartHook"), "");
}

TEST_F(PodWorkerTest, APostStartHookThatFailsEndsItsContainer) {
  Begin(OnePod("web", "terminationGracePeriodSeconds: 4, ", kHook));
  cri_.SetExecExitCode(2);
  worker_->Step();
  EXPECT_THAT(cri_.script().Changes(), Contains("StopContainer c2 in 4 s"));
  EXPECT_THAT(EventOf("web", "FailedPostStartHook"), HasSubstr("exit code 2"));
}

TEST_F(PodWorkerTest, ASandboxWhoseAnswerWasLostIsUsed) {
  Begin(OnePod("web"));
  cri_.script().LoseAnswer("RunPodSandbox");
  EXPECT_EQ(worker_->Step().pause, absl::Seconds(1));
  EXPECT_THAT(cri_.Running(), IsEmpty());
  worker_->Step();
  EXPECT_THAT(cri_.SandboxIds(), ElementsAre("s1"));
  EXPECT_THAT(cri_.Running(), ElementsAre("main"));
  EXPECT_EQ(EventOf("web", "FailedCreatePodSandBox"), "");
}

// The connection broke, and the runtime makes the sandbox still: it is not in the list yet.
TEST_F(PodWorkerTest, ASandboxThatIsBeingMadeIsWaitedFor) {
  Begin(OnePod("web"));
  cri_.script().Fail("RunPodSandbox", grpc::StatusCode::UNAVAILABLE, "Socket closed");
  cri_.script().Fail("RunPodSandbox", grpc::StatusCode::ALREADY_EXISTS, "the name is taken");
  EXPECT_EQ(worker_->Step().pause, absl::Seconds(1));
  EXPECT_EQ(worker_->Step().pause, absl::Seconds(1));
  EXPECT_EQ(EventOf("web", "FailedCreatePodSandBox"), "");
  worker_->Step();
  EXPECT_THAT(cri_.Running(), ElementsAre("main"));
}

TEST_F(PodWorkerTest, AContainerWhoseAnswerWasLostIsStartedAndNotMadeAgain) {
  Begin(OnePod("web"));
  cri_.script().LoseAnswer("CreateContainer");
  EXPECT_EQ(worker_->Step().pause, absl::Seconds(1));
  worker_->Step();
  EXPECT_EQ(cri_.script().Count("CreateContainer"), 1);
  EXPECT_THAT(cri_.Running(), ElementsAre("main"));
}

TEST_F(PodWorkerTest, ARuntimeThatIsAwayIsAskedAgainSoonWithoutAWord) {
  Begin(OnePod("web"));
  cri_.script().Fail("ListPodSandbox", grpc::StatusCode::UNAVAILABLE, "connection refused");
  EXPECT_EQ(worker_->Step().pause, absl::Seconds(1));
  EXPECT_FALSE(worker_->has_looked());
  EXPECT_EQ(EventOf("web", "FailedSync"), "");
}

TEST_F(PodWorkerTest, AnEndThatFailsHalfwayIsCarriedOutByTheNextAgent) {
  Begin(OnePod("web"));
  worker_->Step();
  ASSERT_TRUE(worker_->Delete(0).ok());
  cri_.script().Fail("RemovePodSandbox", grpc::StatusCode::INTERNAL, "busy");
  EXPECT_FALSE(worker_->Step().gone);
  EXPECT_THAT(cri_.Running(), IsEmpty());
  auto loaded = store_->Load();
  ASSERT_EQ(loaded->pods.size(), 1u);
  worker_ = WorkerOf(loaded->pods.front(), manifest_);
  EXPECT_TRUE(worker_->Step().gone);
  EXPECT_THAT(cri_.SandboxIds(), IsEmpty());
}

// A runtime that reports no resources, and takes no change of them.
class PodWorkerChangeTest : public PodWorkerTest {
 protected:
  // `resources`: the container's.
  static std::string PodWith(const std::string& resources) {
    return OnePod("web", "", "resources: {" + resources + "}, ");
  }
  static nlohmann::json ObjectOf(const std::string& manifest) {
    auto pods = pod::ParsePodObjects(manifest, "test");
    EXPECT_TRUE(pods.ok()) << pods.status();
    return pods->front().object;
  }
  void BeginWith(const std::string& resources) {
    manifest_ = PodWith(resources);
    record_ = Record("web", manifest_);
    record_.object = ObjectOf(manifest_);
    ASSERT_TRUE(store_->Put({record_}).ok());
    worker_ = WorkerOf(record_, manifest_);
  }
  void Change(const std::string& resources) {
    const std::string manifest = PodWith(resources);
    SpecChange change;
    change.object = ObjectOf(manifest);
    change.manifest = std::make_shared<const pod::Manifest>(Parsed(manifest));
    const absl::Status put = worker_->Put(change);
    ASSERT_TRUE(put.ok()) << put;
  }
  // null: there is no such condition.
  nlohmann::json InProgress() const {
    const PodBoard::Object pod = board_.Get(key_);
    for (const nlohmann::json& each : pod->at("status").at("conditions")) {
      if (each.at("type") == "PodResizeInProgress") return each;
    }
    return nullptr;
  }

  const PodKey key_ = {"default", "web"};
};

TEST_F(PodWorkerChangeTest, AChangeOfClassesIsNoResize) {
  BeginWith("classes: {tier: low}");
  worker_->Step();
  Change("classes: {tier: high}");
  worker_->Step();
  EXPECT_EQ(worker_->record().generation, 2);
  EXPECT_EQ(worker_->record().allocated_generation, 1);
  EXPECT_TRUE(InProgress().is_null()) << InProgress();
}

TEST_F(PodWorkerChangeTest, AFailureOfTheResizeBeforeIsForgotten) {
  BeginWith("limits: {cpu: 100m}");
  worker_->Step();
  Change("limits: {cpu: 200m}");
  EXPECT_EQ(worker_->Step().pause, BackOff::kFirst);
  ASSERT_TRUE(InProgress().is_object());
  EXPECT_EQ(InProgress().value("reason", ""), "Error");
  EXPECT_EQ(InProgress().value("message", ""), "UNIMPLEMENTED");
  Change("limits: {cpu: 300m}");
  cri_.script().Fail("ContainerStatus", grpc::StatusCode::UNAVAILABLE, "Socket closed");
  EXPECT_EQ(worker_->Step().pause, absl::Seconds(1));
  ASSERT_TRUE(InProgress().is_object());
  EXPECT_EQ(InProgress().value("reason", ""), "") << InProgress();
  EXPECT_EQ(worker_->Step().pause, BackOff::kFirst) << "it failed once";
  ASSERT_TRUE(InProgress().is_object());
  EXPECT_EQ(InProgress().value("reason", ""), "Error");
}

TEST_F(PodWorkerChangeTest, ARestartDuringAResizeLeavesThePodsGroupToTheResize) {
  std::vector<int64_t> limits;
  host_.make_group = [&limits](const PodRecord&,
                               const pod::Manifest& pod) -> absl::StatusOr<std::string> {
    limits.push_back(pod.containers.front().resources.limits.at("cpu").MilliValue());
    return "/group";
  };
  BeginWith("limits: {cpu: 100m}");
  worker_->Step();
  Change("limits: {cpu: 200m}");
  worker_->Step();
  ASSERT_FALSE(worker_->record().actuated.is_null());
  cri_.EndContainer("main", 1);
  worker_->Step();
  EXPECT_THAT(cri_.Running(), ElementsAre("main"));
  EXPECT_THAT(limits, ElementsAre(100, 100));
  // Without a sandbox nothing is left to resize: the next one begins with the new resources.
  Change("limits: {cpu: 300m}");
  cri_.KillSandbox("s1");
  clock_.Advance(BackOff::kLongest);
  worker_->Step();
  EXPECT_TRUE(worker_->record().actuated.is_null());
  EXPECT_THAT(limits, ElementsAre(100, 100, 300));
}

TEST_F(PodWorkerChangeTest, AChangeDuringAReportStaysShown) {
  BeginWith("limits: {cpu: 100m}");
  worker_->Step();
  bool has_changed = false;
  bool was_hidden = false;
  host_.runtime_name = [&] {
    if (!std::exchange(has_changed, true)) {
      Change("limits: {cpu: 200m}");
      board_.Put(key_, WithChange(*board_.Get(key_), worker_->record(), "now"));
    }
    // The object that the step makes again.
    was_hidden |= !InProgress().is_object();
    return std::string("fake");
  };
  worker_->Step();
  ASSERT_TRUE(has_changed);
  EXPECT_FALSE(was_hidden) << "for a moment";
  EXPECT_TRUE(InProgress().is_object());
  EXPECT_EQ(board_.Get(key_)->at("metadata").at("generation"), 2);
}

TEST_F(PodWorkerTest, AnUnreadableFileOfObjectsHoldsUpThePodsThatReferToObjects) {
  ObjectDirectory objects(root_, dir_.path() + "/objects",
                          [](const std::string&, const absl::Status&) {});
  ASSERT_TRUE(root_.MakeDirs(dir_.path() + "/objects").ok());
  ASSERT_TRUE(root_.ReplaceFile(dir_.path() + "/objects/a.yaml", "{kind: [").ok());
  host_.objects = &objects;
  const std::vector<std::pair<std::string, std::string>> references = {
      {"", "env: [{name: A, valueFrom: {configMapKeyRef: {name: m, key: k, optional: true}}}], "},
      {"", "envFrom: [{secretRef: {name: s, optional: true}}], "},
      {"volumes: [{name: v, configMap: {name: m, optional: true}}], ", ""},
      {"imagePullSecrets: [{name: s}], ", ""}};
  for (const auto& [spec, container] : references) {
    Begin(OnePod("web", spec, container));
    worker_->Step();
    EXPECT_THAT(cri_.SandboxIds(), IsEmpty()) << spec << container;
  }
  EXPECT_THAT(EventOf("web", "FailedCreatePodSandBox"), HasSubstr("a.yaml"));
  Begin(OnePod("web",
               "volumes: [{name: v, downwardAPI: {items: [{path: n, fieldRef: {fieldPath: "
               "metadata.name}}]}}], "));
  worker_->Step();
  EXPECT_THAT(cri_.Running(), ElementsAre("main"));
}

}  // namespace
}  // namespace plimsoll::agent
