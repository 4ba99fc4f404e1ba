// QoS classes that a pod asks for (KEP-3008 "Kubelet"), and whether the node has them.
#ifndef PLIMSOLL_AGENT_PODS_CLASSES_CLASS_REQUESTS_H_
#define PLIMSOLL_AGENT_PODS_CLASSES_CLASS_REQUESTS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "agent/pods/records/pod_record.h"
#include "pod_runner/manifest/manifest.h"
#include "qos/classes.h"

namespace plimsoll::agent {

// An empty class, or system.default, is the type's default.
struct ClassRequests {
  qos::ClassNames pod;
  std::map<std::string, qos::ClassNames> containers;  // by name; each container of the pod is there
};

// A class type as the runtime lists it (RuntimeStatus.resources).
struct ClassTypeInfo {
  std::map<std::string, uint64_t> capacities;  // by class; 0: unlimited
  std::string default_class;                   // empty: none
  bool immutable = false;
};
struct NodeClasses {
  std::map<std::string, ClassTypeInfo> pod;  // by type
  std::map<std::string, ClassTypeInfo> container;
};

// The classes that the pod's fields and annotations ask for, in every spelling that a runtime may
// read (pod/classes.h), so that none reaches the runtime past the admission.
ClassRequests RequestedClasses(const pod::Manifest& pod);

// The requests of a pod whose fields and annotations count for nothing.
ClassRequests NoClasses(const pod::Manifest& pod);

// The requests but those that name the node's default of a type.
ClassRequests WithoutDefaults(ClassRequests requests, const NodeClasses& node);

// How many pods or containers hold each class, by type.
using ClassCounts = std::map<std::string, std::map<std::string, uint64_t>>;
struct NodeClassUse {
  ClassCounts pod;
  ClassCounts container;
  void Add(const ClassRequests& requests);
};

// nullopt: the node has all classes that are asked for. Else the first that it lacks, or whose
// capacity is used up; the message says what the node has.
std::optional<PodVerdict> ClassRejection(const ClassRequests& requests, const NodeClassUse& used,
                                         const NodeClasses& node);

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_PODS_CLASSES_CLASS_REQUESTS_H_
