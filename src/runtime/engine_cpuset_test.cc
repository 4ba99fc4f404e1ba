// Containers within the pods' share of the node, over stand-ins; tests/ asks the kernel.
#include <algorithm>
#include <cerrno>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/wait_until_for_test.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/engine_fixture_for_test.h"

namespace plimsoll::runtime {
namespace {

using resources::CpuSet;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

NodeShare Share(const char* cpus, const char* nodes = "0", bool is_whole = false) {
  return {
      .cpus = *CpuSet::Parse(cpus), .memory_nodes = *CpuSet::Parse(nodes), .is_whole = is_whole};
}

class EngineCpusetTest : public EngineTest {
 protected:
  std::string Pod() {
    const auto pod = engine_->RunSandbox(PodSpec(), "");
    EXPECT_TRUE(pod.ok()) << pod.status();
    return pod.value_or("");
  }
  absl::StatusOr<std::string> TryCreate(const std::string& pod, const linux::CgroupSettings& asked,
                                        const std::string& name = "container") {
    ContainerSpec spec = Spec(name);
    spec.resources = asked;
    return engine_->CreateContainer(pod, spec, "");
  }
  std::string Create(const std::string& pod, const linux::CgroupSettings& asked,
                     const std::string& name = "container") {
    const auto id = TryCreate(pod, asked, name);
    EXPECT_TRUE(id.ok()) << id.status();
    return id.value_or("");
  }
  std::pair<std::string, std::string> CpusetOf(const std::string& id) {
    return cgroups_.cpuset(engine_->GetContainer(id)->cgroup_path);
  }
  // Messages of events of this type about this container.
  std::vector<std::string> Told(EventType type, const std::string& id) {
    std::vector<std::string> messages;
    for (const Event& event : events_.Since(0)) {
      if (event.type == type && event.container_id == id) messages.push_back(event.message);
    }
    return messages;
  }
  bool Becomes(const std::string& id, const std::string& cpus) {
    return WaitUntil([&] { return CpusetOf(id).first == cpus; });
  }
};

TEST_F(EngineCpusetTest, NewOnesAreMadeInTheShareAndKeepWhatTheyAskedFor) {
  engine_->SetNodeShare(Share("2-5"));
  const std::string pod = Pod();
  Create(pod, {}, "a");
  EXPECT_EQ(runtime_.last_created,
            (linux::CgroupSettings{.cpuset_cpus = "2-5", .cpuset_mems = "0"}));
  const std::string id = Create(pod, {.cpuset_cpus = "4-9"}, "b");
  EXPECT_EQ(*runtime_.last_created.cpuset_cpus, "4-5");
  EXPECT_EQ(*engine_->GetContainer(id)->spec.resources.cpuset_cpus, "4-9");
  EXPECT_THAT(Told(EventType::kWarning, id),
              ElementsAre("requested, but not on this node or not for pods (nodeResources): CPUs "
                          "6-9; it runs on CPUs 4-5 and memory nodes 0"));
}

TEST_F(EngineCpusetTest, OutsideIsRefusedOnceThatIsSaid) {
  engine_->SetNodeShare(Share("0", "0"));
  engine_->RefuseOutsideShare(true);
  const std::string pod = Pod();
  const absl::Status refused = TryCreate(pod, {.cpuset_cpus = "0-1"}).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()), ::testing::HasSubstr("CPUs 1 are outside"));
  EXPECT_THAT(engine_->ListContainers(), IsEmpty());
  const std::string id = Create(pod, {});
  ResourceUpdate update;
  update.cgroup.cpuset_cpus = "1";
  EXPECT_TRUE(absl::IsFailedPrecondition(engine_->UpdateResources(id, update)));
  EXPECT_FALSE(engine_->GetContainer(id)->spec.resources.cpuset_cpus.has_value());
  engine_->RefuseOutsideShare(false);
  update.cgroup.cpuset_cpus = "0-1";
  EXPECT_TRUE(engine_->UpdateResources(id, update).ok());
  EXPECT_EQ(CpusetOf(id).first, "0");
}

