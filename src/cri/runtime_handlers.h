// What each RPC of the CRI's RuntimeService does, without gRPC: validate, translate, call the
// engine, translate back.
#ifndef PLIMSOLL_CRI_RUNTIME_HANDLERS_H_
#define PLIMSOLL_CRI_RUNTIME_HANDLERS_H_

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "cri/calls.h"
#include "cri/container_configs.h"
#include "cri/cpu_rates.h"
#include "cri/exec_answer.h"
#include "cri/list_parts.h"
#include "cri/node_info.h"
#include "cri/runtime/v1/api.pb.h"
#include "cri/sandbox_configs.h"
#include "linux/cgroup/cgroup.h"
#include "plimsoll/v1/node.pb.h"
#include "runtime/engine.h"
#include "runtime/event_log.h"
#include "streaming/tokens.h"

namespace plimsoll::cri {

// Thread-safe; every method may block. Errors are what the client is to see. On an error the
// response holds nothing that matters.
class RuntimeHandlers {
 public:
  // `engine` must outlive this, and `events` too unless it is null.
  RuntimeHandlers(runtime::Engine* engine, runtime::EventLog* events, NodeInfo info);

  // --- the node (node_handlers.cc)
  absl::Status Version(const ::runtime::v1::VersionRequest& request,
                       ::runtime::v1::VersionResponse* response);
  absl::Status Status(const ::runtime::v1::StatusRequest& request,
                      ::runtime::v1::StatusResponse* response);
  absl::Status RuntimeConfig(const ::runtime::v1::RuntimeConfigRequest& request,
                             ::runtime::v1::RuntimeConfigResponse* response);
  absl::Status UpdateRuntimeConfig(const ::runtime::v1::UpdateRuntimeConfigRequest& request,
                                   ::runtime::v1::UpdateRuntimeConfigResponse* response);

  // --- sandboxes (sandbox_handlers.cc)
  absl::Status RunPodSandbox(const ::runtime::v1::RunPodSandboxRequest& request,
                             ::runtime::v1::RunPodSandboxResponse* response);
  // Stopping and removing what is not there is OK.
  absl::Status StopPodSandbox(const ::runtime::v1::StopPodSandboxRequest& request,
                              ::runtime::v1::StopPodSandboxResponse* response);
  absl::Status RemovePodSandbox(const ::runtime::v1::RemovePodSandboxRequest& request,
                                ::runtime::v1::RemovePodSandboxResponse* response);
  absl::Status PodSandboxStatus(const ::runtime::v1::PodSandboxStatusRequest& request,
                                ::runtime::v1::PodSandboxStatusResponse* response);
  absl::Status UpdatePodSandboxConfig(const ::runtime::v1::UpdatePodSandboxConfigRequest& request,
                                      ::runtime::v1::UpdatePodSandboxConfigResponse* response);
  // `response`: the bytes of a ListPodSandboxResponse.
  absl::Status ListPodSandbox(const ::runtime::v1::ListPodSandboxRequest& request,
                              std::string* response);
  // Each Stream* gives what the List* call of its kind gives, with the same filter.
  PartSource<::runtime::v1::StreamPodSandboxesResponse> StreamPodSandboxes(
      const ::runtime::v1::StreamPodSandboxesRequest& request);

  // --- containers (container_handlers.cc)
  absl::Status CreateContainer(const ::runtime::v1::CreateContainerRequest& request,
                               ::runtime::v1::CreateContainerResponse* response);
  absl::Status StartContainer(const ::runtime::v1::StartContainerRequest& request,
                              ::runtime::v1::StartContainerResponse* response);
  absl::Status StopContainer(const ::runtime::v1::StopContainerRequest& request,
                             ::runtime::v1::StopContainerResponse* response);
  absl::Status RemoveContainer(const ::runtime::v1::RemoveContainerRequest& request,
                               ::runtime::v1::RemoveContainerResponse* response);
  // `response`: a serialized ListContainersResponse.
  absl::Status ListContainers(const ::runtime::v1::ListContainersRequest& request,
                              std::string* response);
  PartSource<::runtime::v1::StreamContainersResponse> StreamContainers(
      const ::runtime::v1::StreamContainersRequest& request);
  absl::Status ContainerStatus(const ::runtime::v1::ContainerStatusRequest& request,
                               ::runtime::v1::ContainerStatusResponse* response);
  absl::Status UpdatePodSandboxResources(
      const ::runtime::v1::UpdatePodSandboxResourcesRequest& request,
      ::runtime::v1::UpdatePodSandboxResourcesResponse* response);
  absl::Status UpdateContainerResources(
      const ::runtime::v1::UpdateContainerResourcesRequest& request,
      ::runtime::v1::UpdateContainerResourcesResponse* response);
  // A command without a timeout of its own gets the client's deadline: nobody waits for it longer.
  // `response`: a serialized ExecSyncResponse.
  absl::Status ExecSync(const CallContext& call, const ::runtime::v1::ExecSyncRequest& request,
                        grpc::ByteBuffer* response);
  absl::Status ReopenContainerLog(const ::runtime::v1::ReopenContainerLogRequest& request,
                                  ::runtime::v1::ReopenContainerLogResponse* response);

