#include "agent/pods/class_requests.h"

#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "qos/annotations.h"

namespace plimsoll::agent {
namespace {

constexpr char kDefaultClass[] = "system.default";
constexpr char kTypeSuffix[] = ".class.plimsoll.dev/";

bool IsDefault(const std::string& name) {
  return name.empty() || name == kDefaultClass;
}

// Types that the node doesn't list are requests too, which the admission rejects.
qos::AnnotationPolicy EverySpelling(const pod::Manifest& pod, const NodeClasses& node) {
  const std::set<std::string> all = {"container", "default", "sandbox"};
  // The types that runtimes read annotations for, whether they list them or not.
  qos::AnnotationPolicy policy = {{"rdt", all}, {"blockio", all}};
  for (const auto* types : {&node.pod, &node.container}) {
    for (const auto& [type, has] : *types) policy[type] = all;
  }
  for (const auto& [key, name] : pod.annotations) {
    const size_t end = key.find(kTypeSuffix);
    if (end != std::string::npos && end > 0) policy[key.substr(0, end)] = all;
  }
  return policy;
}

template <typename Map>
std::string NamesOf(const Map& map) {
  return map.empty() ? "none" : absl::StrJoin(map, ", ", [](std::string* out, const auto& item) {
    out->append(item.first);
  });
}

// The classes of one pod or container, `who`.
std::optional<PodVerdict> RejectionOf(const std::string& who, const ClassNames& requests,
                                      const ClassUse& used,
                                      const std::map<std::string, ClassType>& node) {
  for (const auto& [type, name] : requests) {
    if (IsDefault(name)) continue;
    const auto has = node.find(type);
    if (has == node.end()) {
      return PodVerdict{
          "UnknownClassType",
          absl::StrCat("Pod was rejected: ", who, " asks for class ", name, " of type ", type,
                       ", which the node doesn't have; its types: ", NamesOf(node))};
    }
    const auto capacity = has->second.capacities.find(name);
    if (capacity == has->second.capacities.end()) {
      return PodVerdict{"UnknownClass", absl::StrCat("Pod was rejected: ", who, " asks for class ",
                                                     name, " of type ", type,
                                                     ", which the node doesn't have; its classes: ",
                                                     NamesOf(has->second.capacities))};
    }
    const auto by_class = used.find(type);
    const uint64_t taken =
        by_class == used.end() || !by_class->second.contains(name) ? 0 : by_class->second.at(name);
    if (capacity->second != 0 && taken >= capacity->second) {
      return PodVerdict{"OutOfClass", absl::StrCat("Pod was rejected: ", who, " asks for class ",
                                                   name, " of type ", type, ": used: ", taken,
                                                   ", capacity: ", capacity->second)};
    }
  }
  return std::nullopt;
}

void Count(const ClassNames& classes, ClassUse& use) {
  for (const auto& [type, name] : classes) {
    if (!IsDefault(name)) ++use[type][name];
  }
}

}  // namespace

ClassRequests RequestedClasses(const pod::Manifest& pod, const NodeClasses& node) {
  const qos::AnnotationPolicy policy = EverySpelling(pod, node);
  ClassRequests requests;
  // The policy permits every key, so neither of the two calls fails.
  if (const auto found = qos::AnnotatedPodClasses(pod.annotations, policy); found.ok()) {
    for (const auto& [type, one] : *found) requests.pod[type] = one.name;
  }
  for (const pod::ContainerManifest& container : pod.containers) {
    ClassNames& classes = requests.containers[container.name];
    const auto found = qos::AnnotatedContainerClasses({}, pod.annotations, container.name, policy);
    if (!found.ok()) continue;
    for (const auto& [type, one] : *found) classes[type] = one.name;
  }
  return requests;
}

ClassRequests NoClasses(const pod::Manifest& pod) {
  ClassRequests requests;
  for (const pod::ContainerManifest& container : pod.containers) {
    requests.containers[container.name] = {};
  }
  return requests;
}

void NodeClassUse::Add(const ClassRequests& requests) {
  Count(requests.pod, pod);
  for (const auto& [name, classes] : requests.containers) Count(classes, container);
}

std::optional<PodVerdict> ClassRejection(const ClassRequests& requests, const NodeClassUse& used,
                                         const NodeClasses& node) {
  if (auto rejection = RejectionOf("it", requests.pod, used.pod, node.pod)) return rejection;
  // Containers of one pod compete for the same places.
  ClassUse taken = used.container;
  for (const auto& [name, classes] : requests.containers) {
    auto rejection = RejectionOf(absl::StrCat("container ", name), classes, taken, node.container);
    if (rejection) return rejection;
    Count(classes, taken);
  }
  return std::nullopt;
}

}  // namespace plimsoll::agent
