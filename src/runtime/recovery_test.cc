// Recovery: the engine's findings at its start, and its reactions.
#include "base/no_descriptors_for_test.h"
#include "base/random_id.h"
#include "linux/namespaces/namespaces.h"
#include "runtime/engine_fixture_for_test.h"
#include "sqlite/database.h"

namespace plimsoll::runtime {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class RecoveryTest : public EngineTest {
 protected:
  std::string RunningContainer(const std::string& pod, const std::string& name = "container") {
    const std::string id = *engine_->CreateContainer(pod, Spec(name), "");
    EXPECT_TRUE(engine_->StartContainer(id).ok());
    return id;
  }
  std::vector<Difference> Differences() {
    std::vector<Difference> found;
    for (const Finding& finding : engine_->Inspect()) found.push_back(finding.difference);
    return found;
  }
  // Changes the store of the stopped engine.
  void Execute(const std::string& sql) {
    auto database =
        sqlite::Database::Open(dir_.path() + "/state/plimsoll.db", sqlite::Durability::kNormal);
    ASSERT_TRUE(database.ok()) << database.status();
    ASSERT_TRUE((*database)->Execute(sql).ok());
  }
};

TEST_F(RecoveryTest, ARestartFindsEverythingAgain) {
  const std::string pod = *engine_->RunSandbox(PodSpec(), "opaque");
  const std::string id = *engine_->CreateContainer(pod, Spec(), "bytes");
  ASSERT_TRUE(engine_->StartContainer(id).ok());
  StartEngine();
  EXPECT_EQ(engine_->GetSandbox(pod)->client_config, "opaque");
  EXPECT_EQ(engine_->GetContainer(id)->state, ContainerState::kRunning);
  EXPECT_TRUE(absl::IsAlreadyExists(engine_->RunSandbox(PodSpec(), "").status()));
  runtime_.EndMonitor(id, ExitRecord{4, 5});
  EXPECT_EQ(Wait(id).exit_code, 4);
}

TEST_F(RecoveryTest, AnExitDuringTheDowntimeIsFound) {
  const std::string pod = *engine_->RunSandbox(PodSpec(), "");
  const std::string id = *engine_->CreateContainer(pod, Spec(), "");
  ASSERT_TRUE(engine_->StartContainer(id).ok());
  engine_.reset();
  runtime_.EndMonitor(id, ExitRecord{7, 8});
  StartEngine();
  EXPECT_EQ(Wait(id).exit_code, 7);
}

TEST_F(RecoveryTest, WhatWasHalfMadeIsSweptAtTheNextStart) {
  SandboxRecord sandbox;
  sandbox.id = RandomId();
  sandbox.spec = PodSpec();
  ContainerRecord container;
  container.id = RandomId();
  container.sandbox_id = sandbox.id;
  container.spec = Spec();
  ASSERT_TRUE(store_.PutSandbox(sandbox).ok());
  ASSERT_TRUE(store_.PutContainer(container).ok());
  runtime_.AddTrace(container.id);
  const std::string stray = RandomId();
  runtime_.AddTrace(stray);
  ASSERT_TRUE(run_.MakeDirs("sandboxes/" + RandomId()).ok());
  StartEngine();
  ExpectNothingLeft();
}

TEST_F(RecoveryTest, AfterARebootEverythingHasEnded) {
  const std::string pod = *engine_->RunSandbox(PodSpec(), "");
  const std::string id = *engine_->CreateContainer(pod, Spec(), "");
  ASSERT_TRUE(engine_->StartContainer(id).ok());
  engine_.reset();
  SandboxRecord sandbox = store_.LoadSandboxes()->front();
  sandbox.boot_id = "another boot";
  ContainerRecord container = store_.LoadContainers()->front();
  container.boot_id = "another boot";
  ASSERT_TRUE(store_.PutSandbox(sandbox).ok());
  ASSERT_TRUE(store_.PutContainer(container).ok());
  StartEngine();
  EXPECT_EQ(engine_->GetSandbox(pod)->state, SandboxState::kNotReady);
  EXPECT_EQ(engine_->GetContainer(id)->state, ContainerState::kExited);
  EXPECT_EQ(engine_->GetContainer(id)->reason, "Unknown");
  EXPECT_EQ(engine_->GetContainer(id)->exit_code, 255);
  EXPECT_FALSE(*linux::IsPinned(*run_.Sub("sandboxes/" + pod), "net"));
  EXPECT_THAT(engine_->RecoveryTroubles(), IsEmpty());
  // The process that now has the old pid was not touched.
  EXPECT_TRUE(*linux::IsRunning(host_, container.monitor));
}

TEST_F(RecoveryTest, AStartThatWasNotWrittenDownIsFoundOut) {
  const std::string pod = *engine_->RunSandbox(PodSpec(), "");
  const std::string id = *engine_->CreateContainer(pod, Spec(), "");
  engine_.reset();
  runtime_.SetStarted(id, 12345);
  StartEngine();
  EXPECT_EQ(engine_->GetContainer(id)->state, ContainerState::kRunning);
  EXPECT_EQ(engine_->GetContainer(id)->started_unix_nanos, 12345);
  EXPECT_EQ(store_.LoadContainers()->front().state, ContainerState::kRunning);
  runtime_.EndMonitor(id, ExitRecord{3, 23456});
  EXPECT_EQ(Wait(id).exit_code, 3);
}

TEST_F(RecoveryTest, OneThatWasStartedAndEndedMeanwhileHasBothTimes) {
  const std::string pod = *engine_->RunSandbox(PodSpec(), "");
  const std::string id = *engine_->CreateContainer(pod, Spec(), "");
  engine_.reset();
  runtime_.SetStarted(id, 12345);
  runtime_.EndMonitor(id, ExitRecord{3, 23456});
  StartEngine();
  const ContainerRecord record = Wait(id);
  EXPECT_EQ(record.state, ContainerState::kExited);
  EXPECT_EQ(record.started_unix_nanos, 12345);
  EXPECT_EQ(record.finished_unix_nanos, 23456);
}

TEST_F(RecoveryTest, AGroupThatOutlivedItsContainerGoes) {
  const std::string pod = *engine_->RunSandbox(PodSpec(), "");
  const std::string id = RunningContainer(pod);
  runtime_.EndMonitor(id, ExitRecord{0, 1});
  const std::string group = Wait(id).cgroup_path;
  engine_.reset();
  cgroups_.AddGroup(group);
  StartEngine();
  EXPECT_FALSE(*cgroups_.Exists(group));
}

TEST_F(RecoveryTest, AGroupThatCannotBeLookedAtIsToldOf) {
  const std::string pod = *engine_->RunSandbox(PodSpec(), "");
  const std::string id = RunningContainer(pod);
  runtime_.EndMonitor(id, ExitRecord{0, 1});
  Wait(id);
  cgroups_.cannot_look = absl::ResourceExhaustedError("too many open files");
  // Neither the container's group nor the pod's could be looked at.
  EXPECT_THAT(Differences(), ElementsAre(Difference::kNotInspected, Difference::kNotInspected));
}

TEST_F(RecoveryTest, ASandboxWhoseNamespacesAreGoneIsNotReady) {
  const std::string pod = *engine_->RunSandbox(PodSpec(), "");
  engine_.reset();
  ASSERT_TRUE(linux::UnpinNamespaces(*run_.Sub("sandboxes/" + pod)).ok());
  StartEngine();
  EXPECT_EQ(engine_->GetSandbox(pod)->state, SandboxState::kNotReady);
  EXPECT_EQ(store_.LoadSandboxes()->front().state, SandboxState::kNotReady);
}

TEST_F(RecoveryTest, WhatCannotBeLookedAtIsLeftAsItIs) {
  const std::string pod = *engine_->RunSandbox(PodSpec(), "");
  const std::string other = *engine_->RunSandbox(PodSpec("other"), "");
  engine_.reset();
  // Any error other than absence: here the sandbox's place is a file.
  const std::string place = run_.PathOf("sandboxes/" + pod);
  ASSERT_EQ(rename(place.c_str(), (run_.path() + "/aside").c_str()), 0);
  ASSERT_TRUE(run_.ReplaceFile("sandboxes/" + pod, "").ok());
  StartEngine();
  EXPECT_EQ(engine_->GetSandbox(pod)->state, SandboxState::kReady);
  EXPECT_EQ(engine_->GetSandbox(other)->state, SandboxState::kReady);
  EXPECT_THAT(Differences(), ElementsAre(Difference::kNotInspected));
  EXPECT_THAT(engine_->RecoveryTroubles(),
              ElementsAre(HasSubstr("sandbox " + pod + ": recovery: could not be looked at")));
  engine_.reset();
  ASSERT_TRUE(run_.RemoveFile("sandboxes/" + pod).ok());
  ASSERT_EQ(rename((run_.path() + "/aside").c_str(), place.c_str()), 0);
  StartEngine();
  EXPECT_THAT(Differences(), IsEmpty());
  EXPECT_TRUE(*linux::IsPinned(*run_.Sub("sandboxes/" + pod), "net"));
}

TEST_F(RecoveryTest, AMonitorThatCannotBeLookedAtIsNotGone) {
  const std::string pod = *engine_->RunSandbox(PodSpec(), "");
  const std::string id = RunningContainer(pod);
  InspectionInput input{.host = host_, .run = run_, .boot_id = *linux::ReadBootId(host_)};
  input.sandboxes = engine_->ListSandboxes();
  input.containers = engine_->ListContainers();
  input.cgroups = &cgroups_;
  input.runtime = &runtime_;
  EXPECT_THAT(Inspect(input), IsEmpty());
  const std::vector<Finding> findings = [&] {
    const NoDescriptors none;
    return Inspect(input);
  }();
  ASSERT_THAT(findings, SizeIs(3));  // the third: unrecorded leftovers
  EXPECT_EQ(findings[0].container_id, id);
  EXPECT_EQ(findings[1].sandbox_id, pod);
  for (const Finding& finding : findings) {
    EXPECT_EQ(finding.difference, Difference::kNotInspected) << finding.what;
  }
}

TEST_F(RecoveryTest, ASandboxThatIsNotReadyHoldsNoNamespaces) {
  const std::string pod = *engine_->RunSandbox(PodSpec(), "");
  engine_.reset();
  SandboxRecord record = store_.LoadSandboxes()->front();
  record.state = SandboxState::kNotReady;
  ASSERT_TRUE(store_.PutSandbox(record).ok());
  StartEngine();
  EXPECT_FALSE(*linux::IsPinned(*run_.Sub("sandboxes/" + pod), "net"));
  EXPECT_THAT(Differences(), IsEmpty());
}

TEST_F(RecoveryTest, CommandsNobodyWaitsForAreEnded) {
  engine_.reset();
  StrayExec stray;
  stray.group = "exec-0123456789abcdef";
  runtime_.AddStray(stray);
  StartEngine();
  EXPECT_THAT(*runtime_.FindStrayExecs({}), IsEmpty());
  EXPECT_THAT(engine_->RecoveryTroubles(), IsEmpty());
}

TEST_F(RecoveryTest, OneBrokenObjectKeepsNoOtherFromBeingServed) {
  const std::string pod = *engine_->RunSandbox(PodSpec(), "");
  const std::string good = RunningContainer(pod, "good");
  const std::string half = *engine_->CreateContainer(pod, Spec("half"), "");
  engine_.reset();
  Execute("UPDATE containers SET state = 5 WHERE id = '" + half + "'");
  runtime_.faults.FailNext("Delete", absl::InternalError("a process survives SIGKILL"));
  StartEngine();
  EXPECT_EQ(engine_->GetContainer(good)->state, ContainerState::kRunning);
  EXPECT_THAT(engine_->RecoveryTroubles(),
              ElementsAre(HasSubstr("container " + half + ": recovery: a process survives")));
  // The container is listed, and its removal can be tried again.
  EXPECT_EQ(engine_->GetContainer(half)->state, ContainerState::kRemoving);
  EXPECT_THAT(Differences(), ElementsAre(Difference::kContainerHalfRemoved));
  EXPECT_TRUE(engine_->RemoveContainer(half).ok());
  EXPECT_THAT(Differences(), IsEmpty());
}

// No client knows what a failed or cut-off creation left, so that holds no name.
TEST_F(RecoveryTest, RemainsTakeNoName) {
  const std::string pod = *engine_->RunSandbox(PodSpec(), "");
  const std::string half = *engine_->CreateContainer(pod, Spec("half"), "");
  engine_.reset();
  Execute("UPDATE containers SET state = 5 WHERE id = '" + half + "'");
  runtime_.faults.FailNext("Delete", absl::InternalError("a process survives SIGKILL"));
  StartEngine();
  ASSERT_EQ(engine_->GetContainer(half)->state, ContainerState::kRemoving);
  EXPECT_TRUE(engine_->CreateContainer(pod, Spec("half"), "").ok());
  EXPECT_TRUE(engine_->RemoveContainer(half).ok());
  EXPECT_TRUE(absl::IsAlreadyExists(engine_->CreateContainer(pod, Spec("half"), "").status()))
      << "the second has it";

  store_.faults.FailNext("PutCreated", absl::ResourceExhaustedError("no space"));
  runtime_.faults.FailNext("Delete", absl::InternalError("a process survives SIGKILL"));
  EXPECT_FALSE(engine_->CreateContainer(pod, Spec("failed"), "").ok());
  EXPECT_EQ(engine_->ListContainers().front().state, ContainerState::kRemoving);
  EXPECT_TRUE(engine_->CreateContainer(pod, Spec("failed"), "").ok());
}

TEST_F(RecoveryTest, ADamagedRowIsShownAndCanBeRemoved) {
  const std::string pod = *engine_->RunSandbox(PodSpec(), "");
  const std::string other = *engine_->RunSandbox(PodSpec("other"), "");
  const std::string id = RunningContainer(pod);
  engine_.reset();
  Execute(
      "UPDATE containers SET spec = 'garbage'; UPDATE sandboxes SET spec = 'garbage' WHERE id = '" +
      pod + "'");
  StartEngine();
  EXPECT_EQ(engine_->GetSandbox(other)->state, SandboxState::kReady);
  EXPECT_EQ(engine_->GetSandbox(pod)->state, SandboxState::kNotReady);
  EXPECT_EQ(engine_->GetContainer(id)->state, ContainerState::kUnknown);
  EXPECT_THAT(engine_->GetContainer(id)->message, HasSubstr("column spec"));
  EXPECT_TRUE(runtime_.has_traces(id)) << "it runs on";
  EXPECT_THAT(Differences(), ElementsAre(Difference::kDamagedRow, Difference::kDamagedRow));
  EXPECT_TRUE(engine_->RemoveSandbox(pod).ok());
  EXPECT_FALSE(runtime_.has_traces(id));
  EXPECT_TRUE(engine_->RemoveSandbox(other).ok());
  ExpectNothingLeft();
}

TEST_F(RecoveryTest, ADamagedImageIsTold) {
  engine_.reset();
  images_.damaged = {"image busybox is damaged"};
  StartEngine();
  EXPECT_THAT(engine_->RecoveryTroubles(), ElementsAre("recovery: image busybox is damaged"));
}

TEST_F(RecoveryTest, LayersAreCollectedWhenTheLastDamagedContainerIsGone) {
  const std::string pod = *engine_->RunSandbox(PodSpec(), "");
  const std::string a = RunningContainer(pod, "a");
  const std::string b = RunningContainer(pod, "b");
  engine_.reset();
  Execute("UPDATE containers SET spec = 'garbage'");
  images_.collections = 0;
  StartEngine();
  EXPECT_EQ(images_.collections, 0) << "which layers they use can't be told";
  ASSERT_TRUE(engine_->RemoveContainer(a).ok());
  EXPECT_EQ(images_.collections, 0);
  ASSERT_TRUE(engine_->RemoveContainer(b).ok());
  EXPECT_EQ(images_.collections, 1);
  ASSERT_TRUE(engine_->RemoveContainer(RunningContainer(pod, "c")).ok());
  EXPECT_EQ(images_.collections, 1);
  engine_.reset();
  // A sandbox doesn't account for layers.
  Execute("UPDATE sandboxes SET spec = 'garbage'");
  StartEngine();
  EXPECT_EQ(images_.collections, 2);
}

TEST_F(RecoveryTest, ASharedPidNamespaceIsLookedAt) {
  const std::string pod = *engine_->RunSandbox(SharedPid(), "");
  const linux::ProcessId pause = engine_->GetSandbox(pod)->pause;
  EXPECT_THAT(Differences(), IsEmpty());
  InspectionInput input{.host = host_, .run = run_, .boot_id = *linux::ReadBootId(host_)};
  input.sandboxes = engine_->ListSandboxes();
  input.cgroups = &cgroups_;
  input.runtime = &runtime_;
  // A record of a daemon that died before it had ended everything.
  input.sandboxes[0].state = SandboxState::kNotReady;
  input.sandboxes[0].spec.namespaces.network = NamespaceMode::kNode;
  std::vector<Finding> findings = Inspect(input);
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].difference, Difference::kSandboxStillHeld);
  engine_.reset();
  ASSERT_TRUE(linux::KillAndAwait(host_, pause, absl::InfiniteFuture()).ok());
  input.sandboxes[0] = store_.LoadSandboxes()->front();
  findings = Inspect(input);
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].difference, Difference::kSandboxBroken);
  EXPECT_THAT(findings[0].what, HasSubstr("the init of its PID namespace (process "));
  StartEngine();
  EXPECT_EQ(engine_->GetSandbox(pod)->state, SandboxState::kNotReady);
  EXPECT_FALSE(run_.Exists("sandboxes/" + pod + "/pid"));
  EXPECT_THAT(Differences(), IsEmpty());
  ASSERT_TRUE(engine_->RemoveSandbox(pod).ok());

  const std::string other = *engine_->RunSandbox(SharedPid(), "");
  engine_.reset();
  ASSERT_TRUE(linux::Unmount(run_.PathOf("sandboxes/" + other + "/pid"), /*lazy=*/true).ok());
  StartEngine();
  EXPECT_EQ(engine_->GetSandbox(other)->state, SandboxState::kNotReady) << "nobody can enter it";
}

