// A resize of one pod in place (KEP-1287, KEP-2273), done at the runtime.
#ifndef PLIMSOLL_AGENT_PODS_LIFE_POD_RESIZER_H_
#define PLIMSOLL_AGENT_PODS_LIFE_POD_RESIZER_H_

#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "agent/pods/life/pod_host.h"
#include "agent/pods/life/pod_stopper.h"
#include "agent/pods/records/observed_pod.h"
#include "agent/pods/records/pod_record.h"
#include "agent/pods/resizing/resize_plan.h"
#include "cri/runtime/v1/api.pb.h"
#include "pod_runner/manifest/manifest.h"

namespace plimsoll::agent {

// Used by one thread. All references outlive it.
class PodResizer {
 public:
  // `before`, `after`: see ResizeView.
  PodResizer(const PodHost& host, const PodRecord& record, const pod::Manifest& before,
             const pod::Manifest& after, PodStopper& stopper)
      : host_(host), record_(record), before_(before), after_(after), stopper_(stopper) {}

  // Puts on record that a container's run ends for the resize.
  using KeepRestart =
      absl::FunctionRef<absl::Status(const std::string& container, const std::string& id)>;
  // Does the steps that are left. After an error the rest is left for the next try, and the pod is
  // announced again with the old amounts of the containers that don't have the new ones. An error
  // of the first announcement leaves everything as it was.
  absl::Status Go(const ObservedPod& observed, KeepRestart keep);
  // After Go. INTERNAL names the containers of which the runtime reports other resources.
  absl::Status Verify(const ObservedPod& observed) const;

 private:
  ResizeView ViewOf(const ObservedPod& observed) const;
  // The amounts of the pod as a whole, as RunPodSandbox gave them.
  absl::StatusOr<::runtime::v1::LinuxContainerResources> WholeOf(const pod::Manifest& pod) const;
  absl::Status Do(const ResizeStep& step, const ObservedPod& observed, KeepRestart keep);
  // UpdatePodSandboxResources with all containers' values in `written`, which are after_'s.
  absl::Status Announce(const std::string& sandbox, GroupStep step) {
    return Announce(sandbox, step, after_);
  }
  absl::Status Announce(const std::string& sandbox, GroupStep step, const pod::Manifest& written);
  // The pod with the resources that its containers have while `left` are not done.
  pod::Manifest InForce(absl::Span<const ResizeStep> left) const;
  // Announces the current amounts, after `failure` of the first of the steps `left`. Returns the
  // failure, and what became of this.
  absl::Status AnnounceBack(const std::string& sandbox, absl::Span<const ResizeStep> left,
                            const absl::Status& failure);
  absl::Status ChangeGroup(const std::string& sandbox, GroupStep step);
  absl::Status Update(const ResizeStep& step);
  absl::Status Restart(const ResizeStep& step, const ObservedPod& observed, KeepRestart keep);

  const PodHost& host_;
  const PodRecord& record_;
  const pod::Manifest& before_;
  const pod::Manifest& after_;
  PodStopper& stopper_;
};

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_PODS_LIFE_POD_RESIZER_H_
