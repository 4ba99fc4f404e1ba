// Threads of containers, in real cgroups, moved between classes.
#include <sys/resource.h>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "rdt/rdt_fixture.h"

namespace plimsoll::qos {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::MatchesRegex;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

// While it lives, at most `left` more descriptors can be open.
class FewDescriptors {
 public:
  explicit FewDescriptors(int left) {
    const int next = dup(STDIN_FILENO);
    close(next);
    getrlimit(RLIMIT_NOFILE, &before_);
    const struct rlimit few = {.rlim_cur = static_cast<rlim_t>(next + left),
                               .rlim_max = before_.rlim_max};
    setrlimit(RLIMIT_NOFILE, &few);
  }
  ~FewDescriptors() { setrlimit(RLIMIT_NOFILE, &before_); }
  FewDescriptors(const FewDescriptors&) = delete;
  FewDescriptors& operator=(const FewDescriptors&) = delete;

 private:
  struct rlimit before_ = {};
};

class RdtAssignTest : public RdtFixture {};

TEST_F(RdtAssignTest, MovesEveryThreadAndComesBack) {
  Start();
  Container web(cgroups_.get(), "web");
  web.member().Fork();
  for (int i = 0; i < 5; ++i) web.member().NewThread();
  ASSERT_EQ(web.Threads().size(), 7u);
  EXPECT_EQ(Assign(web, "", "gold"), "OK");
  EXPECT_TRUE(IsWholeIn(web, "gold"));
  EXPECT_TRUE(IsWholeIn(web, "gold/mon_groups/plimsoll-web"));
  EXPECT_EQ(Drift(web, "gold"), "");
  EXPECT_EQ(type_->EntryFile(web.target(), "gold"), fs_->TasksPath("gold"));

  EXPECT_EQ(Assign(web, "gold", "silver"), "OK");
  EXPECT_TRUE(IsWholeIn(web, "silver/mon_groups/plimsoll-web"));
  EXPECT_THAT(*fs_->Threads("gold"), IsEmpty());
  EXPECT_THAT(*fs_->MonitoringGroups("gold"), IsEmpty());
  EXPECT_THAT(owned_.Groups(),
              ElementsAre("bronze", "gold", "silver", "silver/mon_groups/plimsoll-web"));

  EXPECT_EQ(Assign(web, "silver", kRdtRootClass), "OK");
  EXPECT_TRUE(IsWholeIn(web, "mon_groups/plimsoll-web"));
  EXPECT_EQ(type_->EntryFile(web.target(), kRdtRootClass), fs_->TasksPath(""));
  EXPECT_EQ(Drift(web, kRdtRootClass), "");

  web.End();
  EXPECT_TRUE(type_->Release(web.target(), kRdtRootClass).ok());
  EXPECT_TRUE(type_->Release(web.target(), kRdtRootClass).ok());  // nothing is left to do
  EXPECT_THAT(*fs_->MonitoringGroups(""), IsEmpty());
  EXPECT_THAT(owned_.Groups(), ElementsAre("bronze", "gold", "silver"));
}

TEST_F(RdtAssignTest, AClassThatThereIsnt) {
  Start();
  Container web(cgroups_.get(), "web");
  const absl::Status status = type_->Assign(web.target(), "", "golden");
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(status.message(),
            "there is no rdt class \"golden\"; there are: bronze, gold, silver, system/default");
}

TEST_F(RdtAssignTest, WhoIsReleasedAliveGoesOnWithoutAClass) {
  Start();
  Container web(cgroups_.get(), "web");
  ASSERT_EQ(Assign(web, "", "gold"), "OK");
  EXPECT_TRUE(type_->Release(web.target(), "gold").ok());
  EXPECT_THAT(*fs_->Threads("gold"), IsEmpty());
  EXPECT_TRUE(IsWholeIn(web, ""));
  EXPECT_THAT(*fs_->MonitoringGroups("gold"), IsEmpty());
}

TEST_F(RdtAssignTest, ARefusalMidwayPutsEveryThreadBack) {
  PLIMSOLL_NEEDS_STAND_IN();
  Start();
  Container web(cgroups_.get(), "web");
  for (int i = 0; i < 5; ++i) web.member().NewThread();
  ASSERT_EQ(Assign(web, "", "gold"), "OK");
  ASSERT_TRUE(resctrl_->RefuseNext("write", "silver/tasks", EIO, /*skip=*/3).ok());
  const absl::Status status = type_->Assign(web.target(), "gold", "silver");
  EXPECT_THAT(status.message(), HasSubstr("container web: rdt class \"silver\": move thread "));
  EXPECT_TRUE(IsWholeIn(web, "gold"));
  EXPECT_TRUE(IsWholeIn(web, "gold/mon_groups/plimsoll-web"));
  EXPECT_THAT(*fs_->Threads("silver"), IsEmpty());
  EXPECT_THAT(*fs_->MonitoringGroups("silver"), IsEmpty());
  EXPECT_EQ(Drift(web, "gold"), "");
  EXPECT_EQ(Assign(web, "gold", "silver"), "OK");
}

TEST_F(RdtAssignTest, ThreadsThatCannotBePutBackAreTold) {
  PLIMSOLL_NEEDS_STAND_IN();
  Start();
  Container web(cgroups_.get(), "web");
  for (int i = 0; i < 5; ++i) web.member().NewThread();
  ASSERT_EQ(Assign(web, "", "gold"), "OK");
  ASSERT_TRUE(resctrl_->RefuseNext("write", "silver/tasks", EIO, /*skip=*/3).ok());
  ASSERT_TRUE(resctrl_->RefuseNext("write", "gold/tasks", EIO).ok());
  const absl::Status status = type_->Assign(web.target(), "gold", "silver");
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("rdt class \"silver\""), HasSubstr("silver/tasks"),
                    MatchesRegex(".*silver/tasks.*; and not all threads could be put back: move "
                                 "thread .*gold/tasks.*")));
  EXPECT_EQ(Assign(web, "gold", "gold"), "OK");
  EXPECT_TRUE(IsWholeIn(web, "gold"));
}

