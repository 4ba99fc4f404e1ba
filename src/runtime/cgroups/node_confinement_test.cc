#include "runtime/cgroups/node_confinement.h"

#include "absl/strings/str_cat.h"
#include "base/wait_until_for_test.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/cgroups/group_paths.h"
#include "runtime/cgroups/v1_cpusets_for_test.h"
#include "runtime/objects/parts_fixture_for_test.h"

namespace plimsoll::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

NodeShare PartOf(const char* cpus, const char* nodes = "0") {
  return {.cpus = *resources::CpuSet::Parse(cpus),
          .memory_nodes = *resources::CpuSet::Parse(nodes),
          .is_whole = false};
}

class NodeConfinementTest : public PartsTest {
 protected:
  NodeConfinementTest() { confinement_.Load("boot"); }
  linux::CgroupSettings Given(const linux::CgroupSettings& asked, bool is_new = true) {
    const auto confined = confinement_.ConfineAsked(asked, confinement_.Current(), is_new);
    EXPECT_TRUE(confined.ok()) << confined.status();
    return confined.ok() ? confined->settings : linux::CgroupSettings();
  }
  bool Becomes(const std::string& group, const std::string& cpus) {
    return WaitUntil([&] { return cgroups_.cpuset(group).first == cpus; });
  }

  void SetOnline(const std::string& present, const std::string& online) {
    EXPECT_TRUE(dir_.root().MakeDirs("sys/devices/system/cpu").ok());
    EXPECT_TRUE(dir_.root().ReplaceFile("sys/devices/system/cpu/present", present + "\n").ok());
    EXPECT_TRUE(dir_.root().ReplaceFile("sys/devices/system/cpu/online", online + "\n").ok());
  }

  NodeConfinement confinement_{options_, &objects_};
};

TEST_F(NodeConfinementTest, NobodyIsConfinedBeforeTheFirstShare) {
  EXPECT_EQ(Given({}), linux::CgroupSettings());
  EXPECT_EQ(*Given({.cpuset_cpus = "0-1"}).cpuset_cpus, "0-1");
}

TEST_F(NodeConfinementTest, ARequestWithoutACpusetGetsTheShareWhenItIsNew) {
  confinement_.SetShare(PartOf("2-5"));
  EXPECT_EQ(Given({}), (linux::CgroupSettings{.cpuset_cpus = "2-5", .cpuset_mems = "0"}));
  EXPECT_EQ(Given({}, /*is_new=*/false), linux::CgroupSettings());
}

TEST_F(NodeConfinementTest, WhatIsOutsideIsClippedOrRefused) {
  confinement_.SetShare(PartOf("2-5"));
  EXPECT_EQ(*Given({.cpuset_cpus = "4-9"}).cpuset_cpus, "4-5");
  confinement_.RefuseOutside(true);
  const absl::Status refused =
      confinement_.ConfineAsked({.cpuset_cpus = "4-9"}, confinement_.Current(), true).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
}

// The CPU's event is on the way.
TEST_F(NodeConfinementTest, ACpuThatHasJustGoneIsLeftOut) {
  for (const bool is_whole : {true, false}) {
    for (const bool refuses : {true, false}) {
      SCOPED_TRACE(absl::StrCat(is_whole ? "whole" : "part", refuses ? ", refuses" : ""));
      SetOnline("0-5", "0-5");
      NodeShare share = PartOf("2-5");
      share.is_whole = is_whole;
      confinement_.SetShare(share);
      confinement_.RefuseOutside(refuses);
      SetOnline("0-5", "0-3");
      const auto both =
          confinement_.ConfineAsked({.cpuset_cpus = "3-4"}, confinement_.Current(), true);
      ASSERT_TRUE(both.ok()) << both.status();
      EXPECT_EQ(*both->settings.cpuset_cpus, "3");
      EXPECT_EQ(both->lost, "CPUs 4");
      EXPECT_EQ(*Given({.cpuset_cpus = "4-5"}, false).cpuset_cpus, "2-3") << "none is left";
    }
  }
}

// No share has told of a time before this daemon; a client may have been there.
TEST_F(NodeConfinementTest, ACpuThatWasOfflineAtTheStartIsNoMistake) {
  SetOnline("0-3", "0-2");
  NodeShare whole = PartOf("0-2");
  whole.is_whole = true;
  confinement_.SetShare(whole);
  EXPECT_EQ(*Given({.cpuset_cpus = "2-3"}).cpuset_cpus, "2");
  EXPECT_EQ(*Given({.cpuset_cpus = "3"}).cpuset_cpus, "0-2");
  const auto none = confinement_.ConfineAsked({.cpuset_cpus = "4"}, confinement_.Current(), true);
  EXPECT_TRUE(absl::IsInvalidArgument(none.status())) << "it never existed";
}

