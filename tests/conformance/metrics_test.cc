// The metrics of containers and pods that kubelet serves at /metrics/cadvisor.
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "conformance/cri_test.h"

namespace plimsoll::conformance {
namespace {

using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::Not;

// Metrics that kubelet's users have from cAdvisor, and lose if the runtime doesn't describe them
// (KEP-2371 "cAdvisor Metrics Endpoint").
const std::set<std::string>& KubeletsSet() {
  static const std::set<std::string> set = {
      "container_blkio_device_usage_total",
      "container_cpu_cfs_burst_periods_total",
      "container_cpu_cfs_burst_seconds_total",
      "container_cpu_cfs_periods_total",
      "container_cpu_cfs_throttled_periods_total",
      "container_cpu_cfs_throttled_seconds_total",
      "container_cpu_system_seconds_total",
      "container_cpu_usage_seconds_total",
      "container_cpu_user_seconds_total",
      "container_file_descriptors",
      "container_fs_inodes_free",
      "container_fs_inodes_total",
      "container_fs_io_current",
      "container_fs_io_time_seconds_total",
      "container_fs_io_time_weighted_seconds_total",
      "container_fs_limit_bytes",
      "container_fs_read_seconds_total",
      "container_fs_reads_bytes_total",
      "container_fs_reads_merged_total",
      "container_fs_reads_total",
      "container_fs_sector_reads_total",
      "container_fs_sector_writes_total",
      "container_fs_usage_bytes",
      "container_fs_write_seconds_total",
      "container_fs_writes_bytes_total",
      "container_fs_writes_merged_total",
      "container_fs_writes_total",
      "container_last_seen",
      "container_memory_cache",
      "container_memory_failcnt",
      "container_memory_failures_total",
      "container_memory_kernel_usage",
      "container_memory_mapped_file",
      "container_memory_max_usage_bytes",
      "container_memory_rss",
      "container_memory_swap",
      "container_memory_usage_bytes",
      "container_memory_working_set_bytes",
      "container_network_receive_bytes_total",
      "container_network_receive_errors_total",
      "container_network_receive_packets_dropped_total",
      "container_network_receive_packets_total",
      "container_network_transmit_bytes_total",
      "container_network_transmit_errors_total",
      "container_network_transmit_packets_dropped_total",
      "container_network_transmit_packets_total",
      "container_oom_events_total",
      "container_processes",
      "container_sockets",
      "container_spec_cpu_period",
      "container_spec_cpu_shares",
      "container_spec_memory_limit_bytes",
      "container_spec_memory_swap_limit_bytes",
      "container_start_time_seconds",
      "container_tasks_state",
      "container_threads",
      "container_threads_max",
  };
  return set;
}

class MetricsTest : public CriTest {
 protected:
  void SetUp() override {
    CriTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    const auto described =
        client_.Ask<cri::ListMetricDescriptorsResponse>(cri::ListMetricDescriptorsRequest());
    if (IsLacking(described.status())) GTEST_SKIP() << described.status().message();
    ASSERT_OK(described);
    for (const cri::MetricDescriptor& descriptor : described->descriptors()) {
      EXPECT_TRUE(described_.emplace(descriptor.name(), descriptor).second)
          << descriptor.name() << " is described twice";
    }
  }
  std::vector<cri::PodSandboxMetrics> List() {
    const auto response =
        client_.Ask<cri::ListPodSandboxMetricsResponse>(cri::ListPodSandboxMetricsRequest());
    EXPECT_OK(response) << "ListPodSandboxMetrics";
    if (!response.ok()) return {};
    return {response->pod_metrics().begin(), response->pod_metrics().end()};
  }
  std::vector<cri::PodSandboxMetrics> Stream() {
    const auto stream = client_.Open(cri::StreamPodSandboxMetricsRequest(), absl::Seconds(30));
    std::vector<cri::PodSandboxMetrics> found;
    cri::StreamPodSandboxMetricsResponse part;
    while (stream->Read(&part)) {
      for (const auto& each : part.pod_sandbox_metrics()) found.push_back(each);
    }
    EXPECT_OK(stream->Finish());
    return found;
  }
  // By name; for a metric with several values, one of them.
  static std::map<std::string, cri::Metric> Of(const std::vector<cri::PodSandboxMetrics>& pods,
                                               const std::string& container) {
    std::map<std::string, cri::Metric> found;
    for (const cri::PodSandboxMetrics& pod : pods) {
      for (const cri::ContainerMetrics& each : pod.container_metrics()) {
        if (each.container_id() != container) continue;
        for (const cri::Metric& metric : each.metrics()) found[metric.name()] = metric;
      }
    }
    return found;
  }
  // A label's value; a dash if the metric has no such label.
  std::string Label(const cri::Metric& metric, const std::string& key) {
    const cri::MetricDescriptor& descriptor = described_[metric.name()];
    for (int i = 0; i < descriptor.label_keys_size() && i < metric.label_values_size(); ++i) {
      if (descriptor.label_keys(i) == key) return metric.label_values(i);
    }
    return "-";
  }

