// QoS classes (KEP-3008): translates the CRI's messages and annotations to the runtime's types and
// back.
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

// The services' access to QoS classes.
struct ClassSupport {
  qos::Registry* registry = nullptr;  // null: the feature gate ClassResources is off
  qos::AnnotationPolicy annotations;
};

// A container's requested classes. A message, if present, decides for all types; otherwise the
// annotations do. FAILED_PRECONDITION for a class that the configuration doesn't grant to this
// source, INVALID_ARGUMENT for names that no class can have.
absl::StatusOr<qos::ClassNames> ContainerClassesFrom(const ::runtime::v1::ContainerConfig& config,
                                                     const ::runtime::v1::PodSandboxConfig& sandbox,
                                                     const ClassSupport& support);
// `spec`: the rest of the pod, from which its pod-qos class is derived if it isn't named.
absl::StatusOr<qos::ClassNames> PodClassesFrom(const ::runtime::v1::PodSandboxConfig& config,
                                               const runtime::SandboxSpec& spec,
                                               const ClassSupport& support);
// For an update: only the message counts.
absl::StatusOr<qos::ClassNames> ClassNamesFrom(
    const google::protobuf::Map<std::string, std::string>& classes, const std::string& field);

// `name_of` maps a holder's id to a readable name; an empty result keeps the registry's.
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