// CPU 2000 exists on no machine of these tests: it was there once, and was removed.
TEST_F(EngineCpusetTest, AClientMayGoOnSendingWhatItWasToldAtItsStart) {
  for (const bool is_whole : {true, false}) {
    SCOPED_TRACE(is_whole ? "whole" : "refuse");
    engine_->RefuseOutsideShare(!is_whole);
    engine_->SetNodeShare(Share("0,2000", "0", is_whole));
    engine_->SetNodeShare(Share("0", "0", is_whole));
    const std::string pod = Pod();
    const std::string id = Create(pod, {.cpuset_cpus = "0,2000"}, "two");
    EXPECT_EQ(*runtime_.last_created.cpuset_cpus, "0");
    EXPECT_THAT(Told(EventType::kWarning, id), ElementsAre(::testing::HasSubstr("CPUs 2000")));
    const std::string only = Create(pod, {.cpuset_cpus = "2000"}, "only");
    EXPECT_EQ(*runtime_.last_created.cpuset_cpus, "0") << "the share, as for one that was there";
    ResourceUpdate update;
    update.cgroup.cpuset_cpus = "0,2000";
    EXPECT_TRUE(engine_->UpdateResources(only, update).ok());
    EXPECT_EQ(CpusetOf(only).first, "0");
    EXPECT_EQ(*engine_->GetContainer(only)->spec.resources.cpuset_cpus, "0,2000");
    // CPUs that no client was ever told of are an error as before.
    const absl::Status never = TryCreate(pod, {.cpuset_cpus = "0,2001"}, "never").status();
    EXPECT_TRUE(absl::IsInvalidArgument(never)) << never;
    engine_->RemoveSandbox(pod).IgnoreError();
  }
}

// The kernel's whole machine stands in until another topology's provider has come.
TEST_F(EngineCpusetTest, WhatStoodInForAShareIsRefusedOnceThatIsThere) {
  NodeShare whole = Share("0-1", "0", /*is_whole=*/true);
  whole.is_told = false;
  engine_->RefuseOutsideShare(true);
  engine_->SetNodeShare(whole);
  const std::string pod = Pod();
  Create(pod, {.cpuset_cpus = "0-1"}, "before");
  engine_->SetNodeShare(Share("0"));
  const absl::Status refused = TryCreate(pod, {.cpuset_cpus = "0-1"}, "after").status();
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()), ::testing::HasSubstr("CPUs 1 are outside"));
  // Once the provider has ended, a client is sent the kernel's topology.
  whole.is_told = true;
  engine_->SetNodeShare(whole);
  engine_->SetNodeShare(Share("0"));
  const std::string id = Create(pod, {.cpuset_cpus = "0-1"}, "told");
  EXPECT_EQ(*runtime_.last_created.cpuset_cpus, "0");
  EXPECT_EQ(Told(EventType::kWarning, id).size(), 1u);
}

// A stock kubelet reads CPUs from /sys, whatever it was told.
TEST_F(EngineCpusetTest, WhatWentWhileAnotherShareStandsInIsClipped) {
  NodeShare whole = Share("0,2000", "0", /*is_whole=*/true);
  whole.is_told = false;
  engine_->SetNodeShare(whole);
  whole.cpus = *CpuSet::Parse("0");
  engine_->SetNodeShare(whole);
  Create(Pod(), {.cpuset_cpus = "0,2000"});
  EXPECT_EQ(*runtime_.last_created.cpuset_cpus, "0");
}

// The run directory was full when clients were told.
TEST_F(EngineCpusetTest, WhatWasToldIsStoredByTheNextCreate) {
  ASSERT_TRUE(run_.MakeDirs("told-share/in-the-way").ok());
  engine_->SetNodeShare(Share("0,2000", "0", /*is_whole=*/true));
  EXPECT_EQ(Told(EventType::kWarning, "").size(), 1u);
  ASSERT_TRUE(run_.RemoveTree("told-share").ok());
  const std::string pod = Pod();
  Create(pod, {}, "a");
  StartEngine();
  engine_->SetNodeShare(Share("0", "0", /*is_whole=*/true));
  Create(pod, {.cpuset_cpus = "0,2000"}, "b");
  EXPECT_EQ(*runtime_.last_created.cpuset_cpus, "0");
}

