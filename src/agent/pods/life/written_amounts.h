// The amounts that go along with updates that change none of them.
#ifndef PLIMSOLL_AGENT_PODS_LIFE_WRITTEN_AMOUNTS_H_
#define PLIMSOLL_AGENT_PODS_LIFE_WRITTEN_AMOUNTS_H_

#include <string>

#include "agent/pods/records/observed_pod.h"
#include "agent/pods/records/pod_record.h"
#include "cri/runtime/v1/api.pb.h"
#include "pod_runner/manifest/manifest.h"

namespace plimsoll::agent {

// Adds the container's requests and limits as written to an update of its classes or CPUs (KEP-4112
// "UpdateContainerResources"). While a resize is under way, those that `run` has by the runtime's
// word: this update makes no part of the resize. Nothing for a container that `pod` hasn't.
void AddWritten(const PodRecord& record, const pod::Manifest& pod, const ObservedContainer& run,
                ::runtime::v1::UpdateContainerResourcesRequest& request);

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_PODS_LIFE_WRITTEN_AMOUNTS_H_