TEST_F(RecoveryTest, WhatIsNotOursIsLeftAlone) {
  engine_.reset();
  runtime_.AddTrace("notes");
  ASSERT_TRUE(run_.MakeDirs("sandboxes/notes").ok());
  cgroups_.AddGroup("/plimsoll/" + RandomId());
  StartEngine();
  EXPECT_TRUE(runtime_.has_traces("notes"));
  EXPECT_TRUE(run_.Exists("sandboxes/notes"));
  EXPECT_THAT(cgroups_.groups(), SizeIs(1));
}

TEST_F(RecoveryTest, AGroupIsWrittenDownBeforeItIsMade) {
  SandboxSpec spec = PodSpec();
  spec.cgroup_parent = "/qos/pod";
  SandboxRecord seen;
  cgroups_.on_create = [&] { seen = store_.LoadSandboxes()->front(); };
  ASSERT_TRUE(engine_->RunSandbox(spec, "").ok());
  EXPECT_EQ(seen.state, SandboxState::kCreating);
  EXPECT_EQ(seen.cgroup_path, "/qos/pod");
  EXPECT_THAT(seen.owned_cgroups, ElementsAre("/qos", "/qos/pod"));
}

TEST_F(RecoveryTest, AGroupThatCannotBeLookedAtIsNotTakenForOurs) {
  cgroups_.cannot_look = absl::ResourceExhaustedError("too many open files");
  const auto refused = engine_->RunSandbox(PodSpec(), "");
  EXPECT_THAT(refused.status().message(), HasSubstr("too many open files"));
  EXPECT_THAT(*store_.LoadSandboxes(), IsEmpty());
}

