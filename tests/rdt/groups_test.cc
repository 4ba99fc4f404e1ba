// Control groups: made, written, taken over, removed; never somebody else's.
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "qos/rdt/ownership.h"
#include "rdt/rdt_fixture.h"

namespace plimsoll::qos {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;
using ::testing::UnorderedElementsAre;

class RdtGroupsTest : public RdtFixture {
 protected:
  std::string Lines(const std::string& group) {
    const auto schemata = fs_->ReadSchemata(group);
    return schemata.ok() ? linux::SchemataText(*schemata) : schemata.status().ToString();
  }
  std::string Reload() {
    auto pending = type_->PrepareReload();
    if (!pending.ok()) return pending.status().ToString();
    changes_ = (*pending)->changes();
    return (*pending)->Commit({}).ToString();
  }
  std::vector<std::string> changes_;
};

TEST_F(RdtGroupsTest, StartMakesTheClasses) {
  PLIMSOLL_NEEDS_STAND_IN();
  options_.capacity = {{"gold", 3}};
  Start();
  EXPECT_THAT(*fs_->ControlGroups(), ElementsAre("bronze", "gold", "silver"));
  EXPECT_EQ(Lines("gold"), "L3:0=fff;1=fff\n");
  EXPECT_EQ(Lines("silver"), "L3:0=3f;1=3f\n");
  EXPECT_EQ(Lines("bronze"), "L3:0=ff000;1=ff000\n");
  EXPECT_EQ(Lines(""), "L3:0=fffff;1=fffff\n");
  EXPECT_THAT(owned_.Groups(), ElementsAre("bronze", "gold", "silver"));
  const std::vector<ClassInfo> classes = type_->classes();
  ASSERT_EQ(classes.size(), 4u);
  EXPECT_EQ(classes[1].name, "gold");
  EXPECT_EQ(classes[1].capacity, 3u);
  EXPECT_EQ(classes[1].meaning, "L3 0=0xfff,1=0xfff");
  EXPECT_EQ(classes[3].name, kRdtRootClass);
  EXPECT_EQ(type_->default_class(), kRdtRootClass);
  EXPECT_THAT(type_->warnings(), Contains(HasSubstr("processes without a class use every way")));
}

TEST_F(RdtGroupsTest, ARestartWritesNothing) {
  PLIMSOLL_NEEDS_STAND_IN();
  Start();
  ASSERT_TRUE(resctrl_->TakeJournal().ok());
  Start();
  EXPECT_THAT(*resctrl_->TakeJournal(), IsEmpty());
}

TEST_F(RdtGroupsTest, AnotherBootsRecordsAreNobodysGroups) {
  ASSERT_TRUE(owned_.AddOwned("resctrl", "11111111-2222/gold").ok());
  ASSERT_TRUE(fs_->MakeGroup("gold").ok());  // the administrator's, of this boot
  const auto type = Make();
  EXPECT_EQ(type.status().code(), absl::StatusCode::kAlreadyExists);
  EXPECT_THAT(type.status().message(),
              AllOf(HasSubstr("/sys/fs/resctrl/gold, and Plimsoll did not make it"),
                    HasSubstr("adopt: true")));
  EXPECT_THAT(owned_.Groups(), IsEmpty());
  EXPECT_THAT(*fs_->ControlGroups(), ElementsAre("gold"));
}

TEST_F(RdtGroupsTest, APrefixGoesRoundOthers) {
  ASSERT_TRUE(fs_->MakeGroup("gold").ok());
  options_.group_prefix = "plimsoll.";
  Start();
  EXPECT_THAT(*fs_->ControlGroups(),
              ElementsAre("gold", "plimsoll.bronze", "plimsoll.gold", "plimsoll.silver"));
}

TEST_F(RdtGroupsTest, AdoptedGroupsAreClassesAsTheyAre) {
  PLIMSOLL_NEEDS_STAND_IN();
  ASSERT_TRUE(fs_->MakeGroup("gold").ok());
  ASSERT_TRUE(fs_->MakeGroup("admins").ok());
  ASSERT_TRUE(fs_->WriteSchemata("gold", {{"L3", {{0, 0x3}}}}).ok());
  options_.adopt = true;
  Start();
  EXPECT_EQ(Lines("gold"), "L3:0=3;1=fffff\n");
  EXPECT_EQ(type_->classes()[0].name, "admins");
  EXPECT_EQ(type_->classes()[2].meaning, "adopted: L3 0=0x3,1=0xfffff");
  EXPECT_THAT(owned_.Groups(), ElementsAre("bronze", "silver"));
  EXPECT_THAT(type_->warnings(), Contains("class gold uses a group that Plimsoll did not make, "
                                          "unchanged; its definition in the file has no effect"));
  // Nothing of the administrator's is removed when the file has no classes any more.
  WriteConfig("");
  EXPECT_EQ(Reload(), "OK");
  EXPECT_THAT(*fs_->ControlGroups(), ElementsAre("admins", "gold"));
}

TEST_F(RdtGroupsTest, AGroupWithTheNameOfAClassIsNotAdopted) {
  ASSERT_TRUE(fs_->MakeGroup("gold").ok());
  options_.adopt = true;
  options_.group_prefix = "plimsoll.";
  Start();
  EXPECT_THAT(
      type_->warnings(),
      Contains(
          "the group /gold, not made by Plimsoll, is not adopted: there is a class of that name"));
  EXPECT_EQ(type_->EntryFile({}, "gold"), fs_->TasksPath("plimsoll.gold"));
}

TEST_F(RdtGroupsTest, TooManyClassesAreNamedBeforeAnythingIsMade) {
  PLIMSOLL_NEEDS_STAND_IN();
  ASSERT_TRUE(fs_->MakeGroup("a").ok());
  ASSERT_TRUE(fs_->MakeGroup("b").ok());
  const auto type = Make();
  EXPECT_EQ(type.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(type.status().message(), HasSubstr("groups of others 2 (a, b); no room for silver"));
  EXPECT_THAT(*fs_->ControlGroups(), ElementsAre("a", "b"));
}

// 13% of 12 ways are no whole number of ways; the upper ways are a device's too.
constexpr char kRoundedAndShared[] = R"(
partitions:
  exclusive: {l3Allocation: 60%, classes: {gold: {l3Allocation: 13%}}}
  shared: {l3Allocation: 40%, classes: {bronze: }}
)";

TEST_F(RdtGroupsTest, WarningsAreToldBeforeAnythingIsWritten) {
  PLIMSOLL_NEEDS_STAND_IN();
  resctrlfs::Layout layout;
  layout.caches[0].ids = {0, 1};
  layout.caches[0].shareable_bits = 0xc0000;
  Mount(layout);
  WriteConfig(kRoundedAndShared);
  const auto rounded = HasSubstr("class gold: L3 of caches 0-1: 13.0% asked");
  const auto shared = HasSubstr("partition shared: L3 of caches 0-1: devices use the ways 0xc0000");
  std::vector<std::string> told;
  warn_ = [&](const std::string& warning) {
    EXPECT_THAT(*fs_->ControlGroups(), IsEmpty());
    EXPECT_THAT(owned_.All(), IsEmpty());
    told.push_back(warning);
  };
  ASSERT_TRUE(resctrl_->TakeJournal().ok());
  ASSERT_TRUE(resctrl_->RefuseNext("mkdir", "bronze", EIO).ok());
  EXPECT_FALSE(Make().ok());
  EXPECT_THAT(told, AllOf(Contains(rounded), Contains(shared)));
  EXPECT_THAT(*resctrl_->TakeJournal(), ElementsAre(HasSubstr("mkdir bronze")));
  // A reload knows the same warnings before it writes.
  WriteConfig("partitions: {p: {l3Allocation: 50%, classes: {bronze: }}}");
  warn_ = nullptr;
  Start();
  ASSERT_TRUE(resctrl_->TakeJournal().ok());
  WriteConfig(kRoundedAndShared);
  const auto pending = type_->PrepareReload();
  ASSERT_TRUE(pending.ok()) << pending.status();
  EXPECT_THAT((*pending)->warnings(), AllOf(Contains(rounded), Contains(shared)));
  EXPECT_THAT(*resctrl_->TakeJournal(), IsEmpty());
}

// A reload reports the differences that it finds, and only those.
TEST_F(RdtGroupsTest, AReloadSaysWhatItPutsRight) {
  PLIMSOLL_NEEDS_STAND_IN();
  Start();
  const auto reload = [&] {
    const auto pending = type_->PrepareReload();
    if (!pending.ok()) return std::vector<std::string>{pending.status().ToString()};
    const absl::Status committed = (*pending)->Commit({});
    if (!committed.ok()) return std::vector<std::string>{committed.ToString()};
    EXPECT_THAT((*pending)->changes(), IsEmpty());
    return (*pending)->put_right();
  };
  EXPECT_THAT(reload(), IsEmpty());
  ASSERT_TRUE(fs_->WriteSchemata("gold", {{"L3", {{1, 0x3}}}}).ok());
  ASSERT_TRUE(fs_->RemoveGroup("bronze").ok());
  EXPECT_THAT(reload(),
              ElementsAre("class bronze is put right (found: resctrl group /bronze is gone)",
                          "class gold is put right (found: resctrl group /gold: L3 of cache 1 is "
                          "0x3, should be 0xfff)"));
  EXPECT_EQ(Lines("gold"), "L3:0=fff;1=fff\n");
  EXPECT_EQ(Lines("bronze"), "L3:0=ff000;1=ff000\n");
  EXPECT_THAT(reload(), IsEmpty());
}

TEST_F(RdtGroupsTest, ARefusalUndoesWhatWasMade) {
  PLIMSOLL_NEEDS_STAND_IN();
  ASSERT_TRUE(resctrl_->RefuseNext("write", "silver/schemata", EINVAL).ok());
  const auto type = Make();
  EXPECT_EQ(type.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(type.status().message(), HasSubstr("class \"silver\""));
  EXPECT_THAT(*fs_->ControlGroups(), IsEmpty());
  EXPECT_THAT(owned_.Groups(), IsEmpty());
  ASSERT_TRUE(resctrl_->RefuseNext("mkdir", "gold", ENOSPC).ok());
  EXPECT_EQ(Make().status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(*fs_->ControlGroups(), IsEmpty());
  EXPECT_THAT(owned_.Groups(), IsEmpty());
}

// A daemon goes on without a type that its machine can't have, but not after another error.
TEST_F(RdtGroupsTest, OnlyWhatTheMachineLacksIsAFailedPrecondition) {
  PLIMSOLL_NEEDS_STAND_IN();
  ASSERT_TRUE(resctrl_->RefuseNext("write", "silver/schemata", EBUSY).ok());
  EXPECT_EQ(Make().status().code(), absl::StatusCode::kInternal);
  WriteConfig("partitions: {p: {l2Allocation: 50%, classes: {gold: {l2Allocation: 50%}}}}");
  EXPECT_EQ(Make().status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(RdtGroupsTest, NothingIsMadeThatCannotBeRecorded) {
  owned_.refuse = true;
  EXPECT_THAT(Make().status().message(), HasSubstr("the disk is full"));
  EXPECT_THAT(*fs_->ControlGroups(), IsEmpty());
}

TEST_F(RdtGroupsTest, TheKernelsOwnWordsAreInTheError) {
  PLIMSOLL_NEEDS_STAND_IN();
  Start();
  const absl::Status refused = fs_->WriteSchemata("gold", {{"L3", {{0, 0x5}}}});
  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(refused.message(), AllOf(HasSubstr("gold/schemata"), HasSubstr("the kernel says: ")));
  EXPECT_EQ(fs_->MakeGroup("gold").code(), absl::StatusCode::kAlreadyExists);
  ASSERT_TRUE(fs_->MakeGroup("four").ok());
  const absl::Status full = fs_->MakeGroup("five");
  EXPECT_EQ(full.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(full.message(), AllOf(HasSubstr("make resctrl group "), HasSubstr("/five: "),
                                    HasSubstr("the kernel says: ")));
  ASSERT_TRUE(resctrl_->RefuseNext("mkdir", "six", EBUSY).ok());
  const absl::Status busy = fs_->MakeGroup("six");
  EXPECT_EQ(busy.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(busy.message(), HasSubstr("/six: no monitoring id is free yet"));
}

TEST_F(RdtGroupsTest, AMoveThatCannotBeSaysWhy) {
  ASSERT_TRUE(fs_->MakeGroup("gold").ok());
  const auto tasks = fs_->OpenTasks("gold");
  ASSERT_TRUE(tasks.ok()) << tasks.status();
  constexpr pid_t kNobody = 4194304;  // one above the highest possible pid
  const absl::Status nobody = tasks->Add(kNobody);
  EXPECT_EQ(nobody.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(nobody.message(), HasSubstr("gold/tasks: there is no such thread"));
  ASSERT_TRUE(fs_->RemoveGroup("gold").ok());
  const absl::Status removed = tasks->Add(getpid());
  EXPECT_EQ(removed.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(removed.message(), HasSubstr("gold/tasks: the group was removed"));
  EXPECT_THAT(fs_->MonitoringGroups("gold").status().message(), HasSubstr("no resctrl group "));
  EXPECT_THAT(fs_->Counters("gold").status().message(), HasSubstr("no resctrl group "));
}

TEST_F(RdtGroupsTest, ReloadChangesDefinitionsAndClasses) {
  PLIMSOLL_NEEDS_STAND_IN();
  Start();
  WriteConfig(R"(
partitions:
  all:
    l3Allocation: 100%
    classes:
      gold: {l3Allocation: 30%}
      tin: {l3Allocation: 10%}
      system/default: {l3Allocation: 50-100%}
)");
  EXPECT_EQ(Reload(), "OK");
  EXPECT_THAT(changes_,
              UnorderedElementsAre("class gold: L3 0=0x3f,1=0x3f (was L3 0=0xfff,1=0xfff)",
                                   "new class tin: L3 0=0x3,1=0x3",
                                   HasSubstr("class system/default: L3 0=0xffe00"),
                                   "class bronze is gone", "class silver is gone"));
  EXPECT_THAT(*fs_->ControlGroups(), ElementsAre("gold", "tin"));
  EXPECT_EQ(Lines("gold"), "L3:0=3f;1=3f\n");
  EXPECT_EQ(Lines(""), "L3:0=ffe00;1=ffe00\n");
  EXPECT_THAT(owned_.Groups(), ElementsAre("", "gold", "tin"));
  // A resource that is no longer restricted gets its initial value.
  WriteConfig("partitions: {p: {classes: {gold: }}}");
  EXPECT_EQ(Reload(), "OK");
  EXPECT_EQ(Lines("gold"), "L3:0=fffff;1=fffff\n");
  EXPECT_EQ(Lines(""), "L3:0=fffff;1=fffff\n");
  EXPECT_THAT(owned_.Groups(), ElementsAre("gold"));
}

TEST_F(RdtGroupsTest, ABadFileChangesNothing) {
  PLIMSOLL_NEEDS_STAND_IN();
  Start();
  ASSERT_TRUE(resctrl_->TakeJournal().ok());
  for (const char* text : {"partitions: {p: {l3Allocation: 101%}}", "}", "partitions: 1",
                           "partitions: {p: {classes: {gold: {l2Allocation: 50%}}}}"}) {
    WriteConfig(text);
    EXPECT_THAT(Reload(), HasSubstr("/rdt.yaml:1:")) << text;
  }
  ASSERT_TRUE(dir_.root().RemoveFile("rdt.yaml").ok());
  EXPECT_THAT(Reload(), HasSubstr("NOT_FOUND"));
  EXPECT_THAT(*resctrl_->TakeJournal(), IsEmpty());
}

TEST_F(RdtGroupsTest, AReloadThatIsRefusedChangesNothing) {
  PLIMSOLL_NEEDS_STAND_IN();
  Start();
  WriteConfig("partitions: {p: {l3Allocation: 100%, classes: {gold: {l3Allocation: 30%}, new: }}}");
  ASSERT_TRUE(resctrl_->RefuseNext("mkdir", "new", EIO).ok());
  EXPECT_THAT(Reload(), HasSubstr("class \"new\""));
  EXPECT_THAT(*fs_->ControlGroups(), ElementsAre("bronze", "gold", "silver"));
  EXPECT_EQ(Lines("gold"), "L3:0=fff;1=fff\n");
  EXPECT_EQ(Lines("silver"), "L3:0=3f;1=3f\n");
  EXPECT_THAT(owned_.Groups(), ElementsAre("bronze", "gold", "silver"));
}

// With no CLOSID to spare, groups that are no class's any more go before the new ones are made, and
// are made again when those are refused.
TEST_F(RdtGroupsTest, ClassesStayOfUseAfterAReloadThatIsRefused) {
  PLIMSOLL_NEEDS_STAND_IN();
  resctrlfs::Layout layout;
  layout.caches[0].ids = {0, 1};
  layout.caches[0].closids = 4;
  Mount(layout);
  Start();
  Container web(cgroups_.get(), "web");
  WriteConfig(
      "partitions: {p: {l3Allocation: 100%, classes: {gold: , new1: , new2: {l3Allocation: "
      "30%}}}}");
  ASSERT_TRUE(resctrl_->RefuseNext("write", "new2/schemata", EINVAL).ok());
  EXPECT_THAT(Reload(), HasSubstr("class \"new2\""));
  EXPECT_THAT(*fs_->ControlGroups(), ElementsAre("bronze", "gold", "silver"));
  EXPECT_THAT(owned_.Groups(), ElementsAre("bronze", "gold", "silver"));
  EXPECT_EQ(Lines("bronze"), "L3:0=ff000;1=ff000\n");
  for (const char* name : {"bronze", "silver", "gold"}) {
    EXPECT_EQ(Assign(web, "", name), "OK");
    EXPECT_TRUE(IsWholeIn(web, name));
    EXPECT_TRUE(type_->Release(web.target(), name).ok());
  }
  EXPECT_EQ(Reload(), "OK");
  EXPECT_THAT(*fs_->ControlGroups(), ElementsAre("gold", "new1", "new2"));
}

TEST_F(RdtGroupsTest, WhatCannotBeUndoneIsTold) {
  PLIMSOLL_NEEDS_STAND_IN();
  resctrlfs::Layout layout;
  layout.caches[0].ids = {0, 1};
  layout.caches[0].closids = 4;
  Mount(layout);
  Start();
  WriteConfig(
      "partitions: {p: {l3Allocation: 100%, classes: {gold: , new1: {l3Allocation: 30%}, silver: "
      "}}}");
  ASSERT_TRUE(resctrl_->RefuseNext("write", "new1/schemata", EINVAL).ok());
  ASSERT_TRUE(resctrl_->RefuseNext("mkdir", "bronze", EIO).ok());
  // The failure comes first, then the failure to undo, with its reason.
  EXPECT_THAT(Reload(),
              MatchesRegex("[A-Z_]+: class \"new1\": .*/new1/schemata.*; and undoing the earlier "
                           "steps failed, too: make resctrl group .*/bronze: .*"));
  // A reload without a change makes it again.
  WriteConfig(kThreeClasses);
  EXPECT_EQ(Reload(), "OK");
  EXPECT_THAT(*fs_->ControlGroups(), ElementsAre("bronze", "gold", "silver"));
}

// A daemon is killed between the removal of a group and that of its record.
TEST_F(RdtGroupsTest, ARecordWithoutItsGroupIsStruckOutByTheNextStart) {
  Start();
  owned_.refuse_removal = true;
  WriteConfig("partitions: {p: {l3Allocation: 100%, classes: {gold: , silver: }}}");
  EXPECT_EQ(Reload(), "OK");
  EXPECT_THAT(*fs_->ControlGroups(), ElementsAre("gold", "silver"));
  EXPECT_THAT(type_->warnings(), Contains(HasSubstr("the disk is full")));
  EXPECT_THAT(owned_.Groups(), ElementsAre("bronze", "gold", "silver"));
  owned_.refuse_removal = false;
  Start();
  EXPECT_THAT(owned_.Groups(), ElementsAre("gold", "silver"));
  // Or between writing the record and making the group.
  type_.reset();
  const std::string boot_id = *linux::ReadBootId(host_);
  ASSERT_TRUE(owned_.AddOwned("resctrl", boot_id + "/bronze").ok());
  Start();
  EXPECT_THAT(owned_.Groups(), ElementsAre("gold", "silver"));
}

// The records of a removal that a kill cut off, and somebody else's group of that name.
TEST_F(RdtGroupsTest, AnotherGroupUnderTheNameOfARemovedOneIsNotOurs) {
  Start();
  type_.reset();
  ASSERT_TRUE(fs_->RemoveGroup("gold").ok());
  ASSERT_TRUE(fs_->MakeGroup("gold").ok());
  const auto type = Make();
  EXPECT_EQ(type.status().code(), absl::StatusCode::kAlreadyExists) << type.status();
  EXPECT_THAT(type.status().message(), HasSubstr("gold, and Plimsoll did not make it"));
  EXPECT_THAT(owned_.Groups(), ElementsAre("bronze", "silver"));
  EXPECT_EQ(owned_.ListOwned("resctrl-inode")->size(), 2u);
  EXPECT_THAT(*fs_->ControlGroups(), Contains("gold"));
}

// The daemon was killed while it made the group, which is ours if no thread is in it.
TEST_F(RdtGroupsTest, AGroupWhoseMakingWasCutOffIsOursUnlessUsed) {
  RdtOwnership before(fs_.get(), &owned_, "boot");
  ASSERT_TRUE(before.Claim("half").ok());
  ASSERT_TRUE(before.Claim("used").ok());
  ASSERT_TRUE(fs_->MakeGroup("half").ok());
  ASSERT_TRUE(fs_->MakeGroup("used").ok());
  resctrlfs::Member process;
  ASSERT_TRUE(fs_->OpenTasks("used")->Add(process.pid()).ok());
  RdtOwnership ownership(fs_.get(), &owned_, "boot");
  ASSERT_TRUE(ownership.Load().ok());
  EXPECT_THAT(ownership.Groups(), ElementsAre("half"));
  EXPECT_TRUE(ownership.Remove("half").ok());
  EXPECT_EQ(ownership.Remove("used").code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(*fs_->ControlGroups(), ElementsAre("used"));
}

TEST_F(RdtGroupsTest, RemovingSparesAGroupThatTookTheNameMeanwhile) {
  RdtOwnership ownership(fs_.get(), &owned_, "boot");
  ASSERT_TRUE(ownership.Make("mine").ok());
  ASSERT_TRUE(fs_->RemoveGroup("mine").ok());
  ASSERT_TRUE(fs_->MakeGroup("mine").ok());
  EXPECT_THAT(ownership.Remove("mine").message(), HasSubstr("made this one under its name"));
  EXPECT_THAT(*fs_->ControlGroups(), ElementsAre("mine"));
  EXPECT_FALSE(ownership.IsOurs("mine"));
  EXPECT_THAT(owned_.Groups(), IsEmpty());
  EXPECT_THAT(*owned_.ListOwned("resctrl-inode"), IsEmpty());
}

TEST_F(RdtGroupsTest, WhatSomebodyElseMadeIsNeverOnRecord) {
  RdtOwnership ownership(fs_.get(), &owned_, "boot");
  ASSERT_TRUE(ownership.Load().ok());
  ASSERT_TRUE(fs_->MakeGroup("gold").ok());
  const absl::Status made = ownership.Make("gold");
  EXPECT_EQ(made.code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(made.message(), "resctrl group /gold is there already, and Plimsoll did not make it");
  EXPECT_THAT(owned_.All(), IsEmpty());
  const absl::Status removed = ownership.Remove("gold");
  EXPECT_EQ(removed.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(removed.message(), "resctrl group /gold is not Plimsoll's to remove");
  ASSERT_TRUE(ownership.Make("silver").ok());
  EXPECT_EQ(ownership.Make("silver").message(), "resctrl group /silver is there already");
  ASSERT_TRUE(ownership.Make("silver/mon_groups/c1").ok());
  ASSERT_TRUE(ownership.Remove("silver").ok());
  EXPECT_THAT(owned_.Groups(), IsEmpty()) << "what was in it has gone with it";
}

TEST_F(RdtGroupsTest, WhatAFailedMakeLeavesIsTold) {
  PLIMSOLL_NEEDS_STAND_IN();
  RdtOwnership ownership(fs_.get(), &owned_, "boot");
  owned_.refuse_removal = true;
  ASSERT_TRUE(resctrl_->RefuseNext("mkdir", "gold", EIO).ok());
  EXPECT_THAT(std::string(ownership.Make("gold").message()),
              MatchesRegex("make resctrl group .*; and its record stays: the disk is full"));
  owned_.refuse_removal = false;
  // The group is made but can't be recorded or removed.
  owned_.refused_kind = "resctrl-inode";
  ASSERT_TRUE(resctrl_->RefuseNext("rmdir", "silver", EIO).ok());
  EXPECT_THAT(std::string(ownership.Make("silver").message()),
              MatchesRegex("the disk is full; and the group stays: .*silver.*"));
  EXPECT_THAT(*fs_->ControlGroups(), ElementsAre("silver"));
  EXPECT_TRUE(ownership.IsOurs("silver"));
  EXPECT_THAT(ownership.Make("bronze").message(), HasSubstr("the disk is full"));
  EXPECT_THAT(*fs_->ControlGroups(), ElementsAre("silver")) << "and else it is removed";
}

TEST_F(RdtGroupsTest, ARevertedReloadChangesNothing) {
  Start();
  const std::string before = Lines("gold");
  WriteConfig("partitions: {p: {l3Allocation: 100%, classes: {gold: {l3Allocation: 30%}, new: }}}");
  auto pending = type_->PrepareReload();
  ASSERT_TRUE(pending.ok()) << pending.status();
  ASSERT_TRUE((*pending)->Commit({}).ok());
  EXPECT_NE(Lines("gold"), before);
  EXPECT_EQ((*pending)->Revert({}).ToString(), "OK");
  EXPECT_THAT(*fs_->ControlGroups(), ElementsAre("bronze", "gold", "silver"));
  EXPECT_EQ(Lines("gold"), before);
}

TEST_F(RdtGroupsTest, NamesThatAreNoClassesAreNamed) {
  options_.default_class = "golden";
  EXPECT_EQ(Make().status().message(),
            "rdt: default class \"golden\" is not a class; there are: bronze, gold, silver, "
            "system/default");
  options_.default_class = "gold";
  options_.capacity = {{"tin", 1}};
  EXPECT_THAT(Make().status().message(), HasSubstr("capacity: \"tin\" is not a class"));
  EXPECT_THAT(*fs_->ControlGroups(), IsEmpty());
}

TEST_F(RdtGroupsTest, AnnotationsCanBeDenied) {
  Start();
  EXPECT_TRUE(type_->CheckSource("gold", ClassSource::kMessage).ok());
  EXPECT_TRUE(type_->CheckSource("gold", ClassSource::kContainerAnnotation).ok());
  const absl::Status denied = type_->CheckSource("gold", ClassSource::kPodAnnotation);
  EXPECT_EQ(denied.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(denied.message(),
            absl::StrCat("rdt class \"gold\" can't be taken from a pod's annotation "
                         "(denyPodAnnotation in ",
                         dir_.path(), "/rdt.yaml)"));
  // A reload may change that option alone.
  WriteConfig(
      absl::StrReplaceAll(kThreeClasses, {{"denyPodAnnotation", "denyContainerAnnotation"}}));
  EXPECT_EQ(Reload(), "OK");
  EXPECT_THAT(changes_, ElementsAre("class gold: annotations that may name it"));
  EXPECT_TRUE(type_->CheckSource("gold", ClassSource::kPodAnnotation).ok());
  EXPECT_THAT(
      type_->CheckSource("gold", ClassSource::kContainerAnnotation).message(),
      HasSubstr("can't be taken from a container's annotation (denyContainerAnnotation in "));
}

}  // namespace
}  // namespace plimsoll::qos
