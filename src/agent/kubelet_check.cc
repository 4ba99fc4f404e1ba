#include "agent/kubelet_check.h"

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "agent/pods/life/pod_host.h"
#include "base/socket_probe.h"
#include "pod_runner/runtime_client/labels.h"

namespace plimsoll::agent {
namespace {

// The path of a kubelet without --root-dir.
constexpr char kKubeletsPath[] = "/var/lib/kubelet/pod-resources";
constexpr char kKubeletPayload[] = "plimsoll.dev/kubelet";

absl::Status AKubeletsNode(const std::string& message) {
  absl::Status status = absl::FailedPreconditionError(message);
  status.SetPayload(kKubeletPayload, absl::Cord());
  return status;
}

}  // namespace

bool IsAKubeletsNode(const absl::Status& status) {
  return status.GetPayload(kKubeletPayload).has_value();
}

absl::Status CheckNoKubelet(const FsRoot& root, const std::string& pod_resources_path) {
  for (const std::string& path : {std::string(kKubeletsPath), pod_resources_path}) {
    const std::string socket = root.PathOf(path + "/kubelet.sock");
    if (path.empty() || !ProbeSocket(socket).ok()) continue;
    return AKubeletsNode(
        absl::StrCat("a kubelet or another agent runs on this machine (it answers at ", socket,
                     "); stop it first: two of them would undo each other's work"));
  }
  return absl::OkStatus();
}

absl::Status CheckNoKubeletsPods(const std::vector<::runtime::v1::PodSandbox>& sandboxes) {
  for (const auto& each : sandboxes) {
    const bool is_kubelets = each.labels().contains(pod::kPodUidLabel);
    const bool is_ours =
        each.labels().contains(kAgentLabel) || each.annotations().contains(pod::kGraceAnnotation);
    if (!is_kubelets || is_ours) continue;
    return AKubeletsNode(
        absl::StrCat("pod ", each.metadata().namespace_(), "/", each.metadata().name(),
                     " of the runtime was made by a kubelet; remove its pods, or give the agent "
                     "a runtime of its own (runtimeEndpoint)"));
  }
  return absl::OkStatus();
}

}  // namespace plimsoll::agent
