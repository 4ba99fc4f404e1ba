#include "agent/managers/refit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <list>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "agent/managers/allocation_ledger.h"
#include "agent/managers/managers_for_test.h"

namespace plimsoll::agent {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// Node 0 has CPUs 0-3,8-11, node 1 has 4-7,12-15; CPU n and n + 8 are one core. CPU 0 is reserved.
class RefitTest : public testing::Test {
 protected:
  // A pod that `managers_` admit beside those that are there.
  void Admit(const pod::Manifest& pod) {
    AllocationLedger ledger(managers_, {}, nullptr);
    for (const GrantedPod& each : pods_) ledger.Hold(each.grant);
    PodGrant grant;
    const auto rejection = ledger.Allocate(pod, grant);
    EXPECT_FALSE(rejection.has_value()) << rejection->message;
    Add(pod, grant);
  }
  void Add(const pod::Manifest& pod, const PodGrant& grant) {
    manifests_.push_back(pod);
    const std::string name = absl::StrCat("p", pods_.size());
    pods_.push_back({.uid = name,
                     .name = absl::StrCat("default/", name),
                     .created = absl::FromUnixSeconds(static_cast<int64_t>(pods_.size())),
                     .manifest = &manifests_.back(),
                     .grant = grant});
  }
  // Puts the result on record, and looks at what holds of each. Returns all notes.
  std::string Refit(const ManagerOptions& options, const topology::MachineMaps& maps) {
    managers_ = ManagersOf(options, maps);
    notes_.clear();
    for (Refitted& changed : agent::Refit(managers_, pods_)) {
      for (GrantedPod& pod : pods_) {
        if (pod.uid != changed.uid) continue;
        EXPECT_NE(pod.grant, changed.grant);
        pod.grant = std::move(changed.grant);
      }
      EXPECT_THAT(changed.notes, Not(IsEmpty()));
      notes_.insert(notes_.end(), changed.notes.begin(), changed.notes.end());
    }
    EXPECT_THAT(agent::Refit(managers_, pods_), IsEmpty()) << "it isn't idempotent";
    return absl::StrJoin(notes_, "\n");
  }
  std::string Misfit() const {
    const absl::Status status = CheckFit(*managers_, pods_);
    EXPECT_TRUE(status.ok() || absl::IsFailedPrecondition(status)) << status;
    return std::string(status.message());
  }
  std::string Cpus(size_t pod, const std::string& container = "main") const {
    return CpusIn(pods_[pod].grant, container);
  }