TEST_F(RdtAssignTest, ProgramsThatAreEnteringAreMovedWithWhatTheyFork) {
  Start();
  Container web(cgroups_.get(), "web");
  resctrlfs::Member exec;
  const pid_t child = exec.Fork();
  // Captured by value: the type's later look calls it again, maybe after this test's end.
  web.target().entering = [pid = exec.pid()] { return std::vector<pid_t>{pid}; };
  ASSERT_EQ(Assign(web, "", "gold"), "OK");
  EXPECT_THAT(*fs_->Threads("gold"), IsSupersetOf({exec.pid(), child}));
  EXPECT_EQ(Assign(web, "gold", "silver"), "OK");
  EXPECT_THAT(*fs_->Threads("silver"), IsSupersetOf({exec.pid(), child}));
}

TEST_F(RdtAssignTest, DriftIsTold) {
  PLIMSOLL_NEEDS_STAND_IN();
  Start();
  Container web(cgroups_.get(), "web");
  const pid_t thread = web.member().NewThread();
  ASSERT_EQ(Assign(web, "", "gold"), "OK");
  // Until the look after the move is over, which a busy machine delays, a thread moved elsewhere is
  // moved back.
  absl::SleepFor(absl::Milliseconds(1300));
  const auto is_told = [&](const std::string& group, absl::string_view where) {
    const std::string told = absl::StrCat("thread ", thread, " is in ", where);
    return WaitFor(
        [&] { return fs_->OpenTasks(group)->Add(thread).ok() && Drift(web, "gold") == told; });
  };
  EXPECT_TRUE(is_told("silver", "resctrl group /silver"));
  EXPECT_TRUE(is_told("", "resctrl's root group"));
  ASSERT_TRUE(fs_->OpenTasks("gold")->Add(thread).ok());
  EXPECT_EQ(Drift(web, "gold"), "");
  ASSERT_TRUE(fs_->WriteSchemata("gold", {{"L3", {{1, 0xf}}}}).ok());
  EXPECT_EQ(Drift(web, "gold"), "resctrl group /gold: L3 of cache 1 is 0xf, should be 0xfff");
  ASSERT_TRUE(fs_->RemoveGroup("gold").ok());
  EXPECT_EQ(Drift(web, "gold"), "resctrl group /gold is gone");
  // A reload makes the group again.
  auto pending = type_->PrepareReload();
  ASSERT_TRUE(pending.ok()) << pending.status();
  ASSERT_TRUE((*pending)->Commit({{web.target(), "gold"}}).ok());
  EXPECT_EQ(fs_->ReadSchemata("gold")->at("L3").at(1), 0xfffu);
  EXPECT_EQ(Assign(web, "gold", "gold"), "OK");
  EXPECT_EQ(Drift(web, "gold"), "");
}

TEST_F(RdtAssignTest, CountersAreTheContainersAndTheClasss) {
  PLIMSOLL_NEEDS_STAND_IN();
  Start();
  Container web(cgroups_.get(), "web");
  ASSERT_EQ(Assign(web, "", "gold"), "OK");
  const std::string group = "gold/mon_groups/plimsoll-web";
  ASSERT_TRUE(resctrl_->SetCounter(group, 0, "llc_occupancy", 1000).ok());
  ASSERT_TRUE(resctrl_->SetCounter(group, 1, "llc_occupancy", 24).ok());
  ASSERT_TRUE(resctrl_->SetCounter("gold", 1, "mbm_total_bytes", 7).ok());
  EXPECT_THAT(type_->Measure("web", "gold"),
              IsSupersetOf({std::pair<const std::string, uint64_t>("llc_occupancy_bytes", 1024)}));
  EXPECT_EQ(type_->Measure("", "gold").at("llc_occupancy_bytes"), 1024u);
  EXPECT_EQ(type_->Measure("", "gold").at("mbm_total_bytes"), 7u);
  EXPECT_THAT(type_->Measure("db", "gold"), IsEmpty());
  EXPECT_THAT(type_->Measure("", "tin"), IsEmpty());
}

