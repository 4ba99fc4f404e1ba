// QoS classes (KEP-3008): the CRI's messages and annotations to the runtime's words and back.
#ifndef PLIMSOLL_CRI_TRANSLATE_CLASSES_H_
#define PLIMSOLL_CRI_TRANSLATE_CLASSES_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cri/runtime/v1/api.pb.h"
#include "plimsoll/v1/node.pb.h"
#include "qos/annotations.h"
#include "qos/registry.h"
#include "runtime/spec/sandbox_spec.h"

namespace plimsoll::cri {

// What the services need of QoS classes.
struct ClassSupport {
  qos::Registry* registry = nullptr;  // null: the feature gate ClassResources is off
  qos::AnnotationPolicy annotations;
};

// What a container asks for. A present message decides for all types, without one the annotations
// do. FAILED_PRECONDITION for a class that the configuration doesn't give to who asks this way,
// INVALID_ARGUMENT for names that can't be any's.
absl::StatusOr<qos::ClassNames> ContainerClassesFrom(const ::runtime::v1::ContainerConfig& config,
                                                     const ::runtime::v1::PodSandboxConfig& sandbox,
                                                     const ClassSupport& support);
// `spec`: what of the pod is known otherwise, from which its class of type pod-qos is derived where
// nobody names it.
absl::StatusOr<qos::ClassNames> PodClassesFrom(const ::runtime::v1::PodSandboxConfig& config,
                                               const runtime::SandboxSpec& spec,
                                               const ClassSupport& support);
// Of an update: the message alone.
absl::StatusOr<qos::ClassNames> ClassNamesFrom(
    const google::protobuf::Map<std::string, std::string>& classes, const std::string& field);

// `name_of` gives a holder's id the name that people know it by; an empty one leaves the
// registry's.
void AddClassTypes(const std::vector<qos::TypeReport>& types,
                   const std::map<std::string, std::string>& name_of,
                   ::plimsoll::v1::ListClassesResponse* out);
void FillResourcesInfo(const qos::Registry& registry, ::runtime::v1::ResourcesInfo* out);
void FillClasses(const std::map<std::string, qos::EffectiveClass>& classes,
                 google::protobuf::Map<std::string, std::string>* out);
// {"rdt": {"class": "gold", "implicit": false, "drift": "..."}} for verbose info.
std::string ClassesJson(const std::map<std::string, qos::EffectiveClass>& classes);

}  // namespace plimsoll::cri

#endif  // PLIMSOLL_CRI_TRANSLATE_CLASSES_H_
