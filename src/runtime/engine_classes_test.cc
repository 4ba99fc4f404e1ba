// QoS classes through the lives of sandboxes and containers, over types whose kernel is a map.
#include <chrono>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "qos/fake_type_for_test.h"
#include "runtime/engine_fixture_for_test.h"
#include "runtime/pause.h"

namespace plimsoll::runtime {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

class EngineClassesTest : public EngineTest {
 protected:
  void SetUp() override {
    MakeTypes();
    EngineTest::SetUp();
  }
  void MakeTypes() {
    std::vector<std::unique_ptr<qos::ClassType>> types;
    types.push_back(std::make_unique<qos::FakeType>(&rdt_, qos::FakeType::Options{.name = "rdt"}));
    rdt_type_ = static_cast<qos::FakeType*>(types.back().get());
    types.push_back(std::make_unique<qos::FakeType>(
        &oom_, qos::FakeType::Options{.name = "oom", .default_class = "gold"}));
    types.push_back(std::make_unique<qos::FakeType>(
        &net_, qos::FakeType::Options{.name = "net", .level = qos::Level::kPod}));
    net_type_ = static_cast<qos::FakeType*>(types.back().get());
    classes_ = *qos::Registry::Create(std::move(types));
  }
  // As after a kill -9: the kernel's state stays, the engine's is read from the store.
  void Restart() {
    engine_.reset();
    MakeTypes();
    StartEngine();
  }
  std::string Pod(const qos::ClassNames& classes = {}) {
    SandboxSpec spec = PodSpec();
    spec.classes = classes;
    auto id = engine_->RunSandbox(spec, "");
    EXPECT_TRUE(id.ok()) << id.status();
    return id.ok() ? *id : "";
  }
  absl::StatusOr<std::string> Make(const std::string& pod, const std::string& name,
                                   const qos::ClassNames& classes) {
    ContainerSpec spec = Spec(name);
    spec.classes = classes;
    return engine_->CreateContainer(pod, spec, "");
  }

  // Marks of updates under way: content by name.
  std::map<std::string, std::string> Marks() {
    const std::vector<std::string> names = *run_.List("updates");
    std::map<std::string, std::string> marks;
    for (const std::string& name : names) marks[name] = *run_.Read("updates/" + name);
    return marks;
  }

  // Everything that a daemon finds when it starts after a kill.
  struct Moment {
    std::string name;
    ContainerRecord row;
    std::map<std::string, std::string> marks;
    std::map<std::string, std::string> rdt;
    std::map<std::string, std::string> oom;
    linux::CgroupSettings limits;
  };
  Moment Now(const std::string& name) {
    const ContainerRecord row = store_.LoadContainers()->front();
    return {name, row, Marks(), rdt_.members, oom_.members, *cgroups_.Read(row.cgroup_path)};
  }
  void KillAt(const Moment& moment) {
    engine_.reset();
    ASSERT_TRUE(store_.PutContainer(moment.row).ok());
    for (const auto& [mark, content] : moment.marks) {
      ASSERT_TRUE(run_.ReplaceFile("updates/" + mark, content).ok());
    }
    rdt_.members = moment.rdt;
    oom_.members = moment.oom;
    ASSERT_TRUE(cgroups_.Apply(moment.row.cgroup_path, moment.limits).ok());
  }
  // Expects the old state (pids_limit 1, classes gold) or the new one (17, silver and bronze),
  // nothing between.
  void ExpectWhole(const std::string& id, bool is_new) {
    const ContainerRecord row = store_.LoadContainers()->front();
    EXPECT_EQ(row.spec.resources.pids_limit, is_new ? 17 : 1);
    EXPECT_EQ(cgroups_.Read(row.cgroup_path)->pids_limit, row.spec.resources.pids_limit);
    EXPECT_EQ(rdt_.members[id], is_new ? "silver" : "gold");
    EXPECT_EQ(oom_.members[id], is_new ? "bronze" : "gold");
    for (const char* type : {"rdt", "oom"}) {
      const qos::HeldClass held = row.classes.at(type);
      EXPECT_EQ(held.name, type == std::string("rdt") ? rdt_.members[id] : oom_.members[id]);
      EXPECT_EQ(held.changing_to, "") << type;
      EXPECT_EQ(held.implicit, type == std::string("oom") && !is_new) << type;
      EXPECT_EQ(engine_->ContainerClasses(id, false)->at(type).name, held.name);
    }
    EXPECT_THAT(*run_.List("updates"), IsEmpty());
  }

