// Grants on record beside a machine or a configuration that is another than when they were made.
#ifndef PLIMSOLL_AGENT_MANAGERS_REFIT_H_
#define PLIMSOLL_AGENT_MANAGERS_REFIT_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "agent/managers/node_managers.h"
#include "agent/managers/pod_grant.h"
#include "pod_runner/manifest/manifest.h"

namespace plimsoll::agent {

struct GrantedPod {
  std::string uid;
  std::string name;  // "namespace/name", for messages
  absl::Time created;
  const pod::Manifest* manifest = nullptr;  // null: it can't be read, and the grant is to stay
  PodGrant grant;
};

// OK: each grant is what these managers could have given. Else FAILED_PRECONDITION names the first
// pods, what of theirs doesn't fit and why, as kubelet refuses to start for a checkpoint: a CPU
// that the machine lacks or that is reserved, memory of a node that is gone, two pods with one CPU,
// a grant of a policy that is none now, a pod without the grant that it would get.
absl::Status CheckFit(const NodeManagers& managers, const std::vector<GrantedPod>& pods);

struct Refitted {
  std::string uid;
  PodGrant grant;                  // the new one
  std::vector<std::string> notes;  // a sentence for each thing that was lost, moved or regained
};
// NodeResourceHotPlug: grants that fit the managers, with the least change to running pods, oldest
// pods first. What a pod has and still fits, it keeps. CPUs that are gone are replaced from free
// ones, near the others, else the container goes on with those left, or on the shared ones if none
// are left; cpu_count remembers the number, so that a later change gives them back. Devices stay.
// Only pods whose grant changes are in the result. The same input gives the same result, and
// refitting a result changes nothing.
std::vector<Refitted> Refit(std::shared_ptr<const NodeManagers> managers,
                            const std::vector<GrantedPod>& pods);

// Some pod has fewer CPUs than it is to have, or none of the memory, so that Refit may give it some
// once another pod has given back its own. Costs little.
bool IsAnyShort(const NodeManagers& managers, const std::vector<GrantedPod>& pods);

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_MANAGERS_REFIT_H_