// A client asks the next daemon for the CPUs that went.
TEST_F(EngineCpusetTest, WhatWasToldIsKnownAfterARestart) {
  engine_->SetNodeShare(Share("0,2000", "0", /*is_whole=*/true));
  StartEngine();
  engine_->SetNodeShare(Share("0", "0", /*is_whole=*/true));
  Create(Pod(), {.cpuset_cpus = "0,2000"});
  EXPECT_EQ(*runtime_.last_created.cpuset_cpus, "0");
}

TEST_F(EngineCpusetTest, ARefusalNamesTheSettingOfKubelets) {
  engine_->SetNodeShare(Share("0", "0"));
  engine_->RefuseOutsideShare(true);
  const absl::Status refused = TryCreate(Pod(), {.cpuset_cpus = "1"}).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()), ::testing::HasSubstr("reservedSystemCPUs: \"1"));
}

TEST_F(EngineCpusetTest, AClientThatAsksAgainAndAgainIsToldOnce) {
  engine_->SetNodeShare(Share("2-5"));
  const std::string id = Create(Pod(), {});
  ResourceUpdate update;
  update.cgroup.cpuset_cpus = "0-5";
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(engine_->UpdateResources(id, update).ok());
  EXPECT_EQ(Told(EventType::kWarning, id).size(), 1u);
  EXPECT_EQ(CpusetOf(id).first, "2-5");
}

TEST_F(EngineCpusetTest, ThoseThatRunFollow) {
  const std::string pod = Pod();
  const std::string all = Create(pod, {}, "all");
  const std::string pinned = Create(pod, {.cpuset_cpus = "0-1"}, "pinned");
  engine_->SetNodeShare(Share("0"));
  EXPECT_TRUE(Becomes(all, "0"));
  EXPECT_TRUE(Becomes(pinned, "0"));
  EXPECT_TRUE(WaitUntil([&] { return !Told(EventType::kWarning, pinned).empty(); }));
  engine_->SetNodeShare(Share("1"));
  EXPECT_TRUE(Becomes(all, "1"));
  EXPECT_TRUE(Becomes(pinned, "1"));
  engine_->SetNodeShare(Share("0-1", "0", /*is_whole=*/true));
  EXPECT_TRUE(Becomes(all, ""));
  EXPECT_TRUE(Becomes(pinned, "0-1"));
  EXPECT_TRUE(WaitUntil([&] { return Told(EventType::kContainerUpdated, pinned).size() == 1; }));
  // A container that asked for nothing lost nothing.
  EXPECT_THAT(Told(EventType::kWarning, all), IsEmpty());
  EXPECT_THAT(Told(EventType::kContainerUpdated, all), IsEmpty());
}

// A container's only CPUs go: it gets the rest, and its own again when they come back.
TEST_F(EngineCpusetTest, WhereNothingIsLeftItWidens) {
  const std::string id = Create(Pod(), {.cpuset_cpus = "1"});
  engine_->SetNodeShare(Share("0", "0", /*is_whole=*/true));
  EXPECT_TRUE(Becomes(id, "0"));
  EXPECT_TRUE(WaitUntil([&] { return Told(EventType::kWarning, id).size() == 1; }));
  engine_->SetNodeShare(Share("0-1", "0", /*is_whole=*/true));
  EXPECT_TRUE(Becomes(id, "1"));
}

// A v1 kernel moves processes out of a group without CPUs.
TEST_F(EngineCpusetTest, ItsProcessesAreBroughtBackOnceItHasCpusAgain) {
  const std::string id = Create(Pod(), {.cpuset_cpus = "1"});
  engine_->SetNodeShare(Share("0", "0", /*is_whole=*/true));
  EXPECT_TRUE(WaitUntil([&] { return !Told(EventType::kWarning, id).empty(); }));
  EXPECT_THAT(cgroups_.returned(), ::testing::Contains(engine_->GetContainer(id)->cgroup_path));
  cgroups_.faults.FailNext("ReturnToCpuset", absl::ResourceExhaustedError("cgroup.procs: no"));
  engine_->SetNodeShare(Share("0-1", "0", /*is_whole=*/true));
  EXPECT_TRUE(WaitUntil([&] { return Told(EventType::kWarning, id).size() == 2; }));
  EXPECT_EQ(Told(EventType::kWarning, id).back(), "give it its part of the node: cgroup.procs: no");
}