  std::map<std::string, cri::MetricDescriptor> described_;  // by name
};

PROMISE_TEST(MetricsTest, AreDescribed,
             "Every metric of ListPodSandboxMetrics is one of ListMetricDescriptors, with a value "
             "for each of its labels") {
  const auto described =
      client_.Ask<cri::ListMetricDescriptorsResponse>(cri::ListMetricDescriptorsRequest());
  if (IsLacking(described.status())) GTEST_SKIP() << described.status().message();
  ASSERT_OK(described);
  std::map<std::string, int> labels;
  for (const cri::MetricDescriptor& descriptor : described->descriptors()) {
    EXPECT_THAT(descriptor.help(), Not(IsEmpty())) << descriptor.name();
    labels[descriptor.name()] = descriptor.label_keys_size();
  }
  const std::string pod = RunPod();
  const std::string id = Start(pod, Sleeper());
  const auto metrics =
      client_.Ask<cri::ListPodSandboxMetricsResponse>(cri::ListPodSandboxMetricsRequest());
  ASSERT_OK(metrics);
  std::set<std::string> seen;
  const auto look = [&](const cri::Metric& metric) {
    ASSERT_TRUE(labels.contains(metric.name())) << metric.name();
    EXPECT_EQ(metric.label_values_size(), labels[metric.name()]) << metric.name();
  };
  for (const cri::PodSandboxMetrics& of_pod : metrics->pod_metrics()) {
    seen.insert(of_pod.pod_sandbox_id());
    for (const cri::Metric& metric : of_pod.metrics()) look(metric);
    for (const cri::ContainerMetrics& each : of_pod.container_metrics()) {
      seen.insert(each.container_id());
      for (const cri::Metric& metric : each.metrics()) look(metric);
    }
  }
  EXPECT_TRUE(seen.contains(pod));
  EXPECT_TRUE(seen.contains(id));
}

PROMISE_TEST(MetricsTest, AreKubeletsSet,
             "ListMetricDescriptors has every metric that kubelet's users have of cAdvisor") {
  std::set<std::string> names;
  for (const auto& [name, descriptor] : described_) names.insert(name);
  EXPECT_THAT(names, IsSupersetOf(KubeletsSet()));
}

PROMISE_TEST(MetricsTest, HaveAValueAtOnce,
             "A container that was started has a value of each metric that is described, but for "
             "those of networks, which are its pod's") {
  const std::string id = Start(RunPod(), Sleeper());
  const auto values = Of(List(), id);
  for (const auto& [name, descriptor] : described_) {
    if (name.rfind("container_network_", 0) == 0) continue;
    EXPECT_TRUE(values.contains(name)) << name << " has no value";
  }
}

PROMISE_TEST(MetricsTest, SayWhoseTheyAre,
             "A container's metrics are labelled with its name, its pod's name and namespace") {
  const cri::PodSandboxConfig pod = PodConfig();
  const cri::ContainerConfig config = Sleeper();
  const std::string id = Start(RunPod(pod), config);
  const auto metrics = Of(List(), id);
  ASSERT_THAT(metrics, Not(IsEmpty()));
  for (const auto& [name, metric] : metrics) {
    EXPECT_EQ(Label(metric, "container"), config.metadata().name()) << name;
    EXPECT_EQ(Label(metric, "pod"), pod.metadata().name()) << name;
    EXPECT_EQ(Label(metric, "namespace"), pod.metadata().namespace_()) << name;
  }
}

PROMISE_TEST(MetricsTest, AreWhatAContainerIsGivenAndUses,
             "A container's metrics have its limits and what it uses: memory that grows with what "
             "it takes, its processes, and the time of its start") {
  cri::ContainerConfig config = Sleeper();
  cri::LinuxContainerResources* resources = config.mutable_linux()->mutable_resources();
  resources->set_memory_limit_in_bytes(64 << 20);
  resources->set_cpu_period(100'000);
  resources->set_cpu_quota(50'000);
  const std::string id = Start(RunPod(), config);
  const auto before = Of(List(), id);
  const auto value = [](const std::map<std::string, cri::Metric>& metrics, const char* name) {
    const auto found = metrics.find(name);
    EXPECT_TRUE(found != metrics.end()) << name << " has no value";
    return found == metrics.end() ? 0 : found->second.value().value();
  };
  EXPECT_EQ(value(before, "container_spec_memory_limit_bytes"), uint64_t{64} << 20);
  EXPECT_EQ(value(before, "container_spec_cpu_period"), 100'000u);
  EXPECT_GE(value(before, "container_processes"), 1u);
  EXPECT_GE(value(before, "container_threads"), 1u);
  EXPECT_GE(value(before, "container_file_descriptors"), 1u);
  const uint64_t started = value(before, "container_start_time_seconds");
  const int64_t shown = Status(id).started_at() / 1'000'000'000;
  EXPECT_LE(started, static_cast<uint64_t>(shown) + 1);
  EXPECT_GE(started + 60, static_cast<uint64_t>(shown)) << "or the time of its creation";
  EXPECT_EQ(value(before, "container_oom_events_total"), 0u);
  Exec(id, "head -c 20000000 /dev/zero > /dev/shm/cargo");
  EXPECT_TRUE(Eventually([&] {
    return value(Of(List(), id), "container_memory_working_set_bytes") >
               value(before, "container_memory_working_set_bytes") + 18'000'000 ||
           HasFailure();
  }));
}

PROMISE_TEST(MetricsTest, StreamedOnesAreTheListed,
             "StreamPodSandboxMetrics gives the pods and containers that ListPodSandboxMetrics "
             "gives, with the same metrics") {
  const std::string pod = RunPod();
  const std::string id = Start(pod, Sleeper());
  const auto stream = client_.Open(cri::StreamPodSandboxMetricsRequest(), absl::Seconds(30));
  cri::StreamPodSandboxMetricsResponse part;
  while (stream->Read(&part)) {
  }
  const absl::Status status = stream->Finish();
  if (IsLacking(status)) GTEST_SKIP() << status.message();
  std::set<std::string> listed;
  for (const auto& [name, metric] : Of(List(), id)) listed.insert(name);
  std::set<std::string> streamed;
  for (const auto& [name, metric] : Of(Stream(), id)) streamed.insert(name);
  EXPECT_THAT(listed, Not(IsEmpty()));
  EXPECT_EQ(streamed, listed);
}

}  // namespace
}  // namespace plimsoll::conformance
