#include "topology/tracker.h"

#include <fcntl.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/time/clock.h"
#include "base/no_descriptors_for_test.h"
#include "base/status.h"
#include "base/wait_until_for_test.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "topology/machine_files_for_test.h"
#include "topology/source_file.h"

namespace plimsoll::topology {
namespace {

using resources::CpuSet;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class TrackerTest : public ::testing::Test {
 protected:
  TrackerTest() {
    AddCpus(files_, 1, 4, 1);
    files_.AddCaches({{3, 8192, "0-3", 0}});
    files_.AddNode({0, "0-3", 8 << 20, "10", {{2048, 0}}});
  }
  // Before what it tells of things goes: members of those who inherit from this.
  void TearDown() override { tracker_.reset(); }
  absl::Status Start() {
    TrackerOptions options = options_;
    options.partition = config_;
    auto tracker = Tracker::Start(std::move(options), &publisher_, [this](const TrackerNews& news) {
      absl::MutexLock lock(&mutex_);
      news_.push_back(news);
    });
    PLIMSOLL_RETURN_IF_ERROR(tracker.status());
    tracker_ = *std::move(tracker);
    return absl::OkStatus();
  }
  void TakeCpuOffline(uint32_t cpu, const std::string& left) {
    ASSERT_TRUE(files_.root()
                    .RemoveTree(absl::StrCat("sys/devices/system/cpu/cpu", cpu, "/topology"))
                    .ok());
    files_.Cpus(left, "0-3");
  }
  // Of the tracker's troubles the first that says `text`.
  std::string AwaitTrouble(const std::string& text) {
    for (const absl::Time end = absl::Now() + absl::Seconds(30); absl::Now() < end;) {
      for (const std::string& each : tracker_->Troubles()) {
        if (each.find(text) != std::string::npos) return each;
      }
      absl::SleepFor(absl::Milliseconds(5));
    }
    return "";
  }
  // The edition is out before that.
  bool AwaitNews(size_t count) {
    for (const absl::Time end = absl::Now() + absl::Seconds(30); absl::Now() < end;) {
      if (news().size() >= count) return true;
      absl::SleepFor(absl::Milliseconds(5));
    }
    return false;
  }
  std::string Newest(const std::string& resource) const {
    return Capacity(*publisher_.Newest().topology)[resource].Canonical();
  }
  std::vector<TrackerNews> news() {
    absl::MutexLock lock(&mutex_);
    return news_;
  }

  MachineFiles files_;
  TrackerOptions options_ = {.host = files_.root(),
                             .hwloc_program = PLIMSOLL_HWLOC_PROGRAM,
                             .poll_interval = absl::Milliseconds(10)};
  Publisher publisher_;
  PartitionConfig config_;
  absl::Mutex mutex_;
  std::vector<TrackerNews> news_;
  std::unique_ptr<Tracker> tracker_;
};

TEST_F(TrackerTest, TheFirstTopologyIsThereAtOnce) {
  ASSERT_TRUE(Start().ok());
  EXPECT_EQ(publisher_.Newest().number, 1u);
  EXPECT_EQ(Newest("cpu"), "4");
  ASSERT_EQ(news().size(), 1u);
  EXPECT_TRUE(news()[0].changed);
  EXPECT_TRUE(news()[0].partition.is_whole);
  EXPECT_THAT(tracker_->Troubles(), IsEmpty());
}

TEST_F(TrackerTest, HugePagesHaveNoEventAndAreSeenAllTheSame) {
  ASSERT_TRUE(Start().ok());
  files_.Put("sys/devices/system/node/node0/hugepages/hugepages-2048kB/nr_hugepages", "16\n");
  ASSERT_TRUE(AwaitNews(2));
  EXPECT_EQ(publisher_.Newest().number, 2u);
  EXPECT_EQ(Newest("hugepages-2Mi"), "32Mi");
  EXPECT_FALSE(news().back().changed);
}

TEST_F(TrackerTest, ACpuThatGoesLeavesThePartition) {
  config_.cpus.reserved = *CpuSet::Parse("0");
  ASSERT_TRUE(Start().ok());
  EXPECT_EQ(tracker_->partition().cpus.ToString(), "1-3");
  TakeCpuOffline(3, "0-2");
  ASSERT_TRUE(AwaitNews(2));
  EXPECT_EQ(tracker_->partition().cpus.ToString(), "1-2");
  EXPECT_TRUE(news().back().changed);
}

TEST_F(TrackerTest, APartitionThatFitsNoMoreStays) {
  config_.cpus.list = *CpuSet::Parse("2-3");
  ASSERT_TRUE(Start().ok());
  TakeCpuOffline(3, "0-2");
  EXPECT_THAT(AwaitTrouble("before stays"),
              HasSubstr("cpus.list: CPUs 3 are not there or offline"));
  EXPECT_EQ(publisher_.Newest().number, 1u);
  EXPECT_EQ(tracker_->partition().cpus.ToString(), "2-3");
  EXPECT_EQ(tracker_->Misfits(), tracker_->Troubles());
  // Who has had CPU 3 is to leave it all the same.
  ASSERT_TRUE(AwaitNews(2));
  EXPECT_EQ(news().back().partition.cpus.ToString(), "2");
  EXPECT_TRUE(news().back().changed);
  // Another look finds the same, and something that has nothing to do with it.
  const std::string machine_id = *files_.root().Read("etc/machine-id");
  ASSERT_TRUE(files_.root().RemoveFile("etc/machine-id").ok());
  files_.Put("sys/devices/system/node/node0/hugepages/hugepages-2048kB/nr_hugepages", "16\n");
  EXPECT_NE(AwaitTrouble("no machine-id"), "");
  EXPECT_FALSE(tracker_->Reload(config_).ok()) << "after that look's end";
  EXPECT_EQ(news().size(), 2u) << "told once";
  // It is there again.
  files_.Put("etc/machine-id", machine_id);
  AddCpus(files_, 1, 4, 1);
  ASSERT_TRUE(AwaitNews(3));
  EXPECT_EQ(news().back().partition.cpus.ToString(), "2-3");
  EXPECT_TRUE(WaitUntil([this] { return tracker_->Troubles().empty(); }));
}

TEST_F(TrackerTest, APartitionOfWhichNothingIsLeftStays) {
  config_.cpus.list = *CpuSet::Parse("3");
  ASSERT_TRUE(Start().ok());
  TakeCpuOffline(3, "0-2");
  EXPECT_NE(AwaitTrouble("cpus.list: CPUs 3 are not there or offline"), "");
  EXPECT_EQ(news().size(), 1u);
}

TEST_F(TrackerTest, ReloadsOrLeavesEverythingAsItWas) {
  ASSERT_TRUE(Start().ok());
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

// As after a reboot that has brought fewer CPUs: without it the node would lose exec and stop.
TEST_F(TrackerTest, OfAPartitionThatNeverFittedWhatIsLeftIsInForce) {
  config_.cpus.list = *CpuSet::Parse("2-5");
  ASSERT_TRUE(Start().ok());
  EXPECT_EQ(tracker_->in_force(), InForce::kPart);
  EXPECT_EQ(Newest("cpu"), "2");
  ASSERT_EQ(news().size(), 1u);
  EXPECT_EQ(news()[0].partition.cpus.ToString(), "2-3");
  ASSERT_EQ(tracker_->Misfits().size(), 1u);
  EXPECT_THAT(tracker_->Misfits()[0],
              AllOf(HasSubstr("cpus.list: CPUs 4-5 are not there or offline"),
                    HasSubstr("; pods have what is left, CPUs 2-3")));
  // Less is left, and again as much.
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
  ASSERT_TRUE(Start().ok());
  EXPECT_EQ(tracker_->in_force(), InForce::kNothing);
  EXPECT_FALSE(tracker_->IsTold());
  EXPECT_THAT(news(), IsEmpty());
  EXPECT_THAT(AwaitTrouble("CPUs 4000"), HasSubstr("nothing is told to clients yet, and no pod"));
  PartitionConfig bad = config_;
  bad.cpus.list = *CpuSet::Parse("4001");
  EXPECT_FALSE(tracker_->Reload(bad).ok());
  EXPECT_FALSE(tracker_->IsTold());
  config_.cpus.list = *CpuSet::Parse("1");
  ASSERT_TRUE(tracker_->Reload(config_).ok());
  EXPECT_EQ(Newest("cpu"), "1");
}

// A program in hwloc's place that fails until it is repaired.
TEST_F(TrackerTest, AFaultAtTheFirstLookPasses) {
  TestDir place;
  ASSERT_TRUE(
      place.root()
          .ReplaceFile("hwloc",
                       absl::StrCat("#!/bin/sh\nif [ -e ", place.path(), "/well ]; then exec ",
                                    PLIMSOLL_HWLOC_PROGRAM, "; fi\nexit 1\n"),
                       0755)
          .ok());
  options_.hwloc_program = place.path() + "/hwloc";
  options_.poll_interval = absl::Hours(1);
  ASSERT_TRUE(Start().ok());
  EXPECT_FALSE(tracker_->IsTold());
  ASSERT_EQ(tracker_->Misfits().size(), 1u);
  EXPECT_THAT(tracker_->Misfits()[0], HasSubstr("nothing is told to clients yet"));
  EXPECT_FALSE(tracker_->Reload(config_).ok());
  ASSERT_TRUE(place.root().ReplaceFile("well", "").ok());
  ASSERT_TRUE(AwaitNews(1)) << "long before the next poll";
  EXPECT_EQ(Newest("cpu"), "4");
  EXPECT_TRUE(WaitUntil([this] { return tracker_->Misfits().empty(); }));
}

// A program in hwloc's place that waits, once its gate is shut, for somebody to open it.
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
  // Returns when the program waits at the door; it goes on when what is returned is closed.
  UniqueFd AwaitAtTheDoor() {
    return UniqueFd(open((gate_.path() + "/door").c_str(), O_WRONLY | O_CLOEXEC));
  }
  TestDir gate_;
};

TEST_F(GatedTrackerTest, ASlowLookKeepsNobodyWaiting) {
  ASSERT_TRUE(Start().ok());
  Put("shut", "");
  TakeCpuOffline(3, "0-2");
  UniqueFd door = AwaitAtTheDoor();
  // Were they kept waiting, this would last for ever.
  EXPECT_EQ(tracker_->partition().cpus.ToString(), "0-3");
  EXPECT_THAT(tracker_->Troubles(), IsEmpty());
  ASSERT_TRUE(gate_.root().RemoveFile("shut").ok());
  door.Reset();
  ASSERT_TRUE(AwaitNews(2));
  EXPECT_EQ(tracker_->partition().cpus.ToString(), "0-2");
}

// What is told may ask.
TEST_F(TrackerTest, WhoIsToldMayAskTheTracker) {
  std::string asked;
  auto tracker = Tracker::Start(options_, &publisher_, [&](const TrackerNews&) {
    absl::MutexLock lock(&mutex_);
    if (tracker_ != nullptr) asked = tracker_->partition().cpus.ToString();
  });
  ASSERT_TRUE(tracker.ok()) << tracker.status();
  {
    absl::MutexLock lock(&mutex_);
    tracker_ = *std::move(tracker);
  }
  PartitionConfig config;
  config.cpus.list = *CpuSet::Parse("3");
  ASSERT_TRUE(tracker_->Reload(config).ok());
  absl::MutexLock lock(&mutex_);
  EXPECT_EQ(asked, "3");
}

TEST_F(TrackerTest, WhatCannotBeReadIsLookedAtAgain) {
  ASSERT_TRUE(Start().ok());
  // So that all its threads run: their sanitizer needs descriptors when they begin.
  TakeCpuOffline(3, "0-2");
  ASSERT_TRUE(AwaitNews(2));
  std::string trouble;
  absl::Status reloaded;
  {
    NoDescriptors none;
    trouble = AwaitTrouble("before stays");
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

// A socket in the kernel's place.
class InjectedTrackerTest : public TrackerTest {
 protected:
  InjectedTrackerTest() {
    int ends[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
    kernel_ = UniqueFd(ends[0]);
    options_.events = std::make_shared<linux::UeventSocket>(
        linux::UeventSocket::Adopt(UniqueFd(ends[1]), {.subsystems = {"cpu", "memory"}}));
    options_.poll_interval = absl::Hours(1);
  }
  void AwaitHeard() {
    int unread = 1;
    for (const absl::Time end = absl::Now() + absl::Seconds(30); unread > 0 && absl::Now() < end;) {
      absl::SleepFor(absl::Milliseconds(5));
      ASSERT_EQ(ioctl(kernel_.get(), SIOCOUTQ, &unread), 0);
    }
    EXPECT_EQ(unread, 0);
  }
  // As the kernel says it (lib/kobject_uevent.c).
  void Send(absl::string_view action, uint32_t number, absl::string_view subsystem = "cpu") {
    const std::string path = absl::StrCat("/devices/system/", subsystem, "/", subsystem, number);
    std::string event = absl::StrCat(action, "@", path);
    for (const std::string& property :
         {absl::StrCat("ACTION=", action), absl::StrCat("DEVPATH=", path),
          absl::StrCat("SUBSYSTEM=", subsystem), absl::StrCat("SEQNUM=", ++sequence_)}) {
      event.push_back('\0');
      event += property;
    }
    event.push_back('\0');
    while (send(kernel_.get(), event.data(), event.size(), 0) < 0) {  // full: until it is read
      ASSERT_EQ(errno, EAGAIN);
      absl::SleepFor(absl::Milliseconds(1));
    }
  }
  UniqueFd kernel_;
  int sequence_ = 0;
};

// Each CPU of a hot-add comes with two events, and the machine is another one after each.
TEST_F(InjectedTrackerTest, AHotAddOf64CpusIsOneMessage) {
  AddCpus(files_, 1, 68, 1);
  files_.Cpus("0-3", "0-67");
  options_.quiet = absl::Milliseconds(500);
  options_.at_most = absl::Hours(1);
  ASSERT_TRUE(Start().ok());
  ASSERT_EQ(Newest("cpu"), "4");
  absl::Duration longest_gap;
  absl::Time last = absl::Now();
  for (uint32_t cpu = 4; cpu < 68; ++cpu) {
    Send("add", cpu);
    absl::SleepFor(absl::Milliseconds(1));
    files_.Put("sys/devices/system/cpu/online", absl::StrCat("0-", cpu, "\n"));
    Send("online", cpu);
    longest_gap = std::max(longest_gap, absl::Now() - last);
    last = absl::Now();
  }
  for (int i = 0; i < 6000 && Newest("cpu") != "68"; ++i) absl::SleepFor(absl::Milliseconds(10));
  EXPECT_EQ(Newest("cpu"), "68");
  // What has been held up for that long is no burst to anybody.
  const bool was_a_burst = longest_gap < options_.quiet;
  EXPECT_TRUE(!was_a_burst || publisher_.Newest().number == 2) << publisher_.Newest().number;
}

TEST_F(InjectedTrackerTest, AnEventIsEnough) {
  options_.quiet = absl::Milliseconds(1);
  ASSERT_TRUE(Start().ok());
  TakeCpuOffline(3, "0-2");
  Send("offline", 3);
  ASSERT_TRUE(AwaitNews(2));
  EXPECT_EQ(Newest("cpu"), "3");
}

// A memory module of two blocks, 1 and 2, of a gibibyte each; block 0 is always there.
class MemoryModuleTest : public InjectedTrackerTest {
 protected:
  MemoryModuleTest() {
    options_.quiet = absl::Milliseconds(1);
    options_.at_most = absl::Milliseconds(1);
    options_.module_at_most = absl::Hours(1);
    SetPolicy("online_movable");
    PutMemory(8);
  }
  void SetPolicy(absl::string_view policy) {
    files_.Put("sys/devices/system/memory/auto_online_blocks", absl::StrCat(policy, "\n"));
  }
  void PutState(uint32_t block, absl::string_view state) {
    files_.Put(absl::StrCat("sys/devices/system/memory/memory", block, "/state"),
               absl::StrCat(state, "\n"));
  }
  void PutMemory(uint32_t gib) {
    files_.Put("sys/devices/system/node/node0/meminfo",
               absl::StrCat("Node 0 MemTotal:       ", gib << 20, " kB\n"));
    files_.PutMemTotal(gib << 20);
  }
  // In the kernel's order.
  void Move(const char* event, uint32_t block, const char* state, uint32_t gib) {
    PutMemory(gib);
    PutState(block, state);
    Send(event, block, "memory");
  }
  // Time to tell too early in. What waits as it should waits for ever.
  static void GiveItTime() { absl::SleepFor(absl::Milliseconds(50)); }
};

TEST_F(MemoryModuleTest, OneThatIsPluggedInIsOneMessage) {
  // Both are there to be heard when the tracker begins to listen.
  for (const uint32_t block : {1, 2}) Move("add", block, "offline", 8);
  ASSERT_TRUE(Start().ok());
  GiveItTime();
  Move("online", 1, "online", 9);
  GiveItTime();
  Move("online", 2, "online", 10);
  ASSERT_TRUE(AwaitNews(2));
  EXPECT_EQ(Newest("memory"), "10Gi");
  EXPECT_EQ(publisher_.Newest().number, 2u);
}

TEST_F(MemoryModuleTest, OneThatIsTakenOutIsOneMessage) {
  PutMemory(10);
  ASSERT_TRUE(Start().ok());
  PutState(2, "going-offline");
  Move("offline", 1, "offline", 9);
  GiveItTime();
  Move("offline", 2, "offline", 8);
  ASSERT_TRUE(AwaitNews(2));
  EXPECT_EQ(Newest("memory"), "8Gi");
  EXPECT_EQ(publisher_.Newest().number, 2u);
}

// Where somebody else puts blocks online, and may leave it, none is waited for.
TEST_F(MemoryModuleTest, BlocksThatTheKernelLeavesOfflineAreNotWaitedFor) {
  SetPolicy("offline");
  ASSERT_TRUE(Start().ok());
  for (const uint32_t block : {1, 2}) Move("add", block, "offline", 8);
  Move("online", 1, "online", 9);
  ASSERT_TRUE(AwaitNews(2));
  EXPECT_EQ(Newest("memory"), "9Gi");
}

TEST_F(MemoryModuleTest, ABlockThatFailsToComeIsNotWaitedForForEver) {
  options_.module_at_most = absl::Milliseconds(20);
  ASSERT_TRUE(Start().ok());
  for (const uint32_t block : {1, 2}) Move("add", block, "offline", 8);
  Move("online", 1, "online", 9);
  ASSERT_TRUE(AwaitNews(2));
  EXPECT_EQ(Newest("memory"), "9Gi");
}

// No event and no poll comes to its help.
TEST_F(InjectedTrackerTest, ALookThatFailedIsMadeAgain) {
  options_.quiet = absl::Milliseconds(1);
  ASSERT_TRUE(Start().ok());
  // Nothing new in it. The sanitizer of undefined behaviour looks at an object through a pipe when
  // something is called on it for the first time, and takes a failure of pipe(2) for a finding.
  Send("online", 3);
  AwaitHeard();
  struct rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  // Enough for poll(2) to hear the event by.
  const struct rlimit three = {.rlim_cur = 3, .rlim_max = before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &three), 0);
  Send("offline", 3);
  const std::string trouble = AwaitTrouble("before stays");
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_THAT(trouble, HasSubstr("Too many open files"));
  TakeCpuOffline(3, "0-2");
  ASSERT_TRUE(AwaitNews(2));
  EXPECT_EQ(Newest("cpu"), "3");
}

// A topology from a file in the kernel's place.
class FileTrackerTest : public TrackerTest {
 protected:
  FileTrackerTest() {
    Put("0-3", "8Gi");
    options_.source = *FileSource::Open(given_.root(), "t.yaml");
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
        cpus, "'}, resources: [{name: cpu, capacity: 4}]}\n"));
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
  ASSERT_TRUE(Start().ok());
  EXPECT_EQ(Newest("memory"), "4Gi");
  EXPECT_EQ(tracker_->partition().cpus.ToString(), "1-3");
  EXPECT_FALSE(tracker_->partition().is_whole);
  Put("0-2", "2Gi");
  ASSERT_TRUE(AwaitNews(2));
  EXPECT_EQ(Newest("memory"), "1Gi");
  EXPECT_EQ(tracker_->partition().cpus.ToString(), "1-2");
}

// No poll comes to its help.
TEST_F(FileTrackerTest, AFileIsWatched) {
  options_.poll_interval = absl::Hours(1);
  ASSERT_TRUE(Start().ok());
  Put("0-3", "2Gi");
  ASSERT_TRUE(AwaitNews(2));
  EXPECT_EQ(Newest("memory"), "2Gi");
}

TEST_F(FileTrackerTest, ABadFileLeavesTheLastGoodOne) {
  ASSERT_TRUE(Start().ok());
  EXPECT_THAT(told(), IsEmpty());
  Put("0-9", "2Gi");
  EXPECT_THAT(AwaitTrouble("before stays"), HasSubstr("zone \"core-0\" has CPUs 4-9"));
  PutText("zones: [{name: a, parent: a}]\n");
  EXPECT_THAT(AwaitTrouble("its own parent"), HasSubstr("t.yaml: zone \"a\""));
  ASSERT_TRUE(given_.root().RemoveFile("t.yaml").ok());
  EXPECT_THAT(AwaitTrouble("No such file"), HasSubstr("before stays"));
  EXPECT_EQ(Newest("memory"), "8Gi");
  EXPECT_EQ(publisher_.Newest().number, 1u);
  // Each is told once, though it is looked at again and again.
  Put("0-3", "2Gi");
  ASSERT_TRUE(AwaitNews(2));
  EXPECT_EQ(told().size(), 3u);
  EXPECT_THAT(tracker_->Troubles(), IsEmpty());
}

// What its author hides is not told in its place.
TEST_F(FileTrackerTest, UntilThereIsAGoodOneNothingIsToldAndThePartitionIsKeptTo) {
  config_.cpus.reserved = *CpuSet::Parse("0");
  ASSERT_TRUE(given_.root().RemoveFile("t.yaml").ok());
  ASSERT_TRUE(Start().ok());
  EXPECT_EQ(tracker_->in_force(), InForce::kPart);
  EXPECT_FALSE(tracker_->IsTold());
  ASSERT_EQ(news().size(), 1u);
  EXPECT_EQ(news()[0].partition.cpus.ToString(), "1-3");
  EXPECT_THAT(AwaitTrouble("No such file"),
              HasSubstr("nothing is told to clients yet; pods have what is left, CPUs 1-3"));
  // Another description is taken, though there is nothing to hold it against.
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
    ASSERT_TRUE(Start().ok());
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
    options_.source = *FileSource::Open(given_.root(), "t.yaml");
  }
}

TEST_F(FileTrackerTest, ItIsHeldAgainstTheMachineAsThatChanges) {
  ASSERT_TRUE(Start().ok());
  TakeCpuOffline(3, "0-2");
  EXPECT_THAT(AwaitTrouble("before stays"), HasSubstr("has CPUs 3"));
  EXPECT_EQ(publisher_.Newest().number, 1u);
  ASSERT_TRUE(AwaitNews(2));
  EXPECT_EQ(news().back().partition.cpus.ToString(), "0-2");
  Put("0-2", "8Gi");
  ASSERT_TRUE(AwaitNews(3));
  EXPECT_EQ(tracker_->partition().cpus.ToString(), "0-2");
  EXPECT_TRUE(tracker_->partition().is_whole);
}

// A description that comes while the source has nothing good is cut from what it told last.
TEST_F(FileTrackerTest, AReloadBesideABadFileKeepsToCpusThatAreThere) {
  ASSERT_TRUE(Start().ok());
  TakeCpuOffline(3, "0-2");
  ASSERT_TRUE(AwaitNews(2));
  config_.cpus.reserved = *CpuSet::Parse("0");
  ASSERT_TRUE(tracker_->Reload(config_).ok());
  EXPECT_EQ(news().back().partition.cpus.ToString(), "1-2");
}

// This machine, whatever it is.
TEST(TrackerHostTest, KnowsTheMachineItRunsOn) {
  Publisher publisher;
  TrackerOptions options = {.host = *FsRoot::Open("/")};
  const auto tracker = Tracker::Start(std::move(options), &publisher, nullptr);
  ASSERT_TRUE(tracker.ok()) << tracker.status();
  const auto capacity = Capacity(*publisher.Newest().topology);
  EXPECT_EQ(capacity.at("cpu").Value(), static_cast<int64_t>((*tracker)->partition().cpus.Size()));
  EXPECT_GT(capacity.at("memory").Value(), 0);
}

}  // namespace
}  // namespace plimsoll::topology