  topology::MachineMaps maps_ = MapsOf({});
  ManagerOptions options_ = StaticOptions();
  std::shared_ptr<const NodeManagers> managers_ = ManagersOf(options_, maps_);
  std::list<pod::Manifest> manifests_;
  std::vector<GrantedPod> pods_;
  std::vector<std::string> notes_;
};

TEST_F(RefitTest, WhatFitsStaysAsItIs) {
  Admit(PodOfCpus("2"));
  Admit(PodOf({InitOf("i", {{"cpu", "4"}, {"memory", "2Gi"}}),
               ContainerOf("main", {{"cpu", "2"}, {"memory", "1Gi"}})}));
  Admit(PodOf({ContainerOf("main", {})}));
  EXPECT_EQ(Misfit(), "");
  EXPECT_EQ(Refit(options_, maps_), "");
}

TEST_F(RefitTest, ALostCpuIsReplacedByANearOneAndTheOthersStay) {
  Admit(PodOfCpus("2"));
  Admit(PodOfCpus("2"));
  ASSERT_EQ(Cpus(0), "1,9");
  EXPECT_EQ(Refit(options_, Without(maps_, CpusOfText("9"))),
            "container main lost CPU 9 and got CPU 8; it has CPUs 1,8");
  EXPECT_EQ(Cpus(0), "1,8");
  EXPECT_EQ(Cpus(1), "2,10");
}

TEST_F(RefitTest, WithoutRoomAContainerGoesOnWithWhatIsLeftAndGetsTheRestLater) {
  Admit(PodOfCpus("2"));
  Admit(PodOfCpus("13"));
  EXPECT_EQ(Refit(options_, Without(maps_, CpusOfText("9"))),
            "container main lost CPU 9; it has CPU 1, 1 fewer than it asked for");
  EXPECT_EQ(pods_[0].grant.containers.at("main").cpu_count, 2);
  EXPECT_THAT(Misfit(), HasSubstr("pod default/p0: container main has 1 of the 2 CPUs"));
  EXPECT_EQ(Refit(options_, Without(maps_, CpusOfText("1,9"))),
            "container main lost CPU 1; it runs on the shared CPUs, 2 fewer than it asked for");
  EXPECT_EQ(Refit(options_, maps_), "container main got CPUs 1,9; it has CPUs 1,9");
  EXPECT_EQ(Misfit(), "");
}

TEST_F(RefitTest, APodThatIsShortIsServedWhenAnotherOneGivesBack) {
  Admit(PodOfCpus("2"));
  Admit(PodOfCpus("13"));
  Admit(PodOf({ContainerOf("main", {})}));
  EXPECT_FALSE(IsAnyShort(*managers_, pods_));
  const topology::MachineMaps less = Without(maps_, CpusOfText("9"));
  Refit(options_, less);
  EXPECT_TRUE(IsAnyShort(*managers_, pods_));
  EXPECT_THAT(Misfit(), HasSubstr("NodeResourceHotPlug=true")) << "the way out is told";
  EXPECT_EQ(Refit(options_, less), "") << "nobody has given anything back";
  pods_.erase(pods_.begin() + 1);
  EXPECT_EQ(Refit(options_, less), "container main got CPU 8; it has CPUs 1,8");
  EXPECT_FALSE(IsAnyShort(*managers_, pods_));
  EXPECT_EQ(Misfit(), "");
}

TEST_F(RefitTest, APodWithoutTheMemoryThatItIsToHaveIsShort) {
  options_.static_cpus = false;
  Refit(options_, maps_);
  Admit(PodOfCpus("1", "12Gi"));
  Admit(PodOfCpus("1", "12Gi"));
  Admit(PodOfCpus("1", "3Gi"));
  EXPECT_FALSE(IsAnyShort(*managers_, pods_));
  topology::MachineMaps less = maps_;
  less.nodes[0].memory_bytes = less.nodes[1].memory_bytes = 13 * kGi;
  Refit(options_, less);
  EXPECT_TRUE(IsAnyShort(*managers_, pods_));
  pods_.erase(pods_.begin());
  EXPECT_THAT(Refit(options_, less), HasSubstr("container main got memory of NUMA node 0"));
  EXPECT_FALSE(IsAnyShort(*managers_, pods_));
}

TEST_F(RefitTest, APodAsAWholeMayBeShort) {
  options_.topology = {.policy = TopologyPolicy::kRestricted, .scope = TopologyScope::kPod};
  managers_ = ManagersOf(options_, maps_);
  Admit(PodOf({{"cpu", "2"}, {"memory", "1Gi"}},
              {ContainerOf("a", {{"cpu", "1"}, {"memory", "512Mi"}}), ContainerOf("b", {})}));
  Admit(PodOfCpus("8"));
  Admit(PodOfCpus("5"));
  EXPECT_FALSE(IsAnyShort(*managers_, pods_));
  Refit(options_, Without(maps_, CpusOfText("9")));
  EXPECT_TRUE(IsAnyShort(*managers_, pods_));
}

TEST_F(RefitTest, OlderPodsAreServedFirst) {
  Admit(PodOfCpus("7"));
  Admit(PodOfCpus("6"));
  const std::string before = Cpus(1);
  pods_[1].created = absl::FromUnixSeconds(-1);
  // Both lose two, and two are free.
  const topology::MachineMaps less = Without(maps_, CpusOfText("1,9,4,12"));
  Refit(options_, less);
  EXPECT_EQ(pods_[1].grant.containers.at("main").cpus.Size(), 6u);
  EXPECT_EQ(pods_[0].grant.containers.at("main").cpus.Size(), 5u);
}

TEST_F(RefitTest, ReservedCpusAreGivenBack) {
  Admit(PodOfCpus("2"));
  options_.reserved_cpus = {.cpus = CpusOfText("0-1"), .milli = 2000};
  managers_ = ManagersOf(options_, maps_);
  EXPECT_THAT(Misfit(), HasSubstr("container main has CPU 1 of the reserved ones"));
  Refit(options_, maps_);
  EXPECT_EQ(Cpus(0), "8-9");
}

TEST_F(RefitTest, TwoPodsWithOneCpuAreParted) {
  Admit(PodOfCpus("2"));
  Add(PodOfCpus("2"), pods_[0].grant);
  EXPECT_THAT(Misfit(), HasSubstr("pod default/p1: container main has CPUs 1,9, as has pod "
                                  "default/p0"));
  Refit(options_, maps_);
  EXPECT_EQ(Cpus(0), "1,9");
  EXPECT_EQ(Cpus(1), "2,10");
  EXPECT_EQ(Misfit(), "");
}

TEST_F(RefitTest, ContainersThatRunAtATimeAreParted) {
  PodGrant grant;
  for (const char* name : {"i", "a", "b"}) {
    grant.containers[name] = {.cpus = CpusOfText("1,9"), .cpu_count = 2, .memory = {}};
  }
  options_.static_memory = false;
  Add(PodOf({InitOf("i", {{"cpu", "2"}, {"memory", "1Gi"}}),
             ContainerOf("a", {{"cpu", "2"}, {"memory", "1Gi"}}),
             ContainerOf("b", {{"cpu", "2"}, {"memory", "1Gi"}})}),
      grant);
  Refit(options_, maps_);
  EXPECT_EQ(Cpus(0, "i"), "1,9");
  EXPECT_EQ(Cpus(0, "a"), "1,9");
  EXPECT_EQ(Cpus(0, "b"), "2,10");
}

TEST_F(RefitTest, GrantsOfAPolicyThatIsNoneAreGivenBackAndGivenAnew) {
  Admit(PodOfCpus("2"));
  const PodGrant before = pods_[0].grant;
  ManagerOptions none;
  managers_ = ManagersOf(none, maps_);
  EXPECT_THAT(Misfit(), HasSubstr("container main has CPUs 1,9 of its own, and cpuManagerPolicy is "
                                  "none"));
  EXPECT_THAT(Misfit(), HasSubstr("memoryManagerPolicy is None"));
  EXPECT_THAT(Misfit(), HasSubstr("NodeResourceHotPlug=true"));
  Refit(none, maps_);
  EXPECT_TRUE(pods_[0].grant.Empty());
  managers_ = ManagersOf(options_, maps_);
  EXPECT_THAT(Misfit(), HasSubstr("container main has 0 CPUs of its own, and is to have 2"));
  EXPECT_EQ(Refit(options_, maps_),
            "container main got CPUs 1,9; it has CPUs 1,9\ncontainer main got memory of NUMA node "
            "0");
  EXPECT_EQ(pods_[0].grant, before);
}

TEST_F(RefitTest, MemoryOfANodeThatIsGoneMoves) {
  Admit(PodOfCpus("4"));
  Admit(PodOfCpus("6"));
  options_.static_cpus = false;
  for (GrantedPod& pod : pods_) {
    pod.grant.containers["main"].cpus = {};
    pod.grant.containers["main"].cpu_count = 0;
  }
  pods_[1].grant.containers["main"].memory = {{"memory", NodeMask::Of(1), kGi, {{1, kGi}}}};
  topology::MachineMaps less = Without(maps_, maps_.nodes[1].cpus);
  less.nodes.erase(1);
  EXPECT_EQ(Refit(options_, less),
            "container main lost its memory of NUMA node 1 and got memory of NUMA node 0");
  EXPECT_EQ(MemoryIn(pods_[1].grant.containers.at("main")), "memory=1073741824@0");
  EXPECT_EQ(Misfit(), "");
}

TEST_F(RefitTest, MemoryThatShrankGoesToOlderPodsAndComesBack) {
  options_.static_cpus = false;
  Refit(options_, maps_);
  Admit(PodOfCpus("1", "12Gi"));
  Admit(PodOfCpus("1", "12Gi"));
  Admit(PodOfCpus("1", "3Gi"));
  topology::MachineMaps less = maps_;
  less.nodes[0].memory_bytes = less.nodes[1].memory_bytes = 13 * kGi;
  const std::string notes = Refit(options_, less);
  EXPECT_THAT(notes, HasSubstr("container main lost its memory of NUMA node 0 and got none: "
                               "[memorymanager]"));
  EXPECT_EQ(MemoryIn(pods_[0].grant.containers.at("main")), "memory=12884901888@0");
  EXPECT_EQ(MemoryIn(pods_[1].grant.containers.at("main")), "memory=12884901888@1");
  EXPECT_FALSE(pods_[2].grant.containers.contains("main"));
  EXPECT_THAT(Misfit(), HasSubstr("no memory of its own"));
  Refit(options_, maps_);
  EXPECT_EQ(MemoryIn(pods_[2].grant.containers.at("main")), "memory=3221225472@0");
}

TEST_F(RefitTest, AnInitContainerWithoutMemoryJoinsTheOthers) {
  Admit(PodOf({InitOf("i", {{"cpu", "1"}, {"memory", "1Gi"}}),
               ContainerOf("main", {{"cpu", "1"}, {"memory", "1Gi"}})}));
  pods_[0].grant.containers["i"].memory = {{"memory", NodeMask::Of(3), 0, {}}};
  Refit(options_, maps_);
  EXPECT_EQ(MemoryIn(pods_[0].grant.containers.at("i")), "memory=0@0");
}

TEST_F(RefitTest, APodOfItsOwnIsDividedAnewWithTheLeastChange) {
  options_.topology = {.policy = TopologyPolicy::kRestricted, .scope = TopologyScope::kPod};
  managers_ = ManagersOf(options_, maps_);
  Admit(PodOf({{"cpu", "6"}, {"memory", "4Gi"}},
              {ContainerOf("a", {{"cpu", "2"}, {"memory", "1Gi"}}),
               ContainerOf("b", {{"cpu", "2"}, {"memory", "1Gi"}}), ContainerOf("c", {})}));
  ASSERT_EQ(Cpus(0, "b"), "2,10");
  EXPECT_EQ(Misfit(), "");
  Refit(options_, Without(maps_, CpusOfText("1")));
  EXPECT_EQ(pods_[0].grant.pod.cpus.ToString(), "2-3,8-11");
  EXPECT_EQ(Cpus(0, "a"), "8-9");
  EXPECT_EQ(Cpus(0, "b"), "2,10");
  EXPECT_EQ(Cpus(0, "c"), "") << "it shares";
  EXPECT_EQ(Misfit(), "");
}

TEST_F(RefitTest, APodWhoseManifestIsUnreadableKeepsWhatItHas) {
  Admit(PodOf({InitOf("i", {{"cpu", "4"}, {"memory", "2Gi"}}),
               ContainerOf("main", {{"cpu", "2"}, {"memory", "1Gi"}})}));
  pods_[0].manifest = nullptr;
  EXPECT_EQ(Misfit(), "");
  EXPECT_EQ(Refit(options_, maps_), "");
  Refit(options_, Without(maps_, CpusOfText("9")));
  EXPECT_EQ(Cpus(0), "1,8");
}

TEST_F(RefitTest, ManyMisfitsAreCountedAndNotAllNamed) {
  for (int i = 0; i < 5; ++i) Admit(PodOfCpus("1"));
  managers_ = ManagersOf(ManagerOptions(), maps_);
  EXPECT_THAT(Misfit(), HasSubstr("; 2 more pods. "));
  EXPECT_THAT(Misfit(), Not(HasSubstr("p3")));
}

TEST_F(RefitTest, ShortOfRoomInitContainersShareWithTheirPod) {
  options_.static_memory = false;
  PodGrant apart;
  apart.containers["i"] = {.cpus = CpusOfText("1,9"), .cpu_count = 2, .memory = {}};
  apart.containers["main"] = {.cpus = CpusOfText("2,10"), .cpu_count = 2, .memory = {}};
  Add(PodOf({InitOf("i", {{"cpu", "2"}, {"memory", "1Gi"}}),
             ContainerOf("main", {{"cpu", "2"}, {"memory", "1Gi"}})}),
      apart);
  PodGrant other;
  other.containers["main"] = {.cpus = CpusOfText("3-8,11-15"), .cpu_count = 11, .memory = {}};
  Add(PodOfCpus("11"), other);
  Refit(options_, Without(maps_, CpusOfText("3,11")));
  EXPECT_EQ(Cpus(0, "main"), "2,10");
  EXPECT_EQ(Cpus(0, "i"), "2,10");
  EXPECT_EQ(pods_[1].grant.containers.at("main").cpus.Size(), 11u);
}

}  // namespace
}  // namespace plimsoll::agent
