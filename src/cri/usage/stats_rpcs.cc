// Resource usage of containers, from their control groups' counters.
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/parallel_for.h"
#include "base/status.h"
#include "cri/messages/translate_classes.h"
#include "cri/messages/translate_pod_resources.h"
#include "cri/messages/translate_resources.h"
#include "cri/messages/validate.h"
#include "cri/messages/warn.h"
#include "cri/usage/fill_usage.h"
#include "cri/usage/usage_rpcs.h"
#include "runtime/announcement/messages.h"
#include "runtime/objects/state_machine.h"
#include "runtime/requests/kubelet_picture.h"

namespace plimsoll::cri {
namespace {

namespace v1 = ::runtime::v1;
using linux::CgroupStats;
using LayersOrError = absl::StatusOr<std::shared_ptr<const runtime::WritableLayers>>;

constexpr size_t kMaxUnreadable = 1000;

// Making a thread costs less than reading the counters of this many containers.
constexpr size_t kContainersOfOneThread = 10;

bool Matches(const runtime::ContainerRecord& record, const v1::ContainerStatsFilter& filter) {
  return runtime::HasProcess(record) && absl::StartsWith(record.id, filter.id()) &&
         absl::StartsWith(record.sandbox_id, filter.pod_sandbox_id());
}

void FillWritableLayer(const std::string& id, const LayersOrError& layers,
                       v1::ContainerStats* stats) {
  if (!layers.ok()) return;
  const auto found = (*layers)->by_container.find(id);
  if (found == (*layers)->by_container.end()) return;
  v1::FilesystemUsage* usage = stats->mutable_writable_layer();
  usage->set_timestamp((*layers)->unix_nanos);
  usage->mutable_fs_id()->set_mountpoint((*layers)->directory);
  usage->mutable_used_bytes()->set_value(found->second.bytes);
  usage->mutable_inodes_used()->set_value(found->second.inodes);
}

void FillLeft(const linux::CgroupSettings& limits, const CgroupStats& counted,
              v1::ContainerStats* stats) {
  FillAvailable(limits, counted, stats->mutable_memory());
  if (stats->has_swap()) FillAvailable(limits, counted, stats->mutable_swap());
}

}  // namespace

absl::Status UsageRpcs::FillStats(const runtime::ContainerRecord& record, v1::ContainerStats* stats,
                                  CgroupStats* counted) {
  PLIMSOLL_ASSIGN_OR_RETURN(*counted, engine_->readings().Stats(record.id));
  const int64_t now = absl::GetCurrentTimeNanos();
  const auto config = caches_->ConfigOf(record);
  v1::ContainerAttributes* attributes = stats->mutable_attributes();
  attributes->set_id(record.id);
  *attributes->mutable_metadata() = config->metadata();
  *attributes->mutable_labels() = config->labels();
  *attributes->mutable_annotations() = config->annotations();
  FillCpu(*counted, now, caches_->rates().Update(record.id, now, counted->cpu_usage_ns),
          stats->mutable_cpu());
  FillMemory(*counted, now, stats->mutable_memory());
  if (counted->swap_usage_bytes.has_value()) {
    stats->mutable_swap()->set_timestamp(now);
    stats->mutable_swap()->mutable_swap_usage_bytes()->set_value(*counted->swap_usage_bytes);
  }
  FillIo(*counted, now, stats);
  return absl::OkStatus();
}

absl::Status UsageRpcs::ContainerStats(const v1::ContainerStatsRequest& request,
                                       v1::ContainerStatsResponse* response) {
  PLIMSOLL_RETURN_IF_ERROR(CheckId("container_id", request.container_id()));
  PLIMSOLL_ASSIGN_OR_RETURN(const runtime::ContainerRecord record,
                            engine_->GetContainer(request.container_id()));
  CgroupStats counted;
  PLIMSOLL_RETURN_IF_ERROR(FillStats(record, response->mutable_stats(), &counted));
  FillWritableLayer(record.id, engine_->readings().WritableLayersUsage(kMaxAgeOfUsage),
                    response->mutable_stats());
  const auto limits = engine_->ReadResources(record.id);
  if (limits.ok()) FillLeft(limits->cgroup, counted, response->mutable_stats());
  return absl::OkStatus();
}

std::vector<runtime::ContainerRecord> UsageRpcs::LiveContainers(
    const v1::ContainerStatsFilter& filter) {
  std::vector<runtime::ContainerRecord> records;
  size_t there = 0;
  engine_->VisitContainers([&](const runtime::ContainerRecord& record) {
    ++there;
    if (Matches(record, filter)) records.push_back(record);
  });
  // Not during the visit, which would hold the container's lock while a message is parsed.
  if (!filter.label_selector().empty()) {
    std::erase_if(records, [&](const runtime::ContainerRecord& record) {
      const auto config = caches_->ConfigOf(record);
      return !HasLabels(config->labels(), filter.label_selector());
    });
  }
  caches_->ForgetRates(there);
  return records;
}

std::vector<runtime::ContainerRecord> UsageRpcs::LiveContainersOf(
    const std::vector<std::string>& ids) {
  std::vector<runtime::ContainerRecord> records;
  for (const std::string& id : ids) {
    absl::StatusOr<runtime::ContainerRecord> record = engine_->GetContainer(id);
    if (record.ok() && runtime::HasProcess(*record)) records.push_back(*std::move(record));
  }
  return records;
}

bool UsageRpcs::IsListed(const std::string& sandbox_id, const std::string& container_id,
                         const absl::Status& read, absl::string_view part) {
  const std::string key = absl::StrCat(container_id.empty() ? sandbox_id : container_id, part);
  {
    absl::MutexLock lock(&unreadable_mutex_);
    if (read.ok()) {
      unreadable_.erase(key);
      return true;
    }
    if (HasEnded(read)) return false;
    // Clients ask every few seconds; older entries are long gone.
    if (unreadable_.size() >= kMaxUnreadable) unreadable_.clear();
    if (!unreadable_.insert(key).second) return false;
  }
  Warn(events_, sandbox_id, container_id,
       {absl::StrCat(part,
                     "left out of lists of resource usage while this lasts: ", read.message())});
  return false;
}

absl::StatusOr<std::optional<v1::ContainerStats>> UsageRpcs::ListedStats(
    const runtime::ContainerRecord& record, bool leave_out) {
  CgroupStats counted;
  v1::ContainerStats stats;
  const absl::Status filled = FillStats(record, &stats, &counted);
  if (leave_out ? !IsListed(record.sandbox_id, record.id, filled) : HasEnded(filled)) {
    return std::nullopt;
  }
  PLIMSOLL_RETURN_IF_ERROR(filled);
  // A list never waits for the disk.
  FillWritableLayer(record.id, engine_->readings().LastWritableLayersUsage(kMaxAgeOfUsage), &stats);
  // The kernel's limits are for ContainerStats to read: that would double a list's cost.
  FillLeft(record.spec.resources, counted, &stats);
  return stats;
}

absl::Status UsageRpcs::ListContainerStats(const v1::ListContainerStatsRequest& request,
                                           v1::ListContainerStatsResponse* response) {
  const std::vector<runtime::ContainerRecord> records = LiveContainers(request.filter());
  std::vector<absl::StatusOr<std::optional<v1::ContainerStats>>> listed(records.size());
  ParallelFor(records.size(), kContainersOfOneThread,
              [&](size_t i) { listed[i] = ListedStats(records[i], /*leave_out=*/true); });
  for (auto& one : listed) {
    PLIMSOLL_ASSIGN_OR_RETURN(auto stats, std::move(one));
    if (stats.has_value()) *response->add_stats() = *std::move(stats);
  }
  return absl::OkStatus();
}

PartSource<v1::StreamContainerStatsResponse> UsageRpcs::StreamContainerStats(
    const v1::StreamContainerStatsRequest& request) {
  return InParts<v1::StreamContainerStatsResponse>(
      [this] { return caches_->ContainerIds(); },
      [this, filter = request.filter()](
          const std::string& id, v1::StreamContainerStatsResponse* part) -> absl::StatusOr<size_t> {
        const auto record = engine_->GetContainer(id);
        if (!record.ok() || !Matches(*record, filter)) return 0;
        const auto config = caches_->ConfigOf(*record);
        if (!HasLabels(config->labels(), filter.label_selector())) return 0;
        PLIMSOLL_ASSIGN_OR_RETURN(auto stats, ListedStats(*record, /*leave_out=*/true));
        if (!stats.has_value()) return 0;
        v1::ContainerStats* const listed = part->add_container_stats();
        *listed = *std::move(stats);
        return listed->ByteSizeLong();
      });
}

absl::Status UsageRpcs::ListUsage(const ::plimsoll::v1::ListUsageRequest&,
                                  ::plimsoll::v1::ListUsageResponse* response) {
  std::map<std::string, runtime::SandboxSpec> pods;  // by id
  for (runtime::SandboxRecord& pod : engine_->ListSandboxes()) {
    pods[pod.id] = std::move(pod.spec);
  }
  for (const runtime::ContainerRecord& record : LiveContainers({})) {
    ::plimsoll::v1::ContainerUsage usage;
    CgroupStats counted;
    const absl::Status filled = FillStats(record, usage.mutable_stats(), &counted);
    if (!IsListed(record.sandbox_id, record.id, filled)) continue;
    usage.set_pod_sandbox_id(record.sandbox_id);
    const runtime::SandboxSpec& pod = pods[record.sandbox_id];
    usage.set_pod_namespace(pod.pod_namespace);
    usage.set_pod_name(pod.name);
    usage.set_cpu_periods(counted.cpu_periods);
    usage.set_throttled_periods(counted.cpu_throttled_periods);
    usage.set_throttled_nanos(counted.cpu_throttled_ns);
    usage.set_process_count(counted.process_count);
    const runtime::KubernetesResources* const told = runtime::ToldByKubelet(pod, record.spec.name);
    if (!record.spec.kubernetes_resources.empty()) {
      FillKubernetesResources(record.spec.kubernetes_resources, usage.mutable_asked());
    } else if (told != nullptr && !told->empty()) {
      FillKubernetesResources(*told, usage.mutable_asked());
    }
    const auto limits = engine_->ReadResources(record.id);
    if (limits.ok()) {
      FillLinuxResources(*limits, usage.mutable_allotted());
      FillLeft(limits->cgroup, counted, usage.mutable_stats());
    }
    const auto classes = engine_->ContainerClasses(record.id, /*look=*/false);
    if (classes.ok()) FillClasses(*classes, usage.mutable_classes());
    *response->add_containers() = std::move(usage);
  }
  return absl::OkStatus();
}

}  // namespace plimsoll::cri
