// Runs of containers that end for a resize, so that the next ones begin with other resources
// (PodRecord::restarting). Functions of the record and of the runtime's answers alone.
#ifndef PLIMSOLL_AGENT_PODS_RESIZING_RESIZE_RESTARTS_H_
#define PLIMSOLL_AGENT_PODS_RESIZING_RESIZE_RESTARTS_H_

#include <set>
#include <string>

#include "agent/pods/records/observed_pod.h"
#include "agent/pods/records/pod_record.h"

namespace plimsoll::agent {

// The run ends, or has ended, for a resize.
bool EndsForResize(const PodRecord& record, const ObservedContainer& run);

// The pod with these runs counted as failed: the next ones start whatever the exit code.
ObservedPod WithRestarts(const PodRecord& record, ObservedPod observed);

// The containers of which the record's run has a successor, or was removed.
std::set<std::string> RestartsDone(const PodRecord& record, const ObservedPod& observed);

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_PODS_RESIZING_RESIZE_RESTARTS_H_
