// For tests: a tracker of a handwritten machine.
#ifndef PLIMSOLL_TOPOLOGY_TRACKER_FIXTURE_FOR_TEST_H_
#define PLIMSOLL_TOPOLOGY_TRACKER_FIXTURE_FOR_TEST_H_

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "gtest/gtest.h"
#include "topology/machine/machine_files_for_test.h"
#include "topology/tracker.h"

namespace plimsoll::topology {

// Four cores in one package, one NUMA node of 8Gi.
class TrackerTest : public ::testing::Test {
 protected:
  TrackerTest() {
    AddCpus(files_, 1, 4, 1);
    files_.AddCaches({{3, 8192, "0-3", 0}});
    files_.AddNode({0, "0-3", 8 << 20, "10", {{2048, 0}}});
  }
  // Ends the tracker before the members of derived classes that it reports to.
  void TearDown() override { tracker_.reset(); }
  void Start() {
    TrackerOptions options = options_;
    options.partition = config_;
    tracker_ = Tracker::Start(std::move(options), &publisher_, [this](const TrackerNews& news) {
      absl::MutexLock lock(&mutex_);
      news_.push_back(news);
    });
  }
  void TakeCpuOffline(uint32_t cpu, const std::string& left) {
    ASSERT_TRUE(files_.root()
                    .RemoveTree(absl::StrCat("sys/devices/system/cpu/cpu", cpu, "/topology"))
                    .ok());
    files_.Cpus(left, "0-3");
  }
  // The first of the tracker's troubles that contains `text`.
  std::string AwaitTrouble(const std::string& text) {
    for (const absl::Time end = absl::Now() + absl::Seconds(30); absl::Now() < end;) {
      for (const std::string& each : tracker_->Troubles()) {
        if (each.find(text) != std::string::npos) return each;
      }
      absl::SleepFor(absl::Milliseconds(5));
    }
    return "";
  }
  // The edition is published before its news.
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

// A program in hwloc's place that counts its runs and can be made to fail.
class HwlocInPlace {
 public:
  HwlocInPlace() {
    const auto put = place_.root().ReplaceFile(
        "hwloc",
        absl::StrCat("#!/bin/sh\ncd ", place_.path(),
                     "\necho >> runs\nif [ -e ill ]; then exit 1; fi\nexec ",
                     PLIMSOLL_HWLOC_PROGRAM, "\n"),
        0755);
    EXPECT_TRUE(put.ok()) << put;
  }
  std::string program() const { return place_.path() + "/hwloc"; }
  // Makes it fail from now on, or not.
  void SetIll(bool ill) {
    const absl::Status done =
        ill ? place_.root().ReplaceFile("ill", "") : place_.root().RemoveFile("ill");
    EXPECT_TRUE(done.ok()) << done;
  }
  size_t runs() const {
    const auto runs = place_.root().Read("runs");
    return runs.ok() ? runs->size() : 0;
  }

 private:
  TestDir place_;
};

}  // namespace plimsoll::topology

#endif  // PLIMSOLL_TOPOLOGY_TRACKER_FIXTURE_FOR_TEST_H_
