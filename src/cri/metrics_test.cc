// Metrics of pods, as kubelet passes them on, through a real server.
#include <atomic>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cri/metric_families.h"
#include "cri/mocks_for_test.h"

namespace plimsoll::cri {
namespace {

namespace v1 = ::runtime::v1;
using runtime::ContainerState;
using ::testing::_;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::Not;
using ::testing::Return;
using ::testing::SizeIs;

constexpr char kLabels[] = "/plimsoll/pod1/a,a,docker.io/library/app:1,main,web,default";
constexpr char kPodLabels[] = "/plimsoll/pod1,pod1,,POD,web,default";

runtime::ContainerCounters Counted() {
  runtime::ContainerCounters counters;
  linux::CgroupStats& stats = counters.stats;
  stats.cpu_usage_ns = 5'900'000'000;
  stats.cpu_periods = 100;
  stats.cpu_throttled_periods = 40;
  stats.cpu_throttled_ns = 3'000'000'000;
  stats.memory_usage_bytes = 30;
  stats.memory_working_set_bytes = 20;
  stats.memory_rss_bytes = 10;
  stats.page_faults = 9;
  stats.major_page_faults = 8;
  stats.swap_usage_bytes = 4096;
  stats.process_count = 6;
  stats.cpu_pressure = linux::Pressure{.some = {0, 0, 0, 7'000'000}, .full = {0, 0, 0, 1'500'000}};
  stats.memory_pressure = linux::Pressure{.some = {0, 0, 0, 6'000'000}, .full = {}};
  stats.io_pressure = linux::Pressure{.some = {0, 0, 0, 5'000'000}, .full = {}};
  linux::CgroupCounters& more = counters.more;
  more.cpu_user_ns = 4'000'000'000;
  more.cpu_system_ns = 1'000'000'000;
  more.cache_bytes = 21;
  more.mapped_file_bytes = 22;
  more.active_file_bytes = 23;
  more.inactive_file_bytes = 24;
  more.own_page_faults = 7;
  more.own_major_page_faults = 6;
  more.kernel_bytes = 25;
  more.max_usage_bytes = 26;
  more.limit_hits = 27;
  more.reservation_bytes = 28;
  more.swap_limit_bytes = 29;
  more.threads = 5;
  more.cpu_burst_periods = 12;
  more.cpu_burst_ns = 2'900'000'000;
  more.io = {{{8, 0},
              1,
              2,
              3,
              4,
              {13, 14, 15'000'000'000, 16'000'000'000, 32'500'000'000, 17},
              {18'000'000, 19'000'000, 20'000'000, 21'999'999}}};
  more.hugetlb["2MB"] = {2097152, 4194304};
  counters.devices[{8, 0}] = "/dev/sda";
  counters.limits.cpu_period_us = 100000;
  counters.limits.cpu_quota_us = 20000;
  counters.limits.cpu_shares = 1024;
  counters.limits.memory_limit_bytes = 64;
  counters.limits.pids_limit = 66;
  counters.oom_kills = 1;
  counters.processes = 2;
  counters.tasks =
      linux::TaskStates{.running = 1, .sleeping = 2, .uninterruptible = 3, .stopped = 4};
  counters.open_files = linux::OpenFiles{11, 3};
  counters.max_open_files = 1024;
  return counters;
}

class MetricsTest : public ServerFixture {
 protected:
  void SetUp() override {
    pod_.id = "pod1";
    pod_.cgroup_path = "/plimsoll/pod1";
    pod_.state = runtime::SandboxState::kReady;
    pod_.spec.name = "web";
    pod_.spec.pod_namespace = "default";
    container_.id = "a";
    container_.sandbox_id = "pod1";
    container_.cgroup_path = "/plimsoll/pod1/a";
    container_.state = ContainerState::kRunning;
    container_.started_unix_nanos = 1'700'000'000'900'000'000;
    container_.spec.name = "main";
    v1::ContainerConfig config;
    config.mutable_image()->set_image("sha256:1234");
    config.mutable_image()->set_user_specified_image("docker.io/library/app:1");
    container_.client_config = config.SerializeAsString();
    runtime::SandboxRecord stopped;
    stopped.id = "pod2";
    stopped.state = runtime::SandboxState::kNotReady;
    ON_CALL(engine_, ListSandboxes).WillByDefault([this, stopped] {
      return std::vector{pod_, stopped};
    });
    ON_CALL(engine_, GetSandbox(_)).WillByDefault([this, stopped](absl::string_view id) {
      return id == "pod1" ? pod_ : stopped;
    });
    ON_CALL(engine_, ListContainers).WillByDefault([this] { return std::vector{container_}; });
    ON_CALL(engine_, GetContainer(_)).WillByDefault([this](absl::string_view) {
      return container_;
    });
    ON_CALL(engine_, Counters(_)).WillByDefault(Return(Counted()));
    ON_CALL(engine_, SandboxLinks(_)).WillByDefault([](const std::vector<std::string>& ids) {
      const linux::LinkCounters loopback{.name = "lo", .rx_bytes = 99};
      const linux::LinkCounters eth0{.name = "eth0",
                                     .rx_bytes = 1,
                                     .rx_packets = 2,
                                     .rx_errors = 3,
                                     .rx_dropped = 4,
                                     .tx_bytes = 5,
                                     .tx_packets = 6,
                                     .tx_errors = 7,
                                     .tx_dropped = 8};
      return std::vector<runtime::Engine::Links>(ids.size(), std::vector{loopback, eth0});
    });
    auto layers = std::make_shared<runtime::WritableLayers>();
    layers->unix_nanos = 42;
    layers->by_container["a"] = {.bytes = 4096, .inodes = 2};
    ON_CALL(engine_, LastWritableLayersUsage)
        .WillByDefault(Return(std::shared_ptr<const runtime::WritableLayers>(layers)));
    ON_CALL(engine_, WritableLayersFileSystem)
        .WillByDefault(Return(runtime::FileSystem{"/dev/sda1", 1000, 50, 49}));
    Start();
  }

  v1::ListPodSandboxMetricsResponse List() {
    v1::ListPodSandboxMetricsResponse response;
    const grpc::Status status = Call(runtime_, &RuntimeStub::ListPodSandboxMetrics,
                                     v1::ListPodSandboxMetricsRequest(), &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response;
  }
  std::vector<v1::MetricDescriptor> Descriptors() {
    v1::ListMetricDescriptorsResponse response;
    EXPECT_TRUE(Call(runtime_, &RuntimeStub::ListMetricDescriptors,
                     v1::ListMetricDescriptorsRequest(), &response)
                    .ok());
    return {response.descriptors().begin(), response.descriptors().end()};
  }
  // "name{labels}" with all labels, and the value.
  using Values = std::map<std::string, uint64_t>;
  static Values ValuesOf(const google::protobuf::RepeatedPtrField<v1::Metric>& metrics) {
    Values values;
    for (const v1::Metric& metric : metrics) {
      const std::string key =
          absl::StrCat(metric.name(), "{", absl::StrJoin(metric.label_values(), ","), "}");
      EXPECT_TRUE(values.emplace(key, metric.value().value()).second) << key << " is there twice";
    }
    return values;
  }
  static std::string Key(const std::string& name, const std::string& labels = "") {
    return absl::StrCat(name, "{", kLabels, labels.empty() ? "" : ",", labels, "}");
  }

  runtime::SandboxRecord pod_;
  runtime::ContainerRecord container_;
};

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

// The contract: a time stamp says that the value was kept, none that it was read for this call.
TEST_F(MetricsTest, OnlyWhatWasReadBeforeHasATime) {
  const auto response = List();
  for (const auto& metric : response.pod_metrics(0).container_metrics(0).metrics()) {
    EXPECT_EQ(metric.timestamp(), metric.name() == "container_fs_usage_bytes" ? 42 : 0)
        << metric.name();
  }
}

TEST_F(MetricsTest, WhatTheKernelDoesNotTellIsZero) {
  runtime::ContainerCounters few;
  few.more.cache_bytes = 5;  // there is a memory controller
  few.limits.cpu_quota_us = -1;
  few.limits.memory_limit_bytes = -1;
  few.limits.pids_limit = -1;
  ON_CALL(engine_, Counters(_)).WillByDefault(Return(few));
  ON_CALL(engine_, SandboxLinks(_)).WillByDefault([](const std::vector<std::string>& ids) {
    return std::vector<runtime::Engine::Links>(ids.size(), std::vector<linux::LinkCounters>());
  });
  ON_CALL(engine_, WritableLayersFileSystem)
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
      {Key("container_threads_max"), 0},  // there is no limit, which is said so
      {Key("container_spec_cpu_quota"), 0},
      {Key("container_spec_memory_limit_bytes"), 0},
      {Key("container_spec_memory_swap_limit_bytes"), 0},
  };
  EXPECT_EQ(values, expected);
}

// A value of 0 would say that the container takes no memory.
TEST_F(MetricsTest, WithoutAMemoryControllerThereAreNoMetricsOfMemory) {
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
  ON_CALL(engine_, Counters(_)).WillByDefault(Return(counters));
  EXPECT_THAT(names(), IsEmpty());
}

TEST_F(MetricsTest, ALayerThatTheLastWalkMissedIsMeasured) {
  using Layers = std::shared_ptr<const runtime::WritableLayers>;
  const auto last = std::make_shared<runtime::WritableLayers>();
  last->unix_nanos = 1'700'000'000'000'000'000;
  const auto fresh = std::make_shared<runtime::WritableLayers>(*last);
  fresh->by_container["a"] = {.bytes = 512, .inodes = 1};
  std::atomic<int> walks = 0;
  ON_CALL(engine_, LastWritableLayersUsage).WillByDefault(Return(Layers(last)));
  ON_CALL(engine_, WritableLayersUsage)
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

TEST_F(MetricsTest, WhatCanNotBeReadIsLeftOutAndTold) {
  ON_CALL(engine_, Counters(_)).WillByDefault(Return(absl::InternalError("io.stat: no")));
  ON_CALL(engine_, SandboxLinks(_)).WillByDefault([](const std::vector<std::string>& ids) {
    return std::vector<runtime::Engine::Links>(ids.size(), absl::InternalError("net/dev: no"));
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
  ON_CALL(engine_, Counters(_)).WillByDefault(Return(absl::NotFoundError("gone")));
  EXPECT_EQ(List().pod_metrics(0).container_metrics_size(), 0);
  EXPECT_THAT(events_.Since(0), SizeIs(2)) << "what has ended is no news";
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
