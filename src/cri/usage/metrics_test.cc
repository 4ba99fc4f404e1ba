// Metrics of pods, as kubelet passes them on, through a real server.
#include <chrono>
#include <map>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "cri/usage/metric_families.h"
#include "cri/usage/metrics_fixture_for_test.h"

namespace plimsoll::cri {
namespace {

namespace v1 = ::runtime::v1;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::Not;
using ::testing::SizeIs;

TEST_F(MetricsTest, AContainersAreWhatWasCounted) {
  const auto response = List();
  ASSERT_EQ(response.pod_metrics_size(), 1) << "pod2 has ended";
  const v1::PodSandboxMetrics& pod = response.pod_metrics(0);
  EXPECT_EQ(pod.pod_sandbox_id(), "pod1");
  ASSERT_EQ(pod.container_metrics_size(), 1);
  EXPECT_EQ(pod.container_metrics(0).container_id(), "a");
  Values values = ValuesOf(pod.container_metrics(0).metrics());
  EXPECT_GT(values[Key("container_last_seen")], 1'700'000'000u);
  values.erase(Key("container_last_seen"));
  const Values expected = {
      {Key("container_cpu_usage_seconds_total", "total"), 5},
      {Key("container_cpu_user_seconds_total"), 4},
      {Key("container_cpu_system_seconds_total"), 1},
      {Key("container_cpu_cfs_periods_total"), 100},
      {Key("container_cpu_cfs_throttled_periods_total"), 40},
      {Key("container_cpu_cfs_throttled_seconds_total"), 3},
      {Key("container_cpu_cfs_burst_periods_total"), 12},
      {Key("container_cpu_cfs_burst_seconds_total"), 2},
      {Key("container_cpu_load_average_10s"), 0},
      {Key("container_cpu_load_d_average_10s"), 0},
      {Key("container_pressure_cpu_waiting_seconds_total"), 7},
      {Key("container_pressure_cpu_stalled_seconds_total"), 1},
      {Key("container_pressure_memory_waiting_seconds_total"), 6},
      {Key("container_pressure_memory_stalled_seconds_total"), 0},
      {Key("container_pressure_io_waiting_seconds_total"), 5},
      {Key("container_pressure_io_stalled_seconds_total"), 0},
      {Key("container_memory_usage_bytes"), 30},
      {Key("container_memory_working_set_bytes"), 20},
      {Key("container_memory_rss"), 10},
      {Key("container_memory_cache"), 21},
      {Key("container_memory_mapped_file"), 22},
      {Key("container_memory_swap"), 4096},
      {Key("container_memory_kernel_usage"), 25},
      {Key("container_memory_total_active_file_bytes"), 23},
      {Key("container_memory_total_inactive_file_bytes"), 24},
      {Key("container_memory_max_usage_bytes"), 26},
      {Key("container_memory_failcnt"), 27},
      {Key("container_memory_failures_total", "pgfault,container"), 7},
      {Key("container_memory_failures_total", "pgfault,hierarchy"), 9},
      {Key("container_memory_failures_total", "pgmajfault,container"), 6},
      {Key("container_memory_failures_total", "pgmajfault,hierarchy"), 8},
      {Key("container_oom_events_total"), 1},
      {Key("container_hugetlb_usage_bytes", "2MB"), 2097152},
      {Key("container_hugetlb_max_usage_bytes", "2MB"), 4194304},
      {Key("container_fs_usage_bytes", "/dev/sda1"), 4096},
      {Key("container_fs_limit_bytes", "/dev/sda1"), 1000},
      {Key("container_fs_inodes_total", "/dev/sda1"), 50},
      {Key("container_fs_inodes_free", "/dev/sda1"), 49},
      {Key("container_fs_reads_total", "/dev/sda"), 3},
      {Key("container_fs_reads_bytes_total", "/dev/sda"), 1},
      {Key("container_fs_writes_total", "/dev/sda"), 4},
      {Key("container_fs_writes_bytes_total", "/dev/sda"), 2},
      {Key("container_fs_sector_reads_total", "/dev/sda"), 0},
      {Key("container_fs_sector_writes_total", "/dev/sda"), 0},
      {Key("container_fs_reads_merged_total", "/dev/sda"), 13},
      {Key("container_fs_writes_merged_total", "/dev/sda"), 14},
      {Key("container_fs_read_seconds_total", "/dev/sda"), 15},
      {Key("container_fs_write_seconds_total", "/dev/sda"), 16},
      {Key("container_fs_io_current", "/dev/sda"), 17},
      {Key("container_fs_io_time_seconds_total", "/dev/sda"), 32},
      {Key("container_fs_io_time_weighted_seconds_total", "/dev/sda1"), 0},
      {Key("container_fs_io_cost_usage_seconds_total", "/dev/sda"), 18},
      {Key("container_fs_io_cost_wait_seconds_total", "/dev/sda"), 19},
      {Key("container_fs_io_cost_indebt_seconds_total", "/dev/sda"), 20},
      {Key("container_fs_io_cost_indelay_seconds_total", "/dev/sda"), 21},
      {Key("container_blkio_device_usage_total", "/dev/sda,8,0,Read"), 1},
      {Key("container_blkio_device_usage_total", "/dev/sda,8,0,Write"), 2},
      {Key("container_processes"), 2},
      {Key("container_threads"), 5},
      {Key("container_threads_max"), 66},
      {Key("container_tasks_state", "sleeping"), 2},
      {Key("container_tasks_state", "running"), 1},
      {Key("container_tasks_state", "stopped"), 4},
      {Key("container_tasks_state", "uninterruptible"), 3},
      {Key("container_tasks_state", "iowaiting"), 0},
      {Key("container_file_descriptors"), 11},
      {Key("container_sockets"), 3},
      {Key("container_ulimits_soft", "max_open_files"), 1024},
      {Key("container_start_time_seconds"), 1'700'000'000},
      {Key("container_spec_cpu_period"), 100000},
      {Key("container_spec_cpu_quota"), 20000},
      {Key("container_spec_cpu_shares"), 1024},
      {Key("container_spec_memory_limit_bytes"), 64},
      {Key("container_spec_memory_reservation_limit_bytes"), 28},
      {Key("container_spec_memory_swap_limit_bytes"), 29},
  };
  EXPECT_EQ(values, expected);
}

TEST_F(MetricsTest, APodsAreItsNetworks) {
  const auto response = List();
  ASSERT_EQ(response.pod_metrics_size(), 1);
  const auto key = [](const std::string& name) {
    return absl::StrCat("container_network_", name, "_total{", kPodLabels, ",eth0}");
  };
  const Values expected = {
      {key("receive_bytes"), 1},   {key("receive_packets"), 2},
      {key("receive_errors"), 3},  {key("receive_packets_dropped"), 4},
      {key("transmit_bytes"), 5},  {key("transmit_packets"), 6},
      {key("transmit_errors"), 7}, {key("transmit_packets_dropped"), 8},
  };
  EXPECT_EQ(ValuesOf(response.pod_metrics(0).metrics()), expected);
}

TEST_F(MetricsTest, EachIsDescribedAndHasAValueForEachLabel) {
  std::map<std::string, v1::MetricDescriptor> described;
  for (const v1::MetricDescriptor& descriptor : Descriptors()) {
    EXPECT_TRUE(described.emplace(descriptor.name(), descriptor).second) << descriptor.name();
    EXPECT_THAT(descriptor.help(), Not(IsEmpty()));
    const std::set<std::string> keys(descriptor.label_keys().begin(),
                                     descriptor.label_keys().end());
    EXPECT_THAT(keys, SizeIs(descriptor.label_keys_size())) << "one is there twice";
    EXPECT_THAT(keys, IsSupersetOf({"id", "name", "image", "container", "pod", "namespace"}));
  }
  std::map<std::string, MetricKind> kinds;
  for (const MetricFamily* family : kMetricFamilies) kinds[family->name] = family->kind;
  std::set<std::string> seen;
  const auto response = List();
  const auto look = [&](const v1::Metric& metric) {
    ASSERT_TRUE(described.contains(metric.name())) << metric.name();
    EXPECT_EQ(metric.label_values_size(), described[metric.name()].label_keys_size())
        << metric.name();
    EXPECT_EQ(metric.metric_type() == v1::COUNTER, kinds[metric.name()] == MetricKind::kCounter);
    seen.insert(metric.name());
  };
  for (const auto& metric : response.pod_metrics(0).metrics()) look(metric);
  for (const auto& metric : response.pod_metrics(0).container_metrics(0).metrics()) look(metric);
  EXPECT_THAT(seen, SizeIs(described.size())) << "none is described that there never is";
}

// The contract: a value with a time stamp was cached, one without was read for this call.
TEST_F(MetricsTest, OnlyWhatWasReadBeforeHasATime) {
  const auto response = List();
  for (const auto& metric : response.pod_metrics(0).container_metrics(0).metrics()) {
    EXPECT_EQ(metric.timestamp(), metric.name() == "container_fs_usage_bytes" ? 42 : 0)
        << metric.name();
  }
}

TEST_F(MetricsTest, StreamedOnesAreTheListed) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
  const auto reader =
      runtime_->StreamPodSandboxMetrics(&context, v1::StreamPodSandboxMetricsRequest());
  v1::StreamPodSandboxMetricsResponse part;
  ASSERT_TRUE(reader->Read(&part));
  ASSERT_EQ(part.pod_sandbox_metrics_size(), 1);
  const auto listed = List();
  const v1::PodSandboxMetrics& pod = part.pod_sandbox_metrics(0);
  EXPECT_EQ(ValuesOf(pod.metrics()), ValuesOf(listed.pod_metrics(0).metrics()));
  Values streamed = ValuesOf(pod.container_metrics(0).metrics());
  Values of_list = ValuesOf(listed.pod_metrics(0).container_metrics(0).metrics());
  for (Values* values : {&streamed, &of_list}) values->erase(Key("container_last_seen"));
  EXPECT_EQ(streamed, of_list);
  EXPECT_FALSE(reader->Read(&part));
  EXPECT_TRUE(reader->Finish().ok());
}

}  // namespace
}  // namespace plimsoll::cri
