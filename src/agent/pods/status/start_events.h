// Events of a container that can't start, with kubelet's reasons and words (pkg/kubelet/images,
// pkg/kubelet/kuberuntime).
#ifndef PLIMSOLL_AGENT_PODS_STATUS_START_EVENTS_H_
#define PLIMSOLL_AGENT_PODS_STATUS_START_EVENTS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "agent/pods/status/event_log.h"
#include "pod_runner/manifest/manifest.h"

namespace plimsoll::agent {

// `reason`: why the container waits, "ErrImagePull" or "CreateContainerError". The runtime's words
// are in the events.
void TellStartFailure(KubeEventLog& events, const InvolvedObject& subject,
                      const pod::ContainerManifest& container, absl::string_view reason,
                      const absl::Status& status);

// The message of the waiting container.
std::string WaitingMessage(const pod::ContainerManifest& container, absl::string_view reason,
                           const absl::Status& status);

// The pause before another pull begins.
void TellPullBackOff(KubeEventLog& events, const InvolvedObject& subject, const std::string& image);

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_PODS_STATUS_START_EVENTS_H_