  qos::FakeType* rdt_type_ = nullptr;
  qos::FakeType* net_type_ = nullptr;
  qos::FakeKernel rdt_;
  qos::FakeKernel oom_;
  qos::FakeKernel net_;
};

TEST_F(EngineClassesTest, AreHeldFromCreateUntilExit) {
  const std::string pod = Pod({{"net", "silver"}});
  EXPECT_THAT(net_.members, ElementsAre(Pair(pod, "silver")));
  const std::string id = *Make(pod, "a", {{"rdt", "bronze"}});
  EXPECT_THAT(rdt_.members, ElementsAre(Pair(id, "bronze")));
  EXPECT_THAT(oom_.members, ElementsAre(Pair(id, "gold")));
  EXPECT_TRUE(absl::IsResourceExhausted(Make(pod, "b", {{"rdt", "bronze"}}).status()));
  ASSERT_TRUE(engine_->StartContainer(id).ok());
  runtime_.EndMonitor(id, ExitRecord{0, 0});
  Wait(id);
  // The place is free at the container's end: a client starts the successor before the removal.
  EXPECT_TRUE(Make(pod, "b", {{"rdt", "bronze"}}).ok());
  EXPECT_EQ(engine_->ContainerClasses(id, true)->at("rdt").name, "bronze") << "what it held last";
  ASSERT_TRUE(engine_->StopSandbox(pod).ok());
  EXPECT_THAT(net_.members, IsEmpty());
  EXPECT_EQ(engine_->SandboxClasses(pod, true)->at("net").name, "silver");
}

TEST_F(EngineClassesTest, WhoHeldNoneIsForgottenWithItsRemoval) {
  engine_.reset();
  std::vector<std::unique_ptr<qos::ClassType>> types;
  types.push_back(std::make_unique<qos::FakeType>(&rdt_, qos::FakeType::Options{.name = "rdt"}));
  classes_ = *qos::Registry::Create(std::move(types));
  StartEngine();
  const std::string pod = Pod();
  const std::string id = *Make(pod, "a", {});
  EXPECT_THAT(classes_->Targets(), Contains(Field(&qos::Target::id, id)));
  ASSERT_TRUE(engine_->RemoveContainer(id).ok());
  ASSERT_TRUE(engine_->StopSandbox(pod).ok());
  EXPECT_THAT(classes_->Targets(), IsEmpty());
}

TEST_F(EngineClassesTest, APodWhoseInitDiedGivesItsPlaceBackWhenItIsStopped) {
  SandboxSpec spec = SharedPid();
  spec.classes = {{"net", "silver"}};
  const std::string pod = *engine_->RunSandbox(spec, "");
  ASSERT_TRUE(EndPause(host_, engine_->GetSandbox(pod)->pause, absl::InfiniteFuture()).ok());
  const absl::Time deadline = absl::Now() + absl::Seconds(20);
  while (engine_->GetSandbox(pod)->state == SandboxState::kReady && absl::Now() < deadline) {
    absl::SleepFor(absl::Milliseconds(5));
  }
  ASSERT_EQ(engine_->GetSandbox(pod)->state, SandboxState::kNotReady);
  ASSERT_TRUE(engine_->StopSandbox(pod).ok());
  EXPECT_THAT(net_.members, IsEmpty());
}

TEST_F(EngineClassesTest, APodWhoseStopCannotBeSavedGivesItsPlaceBack) {
  const std::string pod = Pod({{"net", "silver"}});
  store_.faults.FailNext("PutSandbox", absl::ResourceExhaustedError("no space"));
  ASSERT_TRUE(engine_->StopSandbox(pod).ok());
  EXPECT_THAT(net_.members, IsEmpty());
}

TEST_F(EngineClassesTest, ARemovalDuringAnExitGivesThePlaceBack) {
  const std::string pod = Pod();
  const std::string id = *Make(pod, "a", {{"rdt", "bronze"}});
  ASSERT_TRUE(engine_->StartContainer(id).ok());
  absl::Notification recorded;
  absl::Notification removed;
  cgroups_.on_kill = [&](absl::string_view, absl::Time) {
    if (!recorded.HasBeenNotified()) {
      recorded.Notify();
      removed.WaitForNotification();
    }
    return absl::OkStatus();
  };
  runtime_.EndMonitor(id, ExitRecord{0, 0});
  recorded.WaitForNotification();
  EXPECT_TRUE(engine_->RemoveContainer(id).ok());
  removed.Notify();
  EXPECT_TRUE(Make(pod, "b", {{"rdt", "bronze"}}).ok());
  engine_.reset();  // ends the users of the notifications
  cgroups_.on_kill = nullptr;
  StartEngine();
}

TEST_F(EngineClassesTest, ARefusedClassLeavesNothing) {
  const std::string pod = Pod();
  const absl::Status unknown = Make(pod, "a", {{"rdt", "tin"}}).status();
  EXPECT_TRUE(absl::IsNotFound(unknown));
  EXPECT_THAT(std::string(unknown.message()), HasSubstr("container a"));
  rdt_.refuse_after = 0;
  EXPECT_FALSE(Make(pod, "a", {{"rdt", "bronze"}}).ok());
  EXPECT_THAT(*store_.LoadContainers(), IsEmpty());
  EXPECT_THAT(*runtime_.ListTraces(), IsEmpty());
  EXPECT_THAT(oom_.members, IsEmpty());
  rdt_.refuse_after = -1;
  EXPECT_TRUE(Make(pod, "a", {{"rdt", "bronze"}}).ok()) << "its place was given back";
  SandboxSpec spec = PodSpec("other");
  spec.classes = {{"rdt", "gold"}};
  EXPECT_TRUE(absl::IsNotFound(engine_->RunSandbox(spec, "").status())) << "no class of pods";
}

TEST_F(EngineClassesTest, AFailedCreateGivesItsPlaceBack) {
  const std::string pod = Pod();
  for (const char* step : {"PutContainer", "PutCreated"}) {
    store_.faults.FailNext(step, absl::ResourceExhaustedError("no space"));
    EXPECT_FALSE(Make(pod, "a", {{"rdt", "bronze"}}).ok());
    EXPECT_THAT(rdt_.members, IsEmpty());
  }
  EXPECT_TRUE(Make(pod, "a", {{"rdt", "bronze"}}).ok());
}

TEST_F(EngineClassesTest, AChangeSurvivesARestart) {
  const std::string pod = Pod({{"net", "gold"}});
  const std::string id = *Make(pod, "a", {{"rdt", "gold"}});
  ASSERT_TRUE(engine_->StartContainer(id).ok());
  ASSERT_TRUE(engine_->UpdateSandboxClasses(pod, {{"net", "bronze"}}).ok());
  ASSERT_TRUE(engine_->UpdateResources(id, {.classes = {{"rdt", "bronze"}}}).ok());
  EXPECT_EQ(rdt_.members[id], "bronze");
  Restart();
  EXPECT_EQ(engine_->ContainerClasses(id, true)->at("rdt").name, "bronze");
  EXPECT_FALSE(engine_->ContainerClasses(id, true)->at("rdt").implicit);
  EXPECT_TRUE(engine_->ContainerClasses(id, true)->at("oom").implicit);
  EXPECT_EQ(engine_->SandboxClasses(pod, true)->at("net").name, "bronze");
  EXPECT_TRUE(absl::IsResourceExhausted(Make(pod, "b", {{"rdt", "bronze"}}).status()));
}

TEST_F(EngineClassesTest, AChangeThatWasCutOffIsPutBack) {
  const std::string pod = Pod();
  const std::string id = *Make(pod, "a", {{"rdt", "gold"}});
  ContainerRecord record = *engine_->GetContainer(id);
  engine_.reset();
  record.classes["rdt"].changing_to = "silver";
  ASSERT_TRUE(store_.PutContainer(record).ok());
  rdt_.members[id] = "silver";
  Restart();
  EXPECT_EQ(rdt_.members[id], "gold");
  EXPECT_EQ(store_.LoadContainers()->front().classes.at("rdt").changing_to, "");
}

TEST_F(EngineClassesTest, AnUpdateOfClassesAndLimitsIsOne) {
  const std::string pod = Pod();
  const std::string id = *Make(pod, "a", {{"rdt", "gold"}});
  ResourceUpdate update;
  update.cgroup.pids_limit = 17;
  update.classes = {{"rdt", "tin"}};
  EXPECT_TRUE(absl::IsNotFound(engine_->UpdateResources(id, update)));
  EXPECT_EQ(engine_->GetContainer(id)->spec.resources.pids_limit, std::nullopt);
  update.classes = {{"rdt", "silver"}};
  rdt_.refuse_after = 0;
  EXPECT_FALSE(engine_->UpdateResources(id, update).ok());
  EXPECT_EQ(engine_->GetContainer(id)->spec.resources.pids_limit, std::nullopt);
  EXPECT_NE(cgroups_.Read("")->pids_limit, 17);
  rdt_.refuse_after = -1;
  ASSERT_TRUE(engine_->UpdateResources(id, update).ok());
  EXPECT_EQ(engine_->GetContainer(id)->spec.resources.pids_limit, 17);
  EXPECT_EQ(rdt_.members[id], "silver");
}

// At each point where a kill may come, with the row and marks of that moment.
TEST_F(EngineClassesTest, AnUpdateOfClassesAndLimitsThatWasCutOffIsWholeAfterTheNextStart) {
  const std::string id = *Make(Pod(), "a", {{"rdt", "gold"}});
  ASSERT_TRUE(engine_->UpdateResources(id, {.cgroup = {.pids_limit = 1}}).ok());
  std::vector<Moment> moments = {Now("with the marks, before the row is written")};
  cgroups_.on_apply = [&] { moments.push_back(Now("before the limits are written")); };
  rdt_.on_assign = [&] { moments.push_back(Now("before the kernel has the class of rdt")); };
  oom_.on_assign = [&] { moments.push_back(Now("before the kernel has the class of oom")); };
  ResourceUpdate update = {.cgroup = {.pids_limit = 17}};
  update.classes = {{"rdt", "silver"}, {"oom", "bronze"}};
  ASSERT_TRUE(engine_->UpdateResources(id, update).ok());
  cgroups_.on_apply = nullptr;
  rdt_.on_assign = nullptr;
  oom_.on_assign = nullptr;
  ASSERT_EQ(moments.size(), 4u);
  moments.front().marks = moments[1].marks;
  // The kernel has the whole change, but the row is not written.
  moments.push_back(moments.back());
  moments.back().name = "before the row says so";
  moments.back().rdt = rdt_.members;
  moments.back().oom = oom_.members;
  moments.push_back(Now("before the marks go"));
  moments.back().marks = moments.front().marks;
  for (const Moment& moment : moments) {
    SCOPED_TRACE(moment.name);
    KillAt(moment);
    for (int starts = 0; starts < 2; ++starts) {
      Restart();
      EXPECT_THAT(engine_->RecoveryTroubles(), IsEmpty());
      ExpectWhole(id, /*is_new=*/&moment != &moments.front());
    }
  }
}

// A refusal by the kernel is undone step by step. Until the row has the old state again, the next
// start brings about the new classes and limits, never one without the other.
TEST_F(EngineClassesTest, AnUpdateThatIsBeingUndoneAtAKillIsWholeAfterTheNextStart) {
  const std::string id = *Make(Pod(), "a", {{"rdt", "gold"}});
  ASSERT_TRUE(engine_->UpdateResources(id, {.cgroup = {.pids_limit = 1}}).ok());
  std::vector<Moment> moments;
  bool refused = false;
  const auto note = [&](const std::string& name) {
    if (refused) moments.push_back(Now(name));
  };
  // Types go by name: rdt comes last, and its refusal undoes oom's change.
  rdt_.on_assign = [&] {
    refused = true;
    note("before the kernel refuses the class of rdt");
  };
  rdt_.refuse_after = 0;
  oom_.on_assign = [&] { note("before the class of oom is put back"); };
  cgroups_.on_apply = [&] { note("before the limits are put back"); };
  ResourceUpdate update = {.cgroup = {.pids_limit = 17}};
  update.classes = {{"rdt", "silver"}, {"oom", "bronze"}};
  EXPECT_FALSE(engine_->UpdateResources(id, update).ok());
  oom_.on_assign = nullptr;
  rdt_.on_assign = nullptr;
  cgroups_.on_apply = nullptr;
  rdt_.refuse_after = -1;
  ASSERT_GE(moments.size(), 3u);
  ExpectWhole(id, /*is_new=*/false);
  moments.push_back(moments.back());
  moments.back().name = "before the row says what was before";
  moments.back().limits = Now("").limits;
  moments.push_back(Now("before the marks go"));
  moments.back().marks = moments.front().marks;
  for (const Moment& moment : moments) {
    SCOPED_TRACE(moment.name);
    KillAt(moment);
    for (int starts = 0; starts < 2; ++starts) {
      Restart();
      EXPECT_THAT(engine_->RecoveryTroubles(), IsEmpty());
      ExpectWhole(id, /*is_new=*/&moment != &moments.back());
    }
  }
}

// The container had no class before: there is none to go back to.
TEST_F(EngineClassesTest, AFirstClassOfAnUpdateThatWasCutOffIsTakenAtTheNextStart) {
  const std::string id = *Make(Pod(), "a", {});
  ContainerRecord row;
  std::map<std::string, std::string> marks;
  rdt_.on_assign = [&] {
    row = store_.LoadContainers()->front();
    marks = Marks();
  };
  ASSERT_TRUE(engine_->UpdateResources(id, {.classes = {{"rdt", "silver"}}}).ok());
  rdt_.on_assign = nullptr;
  engine_.reset();
  rdt_.members.clear();
  ASSERT_TRUE(store_.PutContainer(row).ok());
  for (const auto& [mark, content] : marks) {
    ASSERT_TRUE(run_.ReplaceFile("updates/" + mark, content).ok());
  }
  Restart();
  EXPECT_THAT(engine_->RecoveryTroubles(), IsEmpty());
  EXPECT_EQ(rdt_.members[id], "silver");
  EXPECT_EQ(store_.LoadContainers()->front().classes.at("rdt").name, "silver");
  EXPECT_EQ(store_.LoadContainers()->front().classes.at("rdt").changing_to, "");
}

// A failure in a living daemon leaves no trace.
TEST_F(EngineClassesTest, AnUpdateThatFailsLeavesNoChangeOnRecord) {
  const std::string id = *Make(Pod(), "a", {{"rdt", "gold"}});
  const qos::HeldClasses before = store_.LoadContainers()->front().classes;
  ResourceUpdate update = {.cgroup = {.pids_limit = 17}};
  update.classes = {{"rdt", "silver"}, {"oom", "gold"}};
  cgroups_.faults.FailNext("Apply", absl::InvalidArgumentError("pids.max: no"));
  EXPECT_FALSE(engine_->UpdateResources(id, update).ok());
  EXPECT_EQ(store_.LoadContainers()->front().classes, before);
  rdt_.refuse_after = 0;
  EXPECT_FALSE(engine_->UpdateResources(id, update).ok());
  EXPECT_EQ(store_.LoadContainers()->front().classes, before);
  EXPECT_EQ(engine_->GetContainer(id)->classes, before);
  EXPECT_THAT(*run_.List("updates"), IsEmpty());
}

// A raw file and its members are one setting: the kernel refuses both at once.
TEST_F(EngineClassesTest, ARawFileIsPutBackInPlaceOfItsMembers) {
  const std::string id = *Make(Pod(), "a", {{"rdt", "gold"}});
  ASSERT_TRUE(engine_->UpdateResources(id, {.cgroup = {.cpu_quota_us = 50000}}).ok());
  const std::string group = engine_->GetContainer(id)->cgroup_path;
  cgroups_.files[group + "/cpu.max"] = "50000 100000\n";
  ResourceUpdate update;
  update.cgroup.unified = {{"cpu.max", "max"}};
  update.classes = {{"rdt", "silver"}};
  rdt_.refuse_after = 0;
  EXPECT_FALSE(engine_->UpdateResources(id, update).ok());
  const linux::CgroupSettings put_back = *cgroups_.Read(group);
  EXPECT_EQ(put_back.unified.at("cpu.max"), "50000 100000\n");
  EXPECT_EQ(put_back.cpu_quota_us, std::nullopt);
}

TEST_F(EngineClassesTest, OnlyWhatLivesChangesItsClass) {
  const std::string pod = Pod({{"net", "gold"}});
  const std::string id = *Make(pod, "a", {{"rdt", "gold"}});
  ASSERT_TRUE(engine_->StartContainer(id).ok());
  bool has_ended = false;
  cgroups_.on_apply = [&] {  // the last thing before its classes
    if (std::exchange(has_ended, true)) return;
    runtime_.EndMonitor(id, ExitRecord{0, 0});
    Wait(id);
  };
  const absl::Status ended = engine_->UpdateResources(id, {.classes = {{"rdt", "silver"}}});
  cgroups_.on_apply = nullptr;
  EXPECT_TRUE(absl::IsFailedPrecondition(ended)) << ended;
  EXPECT_THAT(std::string(ended.message()),
              HasSubstr(absl::StrCat("container ", id, " has just ended")));
  ASSERT_TRUE(engine_->StopSandbox(pod).ok());
  const absl::Status stopped = engine_->UpdateSandboxClasses(pod, {{"net", "silver"}});
  EXPECT_TRUE(absl::IsFailedPrecondition(stopped)) << stopped;
  EXPECT_EQ(stopped.message(),
            absl::StrCat("sandbox ", pod, " is NotReady; its classes change while Ready"));
}

TEST_F(EngineClassesTest, ANodeWithoutClassesSaysSo) {
  engine_.reset();
  classes_.reset();
  StartEngine();
  const std::string pod = Pod();
  const std::string id = *Make(pod, "a", {});
  const absl::Status container = engine_->UpdateResources(id, {.classes = {{"rdt", "gold"}}});
  EXPECT_TRUE(absl::IsNotFound(container)) << container;
  EXPECT_THAT(std::string(container.message()),
              HasSubstr("container a: there are no QoS classes on this node"));
  const absl::Status sandbox = engine_->UpdateSandboxClasses(pod, {{"net", "gold"}});
  EXPECT_TRUE(absl::IsNotFound(sandbox)) << sandbox;
  EXPECT_EQ(sandbox.message(),
            absl::StrCat("sandbox ", pod, ": there are no QoS classes on this node"));
}

// Cached holders read their record: even an update without classes counts, also after a restart.
TEST_F(EngineClassesTest, AReloadAsksForWhatIsAskedNow) {
  const std::string pod = Pod();
  const std::string id = *Make(pod, "a", {{"rdt", "gold"}});
  const auto underlying = [&] {
    const auto reloaded = classes_->Reload();
    EXPECT_TRUE(reloaded.ok()) << reloaded.status();
    return *rdt_type_->committed.at(0).target.underlying("cpu.weight");
  };
  for (const bool restarted : {false, true}) {
    if (restarted) Restart();
    for (const uint64_t shares : {1024, 4096}) {
      ResourceUpdate update;
      update.cgroup.cpu_shares = shares;
      ASSERT_TRUE(engine_->UpdateResources(id, update).ok());
      EXPECT_EQ(underlying(), absl::StrCat(linux::CpuSharesToWeight(shares)));
    }
  }
  // Without an engine the answer is the first recorded one.
  const qos::Target target = rdt_type_->committed.at(0).target;
  engine_.reset();
  EXPECT_TRUE(target.underlying("cpu.weight").has_value());
  EXPECT_THAT(target.entering(), IsEmpty());
}

TEST_F(EngineClassesTest, AReloadAsksForWhatIsAskedOfAPodNow) {
  const std::string pod = Pod({{"net", "gold"}});
  const auto underlying = [&] {
    const auto reloaded = classes_->Reload();
    EXPECT_TRUE(reloaded.ok()) << reloaded.status();
    return net_type_->committed.at(0).target.underlying("cpu.weight").value_or("nothing");
  };
  for (const bool restarted : {false, true}) {
    if (restarted) Restart();
    for (const uint64_t shares : {1024, 4096}) {
      SandboxUpdate update;
      update.resources.cpu_shares = shares;
      ASSERT_TRUE(engine_->UpdateSandboxResources(pod, update).ok());
      EXPECT_EQ(underlying(), absl::StrCat(linux::CpuSharesToWeight(shares)));
    }
  }
  // Without an engine the answer is the first recorded one.
  const qos::Target target = net_type_->committed.at(0).target;
  engine_.reset();
  EXPECT_TRUE(target.underlying("cpu.weight").has_value());
}

// A container's successor waits for a place: that is no refusal, and isn't counted.
TEST_F(EngineClassesTest, APlaceThatIsWaitedForIsNoRefusal) {
  const std::string pod = Pod();
  const std::string id = *Make(pod, "a", {{"rdt", "bronze"}});
  ASSERT_TRUE(engine_->StartContainer(id).ok());
  rdt_.on_release = [] { absl::SleepFor(absl::Milliseconds(200)); };
  runtime_.EndMonitor(id, ExitRecord{0, 0});
  Wait(id);
  EXPECT_TRUE(Make(pod, "b", {{"rdt", "bronze"}}).ok());
  EXPECT_THAT(classes_->Refusals(), IsEmpty());
  EXPECT_TRUE(absl::IsResourceExhausted(Make(pod, "c", {{"rdt", "bronze"}}).status()));
  EXPECT_THAT(classes_->Refusals(), ElementsAre(Pair(Pair("rdt", "capacity"), 1)));
}

TEST_F(EngineClassesTest, PlacesOfOtherClassesAreNotWaitedFor) {
  const std::string pod = Pod();
  ASSERT_TRUE(Make(pod, "a", {{"rdt", "bronze"}}).ok());
  const std::string id = *Make(pod, "b", {{"rdt", "silver"}});
  ASSERT_TRUE(engine_->StartContainer(id).ok());
  absl::Notification released;
  rdt_.on_release = [&] { released.WaitForNotification(); };
  runtime_.EndMonitor(id, ExitRecord{0, 0});
  Wait(id);
  const absl::Time begun = absl::Now();
  EXPECT_TRUE(absl::IsResourceExhausted(Make(pod, "c", {{"rdt", "bronze"}}).status()));
  EXPECT_LT(absl::Now() - begun, absl::Seconds(4)) << "5 s are waited for a place of its own class";
  released.Notify();
  engine_.reset();  // ends the user of the notification
  rdt_.on_release = nullptr;
  StartEngine();
}

TEST_F(EngineClassesTest, AnUpdateAndAReloadExcludeEachOther) {
  const std::string id = *Make(Pod(), "a", {{"rdt", "gold"}});
  bool could_reload = true;
  cgroups_.on_apply = [&] {
    could_reload = false;
    if (!classes_->definitions().TryLock()) return;
    could_reload = true;
    classes_->definitions().Unlock();
  };
  ResourceUpdate update;
  update.cgroup.pids_limit = 17;
  ASSERT_TRUE(engine_->UpdateResources(id, update).ok());
  EXPECT_FALSE(could_reload);
}

// A change that comes between the look at the classes and the command's entry.
TEST_F(EngineClassesTest, NoChangeComesBetweenACommandAndItsClass) {
  const std::string id = *Make(Pod(), "a", {{"rdt", "gold"}});
  ASSERT_TRUE(engine_->StartContainer(id).ok());
  std::thread change;
  std::string before_it_entered;
  runtime_.on_exec = [&](const ExecRequest& request) {
    change = std::thread([&] {
      EXPECT_TRUE(engine_->UpdateResources(id, {.classes = {{"rdt", "silver"}}}).ok());
    });
    before_it_entered = request.entry_files.back();
    absl::SleepFor(absl::Milliseconds(50));  // enough for a change that doesn't wait
    EXPECT_EQ(rdt_.members[id], "gold");
    request.entered();
    change.join();  // the change can come while the command runs
    EXPECT_EQ(rdt_.members[id], "silver");
  };
  ASSERT_TRUE(engine_->commands().ExecSync(id, {.argv = {"true"}}).ok());
  EXPECT_EQ(before_it_entered, "/rdt/gold/tasks");
  // A command that never enters delays changes only while it runs.
  runtime_.on_exec = nullptr;
  ASSERT_TRUE(engine_->commands().ExecSync(id, {.argv = {"true"}}).ok());
  EXPECT_TRUE(engine_->UpdateResources(id, {.classes = {{"rdt", "gold"}}}).ok());
}

// A change of class freezes the container, and the OCI runtime enters no frozen one.
TEST_F(EngineClassesTest, ACommandWaitsUntilTheContainerRuns) {
  const std::string id = *Make(Pod(), "a", {{"rdt", "gold"}});
  ASSERT_TRUE(engine_->StartContainer(id).ok());
  runtime_.faults.FailNext("Exec", absl::AbortedError("frozen"));
  int tries = 0;
  runtime_.on_exec = [&](const ExecRequest&) { ++tries; };
  const auto result = engine_->commands().ExecSync(id, {.argv = {"true"}});
  EXPECT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(tries, 2);
}

// The timeout counts from the request, for any number of tries.
TEST_F(EngineClassesTest, ACommandWaitsForAFrozenContainerNoLongerThanItsTimeout) {
  const std::string id = *Make(Pod(), "a", {{"rdt", "gold"}});
  ASSERT_TRUE(engine_->StartContainer(id).ok());
  std::vector<SteadyTime> deadlines;
  runtime_.on_exec = [&](const ExecRequest& request) {
    EXPECT_EQ(request.timeout, absl::Milliseconds(200)) << "for messages";
    deadlines.push_back(request.deadline);
    runtime_.faults.FailNext("Exec", absl::AbortedError("exec: container a is frozen"));
  };
  const SteadyTime before = SteadyNow();
  const auto result =
      engine_->commands().ExecSync(id, {.argv = {"true"}, .timeout = absl::Milliseconds(200)});
  const SteadyTime after = SteadyNow();
  EXPECT_TRUE(absl::IsDeadlineExceeded(result.status())) << result.status();
  EXPECT_EQ(result.status().message(),
            "exec: container a is frozen, and \"true\" was not started within 200ms");
  ASSERT_FALSE(deadlines.empty());
  EXPECT_GE(deadlines.front(), before + std::chrono::milliseconds(200));
  EXPECT_LE(deadlines.front(), after);
  for (const SteadyTime deadline : deadlines) EXPECT_EQ(deadline, deadlines.front());
}

TEST_F(EngineClassesTest, WhatIsOnItsWayInIsTheTypesToKnow) {
  const std::string id = *Make(Pod(), "a", {{"rdt", "gold"}});
  runtime_.entering = {4711};
  ASSERT_TRUE(classes_->Reload().ok());
  EXPECT_THAT(rdt_type_->committed.at(0).target.entering(), ElementsAre(4711));
}

TEST_F(EngineClassesTest, WhatWasBeingMadeHoldsNothingAfterARestart) {
  const std::string id = *Make(Pod(), "a", {{"rdt", "gold"}});
  ContainerRecord record = *engine_->GetContainer(id);
  engine_.reset();
  record.state = ContainerState::kCreating;
  ASSERT_TRUE(store_.PutContainer(record).ok());
  Restart();
  EXPECT_THAT(rdt_.members, IsEmpty());
}

// The failure is reported, and the holder stays known.
TEST_F(EngineClassesTest, WhatCannotBePutBackStaysOnRecord) {
  const std::string id = *Make(Pod(), "a", {{"rdt", "gold"}});
  ContainerRecord record = *engine_->GetContainer(id);
  engine_.reset();
  record.classes["rdt"].changing_to = "silver";
  ASSERT_TRUE(store_.PutContainer(record).ok());
  rdt_.members[id] = "silver";
  rdt_.refuse_after = 0;
  Restart();
  EXPECT_THAT(engine_->RecoveryTroubles(), ElementsAre(HasSubstr("the kernel said no")));
  EXPECT_EQ(engine_->ContainerClasses(id, true)->at("rdt").name, "gold");
  // Saving other changes doesn't drop the change under way either.
  ASSERT_TRUE(engine_->UpdateResources(id, {.classes = {{"oom", "silver"}}}).ok());
  EXPECT_EQ(store_.LoadContainers()->front().classes.at("rdt").changing_to, "silver");
  rdt_.refuse_after = -1;
  Restart();
  EXPECT_EQ(rdt_.members[id], "gold");
  EXPECT_EQ(store_.LoadContainers()->front().classes.at("rdt").changing_to, "");
}

TEST_F(EngineClassesTest, ACommandEntersByTheClasssFile) {
  const std::string pod = Pod();
  const std::string id = *Make(pod, "a", {{"rdt", "gold"}});
  ASSERT_TRUE(engine_->StartContainer(id).ok());
  ASSERT_TRUE(engine_->commands().ExecSync(id, {.argv = {"true"}}).ok());
  EXPECT_THAT(runtime_.last_exec.entry_files, ElementsAre("/oom/gold/tasks", "/rdt/gold/tasks"));
}

// The gate ClassResources on, off and on again, with a container that runs all the time.
TEST_F(EngineClassesTest, SwitchedOffHoldersKeepWhatTheyHave) {
  const std::string pod = Pod();
  const std::string id = *Make(pod, "a", {{"rdt", "bronze"}});
  assign_classes_ = false;
  Restart();
  EXPECT_EQ(rdt_.members[id], "bronze");
  const std::string plain = *Make(pod, "b", {});
  EXPECT_FALSE(oom_.members.contains(plain));
  assign_classes_ = true;
  Restart();
  EXPECT_EQ(engine_->ContainerClasses(id, true)->at("rdt").name, "bronze");
  EXPECT_TRUE(absl::IsResourceExhausted(Make(pod, "c", {{"rdt", "bronze"}}).status()));
  EXPECT_THAT(*engine_->ContainerClasses(plain, true), IsEmpty());
}

}  // namespace
}  // namespace plimsoll::runtime
