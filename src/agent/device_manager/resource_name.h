// Names of extended resources.
#ifndef PLIMSOLL_AGENT_DEVICE_MANAGER_RESOURCE_NAME_H_
#define PLIMSOLL_AGENT_DEVICE_MANAGER_RESOURCE_NAME_H_

#include <string>

namespace plimsoll::agent {

// "example.com/gpu". Kubernetes keeps names of "kubernetes.io/" for itself, and those beginning
// with "requests." for quotas, where an extended resource gets that prefix and must still be a
// name.
bool IsExtendedResourceName(const std::string& name);

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_DEVICE_MANAGER_RESOURCE_NAME_H_
