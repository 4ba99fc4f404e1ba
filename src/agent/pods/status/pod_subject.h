// The pod that an event is about.
#ifndef PLIMSOLL_AGENT_PODS_STATUS_POD_SUBJECT_H_
#define PLIMSOLL_AGENT_PODS_STATUS_POD_SUBJECT_H_

#include <string>

#include "agent/pods/records/pod_record.h"
#include "agent/pods/status/event_log.h"

namespace plimsoll::agent {

// `container` empty: the pod as a whole.
inline InvolvedObject SubjectOf(const PodRecord& record, const std::string& container = "") {
  return {.kind = "Pod", .key = record.key, .uid = record.uid, .container = container};
}

// The subject of a pod that isn't on record, or whose record can't be read.
inline InvolvedObject SubjectOfKey(const PodKey& key) {
  return {.kind = "Pod", .key = key, .uid = "", .container = ""};
}

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_PODS_STATUS_POD_SUBJECT_H_
