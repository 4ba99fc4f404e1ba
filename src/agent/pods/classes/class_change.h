// Changes of a living pod's `resources.classes` (KEP-3008 "Pod Spec", "Update sandbox-level
// QoS-class resources").
#ifndef PLIMSOLL_AGENT_PODS_CLASSES_CLASS_CHANGE_H_
#define PLIMSOLL_AGENT_PODS_CLASSES_CLASS_CHANGE_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "agent/pods/classes/class_requests.h"
#include "agent/pods/records/observed_pod.h"
#include "pod_runner/manifest/manifest.h"

namespace plimsoll::agent {

// The fields of two manifests with the same containers differ.
bool ClassFieldsDiffer(const pod::Manifest& before, const pod::Manifest& after);

// FAILED_PRECONDITION, in an API server's words, for a change that no runtime could make: of a type
// that is immutable or not listed, to the default of a type without one, or a type that is asked
// for no more (kDefaultClass asks for its default). Names type and class.
absl::Status CheckClassChange(const pod::Manifest& before, const pod::Manifest& after,
                              const NodeClasses& node);

// One call of the runtime's.
struct ClassUpdate {
  std::string id;           // of the container, or of the sandbox
  std::string container;    // its name; empty: the pod as a whole
  qos::ClassNames classes;  // an empty class: the type's default
};

// The calls that bring a pod into the classes of its fields. Annotations count at the start of a
// container alone, and what the runtime doesn't report is left alone.
std::vector<ClassUpdate> ClassUpdates(const pod::Manifest& pod, const ObservedPod& observed,
                                      const NodeClasses& node);
// "rdt=gold, tier=default"
std::string ClassesText(const qos::ClassNames& classes);

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_PODS_CLASSES_CLASS_CHANGE_H_