TEST_F(RecoveryTest, AParentGoesToWhoeverUsesItStill) {
  SandboxSpec first = PodSpec("first");
  first.cgroup_parent = "/qos/first";
  SandboxSpec second = PodSpec("second");
  second.cgroup_parent = "/qos/second";
  const std::string first_id = *engine_->RunSandbox(first, "");
  const std::string second_id = *engine_->RunSandbox(second, "");
  ASSERT_TRUE(engine_->RemoveSandbox(first_id).ok());
  EXPECT_THAT(cgroups_.groups(), ElementsAre("/qos", "/qos/second"));
  EXPECT_THAT(store_.LoadSandboxes()->front().owned_cgroups, ElementsAre("/qos", "/qos/second"));
  ASSERT_TRUE(engine_->RemoveSandbox(second_id).ok());
  EXPECT_THAT(cgroups_.groups(), IsEmpty());
}

// The slice exists already, and its limits belong to another owner.
TEST_F(RecoveryTest, APodInASliceKeepsItsControllers) {
  ASSERT_TRUE(cgroups_.Create("/kube.slice/kube-pod1.slice").ok());
  SandboxSpec spec = PodSpec();
  spec.cgroup_parent = "kube-pod1.slice";
  spec.resources.cpu_shares = 77;
  SandboxRecord seen;
  cgroups_.on_create = [&] { seen = store_.LoadSandboxes()->front(); };
  const std::string id = *engine_->RunSandbox(spec, "");
  const std::string keeper = "/kube.slice/kube-pod1.slice/plimsoll-keep-" + id;
  EXPECT_THAT(seen.owned_cgroups, ElementsAre(keeper)) << "written down first";
  EXPECT_TRUE(*cgroups_.Exists(keeper));
  EXPECT_EQ(cgroups_.Read("")->cpu_shares, std::nullopt);
  ASSERT_TRUE(engine_->RemoveSandbox(id).ok());
  EXPECT_THAT(cgroups_.groups(), ElementsAre("/kube.slice", "/kube.slice/kube-pod1.slice"));
  EXPECT_TRUE(cgroups_.Remove("/kube.slice").ok());
  EXPECT_TRUE(cgroups_.Remove("/kube.slice/kube-pod1.slice").ok());
}

