// For tests: a server over an engine of one pod with one container and all its counters.
#ifndef PLIMSOLL_CRI_USAGE_METRICS_FIXTURE_FOR_TEST_H_
#define PLIMSOLL_CRI_USAGE_METRICS_FIXTURE_FOR_TEST_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cri/mocks_for_test.h"

namespace plimsoll::cri {

inline constexpr char kLabels[] = "/plimsoll/pod1/a,a,docker.io/library/app:1,main,web,default";
inline constexpr char kPodLabels[] = "/plimsoll/pod1,pod1,,POD,web,default";

inline runtime::ContainerCounters Counted() {
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
    container_.state = runtime::ContainerState::kRunning;
    container_.started_unix_nanos = 1'700'000'000'900'000'000;
    container_.spec.name = "main";
    ::runtime::v1::ContainerConfig config;
    config.mutable_image()->set_image("sha256:1234");
    config.mutable_image()->set_user_specified_image("docker.io/library/app:1");
    container_.client_config = config.SerializeAsString();
    runtime::SandboxRecord stopped;
    stopped.id = "pod2";
    stopped.state = runtime::SandboxState::kNotReady;
    ON_CALL(engine_, ListSandboxes).WillByDefault([this, stopped] {
      return std::vector{pod_, stopped};
    });
    ON_CALL(engine_, GetSandbox(::testing::_)).WillByDefault([this, stopped](absl::string_view id) {
      return id == "pod1" ? pod_ : stopped;
    });
    ON_CALL(engine_, ListContainers).WillByDefault([this] { return std::vector{container_}; });
    ON_CALL(engine_, GetContainer(::testing::_)).WillByDefault([this](absl::string_view) {
      return container_;
    });
    ON_CALL(engine_.mock_readings, Counters(::testing::_))
        .WillByDefault(::testing::Return(Counted()));
    ON_CALL(engine_.mock_readings, SandboxLinks(::testing::_))
        .WillByDefault([](const std::vector<std::string>& ids) {
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
          return std::vector<runtime::Readings::Links>(ids.size(), std::vector{loopback, eth0});
        });
    auto layers = std::make_shared<runtime::WritableLayers>();
    layers->unix_nanos = 42;
    layers->by_container["a"] = {.bytes = 4096, .inodes = 2};
    ON_CALL(engine_.mock_readings, LastWritableLayersUsage)
        .WillByDefault(::testing::Return(std::shared_ptr<const runtime::WritableLayers>(layers)));
    ON_CALL(engine_.mock_readings, WritableLayersFileSystem)
        .WillByDefault(::testing::Return(runtime::FileSystem{"/dev/sda1", 1000, 50, 49}));
    Start();
  }

  ::runtime::v1::ListPodSandboxMetricsResponse List() {
    ::runtime::v1::ListPodSandboxMetricsResponse response;
    const grpc::Status status = Call(runtime_, &RuntimeStub::ListPodSandboxMetrics,
                                     ::runtime::v1::ListPodSandboxMetricsRequest(), &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response;
  }
  std::vector<::runtime::v1::MetricDescriptor> Descriptors() {
    ::runtime::v1::ListMetricDescriptorsResponse response;
    EXPECT_TRUE(Call(runtime_, &RuntimeStub::ListMetricDescriptors,
                     ::runtime::v1::ListMetricDescriptorsRequest(), &response)
                    .ok());
    return {response.descriptors().begin(), response.descriptors().end()};
  }
  // "name{labels}" with all labels, and the value.
  using Values = std::map<std::string, uint64_t>;
  static Values ValuesOf(const google::protobuf::RepeatedPtrField<::runtime::v1::Metric>& metrics) {
    Values values;
    for (const ::runtime::v1::Metric& metric : metrics) {
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

}  // namespace plimsoll::cri

#endif  // PLIMSOLL_CRI_USAGE_METRICS_FIXTURE_FOR_TEST_H_
