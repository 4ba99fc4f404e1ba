// Requests for QoS classes (KEP-3008) in the CRI's messages: by CDI devices that the cluster's
// scheduler gave out, by plimsoll-kube's word, by a class message, by annotations.
#ifndef PLIMSOLL_CRI_CLASS_REQUESTS_H_
#define PLIMSOLL_CRI_CLASS_REQUESTS_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cri/runtime/v1/api.pb.h"
#include "qos/annotations.h"
#include "qos/classes_config.h"
#include "qos/registry.h"
#include "runtime/spec/sandbox_spec.h"
#include "runtime/store/records.h"

namespace plimsoll::cri {

// The services' access to QoS classes.
struct ClassSupport {
  qos::Registry* registry = nullptr;  // null: the feature gate ClassResources is off
  qos::AnnotationPolicy annotations;
  qos::ClassesFrom from = qos::ClassesFrom::kAuto;
  // Annotations of static pods count whatever `from` says.
  bool static_pods = false;
  // Whether plimsoll-kube has told that the scheduler gives out classes, for kAuto. Null: it
  // hasn't. Thread-safe, and cheap.
  std::function<bool()> scheduled;
  // Pod-level classes that plimsoll-kube has set for a pod; empty: none. Null: nobody sets any.
  // Thread-safe.
  std::function<absl::StatusOr<qos::ClassNames>(const std::string& pod_uid)> told_pod_classes;
};

// Whether the cluster's scheduler gives out classes now: annotations of new pods need a claim.
bool SchedulerGivesOut(const ClassSupport& support);

// The pod of a container to be.
struct PodOfContainer {
  const ::runtime::v1::PodSandboxConfig& config;
  const runtime::SandboxSpec& spec;
  // The containers that it has. Called for a class that no claim grants.
  std::function<std::vector<runtime::ContainerRecord>()> containers;
};

// A container's requested classes: those of its CDI devices `classes.plimsoll.dev/<type>=<class>`,
// and those of its message, or where there is none of the annotations. A pod that was made while
// the scheduler gave out classes needs a claim for each class of an annotation. An ephemeral
// container can have none: a class for all containers of its pod isn't for it, and `warnings` says
// so. Errors name the container and the source:
// INVALID_ARGUMENT  names that no class can have; two sources, or two devices, that name different
//                   classes of one type; a device that is a class of pods
// NOT_FOUND         a device whose class this node doesn't have
// FAILED_PRECONDITION  an annotation that the configuration doesn't permit, or that no device
//                   grants where the scheduler gives out classes
absl::StatusOr<qos::ClassNames> ContainerClassesFrom(const ::runtime::v1::ContainerConfig& config,
                                                     const std::vector<std::string>& cdi_devices,
                                                     const PodOfContainer& pod,
                                                     const ClassSupport& support,
                                                     std::vector<std::string>* warnings);
// A pod's: those told for its uid, and those of its message or annotations. Errors as above, and
// those of told_pod_classes. `spec`: the rest of the pod; says whether annotations need a claim,
// and its pod-qos class is derived from it if it isn't named.
absl::StatusOr<qos::ClassNames> PodClassesFrom(const ::runtime::v1::PodSandboxConfig& config,
                                               const runtime::SandboxSpec& spec,
                                               const ClassSupport& support);
// For an update: only the message counts.
absl::StatusOr<qos::ClassNames> ClassNamesFrom(
    const google::protobuf::Map<std::string, std::string>& classes, const std::string& field);
// Warnings about classes of an update that differ from the grants of the container's CDI devices:
// the scheduler doesn't hear of them.
std::vector<std::string> ClassesBesideGrants(const std::vector<std::string>& cdi_devices,
                                             const qos::ClassNames& classes,
                                             const ClassSupport& support);

}  // namespace plimsoll::cri

#endif  // PLIMSOLL_CRI_CLASS_REQUESTS_H_