TEST_F(RdtAssignTest, AMachineWithoutMonitoringHasClassesAllTheSame) {
  PLIMSOLL_NEEDS_STAND_IN();
  resctrlfs::Layout layout;
  layout.caches[0].ids = {0, 1};
  Mount(layout);
  Start();
  Container web(cgroups_.get(), "web");
  EXPECT_EQ(Assign(web, "", "gold"), "OK");
  EXPECT_TRUE(IsWholeIn(web, "gold"));
  EXPECT_THAT(type_->Measure("web", "gold"), IsEmpty());
  EXPECT_EQ(Assign(web, "gold", "silver"), "OK");
  EXPECT_THAT(type_->warnings(), Not(Contains(HasSubstr("container web"))));
}

TEST_F(RdtAssignTest, WithoutAFreeMonitoringIdItWarnsOnly) {
  PLIMSOLL_NEEDS_STAND_IN();
  resctrlfs::Layout layout;
  layout.caches[0].ids = {0, 1};
  layout.monitoring = resctrlfs::MonitoringLayout();
  layout.monitoring->rmids = 5;  // the root's, three classes' and one more
  Mount(layout);
  Start();
  Container web(cgroups_.get(), "web");
  Container db(cgroups_.get(), "db");
  EXPECT_EQ(Assign(web, "", "gold"), "OK");
  EXPECT_EQ(Assign(db, "", "gold"), "OK");
  EXPECT_TRUE(IsWholeIn(db, "gold"));
  EXPECT_THAT(type_->warnings(),
              Contains(HasSubstr("container db is not monitored on its own, only with its class")));
  // The container with the last id keeps it when it changes class.
  EXPECT_EQ(Assign(web, "gold", "silver"), "OK");
  EXPECT_TRUE(IsWholeIn(web, "silver/mon_groups/plimsoll-web"));
  EXPECT_THAT(type_->warnings(), Not(Contains(HasSubstr("container web"))));
  // The class's release gives the id back.
  EXPECT_TRUE(type_->Release(web.target(), "silver").ok());
  EXPECT_EQ(Assign(db, "gold", "bronze"), "OK");
  EXPECT_TRUE(IsWholeIn(db, "bronze/mon_groups/plimsoll-db"));
  EXPECT_THAT(type_->warnings(), Not(Contains(HasSubstr("container db"))));
}

TEST_F(RdtAssignTest, WhatEntersByTheEntryFileIsMonitoredSoon) {
  Start();
  Container web(cgroups_.get(), "web");
  ASSERT_EQ(Assign(web, "", "gold"), "OK");
  Start();
  ASSERT_TRUE(type_->Adopt(web.target(), "gold", {}).ok());
  const std::string file = type_->EntryFile(web.target(), "gold");
  resctrlfs::Member exec;
  ASSERT_EQ(exec.Ask(absl::StrCat("write ", file, " ", exec.pid())), "0");
  ASSERT_TRUE(cgroups_->AddProcess(web.target().cgroup_path, exec.pid()).ok());
  EXPECT_EQ(Drift(web, "gold"), "");
  EXPECT_TRUE(WaitFor([&] { return IsWholeIn(web, "gold/mon_groups/plimsoll-web"); }));
}

TEST_F(RdtAssignTest, ARestartFindsWhatLivesAndRemovesWhatDied) {
  Start();
  Container web(cgroups_.get(), "web");
  Container db(cgroups_.get(), "db");
  ASSERT_EQ(Assign(web, "", "gold"), "OK");
  ASSERT_EQ(Assign(db, "", "silver"), "OK");
  type_.reset();
  db.End();
  WriteConfig("partitions: {p: {l3Allocation: 50%, classes: {bronze: }}}");
  Start();
  // gold is no class any more, but its group has a thread.
  EXPECT_THAT(*fs_->ControlGroups(), ElementsAre("bronze", "gold"));
  EXPECT_THAT(owned_.Groups(), ElementsAre("bronze", "gold", "gold/mon_groups/plimsoll-web"));
  EXPECT_THAT(
      type_->warnings(),
      Contains(HasSubstr("the group /gold belongs to no class any more, but stays: thread ")));
  // A container whose class is gone can still change to another.
  EXPECT_EQ(Assign(web, "gold", "bronze"), "OK");
  EXPECT_TRUE(IsWholeIn(web, "bronze"));
}

