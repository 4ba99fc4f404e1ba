// ListMetricDescriptors and pods' metrics: kubelet's /metrics/cadvisor, from the runtime (KEP-2371
// "cAdvisor Metrics Endpoint").
#include <map>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/time/clock.h"
#include "base/parallel_for.h"
#include "base/status.h"
#include "cri/usage/metric_groups.h"
#include "cri/usage/usage_rpcs.h"

namespace plimsoll::cri {
namespace {

namespace v1 = ::runtime::v1;

// A walk that began this long after a container's creation would have found its layer.
constexpr int64_t kSettledNanos = 60'000'000'000;

// Reading a pod and its containers takes about a millisecond, starting a thread a tenth of that.
constexpr size_t kPodsByOneThread = 2;

// The value of the container label for the pod's own metrics.
constexpr char kPod[] = "POD";

MetricSubject SubjectOf(const runtime::SandboxRecord& pod) {
  return {.id = pod.cgroup_path,
          .name = pod.id,
          .image = "",
          .container = kPod,
          .pod = pod.spec.name,
          .pod_namespace = pod.spec.pod_namespace};
}

MetricSubject SubjectOf(const runtime::SandboxRecord& pod,
                        const runtime::ContainerRecord& container,
                        const v1::ContainerConfig& config) {
  const v1::ImageSpec& image = config.image();
  return {
      .id = container.cgroup_path,
      .name = container.id,
      // kubelet asks for images by id.
      .image = image.user_specified_image().empty() ? image.image() : image.user_specified_image(),
      .container = container.spec.name,
      .pod = pod.spec.name,
      .pod_namespace = pod.spec.pod_namespace};
}

}  // namespace

absl::Status UsageRpcs::ListMetricDescriptors(const v1::ListMetricDescriptorsRequest&,
                                              v1::ListMetricDescriptorsResponse* response) {
  for (const MetricFamily* family : kMetricFamilies) {
    FillDescriptor(*family, response->add_descriptors());
  }
  return absl::OkStatus();
}

UsageRpcs::LayersOnDisk UsageRpcs::LookAtDisk(
    const std::vector<runtime::ContainerRecord>& containers) {
  LayersOnDisk disk;
  auto layers = engine_->readings().LastWritableLayersUsage(kMaxAgeOfUsage);
  const auto was_missed = [&layers](const runtime::ContainerRecord& record) {
    return !(*layers)->by_container.contains(record.id) &&
           record.created_unix_nanos > (*layers)->unix_nanos - kSettledNanos;
  };
  if (layers.ok() && absl::c_any_of(containers, was_missed)) {
    layers = engine_->readings().WritableLayersUsage(absl::ZeroDuration());
  }
  if (layers.ok()) disk.layers = *layers;
  const auto file_system = engine_->readings().WritableLayersFileSystem();
  if (file_system.ok()) disk.file_system = *file_system;
  return disk;
}

absl::Status UsageRpcs::FillMetrics(const runtime::SandboxRecord& pod,
                                    const runtime::ContainerRecord& record,
                                    const LayersOnDisk& disk, v1::ContainerMetrics* metrics) {
  PLIMSOLL_ASSIGN_OR_RETURN(const runtime::ContainerCounters counters,
                            engine_->readings().Counters(record.id));
  const auto config = caches_->ConfigOf(record);
  metrics->set_container_id(record.id);
  MetricWriter writer(SubjectOf(pod, record, *config), metrics->mutable_metrics());
  AddSpecMetrics(record, counters, absl::GetCurrentTimeNanos(), &writer);
  AddCpuMetrics(counters, &writer);
  AddMemoryMetrics(counters, &writer);
  AddDiskIoMetrics(counters, &writer);
  AddProcessMetrics(counters, &writer);
  if (!disk.file_system.has_value()) return absl::OkStatus();
  const DiskUsage* written = nullptr;
  int64_t unix_nanos = 0;
  if (disk.layers != nullptr) {
    const auto found = disk.layers->by_container.find(record.id);
    if (found != disk.layers->by_container.end()) written = &found->second;
    unix_nanos = disk.layers->unix_nanos;
  }
  AddFileSystemMetrics(*disk.file_system, written, unix_nanos, &writer);
  return absl::OkStatus();
}

void UsageRpcs::FillMetrics(const runtime::SandboxRecord& record,
                            const std::vector<runtime::ContainerRecord>& containers,
                            const runtime::Readings::Links& links, const LayersOnDisk& disk,
                            v1::PodSandboxMetrics* metrics) {
  metrics->set_pod_sandbox_id(record.id);
  if (IsListed(record.id, "", links.status(), kTheNetwork)) {
    MetricWriter writer(SubjectOf(record), metrics->mutable_metrics());
    AddNetworkMetrics(*links, &writer);
  }
  for (const runtime::ContainerRecord& container : containers) {
    v1::ContainerMetrics of_container;
    const absl::Status filled = FillMetrics(record, container, disk, &of_container);
    if (IsListed(record.id, container.id, filled, kItsMetrics)) {
      *metrics->add_container_metrics() = std::move(of_container);
    }
  }
}

absl::Status UsageRpcs::ListPodSandboxMetrics(const v1::ListPodSandboxMetricsRequest&,
                                              v1::ListPodSandboxMetricsResponse* response) {
  std::vector<runtime::ContainerRecord> live = LiveContainers({});
  const LayersOnDisk disk = LookAtDisk(live);
  std::map<std::string, std::vector<runtime::ContainerRecord>> containers;  // by sandbox
  for (runtime::ContainerRecord& container : live) {
    containers[container.sandbox_id].push_back(std::move(container));
  }
  std::vector<runtime::SandboxRecord> records = engine_->ListSandboxes();
  std::erase_if(records, [](const runtime::SandboxRecord& record) {
    return record.state != runtime::SandboxState::kReady;
  });
  std::vector<std::string> ids;
  for (const runtime::SandboxRecord& record : records) ids.push_back(record.id);
  const std::vector<runtime::Readings::Links> links = engine_->readings().SandboxLinks(ids);
  std::vector<v1::PodSandboxMetrics*> metrics;
  for (size_t i = 0; i < records.size(); ++i) metrics.push_back(response->add_pod_metrics());
  const std::vector<runtime::ContainerRecord> none;
  ParallelFor(records.size(), kPodsByOneThread, [&](size_t i) {
    const auto own = containers.find(ids[i]);
    FillMetrics(records[i], own == containers.end() ? none : own->second, links[i], disk,
                metrics[i]);
  });
  return absl::OkStatus();
}

PartSource<v1::StreamPodSandboxMetricsResponse> UsageRpcs::StreamPodSandboxMetrics(
    const v1::StreamPodSandboxMetricsRequest&) {
  auto disk = std::make_shared<LayersOnDisk>();
  return InParts<v1::StreamPodSandboxMetricsResponse, PodIds>(
      [this, disk] {
        *disk = LookAtDisk(LiveContainers({}));
        return caches_->SandboxAndContainerIds();
      },
      [this, disk](const PodIds& pod,
                   v1::StreamPodSandboxMetricsResponse* part) -> absl::StatusOr<size_t> {
        const auto record = engine_->GetSandbox(pod.id);
        if (!record.ok() || record->state != runtime::SandboxState::kReady) return 0;
        v1::PodSandboxMetrics* const metrics = part->add_pod_sandbox_metrics();
        FillMetrics(*record, LiveContainersOf(pod.containers),
                    engine_->readings().SandboxLinks({pod.id}).front(), *disk, metrics);
        return metrics->ByteSizeLong();
      });
}

}  // namespace plimsoll::cri
