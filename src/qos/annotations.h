// QoS classes requested by Kubernetes annotations, for clients that send no class message (an
// unmodified kubelet). Keys: docs/classes.md.
#ifndef PLIMSOLL_QOS_ANNOTATIONS_H_
#define PLIMSOLL_QOS_ANNOTATIONS_H_

#include <map>
#include <set>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "qos/class_type.h"
#include "qos/classes.h"

namespace plimsoll::qos {

using Annotations = std::map<std::string, std::string>;

// By type, the permitted keys "<type>.class.plimsoll.dev/...": of "container", "default",
// "sandbox". The keys that containerd and CRI-O read for rdt and blockio are always permitted.
using AnnotationPolicy = std::map<std::string, std::set<std::string>>;

struct AnnotatedClass {
  std::string name;
  ClassSource source = ClassSource::kPodAnnotation;
  std::string key;       // for messages
  bool for_all = false;  // the key is about all containers of the pod
};
using AnnotatedClasses = std::map<std::string, AnnotatedClass>;  // by type

// Classes that the annotations of a container and its pod ask for: per type, the first key present
// decides. An empty value asks for no class and hides the keys after it. FAILED_PRECONDITION names
// a key that the policy doesn't permit; `refused`, unless null, is then set to its type.
absl::StatusOr<AnnotatedClasses> AnnotatedContainerClasses(const Annotations& container,
                                                           const Annotations& pod,
                                                           absl::string_view container_name,
                                                           const AnnotationPolicy& policy,
                                                           std::string* refused = nullptr);
// Classes that a pod's annotations ask for the pod as a whole: "<type>.class.plimsoll.dev/sandbox".
absl::StatusOr<AnnotatedClasses> AnnotatedPodClasses(const Annotations& pod,
                                                     const AnnotationPolicy& policy,
                                                     std::string* refused = nullptr);

}  // namespace plimsoll::qos

#endif  // PLIMSOLL_QOS_ANNOTATIONS_H_
