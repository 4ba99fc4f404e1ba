#include "nri/messages/messages.h"
#include "runtime/announcement/messages.h"

namespace plimsoll::nri {

api::UpdateContainerRequest MakeUpdate(const api::PodSandbox& pod, const api::Container& container,
                                       const runtime::ResourceUpdate& update) {
  api::UpdateContainerRequest request;
  *request.mutable_pod() = pod;
  *request.mutable_container() = container;
  *request.mutable_linux_resources() = MakeResources(update.cgroup, update.classes);
  if (update.kubernetes_resources) {
    FillKubernetesResources(*update.kubernetes_resources, request.mutable_kubernetes_resources());
  }
  return request;
}

api::UpdatePodSandboxRequest MakeUpdate(const api::PodSandbox& pod,
                                        const runtime::SandboxUpdate& update) {
  api::UpdatePodSandboxRequest request;
  *request.mutable_pod() = pod;
  *request.mutable_overhead_linux_resources() = MakeResources(update.overhead, {});
  *request.mutable_linux_resources() = MakeResources(update.resources, {});
  if (update.pod_resources) {
    FillPodResources(*update.pod_resources, request.mutable_pod_resources());
  }
  return request;
}

}  // namespace plimsoll::nri
