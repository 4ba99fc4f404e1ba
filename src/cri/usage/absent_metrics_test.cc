// Metrics of pods with missing counters or unreadable files.
#include <atomic>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cri/usage/metrics_fixture_for_test.h"

namespace plimsoll::cri {
namespace {

namespace v1 = ::runtime::v1;
using runtime::ContainerState;
using ::testing::_;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Return;
using ::testing::SizeIs;

using AbsentMetricsTest = MetricsTest;

TEST_F(AbsentMetricsTest, WhatTheKernelDoesNotTellIsZero) {
  runtime::ContainerCounters few;
  few.more.cache_bytes = 5;  // a memory controller exists
  few.limits.cpu_quota_us = -1;
  few.limits.memory_limit_bytes = -1;
  few.limits.pids_limit = -1;
  ON_CALL(engine_.mock_readings, Counters(_)).WillByDefault(Return(few));
  ON_CALL(engine_.mock_readings, SandboxLinks(_))
      .WillByDefault([](const std::vector<std::string>& ids) {
        return std::vector<runtime::Readings::Links>(ids.size(),
                                                     std::vector<linux::LinkCounters>());
      });
  ON_CALL(engine_.mock_readings, WritableLayersFileSystem)
      .WillByDefault(Return(runtime::FileSystem{"btrfs", 1000, 0, 0}));
  container_.started_unix_nanos = 0;
  container_.state = ContainerState::kCreated;
  const auto response = List();
  ASSERT_EQ(response.pod_metrics_size(), 1);
  EXPECT_EQ(response.pod_metrics(0).metrics_size(), 0) << "the host's network is the host's";
  ASSERT_EQ(response.pod_metrics(0).container_metrics_size(), 1);
  Values values = ValuesOf(response.pod_metrics(0).container_metrics(0).metrics());
  values.erase(Key("container_last_seen"));
  const Values expected = {
      {Key("container_cpu_usage_seconds_total", "total"), 0},
      {Key("container_cpu_user_seconds_total"), 0},
      {Key("container_cpu_system_seconds_total"), 0},
      {Key("container_pressure_cpu_waiting_seconds_total"), 0},
      {Key("container_pressure_cpu_stalled_seconds_total"), 0},
      {Key("container_pressure_memory_waiting_seconds_total"), 0},
      {Key("container_pressure_memory_stalled_seconds_total"), 0},
      {Key("container_pressure_io_waiting_seconds_total"), 0},
      {Key("container_pressure_io_stalled_seconds_total"), 0},
      {Key("container_memory_usage_bytes"), 0},
      {Key("container_memory_working_set_bytes"), 0},
      {Key("container_memory_rss"), 0},
      {Key("container_memory_cache"), 5},
      {Key("container_memory_swap"), 0},
      {Key("container_memory_kernel_usage"), 0},
      {Key("container_memory_max_usage_bytes"), 0},
      {Key("container_memory_failcnt"), 0},
      {Key("container_memory_failures_total", "pgfault,hierarchy"), 0},
      {Key("container_memory_failures_total", "pgmajfault,hierarchy"), 0},
      {absl::StrCat("container_hugetlb_usage_bytes{", kLabels, ",}"), 0},
      {absl::StrCat("container_hugetlb_max_usage_bytes{", kLabels, ",}"), 0},
      {Key("container_cpu_cfs_periods_total"), 0},
      {Key("container_cpu_cfs_throttled_periods_total"), 0},
      {Key("container_cpu_cfs_throttled_seconds_total"), 0},
      {Key("container_cpu_cfs_burst_periods_total"), 0},
      {Key("container_cpu_cfs_burst_seconds_total"), 0},
      {Key("container_cpu_load_average_10s"), 0},
      {Key("container_cpu_load_d_average_10s"), 0},
      {Key("container_fs_io_time_weighted_seconds_total", "btrfs"), 0},
      {Key("container_fs_usage_bytes", "btrfs"), 4096},
      {Key("container_fs_limit_bytes", "btrfs"), 1000},
      {Key("container_fs_inodes_total", "btrfs"), 0},
      {Key("container_fs_inodes_free", "btrfs"), 0},
      {Key("container_threads_max"), 0},  // no limit, reported as 0
      {Key("container_spec_cpu_quota"), 0},
      {Key("container_spec_memory_limit_bytes"), 0},
      {Key("container_spec_memory_swap_limit_bytes"), 0},
  };
  EXPECT_EQ(values, expected);
}

// A value of 0 would mean that the container uses no memory.
TEST_F(AbsentMetricsTest, WithoutAMemoryControllerThereAreNoMetricsOfMemory) {
  const auto names = [this] {
    std::set<std::string> found;
    const auto response = List();
    for (const auto& metric : response.pod_metrics(0).container_metrics(0).metrics()) {
      if (metric.name().starts_with("container_memory_")) found.insert(metric.name());
    }
    return found;
  };
  EXPECT_THAT(names(), SizeIs(12)) << "as many as are described";
  runtime::ContainerCounters counters = Counted();
  counters.more.cache_bytes.reset();
  ON_CALL(engine_.mock_readings, Counters(_)).WillByDefault(Return(counters));
  EXPECT_THAT(names(), IsEmpty());
}

TEST_F(AbsentMetricsTest, ALayerThatTheLastWalkMissedIsMeasured) {
  using Layers = std::shared_ptr<const runtime::WritableLayers>;
  const auto last = std::make_shared<runtime::WritableLayers>();
  last->unix_nanos = 1'700'000'000'000'000'000;
  const auto fresh = std::make_shared<runtime::WritableLayers>(*last);
  fresh->by_container["a"] = {.bytes = 512, .inodes = 1};
  std::atomic<int> walks = 0;
  ON_CALL(engine_.mock_readings, LastWritableLayersUsage).WillByDefault(Return(Layers(last)));
  ON_CALL(engine_.mock_readings, WritableLayersUsage)
      .WillByDefault([&](absl::Duration) -> absl::StatusOr<Layers> {
        ++walks;
        return Layers(fresh);
      });
  const auto usage = [this] {
    return ValuesOf(List().pod_metrics(0).container_metrics(0).metrics())
        .count(Key("container_fs_usage_bytes", "/dev/sda1"));
  };
  container_.created_unix_nanos = last->unix_nanos + 1;
  EXPECT_EQ(usage(), 1u);
  EXPECT_EQ(walks, 1);
  container_.created_unix_nanos = last->unix_nanos - absl::ToInt64Nanoseconds(absl::Minutes(2));
  EXPECT_EQ(usage(), 0u) << "it has none, which is not looked for each time";
  EXPECT_EQ(walks, 1);
}

TEST_F(AbsentMetricsTest, WhatCanNotBeReadIsLeftOutAndTold) {
  ON_CALL(engine_.mock_readings, Counters(_))
      .WillByDefault(Return(absl::InternalError("io.stat: no")));
  ON_CALL(engine_.mock_readings, SandboxLinks(_))
      .WillByDefault([](const std::vector<std::string>& ids) {
        return std::vector<runtime::Readings::Links>(ids.size(),
                                                     absl::InternalError("net/dev: no"));
      });
  for (int i = 0; i < 2; ++i) {
    const auto response = List();
    ASSERT_EQ(response.pod_metrics_size(), 1);
    EXPECT_EQ(response.pod_metrics(0).metrics_size(), 0);
    EXPECT_EQ(response.pod_metrics(0).container_metrics_size(), 0);
  }
  std::vector<std::string> told;
  for (const runtime::Event& event : events_.Since(0)) told.push_back(event.message);
  EXPECT_THAT(told, ElementsAre(HasSubstr("net/dev: no"), HasSubstr("io.stat: no")));
  ON_CALL(engine_.mock_readings, Counters(_)).WillByDefault(Return(absl::NotFoundError("gone")));
  EXPECT_EQ(List().pod_metrics(0).container_metrics_size(), 0);
  EXPECT_THAT(events_.Since(0), SizeIs(2)) << "what has ended is no news";
}

}  // namespace
}  // namespace plimsoll::cri
