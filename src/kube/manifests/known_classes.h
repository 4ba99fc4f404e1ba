// The classes of a cluster in the forms that policies need.
#ifndef PLIMSOLL_KUBE_MANIFESTS_KNOWN_CLASSES_H_
#define PLIMSOLL_KUBE_MANIFESTS_KNOWN_CLASSES_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "qos/class_devices.h"

namespace plimsoll::kube {

// "container" or "pod".
std::string LevelName(qos::Level level);
// The name in a namespace's list: "rdt.gold" of "class.plimsoll.dev/rdt.gold".
std::string ShortName(const qos::ClassId& id);

// By level and type, the classes.
using ClassesByType = std::map<std::pair<qos::Level, std::string>, std::vector<qos::ClassId>>;
ClassesByType ByType(const std::vector<qos::ClassId>& classes);

// CEL: {level: {type: {class: extended resource}}}. Both levels are there.
std::string KnownClassesInCel(const std::vector<qos::ClassId>& classes);
// CEL: {level: {type: "bronze, gold"}}, for messages.
std::string NamesInCel(const std::vector<qos::ClassId>& classes);
// CEL: {level: "blockio, rdt"}, for messages.
std::string TypeNamesInCel(const std::vector<qos::ClassId>& classes);
// CEL: {resource: short name}, of extended resources, explicit and implicit.
std::string ResourcesInCel(const std::vector<qos::ClassId>& classes);
// CEL: {resource: "<level> <type>"}, of the same resources.
std::string ResourceTypesInCel(const std::vector<qos::ClassId>& classes);
// CEL: {DeviceClass: short name}.
std::string DeviceClassesInCel(const std::vector<qos::ClassId>& classes);

}  // namespace plimsoll::kube

#endif  // PLIMSOLL_KUBE_MANIFESTS_KNOWN_CLASSES_H_
