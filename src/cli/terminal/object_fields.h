// Fields of Kubernetes objects that came as JSON from elsewhere: a field that is missing, or of
// another type, reads as empty.
#ifndef PLIMSOLL_CLI_TERMINAL_OBJECT_FIELDS_H_
#define PLIMSOLL_CLI_TERMINAL_OBJECT_FIELDS_H_

#include <cstdint>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/time/time.h"

namespace plimsoll::cli {

// An object, or a part of one.
using KubeObject = nlohmann::json;

// The field at a path of keys; null where there is none. The reference lives as long as `object`.
//
//   FieldOf(pod, {"metadata", "name"})
const KubeObject& FieldOf(const KubeObject& object, std::initializer_list<const char*> path);

// A string as it is, a number or a truth value as its text, else "".
std::string TextOf(const KubeObject& object, std::initializer_list<const char*> path);
int64_t NumberOf(const KubeObject& object, std::initializer_list<const char*> path);
bool FlagOf(const KubeObject& object, std::initializer_list<const char*> path);
// absl::InfinitePast() where there is no time.
absl::Time TimeOf(const KubeObject& object, std::initializer_list<const char*> path);
std::vector<KubeObject> ItemsOf(const KubeObject& object, std::initializer_list<const char*> path);

// "5m10s" for a time that long before `now`; "-" for none.
std::string AgeOf(absl::Time time, absl::Time now);
// "status.conditions" as kinds of objects have them: the status ("True") of the one of this type;
// "" where there is none.
std::string ConditionOf(const KubeObject& object, const std::string& type);
// The status of a pod's container: `list` is "containerStatuses" or "initContainerStatuses". Null
// where there is none.
KubeObject ContainerStatusOf(const KubeObject& pod, const char* list, const std::string& name);

}  // namespace plimsoll::cli

#endif  // PLIMSOLL_CLI_TERMINAL_OBJECT_FIELDS_H_
