// The CRI's RPCs about the use of resources: statistics, and metrics under the names of kubelet's
// cAdvisor.
#ifndef PLIMSOLL_CRI_USAGE_USAGE_RPCS_H_
#define PLIMSOLL_CRI_USAGE_USAGE_RPCS_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "cri/calls/list_parts.h"
#include "cri/messages/object_caches.h"
#include "cri/runtime/v1/api.pb.h"
#include "linux/cgroup/cgroup.h"
#include "plimsoll/v1/node.pb.h"
#include "runtime/engine.h"
#include "runtime/objects/event_log.h"

namespace plimsoll::cri {

// Lists leave out objects that have ended, and those that can't be read: kubelet's eviction needs
// the others. A warning in the event log says which and why. Thread-safe; every method may block.
class UsageRpcs {
 public:
  // All pointers outlive it; `events` may be null.
  UsageRpcs(runtime::Engine* engine, runtime::EventLog* events, ObjectCaches* caches)
      : engine_(engine), events_(events), caches_(caches) {}

  // --- containers (stats_rpcs.cc)
  absl::Status ContainerStats(const ::runtime::v1::ContainerStatsRequest& request,
                              ::runtime::v1::ContainerStatsResponse* response);
  absl::Status ListContainerStats(const ::runtime::v1::ListContainerStatsRequest& request,
                                  ::runtime::v1::ListContainerStatsResponse* response);
  PartSource<::runtime::v1::StreamContainerStatsResponse> StreamContainerStats(
      const ::runtime::v1::StreamContainerStatsRequest& request);
  // For NodeService.
  absl::Status ListUsage(const ::plimsoll::v1::ListUsageRequest& request,
                         ::plimsoll::v1::ListUsageResponse* response);

  // --- pods (pod_stats_rpcs.cc)
  absl::Status PodSandboxStats(const ::runtime::v1::PodSandboxStatsRequest& request,
                               ::runtime::v1::PodSandboxStatsResponse* response);
  absl::Status ListPodSandboxStats(const ::runtime::v1::ListPodSandboxStatsRequest& request,
                                   ::runtime::v1::ListPodSandboxStatsResponse* response);
  PartSource<::runtime::v1::StreamPodSandboxStatsResponse> StreamPodSandboxStats(
      const ::runtime::v1::StreamPodSandboxStatsRequest& request);

  // --- metrics (metrics_rpcs.cc)
  absl::Status ListMetricDescriptors(const ::runtime::v1::ListMetricDescriptorsRequest& request,
                                     ::runtime::v1::ListMetricDescriptorsResponse* response);
  absl::Status ListPodSandboxMetrics(const ::runtime::v1::ListPodSandboxMetricsRequest& request,
                                     ::runtime::v1::ListPodSandboxMetricsResponse* response);
  PartSource<::runtime::v1::StreamPodSandboxMetricsResponse> StreamPodSandboxMetrics(
      const ::runtime::v1::StreamPodSandboxMetricsRequest& request);

 private:
  // Age up to which the usage of writable layers is taken as it is: to renew it is a walk of the
  // disk.
  static constexpr absl::Duration kMaxAgeOfUsage = absl::Seconds(10);

  absl::Status FillStats(const runtime::ContainerRecord& record,
                         ::runtime::v1::ContainerStats* stats, linux::CgroupStats* counted);
  absl::Status FillStats(const runtime::SandboxRecord& record,
                         const std::vector<runtime::ContainerRecord>& containers,
                         const runtime::Readings::Links& links, bool leave_out,
                         ::runtime::v1::PodSandboxStats* stats);
  // The file system of containers' roots, and the usage of their writable layers.
  struct LayersOnDisk {
    std::shared_ptr<const runtime::WritableLayers> layers;  // null if unknown
    std::optional<runtime::FileSystem> file_system;
  };
  // Includes the layers of `containers`, however new.
  LayersOnDisk LookAtDisk(const std::vector<runtime::ContainerRecord>& containers);
  // Metrics of one pod and its containers, as far as they can be read.
  void FillMetrics(const runtime::SandboxRecord& record,
                   const std::vector<runtime::ContainerRecord>& containers,
                   const runtime::Readings::Links& links, const LayersOnDisk& disk,
                   ::runtime::v1::PodSandboxMetrics* metrics);
  absl::Status FillMetrics(const runtime::SandboxRecord& pod,
                           const runtime::ContainerRecord& record, const LayersOnDisk& disk,
                           ::runtime::v1::ContainerMetrics* metrics);
  std::vector<runtime::ContainerRecord> LiveContainers(
      const ::runtime::v1::ContainerStatsFilter& filter);
  // The live containers among `ids`.
  std::vector<runtime::ContainerRecord> LiveContainersOf(const std::vector<std::string>& ids);
  // Parts of a list's entry.
  static constexpr absl::string_view kTheNetwork = "the network is ";
  static constexpr absl::string_view kItsMetrics = "metrics are ";
  // Whether an entry that was `read` belongs into a list. An error is logged once until it can be
  // read again. An empty `container_id`: the sandbox's own. `part`: of the entry; empty: all of it.
  bool IsListed(const std::string& sandbox_id, const std::string& container_id,
                const absl::Status& read, absl::string_view part = "");
  // nullopt: the container has just ended, or can't be read and `leave_out` is set.
  absl::StatusOr<std::optional<::runtime::v1::ContainerStats>> ListedStats(
      const runtime::ContainerRecord& record, bool leave_out);

  runtime::Engine* const engine_;
  runtime::EventLog* const events_;
  ObjectCaches* const caches_;
  absl::Mutex unreadable_mutex_;
  absl::flat_hash_set<std::string> unreadable_ ABSL_GUARDED_BY(unreadable_mutex_);  // and reported
};

// The object has just ended or gone: a list leaves it out.
inline bool HasEnded(const absl::Status& status) {
  return absl::IsNotFound(status) || absl::IsFailedPrecondition(status);
}

}  // namespace plimsoll::cri

#endif  // PLIMSOLL_CRI_USAGE_USAGE_RPCS_H_
