// The steps of a resize in place (KEP-1287): functions of manifests and of the runtime's answers
// alone.
#ifndef PLIMSOLL_AGENT_PODS_RESIZING_RESIZE_PLAN_H_
#define PLIMSOLL_AGENT_PODS_RESIZING_RESIZE_PLAN_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "agent/managers/pod_grant.h"
#include "agent/pods/records/observed_pod.h"
#include "pod_runner/manifest/manifest.h"
#include "resources/pages.h"

namespace plimsoll::agent {

struct ResizeStep {
  enum class Kind {
    kAnnounce,   // UpdatePodSandboxResources: an error here leaves everything as it was
    kRaisePod,   // the pod's group grants more where it has to
    kUpdate,     // UpdateContainerResources
    kRestart,    // the run ends; the next one is made with the new resources
    kSettlePod,  // the pod's group has exactly the new amounts
  };
  Kind kind = Kind::kAnnounce;
  size_t index = 0;  // kUpdate, kRestart: of the manifest's containers
  std::string id;    // likewise: of the run

  bool operator==(const ResizeStep&) const = default;
};

struct ResizeView {
  const pod::Manifest& before;  // whose resources were in force
  const pod::Manifest& after;   // whose resources shall be
  const ObservedPod& observed;
  int64_t generation;     // PodRecord::allocated_generation
  bool writes;            // the runtime gets requests and limits as written (KEP-4112)
  const PodGrant& grant;  // containers with CPUs of their own have no quota
  // Control groups keep CPU shares as given (cgroup v1), and not a weight that stands for several.
  bool keeps_shares = false;
  int64_t page_bytes = resources::PageBytes();  // of this machine
};

// A container's limit is never above its pod's, which cgroup v1 would refuse: the pod is raised
// first and settled last. Containers that only lower go before those that raise. Containers that
// have what they shall have are left alone: a step that was cut off is thus not done twice, except
// where the runtime reports no resources. Without a ready sandbox there is no step.
std::vector<ResizeStep> PlanResize(const ResizeView& view);

// Containers that run with other resources than `after`'s, as the runtime reports them.
std::vector<std::string> NotInForce(const ResizeView& view);

// Containers that run since before the resize, and of which the runtime reports no resources.
std::vector<std::string> Unverified(const pod::Manifest& pod, const ObservedPod& observed,
                                    int64_t generation);

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_PODS_RESIZING_RESIZE_PLAN_H_