TEST_F(NodeConfinementTest, ACpuThatIsBackAtOnceIsGivenBack) {
  SetOnline("0-3", "0-3");
  confinement_.SetShare(PartOf("0-3"));
  SetOnline("0-3", "0-2");
  ContainerRecord record = ContainerOf("c", "pod");
  record.spec.resources.cpuset_cpus = "2-3";
  Add(record);
  const NodeConfinement::ShareNow during = confinement_.Current();
  EXPECT_EQ(during.share.cpus.ToString(), "0-2");
  SetOnline("0-3", "0-3");
  confinement_.SetShare(PartOf("0-3"));
  EXPECT_TRUE(Becomes(record.cgroup_path, "2-3"));
  EXPECT_NE(confinement_.Current().epoch, during.epoch) << "for containers that are being made";
}

// The kernel of v1 has taken it from all groups, whether the share saw it or not.
TEST_F(NodeConfinementTest, OnV1TheSameShareIsFollowedAgain) {
  ContainerRecord record = ContainerOf("c", "pod");
  record.spec.resources.cpuset_cpus = "2-3";
  Add(record);
  confinement_.SetShare(PartOf("0-3"));
  ASSERT_TRUE(Becomes(record.cgroup_path, "2-3"));
  ASSERT_TRUE(cgroups_.Apply(record.cgroup_path, {.cpuset_cpus = "2"}).ok());
  confinement_.SetShare(PartOf("0-3"));
  EXPECT_EQ(cgroups_.cpuset(record.cgroup_path).first, "2") << "on v2 nothing is lost";
  cgroups_.machine = linux::CgroupLayout::kHybrid;
  confinement_.SetShare(PartOf("0-3"));
  EXPECT_TRUE(Becomes(record.cgroup_path, "2-3"));
}

// An agent's, or kubelet's.
TEST_F(NodeConfinementTest, OnV1GroupsOfOthersAboveThePodGetTheirCpusBack) {
  V1Cpusets kernel("0-7");
  kernel.Make("/kubepods", "0-7");
  kernel.Make("/kubepods/pod", "4-7");
  kernel.Make("/kubepods/pod/c", "6");
  options_.cgroups = &kernel;
  NodeConfinement confinement(options_, &objects_);
  SandboxRecord pod = SandboxOf("pod");
  pod.cgroup_path = "/kubepods/pod";
  Add(pod);
  ContainerRecord record = ContainerOf("c", "pod");
  record.cgroup_path = "/kubepods/pod/c";
  record.spec.resources.cpuset_cpus = "6-7";
  Add(record);
  NodeShare whole = PartOf("0-7");
  whole.is_whole = true;
  confinement.SetShare(whole);
  ASSERT_TRUE(WaitUntil([&] { return kernel.Of("/kubepods/pod/c") == "6-7"; }));
  linux::CgroupSettings given;
  confinement.PutIntoPod("pod", {}, whole, &given);  // as for each container that is made
  kernel.TakeOffline(7);
  whole.cpus.Remove(7);
  confinement.SetShare(whole);
  EXPECT_TRUE(WaitUntil([&] { return !Messages(EventType::kWarning).empty(); }));
  EXPECT_EQ(kernel.Of("/kubepods/pod/c"), "6");
  kernel.BringOnline(7);
  whole.cpus.Add(7);
  confinement.SetShare(whole);
  EXPECT_TRUE(WaitUntil([&] { return kernel.Of("/kubepods/pod/c") == "6-7"; }));
  EXPECT_EQ(kernel.Of("/kubepods"), "0-7");
  EXPECT_EQ(kernel.Of("/kubepods/pod"), "4-7");
  EXPECT_EQ(Messages(EventType::kWarning).size(), 1u);
}

TEST_F(NodeConfinementTest, OnlyAnotherShareIsAnotherEpoch) {
  confinement_.SetShare(PartOf("2-5"));
  const int64_t epoch = confinement_.Current().epoch;
  confinement_.SetShare(PartOf("2-5"));
  EXPECT_EQ(confinement_.Current().epoch, epoch);
  confinement_.SetShare(PartOf("2-4"));
  EXPECT_NE(confinement_.Current().epoch, epoch);
}

