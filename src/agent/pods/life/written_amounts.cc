#include "agent/pods/life/written_amounts.h"

#include <cstddef>

#include "pod_runner/cri_requests/to_cri.h"

namespace plimsoll::agent {
namespace {

namespace cri = ::runtime::v1;

cri::KubernetesResources ToCri(const resources::Requirements& amounts) {
  cri::KubernetesResources written;
  for (const auto& [name, amount] : amounts.requests) {
    (*written.mutable_requests())[name].set_string(amount.text());
  }
  for (const auto& [name, amount] : amounts.limits) {
    (*written.mutable_limits())[name].set_string(amount.text());
  }
  return written;
}

}  // namespace

void AddWritten(const PodRecord& record, const pod::Manifest& pod, const ObservedContainer& run,
                cri::UpdateContainerResourcesRequest& request) {
  const bool is_resizing = !record.actuated.is_null();
  if (is_resizing && run.resources && run.resources->written) {
    *request.mutable_kubernetes_resources() = ToCri(*run.resources->written);
    return;
  }
  for (size_t i = 0; i < pod.containers.size(); ++i) {
    if (pod.containers[i].name != run.name) continue;
    *request.mutable_kubernetes_resources() = pod::WrittenToCri(pod, i);
  }
}

}  // namespace plimsoll::agent