TEST_F(RdtAssignTest, WhoIsAdoptedGetsBackWhatIsMissing) {
  Start();
  Container web(cgroups_.get(), "web");
  Container db(cgroups_.get(), "db");
  ASSERT_EQ(Assign(web, "", "gold"), "OK");
  ASSERT_EQ(Assign(db, "", "silver"), "OK");
  type_.reset();
  ASSERT_TRUE(fs_->RemoveGroup("gold/mon_groups/plimsoll-web").ok());
  ASSERT_TRUE(fs_->RemoveGroup("silver").ok());
  Start();
  EXPECT_NE(Drift(db, "silver"), "") << "the group is there again, and it isn't in it";
  EXPECT_TRUE(type_->Adopt(web.target(), "gold", {}).ok());
  EXPECT_TRUE(type_->Adopt(db.target(), "silver", {}).ok());
  EXPECT_TRUE(IsWholeIn(web, "gold/mon_groups/plimsoll-web"));
  EXPECT_TRUE(IsWholeIn(db, "silver/mon_groups/plimsoll-db"));
  if (resctrl_ != nullptr) {
    ASSERT_TRUE(resctrl_->SetCounter("gold/mon_groups/plimsoll-web", 0, "llc_occupancy", 77).ok());
    EXPECT_EQ(type_->Measure("web", "gold").at("llc_occupancy_bytes"), 77u);
  }
  EXPECT_EQ(type_->Adopt(web.target(), "tin", {}).code(), absl::StatusCode::kNotFound);
}

TEST_F(RdtAssignTest, AReloadReturnsHoldersOfAGroupThatWasRemoved) {
  Start();
  Container web(cgroups_.get(), "web");
  ASSERT_EQ(Assign(web, "", "gold"), "OK");
  Start();
  ASSERT_TRUE(type_->Adopt(web.target(), "gold", {}).ok());
  ASSERT_TRUE(fs_->RemoveGroup("gold").ok());
  EXPECT_EQ(Drift(web, "gold"), "resctrl group /gold is gone");
  auto pending = type_->PrepareReload();
  ASSERT_TRUE(pending.ok()) << pending.status();
  ASSERT_TRUE((*pending)->Commit({{web.target(), "gold"}}).ok());
  EXPECT_EQ(Drift(web, "gold"), "");
  EXPECT_TRUE(IsWholeIn(web, "gold/mon_groups/plimsoll-web"));
}

TEST_F(RdtAssignTest, AFailedFirstClassLeavesNoMonitoringGroup) {
  PLIMSOLL_NEEDS_STAND_IN();
  Start();
  Container web(cgroups_.get(), "web");
  ASSERT_TRUE(resctrl_->RefuseNext("write", "gold/tasks", EIO).ok());
  EXPECT_NE(Assign(web, "", "gold"), "OK");
  EXPECT_THAT(*fs_->MonitoringGroups("gold"), IsEmpty());
  EXPECT_THAT(owned_.Groups(), ElementsAre("bronze", "gold", "silver"));
}

// Descriptors run out at each step of a change in turn: it is done whole or not at all, and nothing
// made for it is left.
TEST_F(RdtAssignTest, AChangeWithoutDescriptorsIsWholeOrNothing) {
  Start();
  Container web(cgroups_.get(), "web");
  ASSERT_EQ(Assign(web, "", "gold"), "OK");
  bool refused = false;
  bool done = false;
  for (int left = 0; left < 16 && !done; ++left) {
    const absl::Status status = [&] {
      const FewDescriptors few(left);
      return type_->Assign(web.target(), "gold", "silver");
    }();
    refused = refused || !status.ok();
    done = status.ok();
    const std::string now = done ? "silver" : "gold";
    const std::string other = done ? "gold" : "silver";
    EXPECT_TRUE(IsWholeIn(web, now)) << left;
    EXPECT_TRUE(WaitFor([&] { return Drift(web, now).empty(); })) << Drift(web, now);
    // A monitoring group that could not be opened meanwhile soon has its threads again.
    EXPECT_TRUE(WaitFor([&] { return IsWholeIn(web, now + "/mon_groups/plimsoll-web"); })) << left;
    EXPECT_THAT(*fs_->Threads(other), IsEmpty());
    EXPECT_THAT(*cgroups_->Threads(web.target().cgroup_path), Not(IsEmpty()));
  }
  EXPECT_TRUE(refused);
  EXPECT_TRUE(done);
  EXPECT_EQ(Assign(web, "silver", "bronze"), "OK");
  EXPECT_TRUE(type_->Release(web.target(), "bronze").ok());
  EXPECT_THAT(owned_.Groups(), ElementsAre("bronze", "gold", "silver"));
}

}  // namespace
}  // namespace plimsoll::qos