TEST_F(NodeConfinementTest, ContainersFollowAnotherShareAndAreToldWhatTheyLost) {
  ContainerRecord record = ContainerOf("c", "pod");
  record.spec.resources.cpuset_cpus = "4-7";
  const auto container = Add(record);
  confinement_.SetShare(PartOf("2-5"));
  EXPECT_TRUE(Becomes(record.cgroup_path, "4-5"));
  EXPECT_TRUE(WaitUntil([&] { return !Messages(EventType::kWarning).empty(); }));
  EXPECT_THAT(Messages(EventType::kWarning), ElementsAre(HasSubstr("CPUs 6-7")));
  confinement_.SetShare(PartOf("0-7"));
  EXPECT_TRUE(WaitUntil([&] { return !Messages(EventType::kContainerUpdated).empty(); }));
  EXPECT_EQ(cgroups_.cpuset(record.cgroup_path).first, "4-7");
  EXPECT_EQ(*container->Snapshot().spec.resources.cpuset_cpus, "4-7");
}

TEST_F(NodeConfinementTest, ALossIsToldOnce) {
  const auto container = Add(ContainerOf("c", "pod"));
  const Confined lost = {.settings = {.cpuset_cpus = "2"}, .lost = "CPUs 3"};
  confinement_.TellLost(*container, lost);
  confinement_.TellLost(*container, lost);
  EXPECT_EQ(Messages(EventType::kWarning).size(), 1u);
}

TEST_F(NodeConfinementTest, OneThatHasEndedDoesNotFollow) {
  ContainerRecord record = ContainerOf("c", "pod");
  record.state = ContainerState::kExited;
  const auto container = Add(record);
  confinement_.FollowShare(*container);
  EXPECT_THAT(cgroups_.cpuset(record.cgroup_path), Pair("", ""));
}

TEST_F(NodeConfinementTest, ThePodsInitFollows) {
  SandboxRecord record = SandboxOf("pod");
  record.cgroup_path = "/plimsoll/pod";
  record.pause.pid = 1;
  Add(record);
  confinement_.SetShare(PartOf("1-2"));
  EXPECT_TRUE(Becomes(PauseCgroupOf(record), "1-2"));
}

TEST_F(NodeConfinementTest, OnV1APodsOwnCpusetNarrowsWhatItLeavesToTheShare) {
  cgroups_.machine = linux::CgroupLayout::kV1;
  SandboxRecord record = SandboxOf("pod");
  record.cgroup_path = "/plimsoll/pod";
  record.owned_cgroups = {record.cgroup_path};
  record.spec.resources.cpuset_cpus = "2-3";
  Add(record);
  const NodeShare share = PartOf("0-7");
  EXPECT_EQ(confinement_.ShareIn(record, share).cpus.ToString(), "2-3");
  linux::CgroupSettings given = {.cpuset_cpus = "0-7", .cpuset_mems = "0"};
  confinement_.PutIntoPod("pod", {}, share, &given);
  EXPECT_EQ(*given.cpuset_cpus, "2-3");
  cgroups_.machine = linux::CgroupLayout::kV2;
  EXPECT_EQ(confinement_.ShareIn(record, share).cpus.ToString(), "0-7");
}

TEST_F(NodeConfinementTest, WithoutTheControllerAShareIsToldAndNotEnforced) {
  cgroups_.controllers.clear();
  confinement_.SetShare(PartOf("2-5"));
  EXPECT_FALSE(confinement_.HasCpusets());
  EXPECT_EQ(Given({}), linux::CgroupSettings());
  EXPECT_THAT(Messages(EventType::kWarning), ElementsAre(HasSubstr("not enforced")));
}

TEST_F(NodeConfinementTest, WhatClientsWereToldOutlivesTheDaemon) {
  confinement_.SetShare(PartOf("0-3"));
  NodeConfinement next(options_, &objects_);
  next.Load("boot");
  next.SetShare(PartOf("0-1"));
  EXPECT_EQ(next.Current().told.cpus.ToString(), "0-3");
  NodeConfinement after_a_reboot(options_, &objects_);
  after_a_reboot.Load("another boot");
  EXPECT_THAT(after_a_reboot.Current().told.cpus.ToString(), IsEmpty());
}

}  // namespace
}  // namespace plimsoll::runtime
