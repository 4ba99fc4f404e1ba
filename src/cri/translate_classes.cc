#include "cri/translate_classes.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "cri/validate.h"
#include "qos/pod_qos.h"

namespace plimsoll::cri {
namespace {

namespace v1 = ::runtime::v1;

// A type may have a prefix ("vendor.io/type"), and rdt's root class is "system/default".
constexpr size_t kMaxName = 317;

absl::Status CheckClassWord(const std::string& field, const std::string& word) {
  if (word.size() > kMaxName) {
    return Invalid(field, word, absl::StrCat("must have at most ", kMaxName, " characters"));
  }
  for (const char c : word) {
    if (absl::ascii_isalnum(static_cast<unsigned char>(c)) || absl::StrContains("-_./", c))
      continue;
    return Invalid(field, word, "may hold letters, digits, \"-\", \"_\", \".\" and \"/\" only");
  }
  return absl::OkStatus();
}

qos::Annotations ToMap(const google::protobuf::Map<std::string, std::string>& map) {
  return qos::Annotations(map.begin(), map.end());
}

// `found`: the annotations' classes, or their error; `refused`: the type of the annotation at
// fault.
absl::StatusOr<qos::ClassNames> Permitted(qos::Level level, const std::string& who,
                                          const absl::StatusOr<qos::AnnotatedClasses>& found,
                                          const std::string& refused, const ClassSupport& support) {
  if (!found.ok()) {
    return support.registry->RefuseAnnotation(level, refused, Annotate(found.status(), who));
  }
  qos::ClassNames classes;
  for (const auto& [type, one] : *found) {
    PLIMSOLL_RETURN_IF_ERROR(CheckClassWord(one.key, one.name));
    PLIMSOLL_RETURN_IF_ERROR(
        Annotate(support.registry->CheckSource(level, type, one.name, one.source),
                 absl::StrCat(who, ": annotation ", one.key)));
    classes[type] = one.name;
  }
  return classes;
}

absl::Status CheckMessage(qos::Level level, const std::string& who, const qos::ClassNames& classes,
                          const ClassSupport& support) {
  for (const auto& [type, name] : classes) {
    PLIMSOLL_RETURN_IF_ERROR(Annotate(
        support.registry->CheckSource(level, type, name, qos::ClassSource::kMessage), who));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<qos::ClassNames> ClassNamesFrom(
    const google::protobuf::Map<std::string, std::string>& classes, const std::string& field) {
  for (const auto& [type, name] : classes) {
    if (type.empty()) return Invalid(field, type, "must name a class type");
    PLIMSOLL_RETURN_IF_ERROR(CheckClassWord(field, type));
    PLIMSOLL_RETURN_IF_ERROR(CheckClassWord(absl::StrCat(field, "[", type, "]"), name));
  }
  return ToMap(classes);
}

absl::StatusOr<qos::ClassNames> ContainerClassesFrom(const v1::ContainerConfig& config,
                                                     const v1::PodSandboxConfig& sandbox,
                                                     const ClassSupport& support) {
  if (support.registry == nullptr) return qos::ClassNames();
  const std::string who = absl::StrCat("container ", config.metadata().name());
  if (!config.has_class_resources()) {
    std::string refused;
    const auto found =
        qos::AnnotatedContainerClasses(ToMap(config.annotations()), ToMap(sandbox.annotations()),
                                       config.metadata().name(), support.annotations, &refused);
    return Permitted(qos::Level::kContainer, who, found, refused, support);
  }
  PLIMSOLL_ASSIGN_OR_RETURN(
      qos::ClassNames classes,
      ClassNamesFrom(config.class_resources().classes(), "config.class_resources.classes"));
  PLIMSOLL_RETURN_IF_ERROR(CheckMessage(qos::Level::kContainer, who, classes, support));
  return classes;
}

namespace {

absl::StatusOr<qos::ClassNames> NamedPodClasses(const v1::PodSandboxConfig& config,
                                                const ClassSupport& support) {
  const std::string who =
      absl::StrCat("pod ", config.metadata().namespace_(), "/", config.metadata().name());
  if (!config.has_class_resources()) {
    std::string refused;
    const auto found =
        qos::AnnotatedPodClasses(ToMap(config.annotations()), support.annotations, &refused);
    return Permitted(qos::Level::kPod, who, found, refused, support);
  }
  PLIMSOLL_ASSIGN_OR_RETURN(
      qos::ClassNames classes,
      ClassNamesFrom(config.class_resources().class_(), "config.class_resources.class"));
  PLIMSOLL_RETURN_IF_ERROR(CheckMessage(qos::Level::kPod, who, classes, support));
  return classes;
}

}  // namespace

absl::StatusOr<qos::ClassNames> PodClassesFrom(const v1::PodSandboxConfig& config,
                                               const runtime::SandboxSpec& spec,
                                               const ClassSupport& support) {
  if (support.registry == nullptr) return qos::ClassNames();
  PLIMSOLL_ASSIGN_OR_RETURN(qos::ClassNames classes, NamedPodClasses(config, support));
  if (support.registry->Has(qos::Level::kPod, qos::kPodQos)) {
    classes.insert({qos::kPodQos, qos::DerivePodQos(spec.cgroup_parent, spec.resources)});
  }
  return classes;
}

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
