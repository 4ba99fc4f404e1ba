// Changes of QoS classes: updates, reloads of the classes, and changes that a kill cuts off.
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/engine_classes_fixture_for_test.h"

namespace plimsoll::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

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

// A container that gave up its places to a later attempt, and is updated before its start.
TEST_F(EngineClassesTest, AChangeOfASupersededContainerKeepsItsOtherClasses) {
  const std::string pod = Pod();
  ContainerSpec spec = Spec("a");
  spec.classes = {{"rdt", "gold"}, {"oom", "silver"}};
  const std::string first = *engine_->CreateContainer(pod, spec, "");
  spec.attempt = 1;
  ASSERT_TRUE(engine_->CreateContainer(pod, spec, "").ok());
  ASSERT_FALSE(rdt_.members.contains(first));
  // A failed change leaves it without classes, as it was.
  const qos::HeldClasses before = engine_->GetContainer(first)->classes;
  oom_.refuse_after = 1;
  EXPECT_FALSE(engine_->UpdateResources(first, {.classes = {{"oom", "bronze"}}}).ok());
  oom_.refuse_after = -1;
  EXPECT_FALSE(rdt_.members.contains(first));
  EXPECT_FALSE(oom_.members.contains(first));
  EXPECT_EQ(engine_->GetContainer(first)->classes, before);

  const absl::Status changed = engine_->UpdateResources(first, {.classes = {{"oom", "bronze"}}});
  ASSERT_TRUE(changed.ok()) << changed;
  const auto expect_both = [&] {
    EXPECT_EQ(rdt_.members[first], "gold");
    EXPECT_EQ(oom_.members[first], "bronze");
    const qos::HeldClasses held = engine_->GetContainer(first)->classes;
    EXPECT_EQ(held.at("rdt").name, "gold");
    EXPECT_EQ(held.at("oom").name, "bronze");
    EXPECT_EQ(held.at("oom").changing_to, "");
  };
  expect_both();
  Restart();  // the later attempt gets the places again
  ASSERT_TRUE(engine_->StartContainer(first).ok());
  expect_both();
}

TEST_F(EngineClassesTest, AChangeOfASupersededContainerIsRefusedWithoutItsOtherClasses) {
  const std::string pod = Pod();
  ContainerSpec spec = Spec("a");
  spec.classes = {{"rdt", "bronze"}};  // one place
  const std::string first = *engine_->CreateContainer(pod, spec, "");
  const qos::HeldClasses before = engine_->GetContainer(first)->classes;
  spec.attempt = 1;
  ASSERT_TRUE(engine_->CreateContainer(pod, spec, "").ok());
  const absl::Status refused = engine_->UpdateResources(first, {.classes = {{"oom", "silver"}}});
  EXPECT_TRUE(absl::IsResourceExhausted(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()), HasSubstr("gave up its classes to a later attempt"));
  EXPECT_EQ(engine_->GetContainer(first)->classes, before);
  EXPECT_THAT(*engine_->ContainerClasses(first, false), IsEmpty());
  EXPECT_FALSE(oom_.members.contains(first));
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
    if (restarted) runtime_.weight = linux::CpuWeightFormula::kQuadratic;
    for (const uint64_t shares : {1024, 4096}) {
      ResourceUpdate update;
      update.cgroup.cpu_shares = shares;
      ASSERT_TRUE(engine_->UpdateResources(id, update).ok());
      EXPECT_EQ(underlying(), absl::StrCat(linux::CpuSharesToWeight(shares, runtime_.weight)));
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
    if (restarted) runtime_.weight = linux::CpuWeightFormula::kQuadratic;
    for (const uint64_t shares : {1024, 4096}) {
      SandboxUpdate update;
      update.resources.cpu_shares = shares;
      ASSERT_TRUE(engine_->UpdateSandboxResources(pod, update).ok());
      EXPECT_EQ(underlying(), absl::StrCat(linux::CpuSharesToWeight(shares, runtime_.weight)));
    }
  }
  // Without an engine the answer is the first recorded one.
  const qos::Target target = net_type_->committed.at(0).target;
  engine_.reset();
  EXPECT_TRUE(target.underlying("cpu.weight").has_value());
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

}  // namespace
}  // namespace plimsoll::runtime