TEST_F(EngineCpusetTest, AShareThatIsSetDuringACreateIsNotMissed) {
  engine_->SetNodeShare(Share("0"));
  const std::string pod = Pod();
  runtime_.on_create = [&] { engine_->SetNodeShare(Share("1")); };
  const std::string id = Create(pod, {});
  EXPECT_EQ(*runtime_.last_created.cpuset_cpus, "0");
  EXPECT_THAT(CpusetOf(id), Pair("1", "0"));
}

TEST_F(EngineCpusetTest, ThePodsInitIsConfinedToo) {
  pause_program_ = "";
  engine_->SetNodeShare(Share("0"));
  const auto pod = engine_->RunSandbox(SharedPid(), "");
  ASSERT_TRUE(pod.ok()) << pod.status();
  const std::string group = engine_->GetSandbox(*pod)->cgroup_path + "/pause-" + *pod;
  EXPECT_THAT(cgroups_.cpuset(group), Pair("0", "0"));
  engine_->SetNodeShare(Share("1"));
  EXPECT_TRUE(WaitUntil([&] { return cgroups_.cpuset(group).first == "1"; }));
  ASSERT_TRUE(engine_->RemoveSandbox(*pod).ok());
}

TEST_F(EngineCpusetTest, AFailureToFollowIsToldAndTheOthersFollow) {
  const std::string pod = Pod();
  const std::string first = Create(pod, {}, "first");
  const std::string second = Create(pod, {}, "second");
  cgroups_.faults.FailNext("Apply", absl::PermissionDeniedError("cpuset.cpus: no"));
  engine_->SetNodeShare(Share("0"));
  const std::string failed = std::min(first, second);
  EXPECT_TRUE(Becomes(std::max(first, second), "0"));
  EXPECT_TRUE(WaitUntil([&] { return !Told(EventType::kWarning, failed).empty(); }));
  EXPECT_THAT(Told(EventType::kWarning, failed),
              ElementsAre("give it its part of the node: cpuset.cpus: no"));
}

// cgroup v1 refuses such a cpuset.
TEST_F(EngineCpusetTest, APodsCpusetBelowAContainersNamesTheContainer) {
  const std::string pod = Pod();
  const std::string id = Create(pod, {}, "first");
  ResourceUpdate pinned;
  pinned.cgroup.cpuset_cpus = "0";
  ASSERT_TRUE(engine_->UpdateResources(id, pinned).ok());
  SandboxUpdate update;
  update.resources.cpuset_cpus = "1";
  const absl::Status busy = ErrnoStatus(EBUSY, "write \"1\" to cpuset.cpus");
  cgroups_.faults.FailNext("Apply", busy);
  const absl::Status refused = engine_->UpdateSandboxResources(pod, update);
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_EQ(refused.message(),
            absl::StrCat("update sandbox ", pod,
                         ": cpuset_cpus \"1\" leaves out CPUs 0, but container \"first\" has "
                         "them: update the container first (",
                         busy.message(), ")"));
  // A container that the new set doesn't leave out isn't to blame.
  update.resources.cpuset_cpus = "0-1";
  cgroups_.faults.FailNext("Apply", busy);
  EXPECT_EQ(engine_->UpdateSandboxResources(pod, update).message(),
            absl::StrCat("update sandbox ", pod, ": ", busy.message()));
}