  // --- streams (streaming_handlers.cc): each answers with a URL, for one connection. UNIMPLEMENTED
  // without a streaming server.
  absl::Status Exec(const ::runtime::v1::ExecRequest& request,
                    ::runtime::v1::ExecResponse* response);
  absl::Status Attach(const ::runtime::v1::AttachRequest& request,
                      ::runtime::v1::AttachResponse* response);
  absl::Status PortForward(const ::runtime::v1::PortForwardRequest& request,
                           ::runtime::v1::PortForwardResponse* response);

  // --- use of resources (stats_handlers.cc, pod_stats_handlers.cc). Lists leave out what has
  // ended, and what can't be read: kubelet's eviction needs to know of the others. A warning in the
  // event log says which and why.
  absl::Status ContainerStats(const ::runtime::v1::ContainerStatsRequest& request,
                              ::runtime::v1::ContainerStatsResponse* response);
  absl::Status ListContainerStats(const ::runtime::v1::ListContainerStatsRequest& request,
                                  ::runtime::v1::ListContainerStatsResponse* response);
  PartSource<::runtime::v1::StreamContainerStatsResponse> StreamContainerStats(
      const ::runtime::v1::StreamContainerStatsRequest& request);
  absl::Status PodSandboxStats(const ::runtime::v1::PodSandboxStatsRequest& request,
                               ::runtime::v1::PodSandboxStatsResponse* response);
  absl::Status ListPodSandboxStats(const ::runtime::v1::ListPodSandboxStatsRequest& request,
                                   ::runtime::v1::ListPodSandboxStatsResponse* response);
  PartSource<::runtime::v1::StreamPodSandboxStatsResponse> StreamPodSandboxStats(
      const ::runtime::v1::StreamPodSandboxStatsRequest& request);
  // NodeService's.
  absl::Status ListUsage(const ::plimsoll::v1::ListUsageRequest& request,
                         ::plimsoll::v1::ListUsageResponse* response);

  // --- metrics, as kubelet's cAdvisor names them (metrics_handlers.cc). Lists leave out as above.
  absl::Status ListMetricDescriptors(const ::runtime::v1::ListMetricDescriptorsRequest& request,
                                     ::runtime::v1::ListMetricDescriptorsResponse* response);
  absl::Status ListPodSandboxMetrics(const ::runtime::v1::ListPodSandboxMetricsRequest& request,
                                     ::runtime::v1::ListPodSandboxMetricsResponse* response);
  PartSource<::runtime::v1::StreamPodSandboxMetricsResponse> StreamPodSandboxMetrics(
      const ::runtime::v1::StreamPodSandboxMetricsRequest& request);

  // --- one status each, as far as it can be read; for whoever tells of what happens. `classes`: if
  // not null, the kernel is asked about them too, and they are given there.
  using Classes = std::map<std::string, qos::EffectiveClass>;
  absl::Status FillStatus(const runtime::SandboxRecord& record,
                          ::runtime::v1::PodSandboxStatus* status, Classes* classes = nullptr);
  absl::Status FillStatus(const runtime::ContainerRecord& record,
                          ::runtime::v1::ContainerStatus* status, Classes* classes = nullptr);
  // That it has been removed. An empty `container_id`: the sandbox.
  void Forget(const std::string& sandbox_id, const std::string& container_id);
  // The same of all that the engine has no more.
  void ForgetRemoved();

 private:
  // How old what is told of writable layers may be: to know means to walk the disk.
  static constexpr absl::Duration kMaxAgeOfUsage = absl::Seconds(10);

