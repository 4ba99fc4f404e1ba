// A tracker with a source: a file, or a provider.
#include <utility>

#include "absl/strings/ascii.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "topology/source_file.h"
#include "topology/source_provider.h"
#include "topology/tracker_fixture_for_test.h"

namespace plimsoll::topology {
namespace {

using resources::CpuSet;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A topology from a file in the kernel's place.
class FileTrackerTest : public TrackerTest {
 protected:
  FileTrackerTest() {
    Put("0-3", "8Gi");
    options_.source = *TopologyFileSource::Open(given_.root(), "t.yaml");
    options_.on_trouble = [this](const std::string& trouble) {
      absl::MutexLock lock(&mutex_);
      told_.push_back(trouble);
    };
    options_.quiet = absl::Milliseconds(1);
  }
  void Put(const std::string& cpus, const std::string& memory) {
    PutText(absl::StrCat(
        "zones:\n- {name: numa-0, type: NUMANode, resources: [{name: memory, "
        "capacity: ",
        memory, "}]}\n- {name: core-0, type: Core, parent: numa-0, attributes: ", "{cpu-ids: '",
        cpus, "'}, resources: [{name: cpu, capacity: ", CpuSet::Parse(cpus)->Size(), "}]}\n"));
  }
  void PutText(const std::string& text) {
    EXPECT_TRUE(given_.root().ReplaceFile("t.yaml", text).ok());
  }
  std::vector<std::string> told() {
    absl::MutexLock lock(&mutex_);
    return told_;
  }
  TestDir given_;
  std::vector<std::string> told_;
};

TEST_F(FileTrackerTest, ThePartitionIsCutFromTheFile) {
  config_.cpus.reserved = *CpuSet::Parse("0");
  config_.memory["memory"]["numa-0"].percent = 50;
  Start();
  EXPECT_EQ(Newest("memory"), "4Gi");
  EXPECT_EQ(tracker_->partition().cpus.ToString(), "1-3");
  EXPECT_FALSE(tracker_->partition().is_whole);
  Put("0-2", "2Gi");
  ASSERT_TRUE(AwaitNews(2));
  EXPECT_EQ(Newest("memory"), "1Gi");
  EXPECT_EQ(tracker_->partition().cpus.ToString(), "1-2");
}

// No poll helps.
TEST_F(FileTrackerTest, AFileIsWatched) {
  options_.poll_interval = absl::Hours(1);
  Start();
  Put("0-3", "2Gi");
  ASSERT_TRUE(AwaitNews(2));
  EXPECT_EQ(Newest("memory"), "2Gi");
}

TEST_F(FileTrackerTest, ABadFileLeavesTheLastGoodOne) {
  Start();
  EXPECT_THAT(told(), IsEmpty());
  Put("0-9", "2Gi");
  EXPECT_THAT(AwaitTrouble("stays in force"), HasSubstr("zone \"core-0\" has CPUs 4-9"));
  PutText("zones: [{name: a, parent: a}]\n");
  EXPECT_THAT(AwaitTrouble("its own parent"), HasSubstr("t.yaml: zone \"a\""));
  ASSERT_TRUE(given_.root().RemoveFile("t.yaml").ok());
  EXPECT_THAT(AwaitTrouble("No such file"), HasSubstr("stays in force"));
  EXPECT_EQ(Newest("memory"), "8Gi");
  EXPECT_EQ(publisher_.Newest().number, 1u);
  // Each trouble is reported once, though the file is read again and again.
  Put("0-3", "2Gi");
  ASSERT_TRUE(AwaitNews(2));
  EXPECT_EQ(told().size(), 3u);
  EXPECT_THAT(tracker_->Troubles(), IsEmpty());
}

TEST_F(FileTrackerTest, AFileThatNoClientCouldReadLeavesTheLastGoodOne) {
  Start();
  PutText("zones: [{name: east, type: NUMANode}]\n");
  EXPECT_THAT(AwaitTrouble("stays in force"), HasSubstr("t.yaml: zone \"east\" is a NUMA node"));
  EXPECT_EQ(Newest("memory"), "8Gi");
  EXPECT_EQ(publisher_.Newest().number, 1u);
  EXPECT_EQ(tracker_->in_force(), InForce::kAll);
}

// The kernel's topology, which shows what the author hides, must not be published instead.
TEST_F(FileTrackerTest, UntilThereIsAGoodOneNothingIsToldAndThePartitionIsKeptTo) {
  config_.cpus.reserved = *CpuSet::Parse("0");
  ASSERT_TRUE(given_.root().RemoveFile("t.yaml").ok());
  Start();
  EXPECT_EQ(tracker_->in_force(), InForce::kPart);
  EXPECT_FALSE(tracker_->IsTold());
  ASSERT_EQ(news().size(), 1u);
  EXPECT_EQ(news()[0].partition.cpus.ToString(), "1-3");
  EXPECT_THAT(AwaitTrouble("No such file"),
              HasSubstr("nothing is reported to clients yet; pods have the remaining CPUs 1-3"));
  // A new description is accepted, though it can't be checked.
  config_.cpus.reserved = *CpuSet::Parse("0-1");
  ASSERT_TRUE(tracker_->Reload(config_).ok());
  EXPECT_EQ(news().back().partition.cpus.ToString(), "2-3");
  Put("0-9", "2Gi");
  EXPECT_NE(AwaitTrouble("has CPUs 4-9"), "");
  EXPECT_FALSE(tracker_->IsTold());
  Put("0-3", "2Gi");
  ASSERT_TRUE(AwaitNews(3));
  EXPECT_EQ(Newest("memory"), "2Gi");
  EXPECT_EQ(tracker_->in_force(), InForce::kAll);
}

// A file outlives the boot that it was written in.
TEST_F(FileTrackerTest, IdsAreTheMachinesUnlessAsked) {
  PutText("zones: [{name: n0, type: numa, attributes: {boot-id: stale, machine-id: stale}}]\n");
  for (const bool asked : {false, true}) {
    options_.ids_of_source = asked;
    Start();
    const auto edition = publisher_.Newest();
    std::string boot_ids;
    for (const Zone& zone : edition.topology->zones) {
      const auto id = zone.attributes.find(kBootId);
      if (id != zone.attributes.end()) absl::StrAppend(&boot_ids, zone.name, " ", id->second);
    }
    const std::string machines(
        absl::StripAsciiWhitespace(*files_.root().Read("proc/sys/kernel/random/boot_id")));
    EXPECT_EQ(boot_ids, asked ? "n0 stale" : "root " + machines);
    EXPECT_EQ(edition.topology->zones[1].type, kNumaNode);
    tracker_.reset();
    options_.source = *TopologyFileSource::Open(given_.root(), "t.yaml");
  }
}

TEST_F(FileTrackerTest, ItIsHeldAgainstTheMachineAsThatChanges) {
  Start();
  TakeCpuOffline(3, "0-2");
  EXPECT_THAT(AwaitTrouble("stays in force"), HasSubstr("has CPUs 3"));
  EXPECT_EQ(publisher_.Newest().number, 1u);
  ASSERT_TRUE(AwaitNews(2));
  EXPECT_EQ(news().back().partition.cpus.ToString(), "0-2");
  Put("0-2", "8Gi");
  ASSERT_TRUE(AwaitNews(3));
  EXPECT_EQ(tracker_->partition().cpus.ToString(), "0-2");
  EXPECT_TRUE(tracker_->partition().is_whole);
}

// A description that arrives while the source is bad is cut from the source's last topology.
TEST_F(FileTrackerTest, AReloadBesideABadFileKeepsToCpusThatAreThere) {
  Start();
  TakeCpuOffline(3, "0-2");
  ASSERT_TRUE(AwaitNews(2));
  config_.cpus.reserved = *CpuSet::Parse("0");
  ASSERT_TRUE(tracker_->Reload(config_).ok());
  EXPECT_EQ(news().back().partition.cpus.ToString(), "1-2");
}

// The source has no topology yet, or none any more.
class ProviderTrackerTest : public TrackerTest {
 protected:
  void Use(absl::Duration hold) {
    provider_ = *ProviderSource::Make(hold);
    options_.source = provider_;
    options_.quiet = absl::Milliseconds(1);
  }
  static Topology OneCore(const std::string& cpu) {
    return {{Zone{.name = "core",
                  .type = kCore,
                  .attributes = {{kCpuIds, cpu}},
                  .resources = {{kCpu, resources::Quantity::FromInt(1)}}}}};
  }
  std::shared_ptr<ProviderSource> provider_;
};

TEST_F(ProviderTrackerTest, TheKernelsTopologyStandsInUntilOneHasCome) {
  Use(absl::ZeroDuration());
  Start();
  ASSERT_EQ(news().size(), 1u);
  EXPECT_TRUE(news()[0].is_stand_in);
  auto session = *provider_->Connect("p");
  ASSERT_TRUE(session->Push(OneCore("3")).ok());
  ASSERT_TRUE(AwaitNews(2));
  EXPECT_FALSE(news()[1].is_stand_in);
  EXPECT_EQ(news()[1].partition.cpus.ToString(), "3");
  session.reset();
  ASSERT_TRUE(AwaitNews(3));
  EXPECT_TRUE(news()[2].is_stand_in);
  EXPECT_EQ(news()[2].partition.cpus.ToString(), "0-3");
}

TEST_F(ProviderTrackerTest, TheProviderHearsWhatBecameOfItsTopology) {
  Use(absl::Hours(1));
  Start();
  const auto session = *provider_->Connect("p");
  ASSERT_TRUE(session->Push(OneCore("3")).ok());
  EXPECT_THAT(session->AwaitOutcome(), HasSubstr("make no node")) << "it has no memory";
  config_.cpus.list = *CpuSet::Parse("3");
  ASSERT_TRUE(tracker_->Reload(config_).ok());
  ASSERT_TRUE(session->Push(OneCore("1")).ok());
  EXPECT_EQ(session->AwaitOutcome(),
            "nodeResources: cpus.list: CPUs 3 are not there or offline; the topology has 1; the "
            "previous configuration stays in force");
}

TEST_F(FileTrackerTest, WhatIsKeptToForWantOfAFileStandsIn) {
  ASSERT_TRUE(given_.root().RemoveFile("t.yaml").ok());
  Start();
  ASSERT_EQ(news().size(), 1u);
  EXPECT_TRUE(news()[0].is_stand_in);
  Put("0-3", "2Gi");
  ASSERT_TRUE(AwaitNews(2));
  EXPECT_FALSE(news().back().is_stand_in);
}

// A blind look doesn't ask the source, whose time passes meanwhile. A rest until that time would be
// no rest.
TEST_F(ProviderTrackerTest, ABlindLookRestsBesideAProviderWhoseTimeHasPassed) {
  constexpr absl::Duration kHold = absl::Seconds(2);
  HwlocInPlace hwloc;
  options_.hwloc_program = hwloc.program();
  options_.poll_interval = absl::Hours(1);
  Use(kHold);
  Start();
  auto session = *provider_->Connect("p");
  ASSERT_TRUE(session->Push(OneCore("1")).ok());
  ASSERT_TRUE(AwaitNews(2));
  session.reset();
  ASSERT_NE(AwaitTrouble("\"p\" is gone"), "");
  const size_t before = hwloc.runs();
  hwloc.SetIll(true);
  TakeCpuOffline(3, "0-2");
  // The end of the source's time is the next reason to look.
  EXPECT_NE(AwaitTrouble("stays in force"), "");
  const absl::Time blind = absl::Now();
  absl::SleepFor(absl::Seconds(1));
  // Looks come after 0, 100, 300 and 700 ms, not without a pause.
  const size_t looks = hwloc.runs() - before;
  EXPECT_GE(looks, 2u);
  EXPECT_LE(looks, 2 + static_cast<size_t>(absl::ToDoubleSeconds(absl::Now() - blind) / 0.1));
  EXPECT_EQ(tracker_->partition().cpus.ToString(), "1") << "as it was";
  hwloc.SetIll(false);
  ASSERT_TRUE(AwaitNews(3));
  EXPECT_EQ(tracker_->partition().cpus.ToString(), "0-2") << "the kernel's, long before the poll";
  EXPECT_EQ(Newest("cpu"), "3");
}

}  // namespace
}  // namespace plimsoll::topology
