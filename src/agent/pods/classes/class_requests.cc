#include "agent/pods/classes/class_requests.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "agent/pods/allocation/node_room.h"
#include "pod_runner/manifest/classes.h"

namespace plimsoll::agent {
namespace {

template <typename Map>
std::string NamesOf(const Map& map) {
  return map.empty() ? "none" : absl::StrJoin(map, ", ", [](std::string* out, const auto& item) {
    out->append(item.first);
  });
}

// The classes of one pod or container, `who`.
std::optional<PodVerdict> RejectionOf(const std::string& who, const qos::ClassNames& requests,
                                      const ClassCounts& used,
                                      const std::map<std::string, ClassTypeInfo>& node) {
  for (const auto& [type, name] : requests) {
    if (pod::AsksForDefault(name)) continue;
    const auto has = node.find(type);
    if (has == node.end()) {
      return PodVerdict{"UnknownClassType",
                        absl::StrCat(kRejected, who, " asks for class ", name, " of type ", type,
                                     ", which the node doesn't have; its types: ", NamesOf(node))};
    }
    const auto capacity = has->second.capacities.find(name);
    if (capacity == has->second.capacities.end()) {
      return PodVerdict{"UnknownClass",
                        absl::StrCat(kRejected, who, " asks for class ", name, " of type ", type,
                                     ", which the node doesn't have; its classes: ",
                                     NamesOf(has->second.capacities))};
    }
    const auto by_class = used.find(type);
    const uint64_t taken =
        by_class == used.end() || !by_class->second.contains(name) ? 0 : by_class->second.at(name);
    if (capacity->second != 0 && taken >= capacity->second) {
      return PodVerdict{"OutOfClass",
                        absl::StrCat(kRejected, who, " asks for class ", name, " of type ", type,
                                     ": used: ", taken, ", capacity: ", capacity->second)};
    }
  }
  return std::nullopt;
}

void Count(const qos::ClassNames& classes, ClassCounts& use) {
  for (const auto& [type, name] : classes) {
    if (!pod::AsksForDefault(name)) ++use[type][name];
  }
}

}  // namespace

ClassRequests RequestedClasses(const pod::Manifest& pod) {
  ClassRequests requests;
  requests.pod = pod::PodClasses(pod);
  for (const pod::ContainerManifest& container : pod.containers) {
    requests.containers[container.name] = pod::ContainerClasses(pod, container);
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

ClassRequests WithoutDefaults(ClassRequests requests, const NodeClasses& node) {
  const auto remove = [](const std::map<std::string, ClassTypeInfo>& types,
                         qos::ClassNames& names) {
    std::erase_if(names, [&types](const auto& request) {
      const auto type = types.find(request.first);
      return type != types.end() && type->second.default_class == request.second;
    });
  };
  remove(node.pod, requests.pod);
  for (auto& [name, classes] : requests.containers) remove(node.container, classes);
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
  ClassCounts taken = used.container;
  for (const auto& [name, classes] : requests.containers) {
    auto rejection = RejectionOf(absl::StrCat("container ", name), classes, taken, node.container);
    if (rejection) return rejection;
    Count(classes, taken);
  }
  return std::nullopt;
}

}  // namespace plimsoll::agent
