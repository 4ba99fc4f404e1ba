// Resource usage of pods: their control groups, their networks, and each of their containers.
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/time/clock.h"
#include "base/parallel_for.h"
#include "base/status.h"
#include "cri/messages/validate.h"
#include "cri/usage/fill_usage.h"
#include "cri/usage/usage_rpcs.h"
#include "runtime/cgroups/pod_group_settings.h"

namespace plimsoll::cri {
namespace {

namespace v1 = ::runtime::v1;

using Containers = std::vector<runtime::ContainerRecord>;

// Making a thread costs less than reading the counters of this many pods.
constexpr size_t kPodsOfOneThread = 5;

bool Matches(const runtime::SandboxRecord& record, const v1::PodSandboxStatsFilter& filter) {
  return record.state == runtime::SandboxState::kReady && absl::StartsWith(record.id, filter.id());
}

v1::ContainerStatsFilter Of(const runtime::SandboxRecord& record) {
  v1::ContainerStatsFilter filter;
  filter.set_pod_sandbox_id(record.id);
  return filter;
}

}  // namespace

absl::Status UsageRpcs::FillStats(const runtime::SandboxRecord& record,
                                  const Containers& containers,
                                  const runtime::Readings::Links& links, bool leave_out,
                                  v1::PodSandboxStats* stats) {
  PLIMSOLL_ASSIGN_OR_RETURN(const linux::CgroupStats counted,
                            engine_->readings().SandboxStats(record.id));
  const int64_t now = absl::GetCurrentTimeNanos();
  const auto config = caches_->ConfigOf(record);
  v1::PodSandboxAttributes* attributes = stats->mutable_attributes();
  attributes->set_id(record.id);
  *attributes->mutable_metadata() = config->metadata();
  *attributes->mutable_labels() = config->labels();
  *attributes->mutable_annotations() = config->annotations();
  v1::LinuxPodSandboxStats* out = stats->mutable_linux();
  FillCpu(counted, now, caches_->rates().Update(record.id, now, counted.cpu_usage_ns),
          out->mutable_cpu());
  FillMemory(counted, now, out->mutable_memory());
  FillAvailable(runtime::PodGroupSettings(record.spec), counted, out->mutable_memory());
  // An unreadable network doesn't spoil the rest.
  if (leave_out ? IsListed(record.id, "", links.status(), kTheNetwork) : links.ok()) {
    FillNetwork(*links, now, out);
  } else if (!leave_out && !HasEnded(links.status())) {
    return links.status();
  }
  out->mutable_process()->set_timestamp(now);
  out->mutable_process()->mutable_process_count()->set_value(counted.process_count);
  FillIo(counted, now, out);
  for (const runtime::ContainerRecord& container : containers) {
    PLIMSOLL_ASSIGN_OR_RETURN(auto each, ListedStats(container, leave_out));
    if (each.has_value()) *out->add_containers() = *std::move(each);
  }
  return absl::OkStatus();
}

absl::Status UsageRpcs::PodSandboxStats(const v1::PodSandboxStatsRequest& request,
                                        v1::PodSandboxStatsResponse* response) {
  PLIMSOLL_RETURN_IF_ERROR(CheckId("pod_sandbox_id", request.pod_sandbox_id()));
  PLIMSOLL_ASSIGN_OR_RETURN(const runtime::SandboxRecord record,
                            engine_->GetSandbox(request.pod_sandbox_id()));
  return FillStats(record, LiveContainers(Of(record)),
                   engine_->readings().SandboxLinks({record.id}).front(),
                   /*leave_out=*/false, response->mutable_stats());
}

absl::Status UsageRpcs::ListPodSandboxStats(const v1::ListPodSandboxStatsRequest& request,
                                            v1::ListPodSandboxStatsResponse* response) {
  const v1::PodSandboxStatsFilter& filter = request.filter();
  std::map<std::string, Containers> containers;  // by sandbox
  for (runtime::ContainerRecord& container : LiveContainers({})) {
    containers[container.sandbox_id].push_back(std::move(container));
  }
  std::vector<runtime::SandboxRecord> records = engine_->ListSandboxes();
  std::erase_if(records, [&](const runtime::SandboxRecord& record) {
    if (!Matches(record, filter)) return true;
    const auto config = caches_->ConfigOf(record);
    return !HasLabels(config->labels(), filter.label_selector());
  });
  std::vector<std::string> ids;
  for (const runtime::SandboxRecord& record : records) ids.push_back(record.id);
  const std::vector<runtime::Readings::Links> links = engine_->readings().SandboxLinks(ids);
  const Containers none;
  std::vector<std::optional<v1::PodSandboxStats>> listed(records.size());
  ParallelFor(records.size(), kPodsOfOneThread, [&](size_t i) {
    const auto own = containers.find(ids[i]);
    v1::PodSandboxStats stats;
    const absl::Status filled =
        FillStats(records[i], own == containers.end() ? none : own->second, links[i],
                  /*leave_out=*/true, &stats);
    if (IsListed(ids[i], "", filled)) listed[i] = std::move(stats);
  });
  for (auto& stats : listed) {
    if (stats.has_value()) *response->add_stats() = *std::move(stats);
  }
  return absl::OkStatus();
}

PartSource<v1::StreamPodSandboxStatsResponse> UsageRpcs::StreamPodSandboxStats(
    const v1::StreamPodSandboxStatsRequest& request) {
  return InParts<v1::StreamPodSandboxStatsResponse, PodIds>(
      [this] { return caches_->SandboxAndContainerIds(); },
      [this, filter = request.filter()](
          const PodIds& pod, v1::StreamPodSandboxStatsResponse* part) -> absl::StatusOr<size_t> {
        const auto record = engine_->GetSandbox(pod.id);
        if (!record.ok() || !Matches(*record, filter)) return 0;
        const auto config = caches_->ConfigOf(*record);
        if (!HasLabels(config->labels(), filter.label_selector())) return 0;
        v1::PodSandboxStats stats;
        const absl::Status filled = FillStats(*record, LiveContainersOf(pod.containers),
                                              engine_->readings().SandboxLinks({pod.id}).front(),
                                              /*leave_out=*/true, &stats);
        if (!IsListed(pod.id, "", filled)) return 0;
        v1::PodSandboxStats* const listed = part->add_pod_sandbox_stats();
        *listed = std::move(stats);
        return listed->ByteSizeLong();
      });
}

}  // namespace plimsoll::cri
