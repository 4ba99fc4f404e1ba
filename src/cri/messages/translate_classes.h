// QoS classes (KEP-3008) as the CRI's messages show them. Requests: class_requests.h.
#ifndef PLIMSOLL_CRI_MESSAGES_TRANSLATE_CLASSES_H_
#define PLIMSOLL_CRI_MESSAGES_TRANSLATE_CLASSES_H_

#include <map>
#include <string>
#include <vector>

#include "cri/runtime/v1/api.pb.h"
#include "plimsoll/v1/node.pb.h"
#include "qos/registry.h"

namespace plimsoll::cri {

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

#endif  // PLIMSOLL_CRI_MESSAGES_TRANSLATE_CLASSES_H_
