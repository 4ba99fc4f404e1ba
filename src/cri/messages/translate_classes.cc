#include "cri/messages/translate_classes.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace plimsoll::cri {
namespace {

namespace v1 = ::runtime::v1;

}  // namespace

void AddClassTypes(const std::vector<qos::TypeReport>& types,
                   const std::map<std::string, std::string>& name_of,
                   ::plimsoll::v1::ListClassesResponse* out) {
  for (const qos::TypeReport& type : types) {
    ::plimsoll::v1::ClassType* to = out->add_types();
    to->set_name(type.name);
    to->set_level(type.level == qos::Level::kPod ? "pod" : "container");
    to->set_immutable(type.immutable);
    to->set_default_class(type.default_class);
    for (const std::string& warning : type.warnings) to->add_warnings(warning);
    for (const qos::ClassUse& use : type.classes) {
      ::plimsoll::v1::QosClass* one = to->add_classes();
      one->set_name(use.info.name);
      one->set_capacity(use.info.capacity);
      one->set_meaning(use.info.meaning);
      for (const qos::TargetName& holder : use.holders) {
        const auto name = name_of.find(holder.id);
        one->add_holders(name == name_of.end() ? holder.name : name->second);
      }
      std::sort(one->mutable_holders()->begin(), one->mutable_holders()->end());
    }
  }
}

void FillResourcesInfo(const qos::Registry& registry, v1::ResourcesInfo* out) {
  for (const qos::TypeReport& type : registry.Describe()) {
    v1::ClassResourceInfo* info = type.level == qos::Level::kPod
                                      ? out->add_pod_class_resources()
                                      : out->add_container_class_resources();
    info->set_name(type.name);
    info->set_immutable(type.immutable);
    info->set_default_class(type.default_class);
    for (const qos::ClassUse& use : type.classes) {
      v1::ClassResourceClassInfo* one = info->add_classes();
      one->set_name(use.info.name);
      one->set_capacity(use.info.capacity);
    }
  }
}

void FillClasses(const std::map<std::string, qos::EffectiveClass>& classes,
                 google::protobuf::Map<std::string, std::string>* out) {
  for (const auto& [type, effective] : classes) (*out)[type] = effective.name;
}

std::string ClassesJson(const std::map<std::string, qos::EffectiveClass>& classes) {
  nlohmann::json json = nlohmann::json::object();
  for (const auto& [type, effective] : classes) {
    json[type] = {{"class", effective.name}, {"implicit", effective.implicit}};
    if (!effective.drift.empty()) json[type]["drift"] = effective.drift;
  }
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace plimsoll::cri
