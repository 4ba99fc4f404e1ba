#include "agent/kubelet_check.h"

#include "absl/strings/str_cat.h"
#include "agent/pods/pod_host.h"
#include "base/socket_probe.h"
#include "pod_runner/to_cri.h"

namespace plimsoll::agent {
namespace {

constexpr char kPodResourcesSocket[] = "/var/lib/kubelet/pod-resources/kubelet.sock";

}  // namespace

absl::Status CheckNoKubelet() {
  if (!ProbeSocket(kPodResourcesSocket).ok()) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "a kubelet or another agent runs on this machine (it answers at ", kPodResourcesSocket,
      "); stop it first: two of them would undo each other's work"));
}

absl::Status CheckNoKubeletsPods(const std::vector<::runtime::v1::PodSandbox>& sandboxes) {
  for (const auto& each : sandboxes) {
    const bool is_kubelets = each.labels().contains(pod::kPodUidLabel);
    const bool is_ours =
        each.labels().contains(kAgentLabel) || each.annotations().contains(pod::kGraceAnnotation);
    if (!is_kubelets || is_ours) continue;
    return absl::FailedPreconditionError(
        absl::StrCat("pod ", each.metadata().namespace_(), "/", each.metadata().name(),
                     " of the runtime was made by a kubelet; remove its pods, or give the agent "
                     "a runtime of its own (runtimeEndpoint)"));
  }
  return absl::OkStatus();
}

}  // namespace plimsoll::agent