TEST_F(RecoveryTest, HalfMadeSandboxesShareAParentToo) {
  engine_.reset();
  for (const char* name : {"a", "b"}) {
    SandboxRecord record;
    record.id = RandomId();
    record.created_unix_nanos = name[0];
    record.spec = PodSpec(name);
    record.cgroup_path = std::string("/qos/") + name;
    // Only the first pod's row says that it made the parent.
    if (name[0] == 'a') record.owned_cgroups.push_back("/qos");
    record.owned_cgroups.push_back(record.cgroup_path);
    ASSERT_TRUE(store_.PutSandbox(record).ok());
    ASSERT_TRUE(cgroups_.Create(record.cgroup_path).ok());
  }
  StartEngine();
  EXPECT_THAT(engine_->RecoveryTroubles(), IsEmpty());
  ExpectNothingLeft();
}

TEST_F(RecoveryTest, InspectionChangesNothing) {
  const std::string pod = *engine_->RunSandbox(PodSpec(), "");
  const std::string id = RunningContainer(pod);
  EXPECT_THAT(Differences(), IsEmpty());
  const std::string stray = RandomId();
  runtime_.AddTrace(stray);
  ASSERT_TRUE(run_.MakeDirs("sandboxes/" + stray).ok());
  ASSERT_TRUE(linux::UnpinNamespaces(*run_.Sub("sandboxes/" + pod)).ok());
  const std::vector<Difference> expected = {Difference::kSandboxBroken, Difference::kStrayContainer,
                                            Difference::kStraySandbox};
  EXPECT_EQ(Differences(), expected);
  EXPECT_EQ(Differences(), expected) << "and again";
  EXPECT_EQ(engine_->GetSandbox(pod)->state, SandboxState::kReady);
}

}  // namespace
}  // namespace plimsoll::runtime