  absl::StatusOr<std::string> Admit(streaming::StreamRequest request);
  // Whether an update with these annotations does, of that pod or of a container in it.
  absl::StatusOr<bool> AsksToShrink(
      const std::string& sandbox_id,
      const google::protobuf::Map<std::string, std::string>& annotations);
  // Puts what was left out of a request into the event log.
  void Warn(const std::string& sandbox_id, const std::string& container_id,
            const std::vector<std::string>& warnings);
  // Clients send the options of pods to nodes of every kind.
  void WarnOfSelinux(const linux::SelinuxOptions& options,
                     std::vector<std::string>* warnings) const;
  // Whether `status` is NOT_FOUND of the pod itself, and not of something that it needs.
  bool IsGone(const std::string& sandbox_id, const absl::Status& status) const;
  // A pod has no process of its own whose score could be set. Once of each pod.
  void WarnOfOomScore(const std::string& sandbox_id,
                      const ::runtime::v1::LinuxContainerResources& resources,
                      const ::runtime::v1::LinuxContainerResources& overhead);
  // Messages of containers that another way than RemoveContainer took away.
  void ForgetRemovedContainers();
  absl::Status CheckRuntimeHandler(const std::string& name) const;
  absl::Status FillStats(const runtime::ContainerRecord& record,
                         ::runtime::v1::ContainerStats* stats, linux::CgroupStats* counted);
  absl::Status FillStats(const runtime::SandboxRecord& record,
                         const std::vector<runtime::ContainerRecord>& containers,
                         const runtime::Readings::Links& links, bool leave_out,
                         ::runtime::v1::PodSandboxStats* stats);
  // Where the roots of containers are, and what is written to them.
  struct LayersOnDisk {
    std::shared_ptr<const runtime::WritableLayers> layers;  // null where it can't be told
    std::optional<runtime::FileSystem> file_system;
  };
  // With those of `containers`, however new they are.
  LayersOnDisk LookAtDisk(const std::vector<runtime::ContainerRecord>& containers);
  // Metrics of one pod and its containers, as far as they can be read.
  void FillMetrics(const runtime::SandboxRecord& record,
                   const std::vector<runtime::ContainerRecord>& containers,
                   const runtime::Readings::Links& links, const LayersOnDisk& disk,
                   ::runtime::v1::PodSandboxMetrics* metrics);
  absl::Status FillMetrics(const runtime::SandboxRecord& pod,
                           const runtime::ContainerRecord& record, const LayersOnDisk& disk,
                           ::runtime::v1::ContainerMetrics* metrics);
  // Of all that there are. What is kept of others is forgotten.
  std::vector<std::string> SandboxIds();
  void ForgetRemovedSandboxes();
  std::vector<std::string> ContainerIds();
  struct PodIds {
    std::string id;
    std::vector<std::string> containers;
  };
  // With one visit of the containers, however many pods there are.
  std::vector<PodIds> SandboxAndContainerIds();
  // The CPU rates of what has gone, once they are most. `there`: how many containers there are.
  void ForgetRates(size_t there);
  std::vector<runtime::ContainerRecord> LiveContainers(
      const ::runtime::v1::ContainerStatsFilter& filter);
  // Those of `ids` that are there still, and live.
  std::vector<runtime::ContainerRecord> LiveContainersOf(const std::vector<std::string>& ids);
  // Parts of what is listed.
  static constexpr absl::string_view kTheNetwork = "the network is ";
  static constexpr absl::string_view kItsMetrics = "metrics are ";
  // Whether what was `read` belongs into a list. Where it could not be read, that is told, once
  // until it can be again. An empty `container_id`: the sandbox's own. `what`: the part that it is
  // of; empty: it is all.
  bool IsListed(const std::string& sandbox_id, const std::string& container_id,
                const absl::Status& read, absl::string_view what = "");
  // nullopt: it has just ended, or it can't be read and is to be left out then.
  absl::StatusOr<std::optional<::runtime::v1::ContainerStats>> ListedStats(
      const runtime::ContainerRecord& record, bool leave_out);

  runtime::Engine* const engine_;
  runtime::EventLog* const events_;
  const NodeInfo info_;
  SandboxConfigs sandbox_configs_;
  ContainerConfigs container_configs_;
  CpuRates cpu_rates_;
  const std::shared_ptr<ByteBudget> exec_output_ =
      std::make_shared<ByteBudget>(kAllExecOutputBytes);
  absl::Mutex told_mutex_;
  absl::flat_hash_set<std::string> told_of_score_ ABSL_GUARDED_BY(told_mutex_);  // sandboxes
  absl::Mutex unreadable_mutex_;
  absl::flat_hash_set<std::string> unreadable_ ABSL_GUARDED_BY(unreadable_mutex_);  // and told of
};

// It has just ended, or gone: a list leaves it out.
inline bool HasEnded(const absl::Status& status) {
  return absl::IsNotFound(status) || absl::IsFailedPrecondition(status);
}

// Whether every label of the selector is there with that value.
template <typename Map>
bool HasLabels(const Map& labels, const Map& selector) {
  for (const auto& [name, value] : selector) {
    const auto found = labels.find(name);
    if (found == labels.end() || found->second != value) return false;
  }
  return true;
}

}  // namespace plimsoll::cri

#endif  // PLIMSOLL_CRI_RUNTIME_HANDLERS_H_
