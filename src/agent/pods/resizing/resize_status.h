// Resources and resizes in a pod's status (KEP-1287, KEP-2273).
#ifndef PLIMSOLL_AGENT_PODS_RESIZING_RESIZE_STATUS_H_
#define PLIMSOLL_AGENT_PODS_RESIZING_RESIZE_STATUS_H_

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "agent/pods/records/observed_pod.h"
#include "agent/pods/records/pod_record.h"
#include "pod_runner/manifest/manifest.h"
#include "resources/pages.h"

namespace plimsoll::agent {

struct ResourceTraits {
  bool has_exclusive_cpus = false;
  bool pod_has_its_own = false;                 // resources of the pod as a whole (KEP-2837)
  int64_t page_bytes = resources::PageBytes();  // of this machine
};

// Adds `allocatedResources`, which the node has given the container, and `resources`, which are in
// force as the runtime reports them, spelled as written where the kernel can hold nothing nearer.
// Amounts that the kernel doesn't have and the runtime doesn't report, as containerd no request of
// memory, are those given, as in kubelet. A runtime that reports no resources at all leaves
// `resources` out. The limit of exclusive CPUs is their number. A limit that a container has
// from its pod is not told.
void AddResources(const pod::ContainerManifest& allocated, const ObservedContainer& run,
                  const ResourceTraits& traits, nlohmann::json& status);

// PodResizePending and PodResizeInProgress, those that hold, without lastTransitionTime. `failure`:
// the last try's; `unverified`: containers of which the runtime reports nothing.
std::vector<nlohmann::json> ResizeConditions(const PodRecord& record, const std::string& failure,
                                             const std::vector<std::string>& unverified);

// The pod as last reported, with a change that was just put on record: the next step reports again.
nlohmann::json WithChange(nlohmann::json shown, const PodRecord& record, const std::string& now);

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_PODS_RESIZING_RESIZE_STATUS_H_
