#include "topology/tracker.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <vector>

#include "base/no_descriptors_for_test.h"
#include "base/wait_until_for_test.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "topology/tracker_fixture_for_test.h"

namespace plimsoll::topology {
namespace {

using resources::CpuSet;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST_F(TrackerTest, TheFirstTopologyIsThereAtOnce) {
  Start();
  EXPECT_EQ(publisher_.Newest().number, 1u);
  EXPECT_EQ(Newest("cpu"), "4");
  ASSERT_EQ(news().size(), 1u);
  EXPECT_TRUE(news()[0].changed);
  EXPECT_TRUE(news()[0].partition.is_whole);
  EXPECT_THAT(tracker_->Troubles(), IsEmpty());
}

TEST_F(TrackerTest, HugePagesHaveNoEventAndAreSeenAllTheSame) {
  Start();
  files_.Put("sys/devices/system/node/node0/hugepages/hugepages-2048kB/nr_hugepages", "16\n");
  ASSERT_TRUE(AwaitNews(2));
  EXPECT_EQ(publisher_.Newest().number, 2u);
  EXPECT_EQ(Newest("hugepages-2Mi"), "32Mi");
  EXPECT_FALSE(news().back().changed);
}

TEST_F(TrackerTest, ACpuThatGoesLeavesThePartition) {
  config_.cpus.reserved = *CpuSet::Parse("0");
  Start();
  EXPECT_EQ(tracker_->partition().cpus.ToString(), "1-3");
  TakeCpuOffline(3, "0-2");
  ASSERT_TRUE(AwaitNews(2));
  EXPECT_EQ(tracker_->partition().cpus.ToString(), "1-2");
  EXPECT_TRUE(news().back().changed);
}

TEST_F(TrackerTest, APartitionThatFitsNoMoreStays) {
  config_.cpus.list = *CpuSet::Parse("2-3");
  Start();
  TakeCpuOffline(3, "0-2");
  EXPECT_THAT(AwaitTrouble("stays in force"),
              HasSubstr("cpus.list: CPUs 3 are not there or offline"));
  EXPECT_EQ(publisher_.Newest().number, 1u);
  EXPECT_EQ(tracker_->partition().cpus.ToString(), "2-3");
  EXPECT_EQ(tracker_->Misfits(), tracker_->Troubles());
  // Users of CPU 3 must leave it all the same.
  ASSERT_TRUE(AwaitNews(2));
  EXPECT_EQ(news().back().partition.cpus.ToString(), "2");
  EXPECT_TRUE(news().back().changed);
  // A change elsewhere makes another look, which finds the same.
  files_.PutMemTotal(4 << 20);
  EXPECT_NE(AwaitTrouble("don't add up to MemTotal"), "");
  EXPECT_FALSE(tracker_->Reload(config_).ok()) << "after that look's end";
  EXPECT_EQ(news().size(), 2u) << "told once";
  // The memory is back.
  files_.PutMemTotal(8 << 20);
  AddCpus(files_, 1, 4, 1);
  ASSERT_TRUE(AwaitNews(3));
  EXPECT_EQ(news().back().partition.cpus.ToString(), "2-3");
  EXPECT_TRUE(WaitUntil([this] { return tracker_->Troubles().empty(); }));
}

TEST_F(TrackerTest, APartitionOfWhichNothingIsLeftStays) {
  config_.cpus.list = *CpuSet::Parse("3");
  Start();
  TakeCpuOffline(3, "0-2");
  EXPECT_NE(AwaitTrouble("cpus.list: CPUs 3 are not there or offline"), "");
  EXPECT_EQ(news().size(), 1u);
}

TEST_F(TrackerTest, ReloadsOrLeavesEverythingAsItWas) {
  Start();
  PartitionConfig config;
  config.cpus.list = *CpuSet::Parse("4");
  EXPECT_TRUE(absl::IsFailedPrecondition(tracker_->Reload(config)));
  EXPECT_EQ(publisher_.Newest().number, 1u);
  EXPECT_THAT(tracker_->Troubles(), IsEmpty());
  config.cpus.list = *CpuSet::Parse("3");
  EXPECT_TRUE(tracker_->Reload(config).ok());
  EXPECT_EQ(publisher_.Newest().number, 2u);
  EXPECT_EQ(Newest("cpu"), "1");
}

// After a reboot with fewer CPUs: otherwise the node would lose exec and stop.
TEST_F(TrackerTest, OfAPartitionThatNeverFittedWhatIsLeftIsInForce) {
  config_.cpus.list = *CpuSet::Parse("2-5");
  Start();
  EXPECT_EQ(tracker_->in_force(), InForce::kPart);
  EXPECT_EQ(Newest("cpu"), "2");
  ASSERT_EQ(news().size(), 1u);
  EXPECT_EQ(news()[0].partition.cpus.ToString(), "2-3");
  ASSERT_EQ(tracker_->Misfits().size(), 1u);
  EXPECT_THAT(tracker_->Misfits()[0],
              AllOf(HasSubstr("cpus.list: CPUs 4-5 are not there or offline"),
                    HasSubstr("; pods have the remaining CPUs 2-3")));
  // First less is left, then as much again.
  TakeCpuOffline(3, "0-2");
  ASSERT_TRUE(AwaitNews(2));
  EXPECT_EQ(news().back().partition.cpus.ToString(), "2");
  EXPECT_EQ(Newest("cpu"), "1");
  config_.cpus.list = *CpuSet::Parse("1-2");
  ASSERT_TRUE(tracker_->Reload(config_).ok());
  EXPECT_EQ(tracker_->in_force(), InForce::kAll);
  EXPECT_THAT(tracker_->Misfits(), IsEmpty());
  EXPECT_EQ(Newest("cpu"), "2");
}

TEST_F(TrackerTest, WhereNothingIsLeftNothingIsToldAndNobodyIsConfined) {
  config_.cpus.list = *CpuSet::Parse("4000");
  Start();
  EXPECT_EQ(tracker_->in_force(), InForce::kNothing);
  EXPECT_FALSE(tracker_->IsTold());
  EXPECT_THAT(news(), IsEmpty());
  EXPECT_THAT(AwaitTrouble("CPUs 4000"),
              HasSubstr("nothing is reported to clients yet, and no pod"));
  PartitionConfig bad = config_;
  bad.cpus.list = *CpuSet::Parse("4001");
  EXPECT_FALSE(tracker_->Reload(bad).ok());
  EXPECT_FALSE(tracker_->IsTold());
  config_.cpus.list = *CpuSet::Parse("1");
  ASSERT_TRUE(tracker_->Reload(config_).ok());
  EXPECT_EQ(Newest("cpu"), "1");
}

TEST_F(TrackerTest, AFaultAtTheFirstLookPasses) {
  HwlocInPlace hwloc;
  hwloc.SetIll(true);
  options_.hwloc_program = hwloc.program();
  options_.poll_interval = absl::Hours(1);
  Start();
  EXPECT_FALSE(tracker_->IsTold());
  ASSERT_EQ(tracker_->Misfits().size(), 1u);
  EXPECT_THAT(tracker_->Misfits()[0], HasSubstr("nothing is reported to clients yet"));
  EXPECT_FALSE(tracker_->Reload(config_).ok());
  hwloc.SetIll(false);
  ASSERT_TRUE(AwaitNews(1)) << "long before the next poll";
  EXPECT_EQ(Newest("cpu"), "4");
  EXPECT_TRUE(WaitUntil([this] { return tracker_->Misfits().empty(); }));
}

// Seen on a machine whose node0/meminfo moves by gigabytes within an hour.
TEST_F(TrackerTest, MemoryThatMovesIsReadAgainAlone) {
  HwlocInPlace hwloc;
  options_.hwloc_program = hwloc.program();
  Start();
  ASSERT_EQ(hwloc.runs(), 1u);
  for (const uint32_t gib : {7, 6, 9}) {
    files_.Put("sys/devices/system/node/node0/meminfo",
               absl::StrCat("Node 0 MemTotal:       ", gib << 20, " kB\n"));
    files_.PutMemTotal(gib << 20);
    // A look between the two writes may see only one.
    EXPECT_TRUE(WaitUntil([&] { return Newest("memory") == absl::StrCat(gib, "Gi"); }))
        << Newest("memory");
  }
  EXPECT_EQ(hwloc.runs(), 1u) << "hwloc is asked for processors";
  const size_t told = news().size();
  TakeCpuOffline(3, "0-2");
  ASSERT_TRUE(AwaitNews(told + 1));
  EXPECT_EQ(hwloc.runs(), 2u);
  EXPECT_EQ(Newest("cpu"), "3");
  EXPECT_EQ(Newest("memory"), "9Gi");
}

// A program in hwloc's place that waits while its gate is shut.
class GatedTrackerTest : public TrackerTest {
 protected:
  GatedTrackerTest() {
    EXPECT_EQ(mkfifo((gate_.path() + "/door").c_str(), 0600), 0);
    Put("hwloc", absl::StrCat("#!/bin/sh\ncd ", gate_.path(),
                              "\nif [ -e shut ]; then read key < door; fi\nexec ",
                              PLIMSOLL_HWLOC_PROGRAM, "\n"));
    options_.hwloc_program = gate_.path() + "/hwloc";
  }
  void Put(const std::string& name, const std::string& text) {
    EXPECT_TRUE(gate_.root().ReplaceFile(name, text, 0755).ok());
  }
  // Returns when the program waits at the gate; closing the result lets it go on.
  UniqueFd AwaitAtTheDoor() {
    return UniqueFd(open((gate_.path() + "/door").c_str(), O_WRONLY | O_CLOEXEC));
  }
  TestDir gate_;
};

TEST_F(GatedTrackerTest, ASlowLookKeepsNobodyWaiting) {
  Start();
  Put("shut", "");
  TakeCpuOffline(3, "0-2");
  UniqueFd door = AwaitAtTheDoor();
  // If these waited, the test would never end.
  EXPECT_EQ(tracker_->partition().cpus.ToString(), "0-3");
  EXPECT_THAT(tracker_->Troubles(), IsEmpty());
  ASSERT_TRUE(gate_.root().RemoveFile("shut").ok());
  door.Reset();
  ASSERT_TRUE(AwaitNews(2));
  EXPECT_EQ(tracker_->partition().cpus.ToString(), "0-2");
}

// The receiver of news may ask.
TEST_F(TrackerTest, WhoIsToldMayAskTheTracker) {
  std::string asked;
  auto tracker = Tracker::Start(options_, &publisher_, [&](const TrackerNews&) {
    absl::MutexLock lock(&mutex_);
    if (tracker_ != nullptr) asked = tracker_->partition().cpus.ToString();
  });
  {
    absl::MutexLock lock(&mutex_);
    tracker_ = std::move(tracker);
  }
  PartitionConfig config;
  config.cpus.list = *CpuSet::Parse("3");
  ASSERT_TRUE(tracker_->Reload(config).ok());
  absl::MutexLock lock(&mutex_);
  EXPECT_EQ(asked, "3");
}

TEST_F(TrackerTest, WhatCannotBeReadIsLookedAtAgain) {
  Start();
  // All its threads must run: their sanitizer needs descriptors when they begin.
  TakeCpuOffline(3, "0-2");
  ASSERT_TRUE(AwaitNews(2));
  std::string trouble;
  absl::Status reloaded;
  {
    NoDescriptors none;
    trouble = AwaitTrouble("stays in force");
    reloaded = tracker_->Reload({});
  }
  EXPECT_THAT(trouble, HasSubstr("Too many open files"));
  EXPECT_TRUE(absl::IsResourceExhausted(reloaded)) << reloaded;
  EXPECT_EQ(tracker_->partition().cpus.ToString(), "0-2");
  TakeCpuOffline(2, "0-1");
  ASSERT_TRUE(AwaitNews(3));
  EXPECT_EQ(tracker_->partition().cpus.ToString(), "0-1");
  EXPECT_THAT(tracker_->Troubles(), IsEmpty());
  EXPECT_EQ(publisher_.Newest().number, 3u) << "nothing else was published";
}

// This machine, whatever it is.
TEST(TrackerHostTest, KnowsTheMachineItRunsOn) {
  Publisher publisher;
  TrackerOptions options = {.host = *FsRoot::Open("/")};
  const auto tracker = Tracker::Start(std::move(options), &publisher, nullptr);
  const auto capacity = Capacity(*publisher.Newest().topology);
  EXPECT_EQ(capacity.at("cpu").Value(), static_cast<int64_t>(tracker->partition().cpus.Size()));
  EXPECT_GT(capacity.at("memory").Value(), 0);
}

}  // namespace
}  // namespace plimsoll::topology