// On v1 groups are given their CPUs again, since the kernel drops removed CPUs for good.
TEST_F(EngineCpusetTest, APodsOwnCpusetStaysWhereLimitsAreInVersionOne) {
  cgroups_.machine = linux::CgroupLayout::kHybrid;
  const NodeShare whole = Share("0-1", "0", /*is_whole=*/true);
  engine_->SetNodeShare(whole);
  SandboxSpec spec = PodSpec("pinned");
  spec.resources.cpuset_cpus = "0";
  const std::string pinned = *engine_->RunSandbox(spec, "");
  const std::string updated = Pod();
  ASSERT_TRUE(engine_->UpdateSandboxResources(updated, {.resources = {.cpuset_cpus = "1"}}).ok());
  const std::string follows = Create(pinned, {}, "follows");
  const std::string own = Create(updated, {.cpuset_cpus = "1"}, "own");
  const auto of_pod = [&](const std::string& pod) {
    return cgroups_.cpuset(engine_->GetSandbox(pod)->cgroup_path);
  };
  // Containers follow last.
  const auto all_have_followed = [&] {
    return WaitUntil([&] {
      return !CpusetOf(follows).first.starts_with("-") && !CpusetOf(own).first.starts_with("-");
    });
  };
  for (const NodeShare& share : {whole, Share("0-1")}) {
    SCOPED_TRACE(share.is_whole ? "whole" : "part");
    StartEngine();
    for (const std::string& id : {follows, own}) {
      ASSERT_TRUE(cgroups_.Apply(engine_->GetContainer(id)->cgroup_path, {}).ok());
    }
    engine_->SetNodeShare(share);
    ASSERT_TRUE(all_have_followed());
    EXPECT_THAT(of_pod(pinned), Pair("0", ""));
    EXPECT_THAT(of_pod(updated), Pair("1", ""));
    EXPECT_THAT(CpusetOf(follows), share.is_whole ? Pair("", "") : Pair("0", "0"));
    EXPECT_THAT(CpusetOf(own).first, "1");
  }
  // New containers, and those that give up their own set, follow the pod too.
  Create(pinned, {}, "new");
  EXPECT_EQ(*runtime_.last_created.cpuset_cpus, "0");
  ASSERT_TRUE(engine_->UpdateResources(own, {.cgroup = {.cpuset_cpus = ""}}).ok());
  EXPECT_EQ(CpusetOf(own).first, "1");
  // The pod gets the share's part of its request; if there is none, the share.
  engine_->SetNodeShare(Share("1"));
  EXPECT_TRUE(Becomes(follows, "1"));
  EXPECT_THAT(of_pod(pinned), Pair("1", ""));
  engine_->SetNodeShare(Share("0-1"));
  EXPECT_TRUE(Becomes(follows, "0"));
  EXPECT_THAT(of_pod(pinned), Pair("0", ""));
}

// EBUSY: a container still has CPUs that the pod is to lose.
TEST_F(EngineCpusetTest, APodsOwnCpusetFollowsLastWhereAContainerIsInTheWay) {
  cgroups_.machine = linux::CgroupLayout::kHybrid;
  SandboxSpec spec = PodSpec();
  spec.resources.cpuset_cpus = "0-1";
  const std::string pod = *engine_->RunSandbox(spec, "");
  const std::string group = engine_->GetSandbox(pod)->cgroup_path;
  const std::string id = Create(pod, {.cpuset_cpus = "0-1"});
  std::vector<std::string> seen;
  cgroups_.on_apply = [&] {
    seen.push_back(absl::StrCat(cgroups_.cpuset(group).first, " ", CpusetOf(id).first));
    if (seen.size() == 1) cgroups_.faults.FailNext("Apply", ErrnoStatus(EBUSY, "cpuset.cpus"));
  };
  engine_->SetNodeShare(Share("0"));
  EXPECT_TRUE(WaitUntil([&] { return cgroups_.cpuset(group).first == "0"; }));
  engine_.reset();  // ends the user of `seen`
  cgroups_.on_apply = nullptr;
  StartEngine();
  EXPECT_EQ(CpusetOf(id).first, "0");
  EXPECT_EQ(seen.back(), " 0") << "as its parent until the container has followed";
}

TEST_F(EngineCpusetTest, WithoutCpusetsThatIsSaid) {
  cgroups_.controllers = {};
  engine_->SetNodeShare(Share("0"));
  Create(Pod(), {});
  EXPECT_FALSE(runtime_.last_created.cpuset_cpus.has_value());
  EXPECT_THAT(Told(EventType::kWarning, ""),
              ElementsAre("nodeResources is reported, but not enforced: this machine has no cgroup "
                          "controller \"cpuset\""));
}

}  // namespace
}  // namespace plimsoll::runtime
