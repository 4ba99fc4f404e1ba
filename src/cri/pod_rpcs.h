// The CRI's RPCs about the life of sandboxes and containers: validate, translate, call the engine,
// translate back. No gRPC.
#ifndef PLIMSOLL_CRI_POD_RPCS_H_
#define PLIMSOLL_CRI_POD_RPCS_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "cri/calls/calls.h"
#include "cri/calls/list_parts.h"
#include "cri/kubelet_facts.h"
#include "cri/messages/object_caches.h"
#include "cri/node_info.h"
#include "cri/runtime/v1/api.pb.h"
#include "runtime/engine.h"
#include "runtime/objects/event_log.h"

namespace plimsoll::cri {

// Thread-safe; every method may block. Errors are those that the client sees. After an error the
// response holds nothing that matters.
class PodRpcs {
 public:
  // All pointers outlive it; `events` may be null.
  PodRpcs(runtime::Engine* engine, runtime::EventLog* events, NodeInfo info, ObjectCaches* caches)
      : engine_(engine),
        events_(events),
        info_(std::move(info)),
        caches_(caches),
        kubelet_(engine, info_.pod_resources ? info_.facts : FactsSource()) {}

  // --- sandboxes (sandbox_rpcs.cc)
  // The pod of a client that leaves before the answer is removed: nobody has its id, and the
  // client's successor may have listed pods too early to see it. Past its deadline a client may
  // still be there, and finds the pod.
  absl::Status RunPodSandbox(const CallContext& call,
                             const ::runtime::v1::RunPodSandboxRequest& request,
                             ::runtime::v1::RunPodSandboxResponse* response);
  // Stopping and removing a sandbox or container that isn't there is OK.
  absl::Status StopPodSandbox(const ::runtime::v1::StopPodSandboxRequest& request,
                              ::runtime::v1::StopPodSandboxResponse* response);
  absl::Status RemovePodSandbox(const ::runtime::v1::RemovePodSandboxRequest& request,
                                ::runtime::v1::RemovePodSandboxResponse* response);
  absl::Status PodSandboxStatus(const ::runtime::v1::PodSandboxStatusRequest& request,
                                ::runtime::v1::PodSandboxStatusResponse* response);
  absl::Status UpdatePodSandboxConfig(const ::runtime::v1::UpdatePodSandboxConfigRequest& request,
                                      ::runtime::v1::UpdatePodSandboxConfigResponse* response);
  absl::Status UpdatePodSandboxResources(
      const ::runtime::v1::UpdatePodSandboxResourcesRequest& request,
      ::runtime::v1::UpdatePodSandboxResourcesResponse* response);
  // `response`: a serialized ListPodSandboxResponse.
  absl::Status ListPodSandbox(const ::runtime::v1::ListPodSandboxRequest& request,
                              std::string* response);
  // Each Stream* gives the entries of the List* call of its kind, with the same filter.
  PartSource<::runtime::v1::StreamPodSandboxesResponse> StreamPodSandboxes(
      const ::runtime::v1::StreamPodSandboxesRequest& request);

  // --- containers (container_rpcs.cc)
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
  absl::Status UpdateContainerResources(
      const ::runtime::v1::UpdateContainerResourcesRequest& request,
      ::runtime::v1::UpdateContainerResourcesResponse* response);
  absl::Status ReopenContainerLog(const ::runtime::v1::ReopenContainerLogRequest& request,
                                  ::runtime::v1::ReopenContainerLogResponse* response);

  // One status, as far as it can be read; events carry it too. `classes`: if not null, the kernel
  // is asked about them as well, and they are given there.
  using Classes = std::map<std::string, qos::EffectiveClass>;
  absl::Status FillStatus(const runtime::SandboxRecord& record,
                          ::runtime::v1::PodSandboxStatus* status, Classes* classes = nullptr);
  absl::Status FillStatus(const runtime::ContainerRecord& record,
                          ::runtime::v1::ContainerStatus* status, Classes* classes = nullptr);

  // Drops what is kept of a container, or with an empty `container_id` of the sandbox: it has been
  // removed.
  void Forget(const std::string& sandbox_id, const std::string& container_id);
  // Drops what is kept of all that the engine has no more.
  void ForgetRemoved();

 private:
  // Whether an update with these annotations asks for memory to be shrunk, of that pod or of a
  // container in it. INVALID_ARGUMENT.
  absl::StatusOr<bool> AsksToShrink(
      const std::string& sandbox_id,
      const google::protobuf::Map<std::string, std::string>& annotations);
  // After a call that may have changed the pod, or come with a change: doesn't wait.
  void AskKubeletAgain(const std::string& sandbox_id);
  // SELinux options have no effect on this machine: clients send them to nodes of every kind.
  void WarnOfSelinux(const linux::SelinuxOptions& options,
                     std::vector<std::string>* warnings) const;
  // A pod has no process of its own whose score could be set: a warning, once for each pod.
  void WarnOfOomScore(const std::string& sandbox_id,
                      const ::runtime::v1::LinuxContainerResources& resources,
                      const ::runtime::v1::LinuxContainerResources& overhead);
  // Removes the pod that nobody has the id of. CANCELLED.
  absl::Status RemoveUnknown(const std::string& sandbox_id);
  // True if `status` is NOT_FOUND of the pod itself, not of something that it needs.
  bool IsGone(const std::string& sandbox_id, const absl::Status& status) const;
  absl::Status CheckRuntimeHandler(const std::string& name) const;

  runtime::Engine* const engine_;
  runtime::EventLog* const events_;
  const NodeInfo info_;
  ObjectCaches* const caches_;
  KubeletFacts kubelet_;
  absl::Mutex told_mutex_;
  absl::flat_hash_set<std::string> told_of_score_ ABSL_GUARDED_BY(told_mutex_);  // sandboxes
};

}  // namespace plimsoll::cri

#endif  // PLIMSOLL_CRI_POD_RPCS_H_
