// The node's QoS classes in its v1 Node (KEP-3008 "Resource status/capacity").
#ifndef PLIMSOLL_AGENT_PODS_CLASSES_CLASS_LISTS_H_
#define PLIMSOLL_AGENT_PODS_CLASSES_CLASS_LISTS_H_

#include <nlohmann/json.hpp>

#include "agent/pods/classes/class_requests.h"

namespace plimsoll::agent {

// Puts `podClassResources` and `containerClassResources` into the node's status, each a list of
// {name, classes, immutable}. Of Plimsoll's own are `default`, the class of those that name none,
// and `capacity`, the places of classes that don't have any number. A runtime without types leaves
// the node as it is.
void AddClassLists(const NodeClasses& classes, nlohmann::json& node);

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_PODS_CLASSES_CLASS_LISTS_H_
